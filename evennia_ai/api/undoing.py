"""Views of the edits that people made: which there are, taking one back, and making it again."""

from __future__ import annotations

from typing import Any

from evennia_ai.api import answers, asked
from evennia_ai.api.base import NOT_YOURS, ApiView, Call
from evennia_ai.api.endpoints import Endpoint
from evennia_ai.api.problems import problem
from evennia_ai.operations import Result, undoing
from evennia_ai.operations.edits import Edit
from evennia_ai.operations.result import Problem
from evennia_ai.operations.rights import refusal

TAG = "Settings"
CHANGE = {"name": "tick_rate", "old": 10, "value": 5}
MADE = {
    "number": 12,
    "at": "2026-01-31T12:00:00+00:00",
    "by": "Tom",
    "changes": [{"name": "tick_rate", "old": 5, "value": 10}],
}


def _allowed(call: Call, found: Edit | Result) -> Edit | Result:
    """The edit, if the caller has what it needed beside the right that the view asked for."""
    for act in undoing.acts_of(found) if isinstance(found, Edit) else ():
        if refusal(act, call.account, call.script) is not None:
            raise problem(Problem.FORBIDDEN, NOT_YOURS)
    return found


class Edits(ApiView):
    """The edits that people made to an assistant."""

    @Endpoint(
        "show configuration",
        "List the edits that can be taken back",
        tag=TAG,
        gives=answers.Edits,
        answer={"edits": [MADE], "undone": []},
    )
    def get(self, call: Call) -> Any:
        """The newest first, and those that were taken back and can be made again."""
        return undoing.list_edits(call.script).data


class Undo(ApiView):
    """Taking an edit back."""

    @Endpoint(
        "undo",
        "Take an edit back",
        tag=TAG,
        gives=answers.Undone,
        body=asked.EditNumber,
        example={"number": 12},
        answer={"message": "Edda: tick_rate: 10 -> 5", "number": 12, "changes": [CHANGE]},
    )
    def post(self, call: Call) -> Result:
        """The newest, or that of a number; what was changed again since is refused."""
        found = _allowed(call, undoing.find_undo(call.script, call.body.get("number")))
        if isinstance(found, Result):
            return found
        return undoing.undo(call.script, found, by=call.by, person=call.account)


class Redo(ApiView):
    """Making an edit again."""

    @Endpoint(
        "undo",
        "Make an edit again that was taken back",
        tag=TAG,
        gives=answers.Undone,
        answer={"message": "Edda: tick_rate: 5 -> 10", "number": 12, "changes": [CHANGE]},
    )
    def post(self, call: Call) -> Result:
        """The one that was taken back last, unless somebody edited something else since."""
        found = _allowed(call, undoing.find_redo(call.script))
        if isinstance(found, Result):
            return found
        return undoing.redo(call.script, found, by=call.by, person=call.account)
