"""Journal entries as search texts: who said what, and whether it tells anything."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile

from evennia_ai.core.text.words import QUESTION_MARKS, SENTENCE_ENDS, WORD

# The beginning of an entry about speech; quoted words follow.
FRAME = re.compile(
    r"(?P<name>.{1,120}?) "
    r"(?P<how>whispered|paged|said(?: on the channel (?P<place>.{1,100}?))?|did|caused): "
    r'(?=")',
    re.DOTALL,
)
_ANSWERED = re.compile(r' .{1,80}? answered: (?=")', re.DOTALL)
_DECODER = json.JSONDecoder()
_SENTENCE = re.compile(rf"[^{SENTENCE_ENDS}]+[{SENTENCE_ENDS}]*")
_ASKING = ("who", "whom", "whose", "what", "where", "when", "why", "how", "which")
_CONTRACTED = ("who", "what", "where", "when", "why", "how")
# fmt: off
_VERBS = (
    "is", "are", "am", "was", "were", "do", "does", "did", "can", "could", "will", "would",
    "should", "shall", "may", "might", "has", "have", "had",
    "isn't", "aren't", "don't", "doesn't", "didn't",
)
# fmt: on
_VERB = f"(?:{'|'.join(_VERBS)})"
# Beginnings of sentences that ask without a question mark.
_UNMARKED_QUESTION = re.compile(
    rf"(?:(?:{'|'.join(_CONTRACTED)})(?:'s|s)\b"
    rf"|(?:{'|'.join(_ASKING)}) {_VERB}\b"
    rf"|(?:whose|what|how|which) (?!i\b)\w+ (?:\w+ )?{_VERB}\b"
    rf"|{_VERB} (?:i|you|he|she|it|we|they|the|this|that|these|those|there|an?|my|your|any)\b)"
)
# First words of these, as a cheap test before the pattern.
_FIRST_WORDS = {*_ASKING, *_VERBS, *(f"{word}{end}" for word in _CONTRACTED for end in ("s", "'s"))}
_OPENERS = frozenset(
    "and so or but hey hi hello well ok okay oh ah um wow please tell me".split()  # noqa: SIM905
)
# Without "me": "tell me" asks. `memory.recalling` includes it, to find people who talk about
# themselves.
_OF_ONESELF = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|my|mine|we|we're|we've|our|ours)\b", re.IGNORECASE
)
# "Will you keep it for me?" "I will." is worth as much as what anybody tells.
_PROMISES = re.compile(
    r"\b(?:i|we)(?:'ll| will| shall)\b|\b(?:promise|swear|my word)\b", re.IGNORECASE
)
# Characters. A longer question about oneself tells something: "did you know my cat is Misty?"
SHORT_QUESTION = 40
# Words. A sentence with no more of them is an interjection: "Wow, cool!"
INTERJECTION = 3


@dataclass(frozen=True, slots=True)
class Exchange:
    """A journal entry about speech, parsed.

    Attributes:
        answer: the answer, or "".
        name: the speaker, or "" if the entry is about something else.
    """

    name: str = ""
    words: str = ""
    answer: str = ""


@lru_cache(maxsize=1)  # both functions below ask for the same entry, one after the other
def exchange_of(entry: str) -> Exchange:
    """Parse the exchange in a journal entry; an empty one for any other text."""
    frame = FRAME.match(entry)
    quoted = _quoted(entry, frame)
    if frame is None or quoted is None:
        return Exchange()
    words, end = quoted
    answered = _quoted(entry, _ANSWERED.match(entry, end))
    return Exchange(frame["name"], words, answered[0] if answered else "")


def _quoted(text: str, frame: re.Match[str] | None) -> tuple[str, int] | None:
    """The quoted words after a match, and the position after them."""
    if frame is None:
        return None
    try:
        words, end = _DECODER.raw_decode(text, frame.end())
    except ValueError:  # not JSON, so the entry was not written by this package
        return None
    return (words, end) if isinstance(words, str) else None


def sought_text(entry: str) -> str:
    """The words by which an entry is found, without the frame that all entries share."""
    exchange = exchange_of(entry)
    if not exchange.words:
        return entry
    return f"{exchange.name}: {exchange.words} {exchange.answer}".rstrip()


def asks_only(entry: str) -> bool:
    """True for an entry in which somebody asked, and neither told nor was promised anything."""
    exchange = exchange_of(entry)
    words = exchange.words
    sentences = [part.strip() for part in _SENTENCE.findall(words) if WORD.search(part)]
    asking = [part for part in sentences if _asks(part)]
    if not asking or any(map(_tells_of_oneself, asking)):
        return False
    if _PROMISES.search(exchange.answer.replace("\u2019", "'")) is not None:
        return False
    return all(_is_interjection(part) for part in sentences if part not in asking)


def _asks(sentence: str) -> bool:
    # Stricter than `asked.is_question`: what counts as a question here is not remembered, while
    # there a demand that counts as one is only answered.
    if sentence.endswith(tuple(QUESTION_MARKS)):
        return True
    words = (match[0] for match in WORD.finditer(sentence.casefold()))
    first = next(dropwhile(_OPENERS.__contains__, words), "")
    return first in _FIRST_WORDS and _UNMARKED_QUESTION.match(" ".join((first, *words))) is not None


def _tells_of_oneself(question: str) -> bool:
    return len(question) > SHORT_QUESTION and _OF_ONESELF.search(question) is not None


def _is_interjection(sentence: str) -> bool:
    is_own = _OF_ONESELF.search(sentence) is not None
    return len(WORD.findall(sentence)) <= INTERJECTION and not is_own
