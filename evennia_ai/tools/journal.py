"""Tools for the journal: writing an entry, reading the newest ones, searching for words."""

from __future__ import annotations

from typing import Literal

from evennia_ai.core.memory import journal as core
from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory import journal
from evennia_ai.memory.seeking import seeker_of
from evennia_ai.runtime.assistant import Character
from evennia_ai.tools.groups import JOURNAL
from evennia_ai.tools.memory import check_count
from evennia_ai.tools.registry import tool

MOST_ENTRIES = 20
NOT_FOUND = "no entry that belongs here holds any of these words"


@tool(category="safe_chain", group=JOURNAL)
def add_journal_entry(
    character: Character,
    text: str,
    tags: list[str] | None = None,
    source: Literal["observation", "inference"] = "observation",
    *,
    turn: Turn,
) -> str:
    """Write into your journal what you saw of others or the world, or what follows from it.

    Args:
        text: one or two sentences, of at most 500 characters.
        tags: words to sort it by, such as promise, debt, secret, danger or quest.
        source: observation for what you saw, inference for what you conclude.
    """
    check_count(turn)
    memory = journal.write(
        character.assistant_script,
        turn,
        text,
        MemoryKind.JOURNAL,
        source_type=source,
        tags=tags or (),
    )
    return f"written down as [{memory.key[: core.SHORT_KEY]}]"


@tool(category="safe_chain", group=JOURNAL, only_reads=True)
def read_journal(character: Character, limit: int = 10, *, turn: Turn) -> str:
    """Read the newest entries of your journal that you may use in this talk.

    Args:
        limit: how many, 1 to 20.
    """
    script = character.assistant_script
    entries = journal.recent(script, seeker_of(script, turn), _clamped(limit))
    return journal.told(script, turn, entries) or "your journal holds nothing that belongs here"


@tool(category="safe_chain", group=JOURNAL, only_reads=True)
def search_journal(character: Character, words: str, limit: int = 10, *, turn: Turn) -> str:
    """Look for words in your journal.

    Args:
        words: some words that the entry holds.
        limit: how many entries, 1 to 20.
    """
    script = character.assistant_script
    entries = journal.search(script, seeker_of(script, turn), words, _clamped(limit))
    return journal.told(script, turn, entries) or NOT_FOUND


def _clamped(limit: int) -> int:
    return max(1, min(MOST_ENTRIES, limit))
