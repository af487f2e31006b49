"""The journal as the model sees it: display, search, and trust in new entries."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Protocol, TypeVar

from evennia_ai.core.memory.forgetting import SENTENCES
from evennia_ai.core.memory.namesakes import Labels
from evennia_ai.core.memory.recollection import Recollection, is_rumour
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.core.text.characters import KATAKANA, UNSPACED
from evennia_ai.core.text.cleaning import cut_at_sentence, one_line, quote
from evennia_ai.core.text.dates import moment
from evennia_ai.core.turn.compaction import summary_text
from evennia_ai.core.turn.conversation import Message

NO_LABEL = ("", "")
# Digits of a key that the model is shown.
SHORT_KEY = 8
# Characters.
LONGEST_ENTRY = 500
LONGEST_SHOWN = 600
LONGEST_COMPARED = 100_000
LONGEST_TAG, MOST_TAGS = 30, 8
_FIRST_CHINESE = "\u3400"
_RUN = re.compile(f"[{UNSPACED}{KATAKANA}]+")
_WORD = re.compile(rf"[^\W_{UNSPACED}{KATAKANA}]{{3,}}")
# A line of a turn's opening message, as core.turn.conversation frames it.
_STRING = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
_NUMBER = r"\d+(?:\.\d+)?(?:e-?\d+)?"
_TOLD = re.compile(
    rf"(?P<mark>- )?(?P<frame>.*?): (?P<words>{_STRING})(?: \(trust (?P<after>{_NUMBER})\))?"
)
_TRUST = re.compile(rf"\(trust ({_NUMBER})\)(?:; do it, [a-z ]+)?\Z")
_SPEAKER = re.compile(
    r"(?P<name>.+?) (?:whisper(?:s|ed)|page[sd]|sa(?:ys|id)|d(?:oes|id)|cause[sd]|hands)\b"
)


def words_of(text: str) -> set[str]:
    """Words of three or more letters, in lower case.

    Of scripts that put no spaces between words, each two neighbouring letters, and Chinese
    characters that stand alone.
    """
    compared = text[:LONGEST_COMPARED]
    runs = _RUN.findall(compared)
    pairs = {a + b for run in runs for a, b in pairwise(run)}
    pairs.update(run for run in runs if len(run) == 1 and run >= _FIRST_CHINESE)
    return pairs | {word.casefold() for word in _WORD.findall(compared)}


@dataclass(frozen=True, slots=True)
class ToldLine:
    """Words that a turn told its model.

    Attributes:
        name: whose they are, "" if that is not said.
        is_overheard: they were overheard, rather than said to the assistant.
        trust: the trust in them, 0 to 1; None if that is not said.
    """

    name: str
    words: str
    is_overheard: bool = False
    trust: float | None = None


def told_lines(message: Message) -> list[ToldLine]:
    """The lines that an earlier turn's opening message told, or the sentences of a summary."""
    if summary := summary_text(message):
        return [ToldLine("", sentence) for sentence in SENTENCES.split(summary)]
    matches = map(_TOLD.fullmatch, str(message.get("content") or "").split("\n"))
    return [_told_line(line) for line in matches if line is not None]


def _told_line(match: re.Match[str]) -> ToldLine:
    speaker, before = _SPEAKER.match(match["frame"]), _TRUST.search(match["frame"])
    trust = match["after"] or (before[1] if before else None)
    return ToldLine(
        name=speaker["name"] if speaker else "",
        words=json.loads(match["words"]),
        is_overheard=match["mark"] is not None,
        trust=float(trust) if trust else None,
    )


def line(memory: Recollection, config: MemoryConfig, now: datetime, label: str = "") -> str:
    """A memory as a line for the model: short key, quoted text, date in the time zone of `now`.

    Args:
        label: whom it names, if that is not who has the name now; or "".
    """
    doubt = ", only heard" if is_rumour(memory, config) else ""
    if memory.superseded_at is not None:
        doubt += f", no longer so since {moment(memory.superseded_at, now):%Y-%m-%d}"
    if label:
        doubt += f", of {label.rstrip(',')}"
    text = quote(one_line(memory.text, LONGEST_SHOWN))
    return f"[{memory.key[:SHORT_KEY]}] {text} ({moment(memory.at, now):%Y-%m-%d}{doubt})"


def lines(
    memories: Sequence[Recollection], config: MemoryConfig, now: datetime, labels: Labels
) -> str:
    """Memories as lines for the model, with dates in the time zone of `now`.

    Args:
        labels: what to call those whom memories name otherwise, from `namesakes.named_others`.
    """
    return "\n".join(
        line(memory, config, now, labels.get(memory.key, NO_LABEL)[1]) for memory in memories
    )


class Written(Protocol):
    """A text that was written down at a time."""

    @property
    def text(self) -> str:
        """The text itself."""

    @property
    def at(self) -> float:
        """The time of writing, in seconds since 1970."""


Entry = TypeVar("Entry", bound=Written)


def ranked(memories: Iterable[Entry], wanted: Collection[str]) -> list[Entry]:
    """The memories that contain any of the words: best matches first, then the newest."""
    scores = [
        (sum(word in memory.text.casefold() for word in wanted), memory) for memory in memories
    ]
    matching = [(score, memory) for score, memory in scores if score]
    matching.sort(key=lambda item: (-item[0], -item[1].at))
    return [memory for _, memory in matching]


def tags_of(given: Iterable[str]) -> tuple[str, ...]:
    """Tags as stored: in lower case, without duplicates, at most eight."""
    tags = (one_line(tag, LONGEST_TAG).casefold() for tag in given)
    return tuple(dict.fromkeys(tag for tag in tags if tag))[:MOST_TAGS]


def believed(
    text: str,
    heard: Sequence[tuple[str, float]],
    most: float,
    earlier: Iterable[tuple[str, float]] = (),
) -> float:
    """The trust in a note that the assistant writes during a turn.

    It is no higher than the trust in its likely source: the heard text that shares the most words
    with it, or the least trusted of several.

    Args:
        heard: texts with the trust in each; if none shares a word, the first counts.
        most: upper limit, and the trust if nothing was heard.
        earlier: texts of earlier turns, which count where they share half of its words and more
            than any of `heard` does.
    """
    words = words_of(text)
    # Negated, so that max() picks the least trusted among equal word counts.
    now, before = (
        max(((len(words & words_of(body)), -trust) for body, trust in spoken), default=(0, 0.0))
        for spoken in (heard, earlier)
    )
    count, doubt = before if before[0] > now[0] and 2 * before[0] >= len(words) else now
    if count:
        return min(most, -doubt)
    return min(most, heard[0][1]) if heard else most


def shared(words: Collection[str], texts: Iterable[str]) -> int:
    """The number of these words in the text that has the most of them."""
    return max((len(words_of(text).intersection(words)) for text in texts), default=0)


def cut_entry(text: str, limit: int) -> str:
    """A quoted string of at most `limit` characters, quotation marks included."""
    words = one_line(text, limit)
    # Escapes make the quoted text longer, so its own length is what counts.
    while len(entry := quote(words)) > limit:
        words = cut_at_sentence(words, len(words) - (len(entry) - limit))
    return entry
