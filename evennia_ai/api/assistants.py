"""Assistants: making, looking at, changing and removing one, and letting it act or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from django.urls import reverse

from evennia_ai import operations
from evennia_ai.api import asked
from evennia_ai.api.base import NOT_YOURS, page_of
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import ONE, Call, Route, Row
from evennia_ai.operations import Result, assistants, control, lifecycle
from evennia_ai.operations.result import Problem, note
from evennia_ai.operations.rights import refusal

TAG, SAFETY = "Assistants", "Safety"
EDDA = {
    "key": "Edda",
    "desc": "A scribe with ink on her sleeves.",
    "persona": "Edda copies old charts and loves a good riddle.",
    "location": "The Scriptorium",
    "aliases": ["scribe"],
}
DESCRIBED = EDDA | {"enabled": True, "adopted": False, "created_at": "2026-01-31T12:00:00+00:00"}
WHOLE = {name: value for name, value in EDDA.items() if name != "key"}


T = TypeVar("T")
Change = Callable[[list[Any]], Result[control.ChangedAll]]


@dataclass(frozen=True, slots=True)
class AssistantPage:
    """Some of the assistants, by name."""

    assistants: list[lifecycle.Described]
    count: Annotated[int, note("How many there are in all.")]
    next: Annotated[int | None, note("The offset of what follows; null: nothing does.")]


@dataclass(frozen=True, slots=True)
class Made:
    """The response to a creation."""

    key: str


@dataclass(frozen=True, slots=True)
class Removed:
    """The response to a removal: the name, and the file of the audit log."""

    archive: Annotated[str | None, note("The name of the file its record was put into.")]


@dataclass(frozen=True, slots=True)
class AllStopped:
    """The number of assistants that were stopped."""

    stopped: int
    refused: Annotated[list[str], note("Those that you have no say over.")]


@dataclass(frozen=True, slots=True)
class AllChanged:
    """A count of those for which something changed."""

    changed: int
    refused: Annotated[list[str], note("Those that you have no say over.")]


# ---- one ---------------------------------------------------------------------------------------


def _with_room(call: Call) -> dict[str, Any] | Result:
    """The body as given, with the room itself in place of its name; or the error."""
    given = dict(call.body)
    if "location" not in given:
        return given
    found = assistants.find_room(call.account, given["location"])
    if found.ok:
        return given | {"location": found.data["room"]}
    if found.problem is Problem.FORBIDDEN:
        return found
    # The address is right; it is the body that names what is not there.
    errors = {"location": found.message}
    return Result(False, found.message, errors=errors)


def _create(call: Call) -> Result:
    given = _with_room(call)
    if isinstance(given, Result):
        return given
    key = given.pop("key")
    return made(call, operations.create_assistant(key, **given, by=call.by, maker=call.account))


def made(call: Call, result: Result) -> Result[Any]:
    """The answer to a request that made an assistant, with its address."""
    if not result.ok:
        return result
    key = str(result.data["script"].key)
    address = reverse("evennia_ai_api:assistant", kwargs={"key": key})
    call.headers["Location"] = quote(address, safe="/%")
    return result.holding(Made(key))


def _update(call: Call) -> Result:
    given = _with_room(call)
    if isinstance(given, Result):
        return given
    if "location" in given and refusal("move", call.account, call.script) is not None:
        raise problem(Problem.FORBIDDEN, NOT_YOURS)
    updated = lifecycle.update_assistant(call.script, **given, by=call.by, person=call.account)
    return updated.holding(Made(str(call.script.key)))


def _delete(call: Call) -> Result:
    name = str(call.script.key)
    gone = lifecycle.delete_assistant(call.script, by=call.by, reason="removed over the API")
    return ended(gone, f"{name} is deleted.")


def ended(gone: Result[lifecycle.Archived], message: str) -> Result[Any]:
    """The answer to a request that ended an assistant: the name of the file with its record."""
    if not gone.ok:
        return gone
    # Where the game's files are is nobody's business.
    return Result(True, message, Removed(PurePath(gone.data.archive).name or None))


def _clone(call: Call) -> Result:
    if refusal("create", call.account) is not None:
        raise problem(Problem.FORBIDDEN, NOT_YOURS)
    key = call.body["key"]
    return made(call, lifecycle.clone_assistant(call.script, key, by=call.by, person=call.account))


def _stop(call: Call) -> Result:
    reason = call.body.get("reason", f"stopped by {call.by}")
    return control.stop(call.script, reason, by=call.by)


# ---- all ---------------------------------------------------------------------------------------


def _list(call: Call) -> AssistantPage:
    scripts = operations.list_assistants()
    page, rest = page_of(call.query, scripts)
    described = [lifecycle.describe(script).data for script in page]
    return AssistantPage(described, len(scripts), rest)


def _to_all(
    call: Call, act: str, do: Callable[[list[Any]], Result[T]]
) -> tuple[Result[T], list[str]]:
    """Do an act to all assistants that somebody has a say over; the names of the others."""
    mine, refused = [], []
    for script in operations.list_assistants():
        if refusal(act, call.account, script) is not None:
            refused.append(str(script.key))
        else:
            mine.append(script)
    if refused and not mine:
        raise problem(Problem.FORBIDDEN, NOT_YOURS)
    return do(mine), refused


def _stop_all(call: Call) -> Result[AllStopped]:
    reason = call.body.get("reason", f"all were stopped by {call.by}")
    stop = partial(control.stop_all, reason=reason, by=call.by)
    done, refused = _to_all(call, "emergency stop", stop)
    return done.holding(AllStopped(done.data.stopped, refused))


def _change_all(call: Call, act: str, change: Change) -> Result[AllChanged]:
    done, refused = _to_all(call, act, change)
    return done.holding(AllChanged(done.data.changed, refused))


def _clear_all(call: Call) -> Result[AllChanged]:
    return _change_all(call, "emergency clear", partial(control.clear_all, by=call.by))


def _start_all(call: Call) -> Result[AllChanged]:
    start = partial(control.set_all_enabled, enabled=True, by=call.by)
    return _change_all(call, "start", start)


def _silence_all(call: Call) -> Result[AllChanged]:
    silence = partial(control.set_all_enabled, enabled=False, by=call.by)
    return _change_all(call, "stop", silence)


ROWS = (
    Row(
        Route("POST", "emergency/stop/", "stop-all", "list", SAFETY),
        _stop_all,
        "Stop all assistants at once",
        "All that you have a say over; the others are named.",
        result=AllStopped,
        body=asked.Reason,
        action="emergency stop all",
        example={"reason": "The model says strange things."},
        answer={"message": "2 assistants are stopped.", "stopped": 2, "refused": []},
    ),
    Row(
        Route("POST", "emergency/clear/", "clear-all", "list", SAFETY),
        _clear_all,
        "Let all stopped assistants go on",
        "All that you have a say over: stops, lockouts and waits; the others are named.",
        result=AllChanged,
        action="emergency clear all",
        answer={"message": "2 assistants are cleared.", "changed": 2, "refused": []},
    ),
    Row(
        Route("POST", "start/", "start-all", "list", TAG),
        _start_all,
        "Let all assistants answer",
        "All that you have a say over; the others are named.",
        result=AllChanged,
        action="start all",
        answer={"message": "2 assistants are awake.", "changed": 2, "refused": []},
    ),
    Row(
        Route("POST", "stop/", "silence-all", "list", TAG),
        _silence_all,
        "Keep all assistants silent",
        "All that you have a say over, until they are started again; the others are named.",
        result=AllChanged,
        action="stop all",
        answer={"message": "2 assistants are silent.", "changed": 2, "refused": []},
    ),
    Row(
        Route("GET", "assistants/", "assistants", "list", TAG),
        _list,
        "List the assistants",
        "In order of their names.",
        result=AssistantPage,
        query=asked.Page,
        answer={"assistants": [DESCRIBED], "count": 1, "next": None},
    ),
    Row(
        Route("POST", "assistants/", "assistants", "create", TAG),
        _create,
        "Make an assistant",
        "A character in a room, and the script that moves it. It is awake at once.",
        result=Made,
        body=asked.NewAssistant,
        status=201,
        example=EDDA,
        answer={"message": "Edda is awake in The Scriptorium.", "key": "Edda"},
    ),
    Row(
        Route("GET", ONE, "assistant", "status", TAG),
        lambda call: lifecycle.describe(call.script),
        "Look at an assistant",
        "What it is called, how it looks, and who it is.",
        result=lifecycle.Described,
        answer=DESCRIBED,
    ),
    Row(
        Route("PUT", ONE, "assistant", "update", TAG),
        _update,
        "Describe an assistant anew",
        "Everything that can be said of it; its name stays.",
        result=Made,
        body=asked.WholeAssistant,
        example=WHOLE,
        answer={"message": "Edda is changed.", "key": "Edda"},
    ),
    Row(
        Route("PATCH", ONE, "assistant", "update", TAG),
        _update,
        "Change an assistant",
        "What is not named stays.",
        result=Made,
        body=asked.ChangedAssistant,
        example={"persona": "Edda has grown fond of ships."},
        answer={"message": "Edda is changed.", "key": "Edda"},
    ),
    Row(
        Route("DELETE", ONE, "assistant", "delete", TAG),
        _delete,
        "Remove an assistant",
        "What is under way is dropped, and its record is put into a file of the game's.",
        result=Removed,
        answer={"message": "Edda is deleted.", "archive": "Edda-20260131.json"},
    ),
    Row(
        Route("POST", f"{ONE}clone/", "clone", "clone", TAG),
        _clone,
        "Copy an assistant",
        "With its settings, prompts and looks; without its talk, notes and goals.",
        result=Made,
        body=asked.Copy,
        status=201,
        example={"key": "Edda the Younger"},
        answer={"message": "Edda the Younger is awake.", "key": "Edda the Younger"},
    ),
    Row(
        Route("GET", f"{ONE}status/", "status", "status", TAG),
        lambda call: control.status(call.script),
        "See what an assistant is doing",
        "Whether it may act, with which model, and what it has used.",
        result=control.Status,
        says="text",
    ),
    Row(
        Route("POST", f"{ONE}start/", "start", "start", TAG),
        lambda call: control.set_enabled(call.script, True, by=call.by),
        "Let an assistant answer",
        "It goes on with what waits.",
        answer={"message": "Edda is awake."},
    ),
    Row(
        Route("POST", f"{ONE}stop/", "stop", "stop", TAG),
        lambda call: control.set_enabled(call.script, False, by=call.by),
        "Keep an assistant silent",
        "Until it is started again; what waits goes on waiting.",
        answer={"message": "Edda is silent until: assistant start Edda"},
    ),
    Row(
        Route("POST", f"{ONE}emergency/stop/", "emergency-stop", "emergency stop", SAFETY),
        _stop,
        "Stop an assistant at once",
        "Whatever is under way is dropped, and it stays stopped over restarts until cleared.",
        result=control.Stopped,
        body=asked.Reason,
        example={"reason": "It talks to itself."},
    ),
    Row(
        Route("POST", f"{ONE}emergency/clear/", "emergency-clear", "emergency clear", SAFETY),
        lambda call: control.clear(call.script, by=call.by),
        "Let a stopped assistant go on",
        "Clears an emergency stop or a lockout; nothing is refunded.",
        answer={"message": "Edda: Emergency stop cleared; the assistant goes on."},
    ),
)
