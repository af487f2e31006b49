"""The last nights of an assistant: what each consolidation concluded, and from what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.audit import AuditEntry
from evennia_ai.audit.reading import AssistantApplication
from evennia_ai.memory_store import rows
from evennia_ai.operations.audit.log import current_log
from evennia_ai.operations.memory.rows import Remembered, rows_of
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import clock_of

MOST_NIGHTS, MOST_PIECES = 10, 100
BEGUN, ENDED = "fell_asleep", "night_completed"
MADE = ("memories_kept", "ReflectionRecorded")


class Made(NamedTuple):
    """A conclusion of a night, and the memories it rests on."""

    memory: Remembered
    sources: list[Remembered]


@dataclass(frozen=True, slots=True)
class Night:
    """A night whose consolidation was completed."""

    version: Annotated[int, note("Version of the audit log at the end of the night.")]
    began: Annotated[str, note("Time at which it fell asleep (ISO 8601), or empty.")]
    ended: Annotated[str, note("Time at which the work was done (ISO 8601).")]
    summary: str
    made: Annotated[list[Made], note("Facts and insights of that night that still exist.")]
    gone: Annotated[
        int, note("Number of facts and insights of that night that were deleted since.")
    ]


def list_nights(script: AssistantScript, *, look: PrivateView | None = None) -> Result[list[Night]]:
    """List the last completed nights of an assistant, the newest first."""
    look, record = look or PrivateView(), current_log()
    ends = record.page(script, limit=MOST_NIGHTS, events=(ENDED,))
    nights = [_night(script, record, end, look) for end in ends]
    look.note(script, "memories")
    lines = [f"{clock_of(night.ended)[:16]}: {night.summary}" for night in nights]
    none = f"{script.key} has not completed a night yet."
    return Result(True, "\n".join([*lines, *look.hint()]) or none, nights)


def _night(
    script: AssistantScript, record: AssistantApplication, end: AuditEntry, look: PrivateView
) -> Night:
    # What was made between the last falling asleep and the end belongs to the night.
    begins = record.page(script, before=end.version, limit=1, events=(BEGUN,))
    first = begins[0].version if begins else 0
    pieces = record.page(script, before=end.version, limit=MOST_PIECES, events=MADE)
    keys = _keys(piece for piece in pieces if piece.version > first)
    memories = _made(script, keys, look)
    return Night(
        end.version,
        begins[0].at.isoformat(timespec="seconds") if begins else "",
        end.at.isoformat(timespec="seconds"),
        str(end.details.get("summary", "")),
        memories,
        len(keys) - len(memories),
    )


def _keys(pieces: Iterable[AuditEntry]) -> list[str]:
    # Events of older versions have no keys.
    key_lists = (piece.details.get("keys") for piece in pieces)
    return list(
        dict.fromkeys(str(key) for keys in key_lists if isinstance(keys, list) for key in keys)
    )


def _made(script: AssistantScript, keys: Sequence[str], look: PrivateView) -> list[Made]:
    # Some may be forgotten since; `list_nights` counts those.
    there = list(rows.of(script.pk, key__in=keys).order_by("pk"))
    source_keys = {key for memory in there for key in memory.cites}
    sources = {row["key"]: row for row in rows_of(rows.of(script.pk, key__in=source_keys))}
    return [
        Made(row, look.rows(sources[key] for key in row["cites"] if key in sources))
        for row in look.rows(rows_of(there))
    ]
