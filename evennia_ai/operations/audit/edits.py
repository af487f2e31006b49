"""The edits that people made to an assistant, as its record tells of them.

An edit is what one line, one request or one form changed: one setting, several that were set
together, or its look. The newest are read, and none that the record has put away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.audit import AuditEntry
from evennia_ai.operations.audit.log import complete_record

MOST_READ = 200
SETTING, LOOK = "ConfigurationChanged", "look_changed"
UNDONE, REDONE = "edit_undone", "edit_redone"
# Acts of people that are no edits: why each cannot be taken back, and what can be done instead.
FINAL = {
    "EmergencyStopCleared": "a stop was cleared. To stop it: assistant emergency stop {name}",
    "EmergencyStopTriggered": "it was stopped. To let it go on: assistant emergency clear {name}",
    "HistoryReset": "its conversation was begun anew, and what was said is gone",
    "budget_raised": "a cap was raised, and what is spent is spent; the raise ends with its span",
    "memories_forgotten": "memories were forgotten, and are gone",
    "person_forgotten": "somebody was forgotten, and what was known is gone",
    "memory_corrected": "a memory was corrected, and its words before are not kept",
    "GoalCreated": "it was given a goal. To take that away: assistant goal {name} drop <number>",
    "GoalUpdated": "a goal was changed. See: assistant goal {name}",
}
_EVENTS = (SETTING, LOOK, UNDONE, REDONE, *FINAL)


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """One setting or one part of the look, as the record has it before and after."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Edit:
    """The changes that somebody made at once.

    Attributes:
        number: what people call it by: the version of the record with which it was whole.
        by: who made it.
        is_of_look: its changes are of the look, not of settings.
    """

    number: int
    at: datetime
    by: str
    changes: tuple[ChangedValue, ...]
    is_of_look: bool = False

    @property
    def names(self) -> list[str]:
        """The names of what it changed."""
        return [change.name for change in self.changes]


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits of an assistant.

    Attributes:
        made: those that hold, the newest first.
        undone: those that were taken back and can be made again, the next first.
        last_act: an act of somebody's that is newer than all of `made`, and is not an edit.
    """

    made: tuple[Edit, ...] = ()
    undone: tuple[Edit, ...] = ()
    last_act: AuditEntry | None = None


def read_edits(script: AssistantScript) -> Edits:
    """The newest edits of people; what code or the assistant itself changed is none."""
    entries = complete_record().page(script, limit=MOST_READ, events=_EVENTS)
    marks, ours = _read_marks(entries)
    left = [entry for entry in entries if entry.version not in ours and entry.details.get("by")]
    edits = {edit.number: edit for edit in _read(left)}
    made = [edit for edit in edits.values() if _event_of(marks, edit) != UNDONE]
    # Whoever edits anew after an undo has decided otherwise: what was undone is not made again.
    newest = max((edit.number for edit in made if edit.number not in marks), default=0)
    undone = [
        edits[number]
        for number, mark in marks.items()
        if mark.event == UNDONE and number in edits and mark.version > newest
    ]
    acts = (entry for entry in left if entry.event in FINAL)
    last_act = next((a for a in acts if not made or a.version > made[0].number), None)
    return Edits(tuple(made), tuple(undone), last_act)


def _event_of(marks: dict[int, AuditEntry], edit: Edit) -> str:
    mark = marks.get(edit.number)
    return mark.event if mark is not None else ""


def _read_marks(entries: Iterable[AuditEntry]) -> tuple[dict[int, AuditEntry], set[int]]:
    """The last mark of each edit, the newest first, and the versions that undoing wrote."""
    marks: dict[int, AuditEntry] = {}
    ours: set[int] = set()
    for entry in entries:
        if entry.event in (UNDONE, REDONE):
            marks.setdefault(int(entry.details.get("edit", 0)), entry)
            written = int(entry.details.get("writes", 0))
            ours.update(range(entry.version - written, entry.version + 1))
    return marks, ours


def _read(entries: Sequence[AuditEntry]) -> Iterator[Edit]:
    place = 0
    while place < len(entries):
        entry = entries[place]
        place += 1
        if entry.event == LOOK and (changes := _of_look(entry)):
            yield Edit(entry.version, entry.at, _by(entry), changes, is_of_look=True)
        elif entry.event == SETTING:
            together = entry.details.get("together") or [entry.details.get("key")]
            first = entry.version - len(together) + 1
            group = [entry, *_below(entries[place:], first)]
            place += len(group) - 1
            if len(group) == len(together):  # of others a part has been put away
                changes = tuple(_change(each) for each in reversed(group))
                yield Edit(entry.version, entry.at, _by(entry), changes)


def _below(entries: Sequence[AuditEntry], first: int) -> Iterator[AuditEntry]:
    """The entries of the same edit: all down to a version."""
    for entry in entries:
        if entry.version < first or entry.event != SETTING:
            return
        yield entry


def _by(entry: AuditEntry) -> str:
    return str(entry.details["by"])


def _change(entry: AuditEntry) -> ChangedValue:
    details = entry.details
    return ChangedValue(str(details["key"]), details.get("old_value"), details.get("new_value"))


def _of_look(entry: AuditEntry) -> tuple[ChangedValue, ...]:
    """The changes of a look; none in a record that has only their names, as older ones have."""
    before, after = entry.details.get("before"), entry.details.get("after")
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return ()
    return tuple(ChangedValue(name, old, after.get(name)) for name, old in before.items())
