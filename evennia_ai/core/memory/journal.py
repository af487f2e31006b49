"""The journal as the model reads it: how an entry is shown, found, and how far believed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from evennia_ai.core.memory.recollection import Recollection, is_rumour
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.core.text.cleaning import cut_at_sentence, one_line, quote

SHORT_KEY = 8
LONGEST_ENTRY = 500
LONGEST_SHOWN = 600
LONGEST_COMPARED = 100_000
LONGEST_TAG, MOST_TAGS = 30, 8
_WORD = re.compile(r"[^\W_]{3,}")


def words_of(text: str) -> set[str]:
    """Words of three letters and more, in small letters."""
    return {word.casefold() for word in _WORD.findall(text[:LONGEST_COMPARED])}


def line(memory: Recollection, config: MemoryConfig) -> str:
    """One memory as a line for the model: its short key, its words as data, its day."""
    when = datetime.fromtimestamp(memory.at, UTC)
    doubt = ", only heard" if is_rumour(memory, config) else ""
    if memory.superseded_at is not None:
        doubt += (
            f", no longer so since {datetime.fromtimestamp(memory.superseded_at, UTC):%Y-%m-%d}"
        )
    text = quote(one_line(memory.text, LONGEST_SHOWN))
    return f"[{memory.key[:SHORT_KEY]}] {text} ({when:%Y-%m-%d}{doubt})"


def lines(memories: Iterable[Recollection], config: MemoryConfig) -> str:
    """Several memories, a line each."""
    return "\n".join(line(memory, config) for memory in memories)


class Written(Protocol):
    """Something that was written down at a time."""

    @property
    def text(self) -> str:
        """Its words."""

    @property
    def at(self) -> float:
        """The moment, in seconds since 1970."""


Entry = TypeVar("Entry", bound=Written)


def ranked(memories: Iterable[Entry], wanted: Collection[str]) -> list[Entry]:
    """Those that hold one of the words, the most of them first, among equals the newest."""
    scores = [
        (sum(word in memory.text.casefold() for word in wanted), memory) for memory in memories
    ]
    found = [(score, memory) for score, memory in scores if score]
    found.sort(key=lambda item: (-item[0], -item[1].at))
    return [memory for _, memory in found]


def tags_of(given: Iterable[str]) -> tuple[str, ...]:
    """Tags as they are kept: in small letters, each once, eight at most."""
    shown = (one_line(tag, LONGEST_TAG).casefold() for tag in given)
    return tuple(dict.fromkeys(tag for tag in shown if tag))[:MOST_TAGS]


def believed(text: str, heard: Sequence[tuple[str, float]], most: float) -> float:
    """The trust in something that the assistant writes down in a turn.

    No further than what it was told: of all that it heard, whatever shares the most words with the
    text is where that came from; where several do, the least believed of them.

    Args:
        heard: each text and how far it is believed; where none shares a word, the first counts.
        most: how far it is believed at most, and where nothing was heard.
    """
    if not heard:
        return most
    words = words_of(text)
    count, doubt = max((len(words & words_of(body)), -trust) for body, trust in heard)
    return min(most, -doubt if count else heard[0][1])


def cut_entry(text: str, limit: int) -> str:
    """Words as a quoted string of at most `limit` characters, quotation marks included."""
    words = one_line(text, limit)
    # Quoting makes marks longer, so the length of what is quoted counts.
    while len(shown := quote(words)) > limit:
        words = cut_at_sentence(words, len(words) - (len(shown) - limit))
    return shown
