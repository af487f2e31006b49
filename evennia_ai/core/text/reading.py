"""Reading of JSON that a model wrote, within bounds and in time linear in the text's length.

All JSON in a model's answer is read here. No part is parsed again for each bracket in it, and
anything nested too deeply or with too many containers is rejected as unreadable.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from evennia_ai.core.text.characters import few_marks

# Bounds the time for the worst text of a megabyte, since each list or mapping costs as much as a
# word does.
MOST_CONTAINERS = 50_000
DEEPEST = 60
# Positions in a text at which parsing a list is attempted.
MOST_TRIES = 30
# Characters of JSON: more than the check of any tool's arguments lets through.
LONGEST_ARGUMENTS = 120_000
MOST_VALUES = 10_000
# The largest signed 64-bit integer; databases store no larger one.
LARGEST_WHOLE = 2**63 - 1
# The beginning of the json module's message for text that ends within a string.
_UNTERMINATED = "Unterminated string"
# Digits. Longer numbers are no use to anyone, and int() takes quadratic time for them.
_LONGEST_WHOLE = 25
_LIST_HEAD = re.compile(r"\[[ \t\r\n]*+(?=[\[\]{\"\-0-9tfnNI])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


class UnreadableError(ValueError):
    """A text cannot be read. The message follows a noun: "[the arguments] are not valid JSON"."""


class BeyondBoundsError(UnreadableError):
    """A text is JSON, but larger or deeper than anything that is meant seriously."""


def _constant_as_none(_: str) -> None:
    """Read NaN and the infinities, which Python accepts and JSON does not have, as None."""


def _short_integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= _LONGEST_WHOLE else None


def _reject_constant(name: str) -> None:
    raise UnreadableError(f"hold {name}, which is not a JSON number")


# Many models write line breaks into a string as they are; what such a string says is clear.
_DECODER = json.JSONDecoder(parse_constant=_constant_as_none, strict=False)
# int() refuses numbers of thousands of digits, and with one the whole text would be lost.
_LONG_NUMBER_DECODER = json.JSONDecoder(
    parse_constant=_constant_as_none, parse_int=_short_integer, strict=False
)
_ARGUMENTS_DECODER = json.JSONDecoder(parse_constant=_reject_constant, strict=False)


class JsonText:
    """A text with JSON in it, from which values are read one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _container_count(self) -> int:
        """Lists and mappings in the text: a cheap upper bound, or exact if that is too high."""
        text = self.text
        count = text.count("[") + text.count("{")
        if count <= MOST_CONTAINERS or '"' not in text:
            return count
        text = _STRING.sub("", text)
        return text.count("[") + text.count("{")

    def value_at(self, start: int) -> tuple[Any, int]:
        """The value that begins at `start`, and the position after it. NaN and infinities are None.

        Raises:
            UnreadableError: it is beyond the bounds.
            json.JSONDecodeError: there is no value; its `pos` says how far the text could be read.
        """
        if self._container_count > MOST_CONTAINERS:
            raise BeyondBoundsError(f"hold more than {MOST_CONTAINERS:,} lists and mappings")
        try:
            value, end = self._decode(start)
        except RecursionError:
            raise BeyondBoundsError("are nested too deeply") from None
        if self._container_count > DEEPEST and is_deep(value, DEEPEST):
            raise BeyondBoundsError("are nested too deeply")
        return value, end

    def object_at(self, start: int) -> tuple[dict[str, Any] | None, int]:
        """The object that begins at `start` or None, and the position after it."""
        try:
            value, end = self.value_at(start)
        except ValueError:
            return None, len(self.text)
        return (value if isinstance(value, dict) else None), end

    def _decode(self, start: int) -> tuple[Any, int]:
        try:
            return _DECODER.raw_decode(self.text, start)
        # A syntax error; any other ValueError is int()'s, about a number that is too long.
        except json.JSONDecodeError:
            raise
        except ValueError:
            return _LONG_NUMBER_DECODER.raw_decode(self.text, start)


def is_deep(value: object, most: int) -> bool:
    """True if lists and mappings are nested more than `most` deep. Works without recursion."""
    level = [value]
    for _ in range(most):
        level = [
            inner for item in level for inner in _items_of(item) if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def _items_of(value: object) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def read_json(text: str | bytes) -> Any:
    """The value of a text that is JSON as a whole.

    Raises:
        UnreadableError: the text is not JSON, or beyond the bounds.
    """
    try:
        if isinstance(text, bytes):
            # Lone surrogates pass: the json module accepts them too, as escapes.
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
    """The object at the first brace of a text, fenced or bare, or None."""
    start = text.find("{")
    return JsonText(text).object_at(start)[0] if start >= 0 else None


def first_list(text: str) -> list[Any] | None:
    """The first complete JSON list in a text, or None.

    After a bracket that opens no list, the search goes on behind the part that could be parsed:
    a list nested in one that is cut off is not an answer. It gives up after MOST_TRIES brackets.
    """
    head = _LIST_HEAD.search(text)
    for _ in range(MOST_TRIES):
        if head is None:
            break
        # JSONDecodeError counts the lines before its position: cut them off to keep this linear.
        text = text[head.start() :]
        try:
            return list(JsonText(text).value_at(0)[0])
        except json.JSONDecodeError as error:
            if error.msg.startswith(_UNTERMINATED):
                break
            head = _LIST_HEAD.search(text, max(error.pos, 1))
        except ValueError:
            break
    return None


def int_up_to(value: object, most: int) -> int | None:
    """A whole number from 1 to `most`; None for anything else."""
    # bool is a subclass of int: True would pass for 1.
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 1 <= value <= most else None


def plain_arguments(given: object) -> dict[str, Any]:
    """The arguments of a call, given as JSON text or as an object, as plain finite values.

    Some services write the text as JSON once more, and others an empty list for an empty object.

    Raises:
        UnreadableError: they are not an object, or beyond the bounds.
    """
    if isinstance(given, str):
        if len(given) > LONGEST_ARGUMENTS:
            raise BeyondBoundsError("are too long")
        given = _parse_arguments(given)
        with suppress(UnreadableError):
            given = _parse_arguments(given) if isinstance(given, str) else given
    if given == []:
        return {}
    if not isinstance(given, dict):
        raise UnreadableError("are not a JSON object")
    _check_size(given)
    return {few_marks(name): _plain(value) for name, value in given.items()}


def _parse_arguments(text: str) -> Any:
    try:
        return _ARGUMENTS_DECODER.decode(text)
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
