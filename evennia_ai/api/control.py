"""Endpoints that start, silence, stop and clear one assistant or all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeVar

from twisted.internet.defer import Deferred

from evennia_ai.api import requests
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import ONE, Call, Route, Row
from evennia_ai.operations import AssistantScript, Result, control
from evennia_ai.operations.monitoring.status import Status, status
from evennia_ai.operations.result import ProblemKind, note
from evennia_ai.operations.rights import find_all_allowed
from evennia_ai.operations.rights.callers import NOT_YOURS

TAG, SAFETY = "Assistants", "Safety"
T = TypeVar("T")


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


def _for_all_allowed(
    call: Call, act: str, do: Callable[[list[AssistantScript]], T]
) -> tuple[T, list[str]]:
    """Apply a function to the assistants that the caller has the right for.

    Returns:
        What the function returns, and the names of the other assistants.

    Raises:
        ProblemError: there are assistants, but the caller has the right for none of them.
    """
    mine, refused = find_all_allowed(act, call.account)
    if refused and not mine:
        raise problem(ProblemKind.FORBIDDEN, NOT_YOURS)
    return do(mine), [name for name, _ in refused]


def _stop_all(call: Call) -> Deferred[Result[AllStopped]]:
    reason = call.body.get("reason", f"all were stopped by {call.by}")
    stop = partial(control.stop_all, reason=reason, by=call.by)
    stopped, refused = _for_all_allowed(call, "emergency stop", stop)
    return stopped.addCallback(lambda done: done.with_data(AllStopped(done.data, refused)))


def _clear_all(call: Call) -> Deferred[Result[AllChanged]]:
    clear = partial(control.clear_all, by=call.by)
    cleared, refused = _for_all_allowed(call, "emergency clear", clear)
    return cleared.addCallback(lambda done: done.with_data(AllChanged(done.data, refused)))


def _enable_all(call: Call, act: str, *, enabled: bool) -> Deferred[Result[AllChanged]]:
    enable = partial(control.set_all_enabled, enabled=enabled, by=call.by)
    changed, refused = _for_all_allowed(call, act, enable)
    return changed.addCallback(lambda done: done.with_data(AllChanged(done.data, refused)))


ROWS = (
    # Rows about all assistants need only the right to list them: `_for_all_allowed` checks the
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
        _clear_all,
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
        lambda call: _enable_all(call, "start", enabled=True),
        "Start all assistants",
        "Affects all that you may control; the others are listed in `refused`.",
        operation_id="let_all_assistants_answer",
        result=AllChanged,
        action="start all",
        answer={"message": "2 assistants are awake.", "changed": 2, "refused": []},
    ),
    Row(
        Route("POST", "stop/", "silence-all", "list", TAG),
        lambda call: _enable_all(call, "stop", enabled=False),
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
