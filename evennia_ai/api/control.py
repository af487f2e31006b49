"""Endpoints that start, silence, stop and clear one assistant or all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeVar

from twisted.internet.defer import Deferred

from evennia_ai.api import requests
from evennia_ai.api.assistants import TAG
from evennia_ai.api.rows import ONE, Call, Route, Row, Tag
from evennia_ai.operations import Result, control
from evennia_ai.operations.monitoring.status import Status, status
from evennia_ai.operations.result import note
from evennia_ai.operations.rights.acts import for_all_allowed

SAFETY = Tag("Safety", "Stopping assistants at once, and clearing stops.")
T = TypeVar("T")
START_ALL = partial(control.set_all_enabled, enabled=True)
SILENCE_ALL = partial(control.set_all_enabled, enabled=False)


@dataclass(frozen=True, slots=True)
class AllStopped:
    """The number of assistants that were stopped."""

    stopped: int
    refused: Annotated[list[str], note("Names of the assistants that you may not control.")]


@dataclass(frozen=True, slots=True)
class AllChanged:
    """The number of assistants for which something changed."""

    changed: int
    refused: Annotated[list[str], note("Names of the assistants that you may not control.")]


def _stop(call: Call) -> Result:
    reason = call.body.get("reason", f"stopped by {call.by}")
    return control.stop(call.script, reason, by=call.by)


def _for_all(
    call: Call,
    act: str,
    do: Callable[..., Deferred[Result[int]]],
    kind: Callable[[int, list[str]], T],
) -> Deferred[Result[T]]:
    done = for_all_allowed(act, call.account, partial(do, by=call.by))
    return done.addCallback(lambda outcome: outcome[0].map(lambda count: kind(count, outcome[1])))


def _stop_all(call: Call) -> Deferred[Result[AllStopped]]:
    stop = partial(
        control.stop_all, reason=call.body.get("reason", f"all were stopped by {call.by}")
    )
    return _for_all(call, "emergency stop", stop, AllStopped)


ROWS = (
    # Rows about all assistants need only the right to list them: `for_all_allowed` checks the
    # right over each assistant.
    Row(
        Route("POST", "emergency/stop/", "stop-all", "list", SAFETY),
        _stop_all,
        "Stop all assistants at once",
        "Affects all that you may control; the others are listed in `refused`.",
        result=AllStopped,
        body=requests.WhyStopped,
        action="emergency stop all",
        example={"reason": "The model says strange things."},
        answer={"message": "2 assistants are stopped.", "stopped": 2, "refused": []},
    ),
    Row(
        Route("POST", "emergency/clear/", "clear-all", "list", SAFETY),
        lambda call: _for_all(call, "emergency clear", control.clear_all, AllChanged),
        "Clear the stops of all assistants",
        "Clears the stops, lockouts and waits of all that you may control; the others "
        "are listed in `refused`.",
        operation_id="let_all_stopped_assistants_go_on",
        result=AllChanged,
        action="emergency clear all",
        answer={"message": "2 assistants are cleared.", "changed": 2, "refused": []},
    ),
    Row(
        Route("POST", "start/", "start-all", "list", TAG),
        lambda call: _for_all(call, "start", START_ALL, AllChanged),
        "Start all assistants",
        "Affects all that you may control; the others are listed in `refused`.",
        operation_id="let_all_assistants_answer",
        result=AllChanged,
        action="start all",
        answer={"message": "2 assistants are awake.", "changed": 2, "refused": []},
    ),
    Row(
        Route("POST", "stop/", "silence-all", "list", TAG),
        lambda call: _for_all(call, "stop", SILENCE_ALL, AllChanged),
        "Silence all assistants",
        "Affects all that you may control, until they are started again; the others are "
        "listed in `refused`.",
        operation_id="keep_all_assistants_silent",
        result=AllChanged,
        action="stop all",
        answer={"message": "2 assistants are silent.", "changed": 2, "refused": []},
    ),
    Row(
        Route("GET", f"{ONE}status/", "status", "status", TAG),
        lambda call: status(call.script),
        "See what an assistant is doing",
        "Whether it may act, with which model, and what it has used.",
        result=Status,
        says="text",
    ),
    Row(
        Route("POST", f"{ONE}start/", "start", "start", TAG),
        lambda call: control.set_enabled(call.script, True, by=call.by),
        "Start an assistant",
        "It answers again, beginning with the messages that wait.",
        operation_id="let_an_assistant_answer",
        answer={"message": "Edda is awake."},
    ),
    Row(
        Route("POST", f"{ONE}stop/", "stop", "stop", TAG),
        lambda call: control.set_enabled(call.script, False, by=call.by),
        "Silence an assistant",
        "It stays silent until it is started again; waiting messages are kept.",
        operation_id="keep_an_assistant_silent",
        answer={"message": "Edda is silent. To let it answer: assistant start Edda"},
    ),
    Row(
        Route("POST", f"{ONE}emergency/stop/", "emergency-stop", "emergency stop", SAFETY),
        _stop,
        "Stop an assistant at once",
        "Drops whatever is under way. It stays stopped, across restarts too, until it is cleared.",
        result=control.Stopped,
        body=requests.WhyStopped,
        example={"reason": "It talks to itself."},
    ),
    Row(
        Route("POST", f"{ONE}emergency/clear/", "emergency-clear", "emergency clear", SAFETY),
        lambda call: control.clear(call.script, by=call.by),
        "Clear an assistant's stop",
        "Clears an emergency stop or a lockout; nothing is refunded.",
        operation_id="let_a_stopped_assistant_go_on",
        answer={"message": "Edda: Emergency stop cleared; the assistant goes on."},
    ),
)
