"""Copies of values: frozen ones are kept, plain ones copied, others refused."""

from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from evennia_ai.core.turn.toolspec import ToolResult
from evennia_ai.resilience.plain_values import is_frozen, own_copy


class Colour(Enum):
    RED = 1


@dataclass(frozen=True)
class Frozen:
    """Frozen, but only as far as its content is."""

    inner: Any


@dataclass
class Loose:
    inner: Any


class Text(str):
    """A text that can carry attributes."""


@pytest.mark.parametrize(
    "value",
    [
        *("a", 1, True, 1.5, 1j, b"a", None, Colour.RED),
        *((1, ("a", None)), frozenset([1]), Frozen((1, 2)), ToolResult(True, "ok")),
    ],
    ids=str,
)
def test_frozen_needs_no_copy(value: Any) -> None:
    assert is_frozen(value)
    assert value is own_copy(value)


@pytest.mark.parametrize(
    "value",
    [
        [1, [2, {"a": [3]}]],
        {"a": {"b": [1]}, (1, 2): {3}},
        ({"a": 1}, [2]),
        {1, (2, 3)},
        [ToolResult(True, "ok")],
        frozenset([(1,), 2]),
    ],
    ids=str,
)
def test_plain_is_copied(value: Any) -> None:
    """The copy is equal down to the types and the order."""
    copy = own_copy(value)
    assert (repr(value), type(value)) == (repr(copy), type(copy))
    assert is_frozen(value) or value is not copy


def test_copies_share_nothing() -> None:
    value: Any = {"a": [1, {"b": {2}}], "c": ({"d": []},)}
    copy = own_copy(value)
    copy["a"][1]["b"].add(3)
    copy["a"].append(4)
    copy["c"][0]["d"].append(5)
    assert {"a": [1, {"b": {2}}], "c": ({"d": []},)} == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("object", object()),
        ("object", [1, {"a": object()}]),
        ("Loose", (Loose(1),)),
        ("Frozen", Frozen([1])),
        ("Text", Text("a")),
        ("bytearray", bytearray(b"a")),
        ("OrderedDict", OrderedDict(a=1)),
    ],
    ids=["bare", "deep inside", "loose", "frozen", "text", "bytes", "ordered"],
)
def test_the_rest_is_refused(kind: str, value: Any) -> None:
    assert not is_frozen(value)
    with pytest.raises(TypeError, match=f"^a {kind} cannot be kept; texts, numbers"):
        own_copy(value)
