"""Edits that can be taken back and made again, for the pages on which things are edited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from evennia_ai.operations import Result, undoing
from evennia_ai.operations.edits import Edit
from evennia_ai.operations.rights import is_allowed, refusal
from evennia_ai.operations.setting_rows import EditedValue, shown
from evennia_ai.operations.times import as_shown
from evennia_ai.operations.undoing import MadeEdit
from evennia_ai.web.rows import ONE, Action, Shown, Visit
from evennia_ai.web.typed import whole_in

MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """An edit, as people read it."""

    number: int
    at: str
    by: str
    changes: tuple[str, ...]


def edits_of(visit: Visit) -> Shown:
    """The edits of the assistant, for a template that includes `edits.html`."""
    found = undoing.list_edits(visit.assistant).data
    return {
        "edits": [_shown(edit) for edit in found.edits[:MOST_SHOWN]],
        "undone": [_shown(edit) for edit in found.undone[:1]],
        "may_undo": is_allowed("undo", visit.account, visit.assistant),
    }


def _shown(edit: MadeEdit) -> ShownEdit:
    at = as_shown(datetime.fromisoformat(edit["at"]).timestamp())
    return ShownEdit(edit["number"], at, edit["by"], tuple(map(_in_words, edit["changes"])))


def _in_words(change: EditedValue) -> str:
    return f"{change['name']}: {shown(change['old'])} -> {shown(change['value'])}"


def actions(page: str) -> tuple[Action, ...]:
    """The buttons of a page that take an edit back and make it again: `<page>-undo` and -redo."""
    return (
        Action(f"{ONE}{page}/undo/", f"{page}-undo", page, "undo", _undo),
        Action(f"{ONE}{page}/redo/", f"{page}-redo", page, "undo", _redo),
    )


def _undo(visit: Visit) -> Result:
    try:
        number = whole_in(visit.form, "number")
    except ValueError:
        return Result.invalid(f"{visit.form['number'][:40]!r} is no number of an edit.")
    found = undoing.find_undo(visit.assistant, number)
    return _edited(visit, found, undoing.undo)


def _redo(visit: Visit) -> Result:
    return _edited(visit, undoing.find_redo(visit.assistant), undoing.redo)


def _edited(visit: Visit, found: Edit | Result, change: Callable[..., Result]) -> Result:
    """Change an edit back or again, where the visitor has what it needed."""
    if isinstance(found, Result):
        return found
    for act in undoing.acts_of(found):
        refused = refusal(act, visit.account, visit.assistant)
        if refused is not None:
            return refused
    return change(visit.assistant, found, by=visit.by, person=visit.account)
