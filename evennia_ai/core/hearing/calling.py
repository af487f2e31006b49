"""The name that a speech calls, and the choice among those who hear a line that calls nobody.

A mention is @name as a whole word, in any case and script. Names are called without a sign as well,
as people do: at the beginning or the end of a speech. A name stands alone or with a comma, a blank
or another mark beside it. Words that go with talk about somebody ("I told Edda", "Edda was here")
are English; in other languages every name at the beginning or the end is a call.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Annotated, NamedTuple

from pydantic import Field, TypeAdapter

from evennia_ai.core.settings.model import Count
from evennia_ai.core.text.characters import JOINERS, few_marks

ANY_MENTION = re.compile(r"@(?<![\w.@]@)\w")


# ---- mentions: @name ---------------------------------------------------------------------------


def folded(text: str) -> str:
    """Text for comparing in any case and script, with every mark and joiner held by underscores.

    A vowel sign or an accent that follows a letter is not a word character to `re`; without the
    underscores a name would match inside a longer word of such a script.
    """
    text = unicodedata.normalize("NFC", few_marks(text.casefold()))
    if text.isascii():
        return text
    return "".join(
        f"_{ch}_" if ch in JOINERS or unicodedata.category(ch).startswith("M") else ch
        for ch in text
    )


@lru_cache(maxsize=2048)
def folded_name(name: str) -> str:
    """A name for comparing with a text that is folded."""
    return folded(name.strip())


def one_of(names: tuple[str, ...]) -> str:
    """The names as alternatives of a pattern for folded text, the longest first; "" for none."""
    words = {re.escape(word) for name in names if (word := folded_name(name))}
    # A pattern takes the first that fits, and would else stop at Ada in Ada Smith.
    return "|".join(sorted(words, key=len, reverse=True))


@lru_cache(maxsize=2048)
def _mention_pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    words = one_of(names)
    return re.compile(rf"@(?<![\w.@]@)(?:{words})(?!@|[-.]?\w)") if words else None


def is_addressed(body: str, names: tuple[str, ...]) -> bool:
    """True where `body` holds @name as a whole word, in any case and script.

    Part of a longer word, of an e-mail address or of a host name (`@ada.org`) does not count.
    """
    # Most lines have none, and to fold a line costs more than to look.
    if "@" not in body:
        return False
    pattern = _mention_pattern(names)
    return pattern is not None and pattern.search(folded(body)) is not None


def begins_with_address(line: str, names: tuple[str, ...]) -> bool:
    """True where the first word of a line is @name, as a whole word, in any case and script."""
    pattern = _mention_pattern(names)
    return pattern is not None and pattern.match(folded(line)) is not None


def without_address(body: str, names: tuple[str, ...]) -> str:
    """`body` without the @name it begins with, if something follows that."""
    for name in sorted(filter(None, map(str.strip, names)), key=len, reverse=True):
        head, rest = body[: len(name) + 1], body[len(name) + 1 :]
        words = rest.lstrip(" \t,:;")
        is_whole = not rest or words != rest
        if is_whole and head.casefold() == f"@{name.casefold()}":
            return words or body
    return body


# ---- calls: a name without a sign --------------------------------------------------------------


class NameCall(IntEnum):
    """The plainness with which a speech calls a name; the higher goes before the lower."""

    NONE = 0
    LAST = 1
    FIRST = 2


# What is said before a name without leaving its place at the beginning: "good evening, Edda".
_OPENING = (
    *("thank you", "excuse me", "pardon me", "forgive me", "see you", "very much", "and you"),
    *("hello", "hi", "hey", "hail", "greetings", "good", "morning", "day", "evening", "night"),
    *("afternoon", "welcome", "bye", "goodbye", "farewell", "thanks", "many", "please", "pardon"),
    *("sorry", "yes", "no", "aye", "ok", "okay", "well", "oh", "ah", "so", "now", "then", "but"),
    *("and", "listen", "there", "again", "dear", "old", "sir", "lady", "lord", "madam", "master"),
    *("mistress", "miss", "mr", "mrs"),
)
# After a name and a blank: somebody is told of, not called.
_TELLING = frozenset(
    (
        *("is", "was", "has", "had", "says", "said", "told", "asked", "went", "came", "gave"),
        *("took", "looked", "and", "or", "of", "with", "who"),
    )
)
# Before a name at the end, with a blank between.
_OBJECT = frozenset(
    (
        *("to", "of", "about", "from", "for", "with", "by", "at", "and", "or", "than", "like"),
        *("near", "behind", "beside", "the", "a", "an", "this", "that", "my", "your", "his"),
        *("her", "our", "their", "is", "was", "are", "were", "saw", "met", "ask", "asked"),
        *("tell", "told", "call", "called", "named", "find", "found", "thank"),
    )
)
_AFTER = r"(?![\w@]|[-.'\u2019]\w)"
_WORD = re.compile(r"\w+")
_OPEN_WORDS = rf"(?:(?:{'|'.join(map(re.escape, _OPENING))})\W{{1,3}}){{0,5}}"
_CALLING_MARKS = frozenset(",!?:;")


class _NamePatterns(NamedTuple):
    anywhere: re.Pattern[str]
    first: re.Pattern[str]
    last: re.Pattern[str]


@lru_cache(maxsize=2048)
def _patterns(names: tuple[str, ...]) -> _NamePatterns | None:
    words = one_of(names)
    if not words:
        return None
    name = f"(?:{words}){_AFTER}"
    return _NamePatterns(
        re.compile(rf"(?<![\w@])(?:{words})(?![\w@]|[-.]\w)"),
        re.compile(rf"(?:\A\W{{0,8}}|[.!?…;]\s{{1,3}}){_OPEN_WORDS}(?<![\w@])({name})"),
        re.compile(rf"(?<![\w@.-]){name}\W*+\Z"),
    )


def is_named(body: str, names: tuple[str, ...]) -> bool:
    """True where one of these names is in a text as a whole word, without a sign."""
    patterns = _patterns(names)
    return patterns is not None and patterns.anywhere.search(folded(body)) is not None


@lru_cache(maxsize=4)
def newest_folded(body: str) -> str:
    """A speech for comparing, folded once for all who hear it."""
    return folded(body)


def call_of(body: str, names: tuple[str, ...]) -> NameCall:
    """The plainness with which a speech calls the bearer of these names, in any case and script."""
    text = newest_folded(body)
    patterns = _patterns(names)
    # Most lines name nobody who listens; only the others are looked through again.
    if patterns is None or patterns.anywhere.search(text) is None:
        return NameCall.NONE
    if any(_is_opening(text, found) for found in patterns.first.finditer(text)):
        return NameCall.FIRST
    last = patterns.last.search(text)
    return (
        NameCall.LAST if last is not None and _is_closing(text[: last.start()]) else NameCall.NONE
    )


def _is_opening(text: str, found: re.Match[str]) -> bool:
    """True where a name at the beginning of a sentence is called, and nothing is told of it."""
    rest = text[found.end() : found.end() + 40].lstrip()
    if not rest or rest[0] in _CALLING_MARKS:
        return True
    told = _WORD.match(rest)
    return found.start() == 0 and (told is None or told[0] not in _TELLING)


def _is_closing(before: str) -> bool:
    """True where the words before a name at the end leave the name to be called."""
    words = before[-40:].rstrip()
    said = _WORD.findall(words)
    is_apart = bool(words) and not words[-1].isalnum() and words[-1] != "_"
    return is_apart or not said or said[-1] not in _OBJECT


def is_for_another(
    body: str, names: tuple[str, ...], others: Iterable[str] = (), *, is_pose: bool = False
) -> bool:
    """True where `body` is aimed at somebody else than the one with these names.

    It is when it holds an @mention of another and none of these names, or when it calls one of
    the `others` ("Tom, come here", "thank you Tom") more plainly than the one with these. A pose
    is when it has the name of another in it ("waves at Tom"), and none of these.
    """
    if is_pose:
        others = tuple(others)
        if not is_named(body, names) and any(is_named(body, (name,)) for name in others):
            return True
    mine = call_of(body, names)
    if mine is NameCall.FIRST:
        return False
    is_meant = is_addressed(body, names)
    if not is_meant and ANY_MENTION.search(body):
        return True
    mine = NameCall.LAST if is_meant else mine
    text = folded(body)
    called = (call_of(body, (name,)) for name in others if folded_name(name) in text)
    return any(call > mine for call in called)


# So long after it last spoke with somebody an assistant comes first with their next line.
TALK_SECONDS = 300.0
# The most assistants that answer such a line.
MOST_ANSWERS: TypeAdapter[int] = TypeAdapter(
    Annotated[Count, Field(json_schema_extra={"note": "0 for all that hear a line"})]
)


@dataclass(frozen=True, slots=True)
class Offer:
    """An assistant that would answer a line.

    Attributes:
        is_talking: the line goes on with a talk that it has with the speaker there.
        ago_seconds: since its last turn for the speaker; infinite: it never had one.
        chosen: the number of the last line that it was chosen for; the lower, the longer ago.
    """

    is_talking: bool
    ago_seconds: float
    chosen: int

    @property
    def rank(self) -> tuple[bool, float, int]:
        """Lowest first: who is in a talk with the speaker, who spoke last with them, whose turn."""
        spoke_of_late = self.ago_seconds < TALK_SECONDS
        return not self.is_talking, self.ago_seconds if spoke_of_late else TALK_SECONDS, self.chosen
