"""Reading what a model wrote: the JSON in it, within bounds, in a time that grows as its length.

All that is read as JSON of a model's answer is read here. Nothing is looked at a second time for
each bracket in it, and what is nested or counted beyond all sense is unreadable.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from evennia_ai.core.text.characters import few_marks

# What the slowest text of a megabyte may be made of: each list and mapping costs as much as a word.
MOST_CONTAINERS = 50_000
DEEPEST = 60
# Places in a text at which a list is tried to be read.
MOST_TRIES = 30
# More than the gate of any tool lets through, as JSON writes it.
LONGEST_ARGUMENTS = 120_000
MOST_VALUES = 10_000
LARGEST_WHOLE = 2**63 - 1
CUT_OFF = "Unterminated string"
_LONGEST_WHOLE = 25


_LIST_HEAD = re.compile(r"\[[ \t\r\n]*+(?=[\[\]{\"\-0-9tfnNI])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


class UnreadableError(ValueError):
    """A text is not what is read. Its words go after what it is: "are not valid JSON"."""


class BeyondBoundsError(UnreadableError):
    """It is, but it is more than anybody means."""


def _no_number(_: str) -> None:
    """NaN and the infinities are no numbers of JSON."""


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) <= _LONGEST_WHOLE else None


def _refuse(name: str) -> None:
    raise UnreadableError(f"hold {name}, which is not a JSON number")


_PLAIN = json.JSONDecoder(parse_constant=_no_number)
# Python refuses numbers of thousands of digits, with all that stands around them.
_PATIENT = json.JSONDecoder(parse_constant=_no_number, parse_int=_whole)
_STRICT = json.JSONDecoder(parse_constant=_refuse)


class JsonText:
    """A text with JSON in it, of which one value after the other is read."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _openings(self) -> int:
        """Lists and mappings that begin in it; of strings only where there may be too many."""
        text = self.text
        count = text.count("[") + text.count("{")
        if count <= MOST_CONTAINERS or '"' not in text:
            return count
        text = _STRING.sub("", text)
        return text.count("[") + text.count("{")

    def value_at(self, start: int) -> tuple[Any, int]:
        """The value that begins at `start`, and where it ends. What is not a number in it is None.

        Raises:
            UnreadableError: it is beyond the bounds.
            json.JSONDecodeError: there is none; it says how far it could be read.
        """
        if self._openings > MOST_CONTAINERS:
            raise BeyondBoundsError(f"hold more than {MOST_CONTAINERS:,} lists and mappings")
        try:
            value, end = self._decoded(start)
        except RecursionError:
            raise BeyondBoundsError("are nested too deeply") from None
        if self._openings > DEEPEST and is_deep(value, DEEPEST):
            raise BeyondBoundsError("are nested too deeply")
        return value, end

    def object_at(self, start: int) -> tuple[dict[str, Any] | None, int]:
        """The object that begins at `start`, or None, and where it ends."""
        try:
            value, end = self.value_at(start)
        except ValueError:
            return None, len(self.text)
        return (value if isinstance(value, dict) else None), end

    def _decoded(self, start: int) -> tuple[Any, int]:
        try:
            return _PLAIN.raw_decode(self.text, start)
        except json.JSONDecodeError:
            raise
        except ValueError:
            return _PATIENT.raw_decode(self.text, start)


def is_deep(value: object, most: int) -> bool:
    """True where lists and mappings are nested more than so many deep; nothing recurses here."""
    level = [value]
    for _ in range(most):
        level = [
            inner for item in level for inner in _held(item) if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def _held(value: object) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def read_json(text: str | bytes) -> Any:
    """The value of a text that is JSON as a whole.

    Raises:
        UnreadableError: it is something else, or beyond the bounds.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        text = text.strip(" \t\r\n")
        value, end = JsonText(text).value_at(0)
    except UnreadableError:
        raise
    except ValueError:
        raise UnreadableError("are not valid JSON") from None
    if end != len(text):
        raise UnreadableError("are not valid JSON")
    return value


def first_object(text: str) -> dict[str, Any] | None:
    """The JSON object at the first brace of a text, fenced or bare, or None."""
    start = text.find("{")
    return JsonText(text).object_at(start)[0] if start >= 0 else None


def first_list(text: str) -> list[Any] | None:
    """The first JSON list in a text that can be read whole, or None.

    After a bracket that opens none, it goes on behind what could be read: a list within one that is
    cut off is not an answer. After thirty of them there is none.
    """
    head = _LIST_HEAD.search(text)
    for _ in range(MOST_TRIES):
        if head is None:
            break
        # An error counts the lines in front of it: that is done once for each line.
        text = text[head.start() :]
        try:
            return list(JsonText(text).value_at(0)[0])
        except json.JSONDecodeError as error:
            if error.msg.startswith(CUT_OFF):
                break
            head = _LIST_HEAD.search(text, max(error.pos, 1))
        except ValueError:
            break
    return None


def plain_arguments(given: object) -> dict[str, Any]:
    """The arguments of a call, as JSON text or as an object: plain, finite, with few marks.

    Raises:
        UnreadableError: they are none, or beyond the bounds.
    """
    if isinstance(given, str):
        if len(given) > LONGEST_ARGUMENTS:
            raise BeyondBoundsError("are too long")
        given = _strict(given)
    if not isinstance(given, dict):
        raise UnreadableError("are not a JSON object")
    _check_size(given)
    return {few_marks(name): _plain(value) for name, value in given.items()}


def _strict(text: str) -> Any:
    try:
        return _STRICT.decode(text)
    except UnreadableError:
        raise
    except (ValueError, RecursionError):
        raise UnreadableError("are not valid JSON") from None


def _check_size(given: Mapping[str, object]) -> None:
    level: list[Any] = [given]
    length = count = depth = 0
    while level:
        count += len(level)
        depth += 1
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                length += len(item)
            elif isinstance(item, dict):
                below += item
                below += item.values()
            elif isinstance(item, list):
                below += item
        if depth > DEEPEST or count > MOST_VALUES or length > LONGEST_ARGUMENTS:
            raise BeyondBoundsError("are too long or too deep")
        level = below


def _plain(value: object) -> Any:
    if isinstance(value, str):
        return few_marks(value)
    if isinstance(value, dict):
        return {few_marks(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise UnreadableError("hold a number that is none")
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        raise UnreadableError("hold a number that is too large")
    return value
