"""Detection of whom a line addresses, and the choice among assistants for one that names nobody.

A mention is @name as a whole word, in any case and script. Names are also called without a sign, at
the beginning or end of a line, set off by a comma, a space or another mark. Words that show talk
about somebody ("I told Edda", "Edda was here") are English; in other languages every name at the
beginning or end counts as a call.
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
from evennia_ai.core.text.words import QUESTION_MARKS, SENTENCE_ENDS, UNSPACED_ENDS

# An "@" after a letter, a dot or another "@" is no mention: ada@example.org.
ANY_MENTION = re.compile(r"@(?<![\w.@]@)\w")


class NameCall(IntEnum):
    """Strength of a call by name; the stronger call wins the answer."""

    NONE = 0
    LAST = 1
    FIRST = 2


# A whole name, and the first word of one.
MENTIONS = (NameCall.FIRST, NameCall.LAST)


# ---- mentions: @name ---------------------------------------------------------------------------


def folded(text: str) -> str:
    """Text for comparison in any case and script, with each mark and joiner between underscores.

    `re` does not count a combining vowel sign or accent as a word character. Without the
    underscores a name would match inside a longer word of a script that uses them.
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
    """A name for comparison with folded text."""
    return folded(name.strip())


def one_of(names: tuple[str, ...]) -> str:
    """The names as alternatives of a pattern for folded text, longest first; "" for none."""
    words = {re.escape(word) for name in names if (word := folded_name(name))}
    # `re` takes the first alternative that fits: "Ada" would win in "Ada Smith".
    return "|".join(sorted(words, key=len, reverse=True))


@lru_cache(maxsize=2048)
def _mention_patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str] | None, ...]:
    """Patterns of @ and a whole name, and of @ and the first word of one."""
    return tuple(
        re.compile(rf"@(?<![\w.@]@)(?:{words})(?!@|[-.]?\w)") if words else None
        for words in (one_of(names), "|".join(map(re.escape, short_names(names))))
    )


def mention_of(body: str, names: tuple[str, ...], *, is_first: bool = False) -> NameCall:
    """The strength of an @name, as a whole word in any case and script.

    Part of a longer word, an e-mail address or a host name (`@ada.org`) does not count. The first
    word of a longer name, `@otto` of Otto Gray, is weaker: others may be meant.

    Args:
        is_first: count it only at the beginning of the line.
    """
    # Most lines have no "@", and folding costs more than this test.
    if "@" not in body:
        return NameCall.NONE
    text = folded(body)
    for call, pattern in zip(MENTIONS, _mention_patterns(names), strict=True):
        if pattern is not None and (pattern.match if is_first else pattern.search)(text):
            return call
    return NameCall.NONE


def without_address(body: str, names: tuple[str, ...]) -> str:
    """A line without the @name it begins with, unless nothing else is in it."""
    for name in sorted(filter(None, map(str.strip, names)), key=len, reverse=True):
        head, rest = body[: len(name) + 1], body[len(name) + 1 :]
        words = rest.lstrip(" \t,:;")
        is_whole = not rest or words != rest
        if is_whole and head.casefold() == f"@{name.casefold()}":
            return words or body
    return body


# ---- calls: a name without a sign --------------------------------------------------------------


# Words in front of a name that still count as the beginning: "good evening, Edda".
_OPENING = (
    *("thank you", "excuse me", "pardon me", "forgive me", "see you", "very much", "and you"),
    *("hello", "hi", "hey", "hail", "greetings", "good", "morning", "day", "evening", "night"),
    *("afternoon", "welcome", "bye", "goodbye", "farewell", "thanks", "many", "please", "pardon"),
    *("sorry", "yes", "no", "aye", "ok", "okay", "well", "oh", "ah", "so", "now", "then", "but"),
    *("and", "listen", "there", "again", "dear", "old", "sir", "lady", "lord", "madam", "master"),
    *("mistress", "miss", "mr", "mrs"),
)
# After a name and a space, these mean that somebody is talked about, not called.
_NARRATION = frozenset(
    (
        *("is", "was", "has", "had", "says", "said", "told", "asked", "went", "came", "gave"),
        *("took", "looked", "and", "or", "of", "with", "who"),
    )
)
# Before a name at the end, with only a space between, these mean the same.
_BEFORE_OBJECT = frozenset(
    (
        *("to", "of", "about", "from", "for", "with", "by", "at", "and", "or", "than", "like"),
        *("near", "behind", "beside", "the", "a", "an", "this", "that", "my", "your", "his"),
        *("her", "our", "their", "is", "was", "are", "were", "saw", "met", "ask", "asked"),
        *("tell", "told", "call", "called", "named", "find", "found", "thank"),
    )
)
# As the first word of a name, these call nobody: "Old Edda", "The Keeper".
_NO_SHORT_NAMES = frozenset(_OPENING) | _NARRATION | _BEFORE_OBJECT
_AFTER = r"(?![\w@]|[-.'\u2019]\w)"
_WORD = re.compile(r"\w+")
_OPENING_WORDS = rf"(?:(?:{'|'.join(map(re.escape, _OPENING))})\W{{1,3}}){{0,5}}"
# The ASCII ones, and commas, colons and semicolons of Arabic, Chinese and Japanese.
_CALLING_MARKS = frozenset(f",!:;\u060c\u061b\uff0c\u3001\uff1a\uff1b\uff01{QUESTION_MARKS}")
_NEXT_SENTENCE = rf"(?:[{SENTENCE_ENDS};]\s{{1,3}}|[{UNSPACED_ENDS}])"
_IN_NAMES = r"[^\w,!?:;@]{1,3}"  # between the words of one name
# Several who are called together: "Edda and Brun, hello". The names of the others are not known
# here, so each counts as one word; "Edda and I, we went" tells of both.
_OTHER = r"(?!(?:i|me|he|she|it|we|us|they)\b)\w[\w'\u2019-]{0,30}"
# Stands for a longer name of somebody else in a line.
_SOMEBODY_ELSE = "another"
_COMMA, _AND = r"\s?,\s{0,2}", r",?\s{1,2}(?:and|or|&)\s{1,2}"


