"""Whom a sentence is for: @name as a whole word, in any case and script, and names in front."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from evennia_ai.core.characters import JOINERS, few_marks

_ANY_MENTION = re.compile(r"@(?<![\w.@]@)\w")
_VOCATIVE = re.compile(r"\A\W*+([^,:!\n]{1,60})[,:!]")


def _folded(text: str) -> str:
    """Text for comparing in any case and script, with every mark and joiner held by underscores.

    A vowel sign or an accent that follows a letter is no word character to `re`; without the
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
def _folded_name(name: str) -> str:
    return _folded(name)


@lru_cache(maxsize=2048)
def _mention_pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    words = [re.escape(_folded(name)) for name in map(str.strip, names) if name]
    if not words:
        return None
    words.sort(key=len, reverse=True)
    return re.compile(rf"@(?<![\w.@]@)(?:{'|'.join(words)})(?!@|[-.]?\w)")


def is_addressed(body: str, names: tuple[str, ...]) -> bool:
    """Whether `body` holds @name as a whole word, in any case and script.

    Part of a longer word, of an e-mail address or of a host name (`@ada.org`) does not count.
    """
    if "@" not in body:
        return False
    pattern = _mention_pattern(names)
    return pattern is not None and pattern.search(_folded(body)) is not None


def begins_with_address(line: str, names: tuple[str, ...]) -> bool:
    """Whether the first word of a line is @name, as a whole word, in any case and script."""
    pattern = _mention_pattern(names)
    return pattern is not None and pattern.match(_folded(line)) is not None


def without_address(body: str, names: tuple[str, ...]) -> str:
    """`body` without the @name it begins with, if something follows that."""
    for name in sorted(filter(None, map(str.strip, names)), key=len, reverse=True):
        head, rest = body[: len(name) + 1], body[len(name) + 1 :]
        words = rest.lstrip(" \t,:;")
        is_whole = not rest or words != rest
        if is_whole and head.casefold() == f"@{name.casefold()}":
            return words or body
    return body


def is_for_another(body: str, names: tuple[str, ...], others: Iterable[str] = ()) -> bool:
    """Whether `body` is aimed at somebody else than the one with these names.

    It is when it holds an @mention of another and none of these names, or when it begins with one
    of the `others` ("Tom, come here").
    """
    if _ANY_MENTION.search(body) and not is_addressed(body, names):
        return True
    called = _VOCATIVE.match(body)
    if called is None:
        return False
    wanted = _folded(called[1].strip())
    return any(_folded_name(name) == wanted for name in others)
