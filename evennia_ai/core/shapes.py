"""What kind of value something takes: how a typed text is read, and what is refused."""

from __future__ import annotations

import ast
import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from evennia_ai.core.text import one_line
from evennia_ai.errors import ConfigurationError

LONGEST_VALUE = 20_000
LARGEST_NUMBER = 2**53
DEEPEST = 8
FLAG_WORDS = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
_COMMAS = re.compile(r",(?![^()]*\))")


class Kind(StrEnum):
    """What a value is, in words for people."""

    FLAG = "yes or no"
    WHOLE = "a whole number"
    NUMBER = "a number"
    TEXT = "a text"
    CHOICE = "one of"
    LIST = "a list"
    MAPPING = "a mapping"
    ANY = "a value"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class Shape:
    """What values something takes.

    Attributes:
        least, most: of a number, or how many entries a list has; None: no such end.
        choices: the words of a choice.
        may_be_none: whether None is a value of its own.
        keys: the keys of a mapping that has no others.
        item: what each entry of a list, or of a mapping with any keys, takes.
        is_numbered: whether the keys of a mapping are whole numbers.
        text: what it does, for people, where it is a key of a mapping.
        example: a right value.
    """

    kind: Kind
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    may_be_none: bool = False
    keys: Mapping[str, Shape] = field(default_factory=dict)
    item: Shape | None = None
    is_numbered: bool = False
    text: str = ""
    example: str = ""

    @property
    def wanted(self) -> str:
        """What a value must be, in words."""
        parts = [str(self.kind)]
        if self.kind is Kind.CHOICE:
            parts.append(", ".join(self.choices))
        elif self.kind is Kind.LIST and self.item is not None:
            parts.append(f"of {_plural(self.item)}")
        elif self.kind in (Kind.WHOLE, Kind.NUMBER):
            parts.append(_range(self.least, self.most))
        told = " ".join(filter(None, parts)) + (", or none" if self.may_be_none else "")
        return f"{told}, such as {self.example}" if self.example else told


def _plural(item: Shape) -> str:
    if item.kind is Kind.LIST and item.item is not None:
        return f"lists of {item.least} {_plural(item.item)}"
    return str(item.kind).removeprefix("a ") + "s"


def _range(least: float | None, most: float | None) -> str:
    if least is None:
        return ""
    return f"from {least:g} up" if most is None else f"from {least:g} to {most:.12g}"


# ---- typed text --------------------------------------------------------------------------------


def parse(shape: Shape, text: str) -> Any:
    """What somebody means by a typed text; what fits no value stays text, to be refused."""
    return _PARSERS.get(shape.kind, _as_text)(shape, text.strip())


def _as_text(_: Shape, word: str) -> Any:
    return word


def _as_flag(_: Shape, word: str) -> Any:
    return FLAG_WORDS.get(word.casefold(), word)


