"""Entries of the journal as something to be found: who said what, and whether it tells anything."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile

from evennia_ai.core.text.words import WORD

# How an entry of a talk begins; behind it the words stand in quotes.
FRAME = re.compile(
    r"(?P<name>.{1,120}?) "
    r"(?P<how>whispered|paged|said(?: on the channel (?P<place>.{1,100}?))?|did|caused): "
    r'(?=")',
    re.DOTALL,
)
_ANSWERED = re.compile(r' .{1,80}? answered: (?=")', re.DOTALL)
_DECODER = json.JSONDecoder()
_SENTENCE = re.compile(r"[^.!?…\uff1f\u3002\uff01]+[.!?…\uff1f\u3002\uff01]*")
_ASKING = ("who", "whom", "whose", "what", "where", "when", "why", "how", "which")
_CALLED = ("who", "what", "where", "when", "why", "how")
# fmt: off
_VERBS = (
    "is", "are", "am", "was", "were", "do", "does", "did", "can", "could", "will", "would",
    "should", "shall", "may", "might", "has", "have", "had",
    "isn't", "aren't", "don't", "doesn't", "didn't",
)
# fmt: on
_VERB = f"(?:{'|'.join(_VERBS)})"
# What asks without a question mark, at the beginning of a sentence.
_BARE = re.compile(
    rf"(?:(?:{'|'.join(_CALLED)})(?:'s|s)\b"
    rf"|(?:{'|'.join(_ASKING)}) {_VERB}\b"
    rf"|(?:whose|what|how|which) (?!i\b)\w+ (?:\w+ )?{_VERB}\b"
    rf"|{_VERB} (?:i|you|he|she|it|we|they|the|this|that|these|those|there|an?|my|your|any)\b)"
)
# The first words of all that.
_FIRST = {*_ASKING, *_VERBS, *(f"{word}{end}" for word in _CALLED for end in ("s", "'s"))}
_OPENERS = frozenset(
    "and so or but hey hi hello well ok okay oh ah um wow please tell me".split()  # noqa: SIM905
)
# Not "me": "tell me" asks. `memory.recalling` has it, which looks for whoever speaks of themselves.
_OF_ONESELF = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|my|mine|we|we're|we've|our|ours)\b", re.IGNORECASE
)
# A longer question of one's own things tells something of them: "did you know my cat is Misty?"
SHORT_QUESTION = 40
# Of a sentence that asks nothing, so many words are no more than an interjection: "Wow, cool!"
INTERJECTION = 3


@dataclass(frozen=True, slots=True)
class Exchange:
    """An entry of a talk, taken apart.

    Attributes:
        name: who spoke, "" where the entry tells of no talk.
        words: what was said.
        answer: what was answered, "" for nothing.
    """

    name: str = ""
    words: str = ""
    answer: str = ""


@lru_cache(maxsize=1)  # an entry that is looked at is asked for twice
def exchange_of(entry: str) -> Exchange:
    """The exchange that an entry of the journal tells; an empty one of any other text."""
    frame = FRAME.match(entry)
    said = _quoted(entry, frame)
    if frame is None or said is None:
        return Exchange()
    words, end = said
    answered = _quoted(entry, _ANSWERED.match(entry, end))
    return Exchange(frame["name"], words, answered[0] if answered else "")


def _quoted(text: str, frame: re.Match[str] | None) -> tuple[str, int] | None:
    """The quoted words behind a frame, and where they end."""
    if frame is None:
        return None
    try:
        words, end = _DECODER.raw_decode(text, frame.end())
    except ValueError:  # an entry of other making
        return None
    return (words, end) if isinstance(words, str) else None


def sought_text(entry: str) -> str:
    """The words by which an entry is found: without what stands in every entry."""
    exchange = exchange_of(entry)
    if not exchange.words:
        return entry
    return f"{exchange.name}: {exchange.words} {exchange.answer}".rstrip()


def asks_only(entry: str) -> bool:
    """True for an entry in which somebody asked and told nothing of their own."""
    words = exchange_of(entry).words
    sentences = [part.strip() for part in _SENTENCE.findall(words) if WORD.search(part)]
    asking = [part for part in sentences if _asks(part)]
    if not asking or any(map(_tells, asking)):
        return False
    return all(_is_short(part) for part in sentences if part not in asking)


def _asks(sentence: str) -> bool:
    # Stricter than `grounding.is_question`: what is taken for a question here is not remembered,
    # while there a demand that is taken for one is only answered.
    if sentence.endswith(("?", "\uff1f")):
        return True
    words = (found[0] for found in WORD.finditer(sentence.casefold()))
    first = next(dropwhile(_OPENERS.__contains__, words), "")
    return first in _FIRST and _BARE.match(" ".join((first, *words))) is not None


def _tells(question: str) -> bool:
    return len(question) > SHORT_QUESTION and _OF_ONESELF.search(question) is not None


def _is_short(sentence: str) -> bool:
    is_own = _OF_ONESELF.search(sentence) is not None
    return len(WORD.findall(sentence)) <= INTERJECTION and not is_own
