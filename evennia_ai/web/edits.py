"""Undo and redo of edits, for the pages on which an assistant is edited."""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.operations import Result
from evennia_ai.operations.audit import undoing
from evennia_ai.operations.audit.undoing import MadeEdit
from evennia_ai.operations.rights import is_allowed
from evennia_ai.web.forms import DiffPart, compared, time_shown, value_shown, whole_number_in
from evennia_ai.web.rows import ONE, Action, Shown, Visit

MOST_SHOWN, LONGEST_WORDS = 10, 60


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value before and after a change."""

    name: str
    old: str
    new: str

    @property
    def words(self) -> str:
        """Both values in one line."""
        old, new = (one_line(text, LONGEST_WORDS) for text in (self.old, self.new))
        return f"{self.name}: {old} -> {new}"

    @property
    def parts(self) -> list[DiffPart]:
        """The difference of both values, word by word."""
        # A property, so that the template compares them, in a web thread: the game need not wait.
        return compared(self.old, self.new)


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """An edit: the values that somebody changed at one time."""

    number: int
    at: str
    by: str
    changes: list[ValueChange]

    @property
    def title(self) -> str:
        """The heading of its changes."""
        return f"Edit {self.number}"


def change_of(name: str, old: object, new: object) -> ValueChange:
    """Make a change from values of any type."""
    return ValueChange(name, value_shown(old), value_shown(new))


def edits_of(visit: Visit, most: int | None = MOST_SHOWN) -> Shown:
    """The edits of the assistant, for a template that includes `edits.html`.

    Args:
        most: the number of newest edits to show; None for all that can be undone.
    """
    edits = undoing.list_edits(visit.assistant).data
    return {
        "edits": [_shown(edit) for edit in edits.edits[:most]],
        # Only the edit that was undone last can be redone.
        "undone": [_shown(edit) for edit in edits.undone[:1]],
        "may_undo": is_allowed("undo", visit.account, visit.assistant),
    }


def _shown(edit: MadeEdit) -> ShownEdit:
    changes = [change_of(each["name"], each["old"], each["value"]) for each in edit["changes"]]
    return ShownEdit(edit["number"], time_shown(edit["at"]), edit["by"], changes)


def actions(page: str) -> tuple[Action, ...]:
    """The undo and redo buttons of a page, named `<page>-undo` and `<page>-redo`."""
    return (
        Action(f"{ONE}{page}/undo/", f"{page}-undo", page, "undo", _undo),
        Action(f"{ONE}{page}/redo/", f"{page}-redo", page, "undo", _redo),
    )


def _undo(visit: Visit) -> Result:
    try:
        number = whole_number_in(visit.form, "number")
    except ValueError:
        return Result.invalid(f"{visit.form['number'][:40]!r} is not the number of an edit.")
    edit = undoing.find_undo(visit.assistant, number)
    return undoing.change_as(visit.account, visit.assistant, edit, undoing.undo)


def _redo(visit: Visit) -> Result:
    edit = undoing.find_redo(visit.assistant)
    return undoing.change_as(visit.account, visit.assistant, edit, undoing.redo)
