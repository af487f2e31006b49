"""The edits that people made: which there are, taking one back, and making it again."""

from __future__ import annotations

from evennia_ai.api import asked
from evennia_ai.api.base import NOT_YOURS
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import ONE, Call, Route, Row
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
    """The edit, if the caller has what it needed beside the right that the row asks for."""
    for act in undoing.acts_of(found) if isinstance(found, Edit) else ():
        if refusal(act, call.account, call.script) is not None:
            raise problem(Problem.FORBIDDEN, NOT_YOURS)
    return found


def _undo(call: Call) -> Result:
    found = _allowed(call, undoing.find_undo(call.script, call.body.get("number")))
    if isinstance(found, Result):
        return found
    return undoing.undo(call.script, found, by=call.by, person=call.account)


def _redo(call: Call) -> Result:
    found = _allowed(call, undoing.find_redo(call.script))
    if isinstance(found, Result):
        return found
    return undoing.redo(call.script, found, by=call.by, person=call.account)


ROWS = (
    Row(
        Route("GET", f"{ONE}edits/", "edits", "show configuration", TAG),
        lambda call: undoing.list_edits(call.script),
        "List the edits that can be taken back",
        "The newest first, and those that were taken back and can be made again.",
        result=undoing.KnownEdits,
        answer={"edits": [MADE], "undone": []},
    ),
    Row(
        Route("POST", f"{ONE}undo/", "undo", "undo", TAG),
        _undo,
        "Take an edit back",
        "The newest, or that of a number; what was changed again since is refused.",
        result=undoing.Undone,
        body=asked.EditNumber,
        example={"number": 12},
        answer={"message": "Edda: tick_rate: 10 -> 5", "number": 12, "changes": [CHANGE]},
    ),
    Row(
        Route("POST", f"{ONE}redo/", "redo", "undo", TAG),
        _redo,
        "Make an edit again that was taken back",
        "The one that was taken back last, unless somebody edited something else since.",
        result=undoing.Undone,
        answer={"message": "Edda: tick_rate: 5 -> 10", "number": 12, "changes": [CHANGE]},
    ),
)
