"""The edits that people made to an assistant, reconstructed from its audit log.

An edit is what one command, one request or one form changed: one setting, several that were set
together, or its look. Only the newest are read, and none that were archived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.audit import AuditEntry
from evennia_ai.operations.audit.log import current_log

MOST_READ = 200  # events of the audit log
SETTING, LOOK = "ConfigurationChanged", "look_changed"
UNDONE, REDONE = "edit_undone", "edit_redone"
# Acts of people that cannot be undone: the reason, and what can be done instead.
FINAL = {
    "EmergencyStopCleared": "a stop was cleared. To stop it: assistant emergency stop {name}",
    "EmergencyStopTriggered": "it was stopped. To let it go on: assistant emergency clear {name}",
    "HistoryReset": "its conversation was started anew; what was said is gone",
    "budget_raised": "a cap was raised, until its period ends. To end that now: assistant budget "
    "{name} raise <cap> 0",
    "memories_forgotten": "memories were forgotten and are gone",
    "person_forgotten": "someone was forgotten, and what was known is gone",
    "memory_corrected": "a memory was corrected, and its old text is not kept",
    "GoalCreated": "it was given a goal. To take that away: assistant goal {name} drop <number>",
    "GoalUpdated": "a goal was changed. See: assistant goal {name}",
}
_EVENTS = (SETTING, LOOK, UNDONE, REDONE, *FINAL)


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """One setting or one part of the look, before and after, as in the audit log."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Edit:
    """Changes that a person made at once.

    Attributes:
        number: its number for people: the version of the audit log's last event of the edit.
        by: name of the person.
        is_of_look: the changes are of the look, not of settings.
    """

    number: int
    at: datetime
    by: str
    changes: tuple[ChangedValue, ...]
    is_of_look: bool = False

    @property
    def names(self) -> list[str]:
        """Names of the changed settings or parts of the look."""
        return [change.name for change in self.changes]


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits of an assistant.

    Attributes:
        made: edits in force, the newest first.
        undone: edits that were undone and can be redone, the next to redo first.
        last_act: an act that is newer than all of `made` and cannot be undone.
    """

    made: tuple[Edit, ...] = ()
    undone: tuple[Edit, ...] = ()
    last_act: AuditEntry | None = None


def read_edits(script: AssistantScript) -> Edits:
    """Read the newest edits of people; changes by code or by the assistant itself are none."""
    entries = current_log().page(script, limit=MOST_READ, events=_EVENTS)
    marks, ours = _read_marks(entries)
    changes = [entry for entry in entries if entry.version not in ours and entry.details.get("by")]
    edits = {edit.number: edit for edit in _read(changes)}
    gone = [number for number, mark in marks.items() if mark.event == UNDONE]
    effective = [edit for edit in edits.values() if edit.number not in gone]
    # As in an editor: a new edit after an undo discards what could be redone.
    newest = max((edit.number for edit in effective if edit.number not in marks), default=0)
    undone = [edits[n] for n in gone if n in edits and marks[n].version > newest]
    acts = (entry for entry in changes if entry.event in FINAL)
    last_act = next((a for a in acts if not effective or a.version > effective[0].number), None)
    return Edits(tuple(effective), tuple(undone), last_act)


def _read_marks(entries: Iterable[AuditEntry]) -> tuple[dict[int, AuditEntry], set[int]]:
    # Returns the last mark (undone or redone) of each edit, the newest first; and the versions of
    # the changes that an undo or redo wrote itself, which are no edits.
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
        if entry.event == LOOK and (changes := _changes_of_look(entry)):
            yield Edit(entry.version, entry.at, _by(entry), changes, is_of_look=True)
        elif entry.event == SETTING:
            together = entry.details.get("together") or [entry.details.get("key")]
            first = entry.version - len(together) + 1
            group = [entry, *_below(entries[place:], first)]
            place += len(group) - 1
            if len(group) == len(together):  # else a part of the edit was archived
                changes = tuple(_change(each) for each in reversed(group))
                yield Edit(entry.version, entry.at, _by(entry), changes)


def _below(entries: Sequence[AuditEntry], first: int) -> Iterator[AuditEntry]:
    for entry in entries:
        if entry.version < first or entry.event != SETTING:
            return
        yield entry


def _by(entry: AuditEntry) -> str:
    return str(entry.details["by"])


def _change(entry: AuditEntry) -> ChangedValue:
    details = entry.details
    return ChangedValue(str(details["key"]), details.get("old_value"), details.get("new_value"))


def _changes_of_look(entry: AuditEntry) -> tuple[ChangedValue, ...]:
    # Events of older versions have only the names of what changed, and cannot be undone.
    before, after = entry.details.get("before"), entry.details.get("after")
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return ()
    return tuple(ChangedValue(name, old, after.get(name)) for name, old in before.items())
