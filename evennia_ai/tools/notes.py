"""The assistant's notebook: short notes of its own, kept over restarts.

What it notes in a private talk is read only in talks with the same person.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from evennia_ai import state
from evennia_ai.core.perception import PRIVATE
from evennia_ai.core.text import one_line, quote, strip_control
from evennia_ai.core.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.tools.registry import tool

MOST_NOTES = 50
LONGEST_NOTE = 300

Note = dict[str, Any]


def _is_private(turn: Turn) -> bool:
    """Whether the model was told something in private this turn."""
    told = (turn.event.source, *(item.source for item in turn.overheard))
    return not PRIVATE.isdisjoint(told)


def _may_read(note: Note, turn: Turn) -> bool:
    return not note["is_private"] or bool(note["person"] and note["person"] == turn.event.person)


def _kept(character: Any) -> list[Note]:
    return list(state.read(character.assistant_script, "notes"))


def _with_room(notes: list[Note]) -> list[Note]:
    """The notes with room for one more: the oldest of whoever caused the most of them leaves.

    So nobody can talk the assistant out of what it noted with others.
    """
    if len(notes) < MOST_NOTES:
        return notes
    counts = Counter(note["person"] for note in notes)
    most = max(counts, key=lambda person: counts[person])
    leaving = next(note for note in notes if note["person"] == most)
    return [note for note in notes if note is not leaving]


@tool(category="safe_chain")
def write_note(character: Any, text: str, *, turn: Turn) -> str:
    """Write something into your notebook, to know it later.

    Args:
        text: one or two sentences, of at most 300 characters.
    """
    words = " ".join(strip_control(text).split())
    if not words:
        raise ToolError("there is nothing to note")
    if len(words) > LONGEST_NOTE:
        raise ToolError(f"a note has at most {LONGEST_NOTE} characters, not {len(words)}")
    notes = _kept(character)
    known = next((note for note in notes if note["text"] == words and _may_read(note, turn)), None)
    if known is not None:
        return f"that is your note {known['number']} already"
    script, person, is_private = character.assistant_script, turn.event.person, _is_private(turn)
    note = {
        "number": max((note["number"] for note in notes), default=0) + 1,
        "text": words,
        "at": script.clock.seconds(),
        "person": person,
        "is_private": is_private,
    }
    state.write(script, notes=[*_with_room(notes), note])
    return f"noted as number {note['number']}"


@tool(category="safe_chain")
def read_notes(character: Any, *, turn: Turn) -> str:
    """Read your notebook: all that you may use in this talk, the oldest first."""
    lines = [
        f"{note['number']}. {quote(one_line(note['text'], LONGEST_NOTE))} "
        f"({datetime.fromtimestamp(note['at'], UTC):%Y-%m-%d})"
        for note in _kept(character)
        if _may_read(note, turn)
    ]
    return "\n".join(lines) or "your notebook is empty"


@tool(category="safe_chain", is_idempotent=True)
def forget_note(character: Any, number: int, *, turn: Turn) -> str:
    """Strike a note out of your notebook.

    Args:
        number: the number it has in the notebook.
    """
    notes = _kept(character)
    leaving = next((n for n in notes if n["number"] == number and _may_read(n, turn)), None)
    if leaving is None:
        raise ToolError(f"there is no note {number}; read_notes shows what there is")
    state.write(character.assistant_script, notes=[n for n in notes if n is not leaving])
    return f"note {number} is struck out"
