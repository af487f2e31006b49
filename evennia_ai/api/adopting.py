"""Giving a being of the game a mind, and taking it away again."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.api import asked
from evennia_ai.api.assistants import TAG, Made, Removed, ended, made
from evennia_ai.api.rows import ONE, Call, Route, Row
from evennia_ai.operations import Result


def _adopt(call: Call) -> Result:
    found = operations.find_npc(call.account, call.body["npc"])
    if not found.ok:  # the address is right; it is the body that names what is not there
        errors = {"npc": found.message}
        return Result(False, found.message, errors=errors)
    name = call.body.get("key", "")
    return made(call, operations.adopt(found.data, name, person=call.account, by=call.by))


def _release(call: Call) -> Result:
    name = str(call.script.key)
    gone = operations.release(call.script, by=call.by, reason="released over the API")
    return ended(gone, f"{name} is released.")


ROWS = (
    Row(
        Route("POST", "adopt/", "adopt", "adopt", TAG),
        _adopt,
        "Give a being of the game a mind",
        "It stays what it is; the account needs a say over it, by its lock `control` or `edit`.\n\n"
        "The name of an assistant that has lost its body lets that one go on in this being.",
        result=Made,
        body=asked.Adoption,
        status=201,
        example={"npc": "#12", "key": "Bram"},
        answer={"message": "Bram has a mind now.", "key": "Bram"},
    ),
    Row(
        Route("POST", f"{ONE}release/", "release", "release", TAG),
        _release,
        "Take the mind of an adopted being away",
        "It is as before; what it knew is lost, and its record is put into a file.",
        result=Removed,
        answer={"message": "Bram is released.", "archive": "Bram-20260131.json"},
    ),
)
