"""What is remembered, as people and programs are shown it: plain data, and lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from evennia_ai import audit
from evennia_ai.core.recollection import MemoryKind, is_private
from evennia_ai.core.text import one_line
from evennia_ai.inbound import find_being
from evennia_ai.models import Memory
from evennia_ai.operations.explaining import iso

LONGEST_TEXT = 1000
LONGEST_LINE = 300
LONGEST_NAME = 60
MOST_AT_ONCE = 100
# What a database takes for the number of a row.
MOST_DIGITS = 18
Row = dict[str, Any]


class Names:
    """Names of beings by their ids, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"": ""}

    def of(self, being_id: str) -> str:
        """A being's name, "" of one that is gone."""
        if being_id not in self._known:
            being = find_being(being_id)
            name = one_line(str(being.key), LONGEST_NAME) if being is not None else ""
            self._known[being_id] = name
        return self._known[being_id]


def number_of(key: str | int) -> int | None:
    """The number that a row is asked for by, None where it is asked for by its key."""
    text = str(key)
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None


def row_of(memory: Memory, names: Names) -> Row:
    """All that is told of one memory. Its "number" is never another's, also when it is gone."""
    return {
        "key": memory.key,
        "number": memory.pk,
        "kind": memory.kind,
        "text": memory.text,
        "audience": memory.audience,
        "person": memory.person,
        "person_name": names.of(memory.person),
        "place": memory.place,
        "trust": memory.trust,
        "importance": memory.importance,
        "importance_by": memory.importance_by,
        "source_type": memory.source_type,
        "at": iso(memory.at),
        "tags": list(memory.tags),
        "cites": list(memory.cites),
        "is_consolidated": memory.is_consolidated,
        "is_indexed": bool(memory.indexed_as) or memory.kind == MemoryKind.LORE,
    }


def row_of_own(memory: Memory) -> Row:
    """What whoever it is about is told of a memory."""
    return {
        "number": str(memory.pk),
        "kind": memory.kind,
        "text": memory.text,
        "at": iso(memory.at),
        "is_private": is_private(memory.audience),
    }


def rows_of(memories: Iterable[Memory]) -> list[Row]:
    """The same of several."""
    names = Names()
    return [row_of(memory, names) for memory in memories]


def audience_text(audience: str, place: str = "") -> str:
    """Who may know of it, in words."""
    kind, _, whose = audience.partition(":")
    if kind == "person":
        sort, _, number = whose.partition("-")
        name = Names().of(f"*#{number}" if sort == "account" else f"#{number}")
        return f"private to {name or 'somebody who is gone'}"
    if kind == "room":
        name = Names().of(f"#{whose.rpartition('-')[2]}")
        return f"said in {name or 'a room that is gone'}"
    if kind == "channel":
        return f"said on {place or 'a channel'}"
    return f"known to {place or 'a faction'}" if kind == "faction" else "open to all"


def line_of(row: Row) -> str:
    """One memory as it is listed for staff."""
    who = f" {row['person_name']}" if row["person_name"] else ""
    private = " (private)" if is_private(row["audience"]) else ""
    text = one_line(row["text"], LONGEST_LINE)
    return f"{row['number']:>6}  {row['at'][:10]}  {row['kind']}{who}{private}: {text}"


def cleaned(text: str) -> str:
    """What somebody typed, as it is remembered: one line."""
    return one_line(str(text), LONGEST_TEXT + 1)


def problem_of_text(text: str) -> str:
    """Why a cleaned text cannot be remembered, or ""."""
    if not text:
        return "there is nothing to remember"
    if len(text) > LONGEST_TEXT:
        return f"a memory has at most {LONGEST_TEXT} characters"
    return ""


def note_viewed(script: Any, rows: Sequence[Row], person: str = "") -> None:
    """Record whose memories somebody looked at, where they asked for all that is somebody's.

    Args:
        person: whose were asked for; "" for nobody's in particular.
    """
    owners = (row["person"] or person for row in rows if person)
    for owner, count in Counter(owners).items():
        audit.record("memory_viewed", script, person=owner, count=count)
