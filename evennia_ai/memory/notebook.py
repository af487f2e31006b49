"""The notebook: notes that a turn may know, and their text in a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from evennia_ai.core.text.cleaning import one_line, quote
from evennia_ai.core.turn.turn import Turn
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.audience import sole_recipient

LONGEST_NOTE = 300
MOST_TOLD = 5

Note = dict[str, Any]


def notes_of(script: Assistant, turn: Turn) -> list[Note]:
    """The notes that a turn may know, oldest first. Private ones only if nobody else listens."""
    notes = state.read(script, "notes")
    person = sole_recipient(script, turn.event) if notes else ""
    return [
        note
        for note in notes
        if not note["is_private"] or (note["person"] and note["person"] == person)
    ]


def line(note: Mapping[str, Any]) -> str:
    """A note as a line for the model."""
    kind = f"{note['kind']}, " if note.get("kind") else ""
    words = quote(one_line(note["text"], LONGEST_NOTE))
    return f"{note['number']}. {words} ({kind}{datetime.fromtimestamp(note['at'], UTC):%Y-%m-%d})"


def newest(script: Assistant, turn: Turn) -> list[Note]:
    """The newest five notes that a prompt may hold."""
    return notes_of(script, turn)[-MOST_TOLD:]


def prompt_text(notes: Sequence[Mapping[str, object]]) -> str:
    """The notebook's section of a prompt, or ""."""
    return "\n".join(["Your notebook:", *map(line, notes)]) if notes else ""
