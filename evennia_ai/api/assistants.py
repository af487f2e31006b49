"""Endpoints that create, describe, change and delete assistants, or adopt and release beings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any

from evennia_ai import operations
from evennia_ai.api import requests
from evennia_ai.api.base import page_of, require, set_location
from evennia_ai.api.problems import raise_if_refused
from evennia_ai.api.rows import ONE, Call, Route, Row, Tag
from evennia_ai.operations import Result
from evennia_ai.operations.assistants import creation, lifecycle, looks
from evennia_ai.operations.result import ProblemKind, note

TAG = Tag("Assistants", "Creating, showing, changing and removing assistants.")

EDDA = {
    "key": "Edda",
    "desc": "A scribe with ink on her sleeves.",
    "persona": "Edda copies old charts and loves a good riddle.",
    "location": "The Scriptorium",
    "aliases": ["scribe"],
}

DESCRIBED = EDDA | {"enabled": True, "adopted": False, "created_at": "2026-01-31T12:00:00+00:00"}
WHOLE = {name: value for name, value in EDDA.items() if name != "key"}


@dataclass(frozen=True, slots=True)
class AssistantPage:
    """A page of the assistants, by name."""

    assistants: list[looks.Described]
    count: Annotated[int, note("Total number of entries.")]
    next: Annotated[int | None, note("Offset of the next page; null on the last page.")]


@dataclass(frozen=True, slots=True)
class MadeAssistant:
    """The response to a creation."""

    key: str


@dataclass(frozen=True, slots=True)
class RemovedAssistant:
    """The response to a removal: the name, and the file of the audit log."""

    archive: Annotated[str | None, note("Name of the file with its archived audit log.")]


# ---- all ---------------------------------------------------------------------------------------


def _list(call: Call) -> AssistantPage:
    scripts = operations.list_assistants()
    page, rest = page_of(call.query, scripts)
    described = [looks.describe(script).data for script in page]
    return AssistantPage(described, len(scripts), rest)


# ---- one ---------------------------------------------------------------------------------------


def with_room(call: Call) -> dict[str, Any]:
    """The body with the room in place of its name.

    Raises:
        ProblemError: there is no such room, or the caller may not use it.
    """
    body = dict(call.body)
    if "location" in body:
        result = creation.find_room(call.account, body["location"])
        if not result.ok and result.problem is not ProblemKind.FORBIDDEN:
            # An error of the body (400), not a 404: the assistant in the address exists.
            result = Result(False, result.message, errors={"location": result.message})
        raise_if_refused(result, has_input=True)
        body["location"] = result.data
    return body


def made(call: Call, result: Result) -> Result[Any]:
    """Answer a request that created an assistant, with its address in `Location`."""
    if not result.ok:
        return result
    key = str(result.data.script.key)
    set_location(call, "assistant", key=key)
    return result.with_data(MadeAssistant(key))


def _create(call: Call) -> Result:
    body = with_room(call)
    key = body.pop("key")
    return made(call, operations.create_assistant(key, **body, by=call.by, maker=call.account))


def _update(call: Call) -> Result:
    body = with_room(call)
    if "location" in body:
        require(call.account, "move", call.script)
    updated = looks.update_assistant(call.script, **body, by=call.by, person=call.account)
    return updated.with_data(MadeAssistant(str(call.script.key)))


def ended(gone: Result[str], message: str) -> Result[Any]:
    """Answer a request that removed an assistant, with the name of its archive file."""
    if not gone.ok:
        return gone
    # Without the folder: clients need not know the paths of the game's machine.
    return Result(True, message, RemovedAssistant(PurePath(gone.data).name or None))


def _delete(call: Call) -> Result:
    name = str(call.script.key)
    gone = lifecycle.delete_assistant(call.script, by=call.by, reason="removed over the API")
    return ended(gone, f"{name} is deleted.")


def _clone(call: Call) -> Result:
    require(call.account, "create")
    key = call.body["key"]
    return made(call, lifecycle.clone_assistant(call.script, key, by=call.by, person=call.account))


def _adopt(call: Call) -> Result:
    result = operations.find_npc(call.account, call.body["npc"])
    if not result.ok:  # an error of the body, not a 404
        errors = {"npc": result.message}
        return Result(False, result.message, errors=errors)
    name = call.body.get("key", "")
    return made(call, operations.adopt(result.data, name, person=call.account, by=call.by))


def _release(call: Call) -> Result:
    name = str(call.script.key)
    gone = operations.release(call.script, by=call.by, reason="released over the API")
    return ended(gone, f"{name} is released.")


ROWS = (
    Row(
        Route("GET", "assistants/", "assistants", "list", TAG),
        _list,
        "List the assistants",
        "Sorted by name.",
        result=AssistantPage,
        query=requests.PageQuery,
        answer={"assistants": [DESCRIBED], "count": 1, "next": None},
    ),
    Row(
        Route("POST", "assistants/", "assistants", "create", TAG),
        _create,
        "Make an assistant",
        "Creates a character in a room and the script that controls it. It is awake at once.",
        result=MadeAssistant,
        body=requests.NewAssistant,
        status=201,
        example=EDDA,
        answer={"message": "Edda is awake in The Scriptorium.", "key": "Edda"},
    ),
    Row(
        Route("GET", ONE, "assistant", "status", TAG),
        lambda call: looks.describe(call.script),
        "Look at an assistant",
        "Its name, description, persona and state.",
        result=looks.Described,
        answer=DESCRIBED,
    ),
    Row(
        Route("PUT", ONE, "assistant", "update", TAG),
        _update,
        "Replace the description of an assistant",
        "Replaces all fields of the description; the name stays.",
        operation_id="describe_an_assistant_anew",
        result=MadeAssistant,
        body=requests.WholeAssistant,
        example=WHOLE,
        answer={"message": "Edda is changed.", "key": "Edda"},
    ),
    Row(
        Route("PATCH", ONE, "assistant", "update", TAG),
        _update,
        "Change an assistant",
        "Fields that are left out keep their values.",
        result=MadeAssistant,
        body=requests.ChangedAssistant,
        example={"persona": "Edda has grown fond of ships."},
        answer={"message": "Edda is changed.", "key": "Edda"},
    ),
    Row(
        Route("DELETE", ONE, "assistant", "delete", TAG),
        _delete,
        "Remove an assistant",
        "Drops whatever is under way, and archives its audit log in a file of the game.",
        result=RemovedAssistant,
        answer={"message": "Edda is deleted.", "archive": "Edda-20260131.json"},
    ),
    Row(
        Route("POST", f"{ONE}clone/", "clone", "clone", TAG),
        _clone,
        "Copy an assistant",
        "Copies settings, prompts and appearance, but not the conversation, notes or goals.",
        result=MadeAssistant,
        body=requests.Copy,
        status=201,
        example={"key": "Edda the Younger"},
        answer={"message": "Edda the Younger is awake.", "key": "Edda the Younger"},
    ),
    Row(
        Route("POST", "adopt/", "adopt", "adopt", TAG),
        _adopt,
        "Adopt a character or object as an assistant",
        "The object stays what it is; the account needs its lock `control` or `edit`.\n\n"
        "With the name of an assistant that has lost its body, that assistant goes on in this "
        "object.",
        operation_id="give_a_being_of_the_game_a_mind",
        result=MadeAssistant,
        body=requests.Adoption,
        status=201,
        example={"npc": "#12", "key": "Bram"},
        answer={"message": "Bram has a mind now.", "key": "Bram"},
    ),
    Row(
        Route("POST", f"{ONE}release/", "release", "release", TAG),
        _release,
        "Release an adopted character or object",
        "It is what it was before. The assistant's memories are lost, and its audit log "
        "is archived in a file.",
        operation_id="take_the_mind_of_an_adopted_being_away",
        result=RemovedAssistant,
        answer={"message": "Bram is released.", "archive": "Bram-20260131.json"},
    ),
)