class _NamePatterns(NamedTuple):
    anywhere: re.Pattern[str]
    within: re.Pattern[str]
    first: re.Pattern[str]
    together: re.Pattern[str]
    last: re.Pattern[str]
    short: re.Pattern[str] | None


@lru_cache(maxsize=2048)
def _patterns(names: tuple[str, ...]) -> _NamePatterns | None:
    words = one_of(names)
    if not words:
        return None
    name = f"(?:{words}){_AFTER}"
    return _NamePatterns(
        re.compile(rf"(?<![\w@])(?:{words})(?![\w@]|[-.]\w)"),
        re.compile(rf"\w{_IN_NAMES}(?:{words})(?!\w)|(?<!\w)(?:{words}){_IN_NAMES}\w"),
        re.compile(rf"(?:\A\W{{0,8}}|{_NEXT_SENTENCE}){_OPENING_WORDS}(?<![\w@])({name})"),
        _together_pattern(name),
        re.compile(rf"(?<![\w@.-]){name}\W*+\Z"),
        _short_pattern(names),
    )


def short_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The first words of names of several words, folded: "otto" of Otto Gray."""
    words = [folded_name(name).split() for name in names]
    return tuple(each[0] for each in words if len(each) > 1 and each[0] not in _NO_SHORT_NAMES)


def _short_pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    """A short name set off by a mark, or alone but for a greeting: it may be an ordinary word."""
    words = "|".join(map(re.escape, short_names(names)))
    marks = re.escape("".join(_CALLING_MARKS))
    before = rf"(?:\A\W{{0,8}}|{_NEXT_SENTENCE}){_OPENING_WORDS}(?<![\w@])"
    after = rf"(?:\s?[{marks}]|[{SENTENCE_ENDS}](?!\w)|\W*+\Z)"
    pattern = rf"{before}(?:{words}){after}|,\s{{1,2}}(?:{words})\W*+\Z"
    return re.compile(pattern) if words else None


def _together_pattern(name: str) -> re.Pattern[str]:
    """A name in a list at the beginning: before or after an "and", or anywhere before a colon."""
    before, after = rf"(?:{_OTHER}{_COMMA}){{0,4}}", rf"(?:{_COMMA}{_OTHER}){{0,4}}"
    lists = (
        rf"{before}{name}{after}{_AND}{_OTHER}\s?(?:[,!?:;]|\W*+\Z)",
        rf"{before}{_OTHER}{_AND}{name}\s?(?:[,!?:;]|\W*+\Z)",
        rf"{before}{name}{after}\s?:",
    )
    return re.compile(rf"\A\W{{0,8}}{_OPENING_WORDS}(?<![\w@])(?:{'|'.join(lists)})")


def is_named(body: str, names: tuple[str, ...]) -> bool:
    """True if a text contains one of the names as a whole word, without an @ before it."""
    patterns = _patterns(names)
    return patterns is not None and patterns.anywhere.search(folded(body)) is not None


@lru_cache(maxsize=4)
def newest_folded(body: str) -> str:
    """A folded line, cached because everyone in a room hears the same line."""
    return folded(body)


def call_of(body: str, names: tuple[str, ...]) -> NameCall:
    """The strength with which a line calls the bearer of these names, in any case and script.

    The first word of a longer name calls as weakly as a name at the end: others may be meant.
    """
    text = newest_folded(body)
    patterns = _patterns(names)
    if patterns is None:
        return NameCall.NONE
    call = _call_by_name(text, patterns)
    if call is NameCall.NONE and patterns.short is not None and patterns.short.search(text):
        return NameCall.LAST
    return call


def _call_by_name(text: str, patterns: _NamePatterns) -> NameCall:
    # One cheap search first: most lines name nobody who listens.
    if patterns.anywhere.search(text) is None:
        return NameCall.NONE
    if any(_is_opening(text, match) for match in patterns.first.finditer(text)):
        return NameCall.FIRST
    if patterns.together.match(text) is not None:
        return NameCall.FIRST
    last = patterns.last.search(text)
    is_called_last = last is not None and _is_closing(text[: last.start()])
    return NameCall.LAST if is_called_last else NameCall.NONE


def _is_opening(text: str, match: re.Match[str]) -> bool:
    """True if a name at the beginning of a sentence is called rather than talked about."""
    rest = text[match.end() : match.end() + 40].lstrip()
    if not rest or rest[0] in _CALLING_MARKS:
        return True
    following = _WORD.match(rest)
    return match.start() == 0 and (following is None or following[0] not in _NARRATION)


def _is_closing(before: str) -> bool:
    """True if the words before a name at the end allow it to be a call."""
    words = before[-40:].rstrip()
    words_before = _WORD.findall(words)
    is_apart = bool(words) and not words[-1].isalnum() and words[-1] != "_"
    return is_apart or not words_before or words_before[-1] not in _BEFORE_OBJECT


def without_longer_names(body: str, names: tuple[str, ...], others: Iterable[str]) -> str:
    """A line with the longer names of others left out that contain one of these names.

    "Ada Smith, hello" does not call Ada where somebody is called Ada Smith.
    """
    patterns, text = _patterns(names), newest_folded(body)
    # Most lines hold no name of its own that could be part of another, as "Ada, hello" does not,
    # and need no look at the names of others.
    if patterns is None or patterns.within.search(text) is None:
        return body
    own = set(filter(None, map(folded_name, names)))
    known = ((name.strip(), folded_name(name)) for name in others)
    longer = {
        unicodedata.normalize("NFC", name)
        for name, word in known
        if word not in own and word in text and patterns.anywhere.search(word)
    }
    if not longer:
        return body
    words = "|".join(re.escape(name) for name in sorted(longer, key=len, reverse=True))
    line = unicodedata.normalize("NFC", body)
    return re.sub(rf"(?<!\w)(?:{words})(?!\w)", _SOMEBODY_ELSE, line, flags=re.IGNORECASE)


def is_for_another(
    body: str, names: tuple[str, ...], others: Iterable[str] = (), *, is_pose: bool = False
) -> bool:
    """True if a line is aimed at somebody other than the bearer of these names.

    That is a line which mentions someone with @ but not this one, or calls one of the `others`
    more strongly ("Tom, come here", "thank you Tom"), and a pose which names somebody else
    ("waves at Tom") and not this one.
    """
    others = tuple(others)
    own = without_longer_names(body, names, others)
    if is_pose and not is_named(own, names) and any(is_named(body, (name,)) for name in others):
        return True
    mine = call_of(own, names)
    if mine is NameCall.FIRST:
        return False
    mention = mention_of(own, names)
    if mention is NameCall.NONE and ANY_MENTION.search(body):
        return True
    if mention is NameCall.LAST and any(mention_of(body, (name,)) > mention for name in others):
        return True
    mine = NameCall.LAST if mention else mine
    text = folded(body)
    called = (
        call_of(body, (name,))
        for name in others
        if any(word in text for word in (folded_name(name), *short_names((name,))))
    )
    return any(call > mine for call in called)


# An assistant that spoke with a player this recently is preferred for their next open line.
TALK_SECONDS = 300.0
# The most assistants that answer one line.
MOST_ANSWERS: TypeAdapter[int] = TypeAdapter(
    Annotated[Count, Field(json_schema_extra={"note": "0 for all that hear a line"})]
)


@dataclass(frozen=True, slots=True)
class Offer:
    """An assistant that would answer a line which names nobody.

    Attributes:
        is_talking: whether it is in a conversation with the speaker at that place.
        ago_seconds: since its last turn for the speaker; infinite if there was none.
        chosen: running number of the last line it was chosen for; the lowest waited longest.
    """

    is_talking: bool
    ago_seconds: float
    chosen: int

    @property
    def rank(self) -> tuple[bool, float, int]:
        """Sort key: in conversation with the speaker first, then by their last talk, then turn."""
        spoke_recently = self.ago_seconds < TALK_SECONDS
        return (
            not self.is_talking,
            self.ago_seconds if spoke_recently else TALK_SECONDS,
            self.chosen,
        )
