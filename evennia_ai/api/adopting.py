"""Views that give a being of the game a mind, and take it away again."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.api import answers, asked
from evennia_ai.api.assistants import TAG, ended_answer, made_answer
from evennia_ai.api.base import ApiView, Call
from evennia_ai.api.endpoints import Endpoint
from evennia_ai.operations import Result
from evennia_ai.operations.result import Problem


class Adopt(ApiView):
    """Giving a mind."""

    @Endpoint(
        "adopt",
        "Give a being of the game a mind",
        tag=TAG,
        gives=answers.Made,
        body=asked.Adoption,
        status=201,
        example={"npc": "#12", "key": "Bram"},
        answer={"message": "Bram has a mind now.", "key": "Bram"},
        paths=(),
    )
    def post(self, call: Call) -> Result:
        """It stays what it is; the account needs a say over it, by its lock `control` or `edit`.

        The name of an assistant that has lost its body lets that one go on in this being.
        """
        found = operations.find_npc(call.account, call.body["npc"])
        if not found.ok:  # the address is right; it is the body that names what is not there
            errors = {"npc": found.message}
            return Result(False, found.message, {"errors": errors}, Problem.INVALID)
        name = call.body.get("key", "")
        made = operations.adopt(found.data["npc"], name, person=call.account, by=call.by)
        return made_answer(call, made) if made.ok else made


class Release(ApiView):
    """Taking a mind away."""

    @Endpoint(
        "release",
        "Take the mind of an adopted being away",
        tag=TAG,
        gives=answers.Removed,
        answer={"message": "Bram is released.", "archive": "Bram-20260131.json"},
    )
    def post(self, call: Call) -> Result:
        """It is as before; what it knew is lost, and its record is put into a file."""
        name = str(call.script.key)
        gone = operations.release(call.script, by=call.by, reason="released over the API")
        return ended_answer(gone, f"{name} is released.")