def _as_number(_: Shape, word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _as_choice(shape: Shape, word: str) -> Any:
    return next((choice for choice in shape.choices if choice == word.casefold()), word)


def _as_list(shape: Shape, word: str) -> Any:
    written = _as_written(word)
    if written is not word:
        return written
    parts = (part.strip() for part in _COMMAS.split(word))
    item = shape.item or Shape(Kind.ANY)
    return [parse(item, part) for part in parts if part]


def _as_data(_: Shape, word: str) -> Any:
    return _as_written(word)


def _as_anything(shape: Shape, word: str) -> Any:
    written = _as_written(word)
    if written is not word:
        return written
    flag = _as_flag(shape, word)
    return flag if isinstance(flag, bool) else _as_number(shape, word)


def _as_written(word: str) -> Any:
    """A list or mapping as JSON writes it, or Python; the same text where it is neither."""
    if word == "null":
        return None
    if word[:1] not in ("[", "{"):
        return word
    readers: tuple[Callable[[str], Any], ...] = (json.loads, ast.literal_eval)
    for reader in readers:
        try:
            return reader(word)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return word


_PARSERS: Mapping[Kind, Callable[[Shape, str], Any]] = {
    Kind.FLAG: _as_flag,
    Kind.WHOLE: _as_number,
    Kind.NUMBER: _as_number,
    Kind.CHOICE: _as_choice,
    Kind.LIST: _as_list,
    Kind.MAPPING: _as_data,
    Kind.ANY: _as_anything,
}


# ---- what is refused ---------------------------------------------------------------------------


def plain(value: Any, path: str) -> Any:
    """A value as it is kept: texts, finite numbers, lists, mappings, and nothing else.

    Raises:
        ConfigurationError: something in it is none of these, or it is too long; the text begins
            with `path`.
    """
    kept = _plain(value, path, DEEPEST)
    size = len(json.dumps(kept, ensure_ascii=False))
    if size > LONGEST_VALUE:
        raise ConfigurationError(
            f"{path} has {size:,} characters; it must have at most {LONGEST_VALUE:,}"
        )
    return kept


def _plain(value: Any, path: str, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return _plain_number(value, path)
    if isinstance(value, str):
        return _plain_text(value, path)
    if not depth:
        raise ConfigurationError(f"{path} holds things in things; at most {DEEPEST} deep is taken")
    if isinstance(value, Mapping):
        return {
            _plain_key(key, path): _plain(item, f"{path}.{one_line(str(key), 40)}", depth - 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, path, depth - 1) for item in value]
    raise ConfigurationError(
        f"{path} holds something of type {type(value).__name__}; texts, numbers, lists and "
        "mappings can be kept"
    )


def _plain_number(value: float, path: str) -> float:
    # Compared with its ends a whole number of any size is judged, and NaN is within none.
    if -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        return value
    raise ConfigurationError(f"{path} is no number of ordinary size; it must be one")


def _plain_text(value: str, path: str) -> str:
    odd = (ch for ch in value if ch not in "\n\t\r" and unicodedata.category(ch) in ("Cc", "Cs"))
    if (found := next(odd, None)) is not None:
        raise ConfigurationError(f"{path} holds the character {found!a}, which cannot be shown")
    return value


def _plain_key(key: Any, path: str) -> Any:
    if isinstance(key, str):
        return _plain_text(str(key), path)
    if isinstance(key, int) and not isinstance(key, bool) and abs(key) <= LARGEST_NUMBER:
        return key
    raise ConfigurationError(f"{path} has a key of type {type(key).__name__}; it must be a text")


def read(shape: Shape, value: Any, path: str) -> Any:
    """A plain value of that shape. What mappings hold is for those to judge that read them.

    Raises:
        ConfigurationError: it is something else.
    """
    if value is None and shape.may_be_none:
        return None
    if not _CHECKS[shape.kind](shape, value):
        shown = one_line(repr(value), 120)
        raise ConfigurationError(f"{path} is {shown}; it must be {shape.wanted}")
    return value


def with_ids(shape: Shape, value: Any) -> Any:
    """A plain value with whole numbers as keys where these are wanted: JSON has none."""
    if not isinstance(value, Mapping):
        return value
    below = {
        key: with_ids(shape.keys.get(str(key)) or shape.item or Shape(Kind.ANY), item)
        for key, item in value.items()
    }
    return {_as_id(key): item for key, item in below.items()} if shape.is_numbered else below


def _as_id(key: Any) -> Any:
    """A number that came as a text, as all keys of JSON are."""
    is_number = isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) <= 9
    return int(key) if is_number else key


def _is_within(shape: Shape, value: float) -> bool:
    least, most = shape.least, shape.most
    return (least is None or value >= least) and (most is None or value <= most)


def _is_number(shape: Shape, value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and _is_within(shape, value)


def _is_list(shape: Shape, value: Any) -> bool:
    item = shape.item or Shape(Kind.ANY)
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not _is_within(shape, len(value)):
        return False
    return all(_CHECKS[item.kind](item, entry) and entry != "" for entry in value)


_CHECKS: Mapping[Kind, Callable[[Shape, Any], bool]] = {
    Kind.FLAG: lambda _, value: isinstance(value, bool),
    Kind.WHOLE: lambda shape, value: isinstance(value, int) and _is_number(shape, value),
    Kind.NUMBER: _is_number,
    Kind.TEXT: lambda _, value: isinstance(value, str),
    Kind.CHOICE: lambda shape, value: value in shape.choices,
    Kind.LIST: _is_list,
    Kind.MAPPING: lambda _, value: isinstance(value, Mapping),
    Kind.ANY: lambda _, __: True,
    Kind.FIXED: lambda _, __: False,
}
