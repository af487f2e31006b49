"""Tools for the assistant's notebook of short notes, which is stored.

Notes from a private talk can only be read in talks with the same person.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.memory import journal, notebook
from evennia_ai.memory.consent import is_private
from evennia_ai.memory.notebook import LONGEST_NOTE, Note
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Character
from evennia_ai.tools.groups import NOTES
from evennia_ai.tools.registry import tool

MOST_NOTES = 50


def _make_room(notes: list[Note]) -> list[Note]:
    """The notes with room for one more.

    The oldest note of the person with the most notes is removed, so that nobody can push out notes
    of talks with others.
    """
    if len(notes) < MOST_NOTES:
        return notes
    counts = Counter(note["person"] for note in notes)
    most = max(counts, key=lambda person: counts[person])
    leaving = next(note for note in notes if note["person"] == most)
    return [note for note in notes if note is not leaving]


@tool(category="safe_chain", group=NOTES)
def write_note(
    character: Character, text: str, kind: Literal["", "fact", "pattern"] = "", *, turn: Turn
) -> str:
    """Write something into your notebook, to know it later.

    Args:
        text: one or two sentences, of at most 300 characters; nothing about yourself.
        kind: fact for what somebody likes or is, pattern for what works with them.
    """
    script = character.assistant_script
    words = journal.check(script, turn, text, LONGEST_NOTE)
    known = [note for note in notebook.notes_of(script, turn) if note["text"] == words]
    if known:
        return f"that is your note {known[0]['number']} already"
    notes = list(state.read(script, "notes"))
    # No number is used twice: the model may still know it as that of a note that was removed.
    number = 1 + max([state.read(script, "last_note"), *(each["number"] for each in notes)])
    note: Note = {
        "number": number,
        "text": words,
        "at": script.clock.seconds(),
        "person": turn.event.face,
        "is_private": is_private(turn),
        **({"kind": kind} if kind else {}),
    }
    state.write(script, notes=[*_make_room(notes), note], last_note=number)
    return f"noted as number {number}"


def _has_note(character: Character, turn: Turn) -> bool:
    return bool(notebook.notes_of(character.assistant_script, turn))


@tool(category="safe_chain", useful_when=_has_note, group=NOTES, only_reads=True)
def read_notes(character: Character, *, turn: Turn) -> str:
    """Read your notebook: all that you may use in this talk, the oldest first."""
    notes = notebook.notes_of(character.assistant_script, turn)
    if any(note["is_private"] for note in notes):
        turn.hold(person_audience(turn.event.face))
    return "\n".join(map(notebook.line, notes)) or "your notebook is empty"


@tool(category="safe_chain", is_idempotent=True, useful_when=_has_note, group=NOTES)
def forget_note(character: Character, number: int, *, turn: Turn) -> str:
    """Strike a note out of your notebook.

    Args:
        number: the number it has in the notebook.
    """
    script = character.assistant_script
    leaving = next((n for n in notebook.notes_of(script, turn) if n["number"] == number), None)
    if leaving is None:
        raise ToolError(f"there is no note {number}; read_notes shows what there is")
    remaining = [note for note in state.read(script, "notes") if note["number"] != number]
    state.write(script, notes=remaining)
    return f"note {number} is struck out"
