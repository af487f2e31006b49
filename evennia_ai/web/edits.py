"""Edits that can be taken back and made again, for the pages on which things are edited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.operations import Result
from evennia_ai.operations.audit import undoing
from evennia_ai.operations.audit.edits import Edit
from evennia_ai.operations.audit.undoing import MadeEdit
from evennia_ai.operations.rights import is_allowed, refusal
from evennia_ai.web.rows import ONE, Action, Shown, Visit
from evennia_ai.web.typed import DiffPart, compared, time_shown, value_shown, whole_in

MOST_SHOWN, LONGEST_WORDS = 10, 60


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value as it was and as it is."""

    name: str
    old: str
    new: str

    @property
    def words(self) -> str:
        """Both in a line."""
        old, new = (one_line(text, LONGEST_WORDS) for text in (self.old, self.new))
        return f"{self.name}: {old} -> {new}"

    @property
    def parts(self) -> list[DiffPart]:
        """Both as one text, word by word; compared when the page is written, in a web thread."""
        return compared(self.old, self.new)


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """Values that somebody changed at once."""

    number: int
    at: str
    by: str
    changes: list[ValueChange]

    @property
    def title(self) -> str:
        """A heading for its changes."""
        return f"Edit {self.number}"


def change_of(name: str, old: object, new: object) -> ValueChange:
    """A change of values of any kind."""
    return ValueChange(name, value_shown(old), value_shown(new))


def edits_of(visit: Visit, most: int | None = MOST_SHOWN) -> Shown:
    """The edits of the assistant, for a template that includes `edits.html`.

    Args:
        most: so many of the newest; None: all that can be taken back.
    """
    found = undoing.list_edits(visit.assistant).data
    return {
        "edits": [_shown(edit) for edit in found.edits[:most]],
        "undone": [_shown(edit) for edit in found.undone[:1]],
        "may_undo": is_allowed("undo", visit.account, visit.assistant),
    }


def _shown(edit: MadeEdit) -> ShownEdit:
    changes = [change_of(each["name"], each["old"], each["value"]) for each in edit["changes"]]
    return ShownEdit(edit["number"], time_shown(edit["at"]), edit["by"], changes)


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
        return Result.invalid(f"{visit.form['number'][:40]!r} is not the number of an edit.")
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
