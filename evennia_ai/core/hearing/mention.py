"""Mentions: @name as a whole word, in any case and script."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from evennia_ai.core.text.characters import JOINERS, few_marks

ANY_MENTION = re.compile(r"@(?<![\w.@]@)\w")


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
