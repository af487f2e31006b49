"""Cache keys: the same for the same call, different for any other."""

import re
from collections import OrderedDict
from enum import IntEnum
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.resilience import get_cache_key
from evennia_ai.resilience.plain_values import canonical


class Floor(IntEnum):
    """An integer of a type of its own."""

    CELLAR = 1


DIFFERENT: tuple[Any, ...] = (
    None,
    0,
    1,
    True,
    1.0,
    -0.0,
    0.0,
    1j,
    "1",
    b"1",
    bytearray(b"1"),
    Floor.CELLAR,
    "None",
    "builtins.int(0x1)",
    10**5000,
    10**5000 + 1,
    "",
    [],
    (),
    {},
    set(),
    frozenset(),
    OrderedDict(),
    [1],
    [[1]],
    [1, 2],
    [2, 1],
    ["1,2"],
    ["1", "2"],
    ["1', '2"],
    [1, [2]],
    {1: 2},
    {1: "2"},
    {"1": 2},
    {2: 1},
    {1, 2},
    {(1, 2)},
    "\ud800",
)
PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def test_form() -> None:
    key = get_cache_key("inspect_location", room_id="abc123")
    assert re.fullmatch("inspect_location:[0-9a-f]{12}", key)


def test_is_the_same_for_ever() -> None:
    """The digits depend on the arguments alone, so they are the same in any process."""
    assert "look:42e0d2cab65d" == get_cache_key("look", room_id=12, detail="full")


def test_tools_differ() -> None:
    """An argument may be called `tool`."""
    assert get_cache_key("look", tool=1) != get_cache_key("search", tool=1)


def turned(value: Any) -> Any:
    """The value with its dicts in reverse order."""
    if isinstance(value, dict):
        return {key: turned(item) for key, item in reversed(value.items())}
    return value


@pytest.mark.parametrize("arguments", [{"a": 1, "b": [2]}, {"b": {"x": 1, "y": {2, 3}}, "a": "z"}])
def test_order_does_not_matter(arguments: dict[str, Any]) -> None:
    assert get_cache_key("look", **arguments) == get_cache_key("look", **turned(arguments))


def test_different_values_and_types_differ() -> None:
    keys = [get_cache_key("look", of=value) for value in DIFFERENT]
    doubles = [
        (one, other)
        for (one, first), (other, second) in combinations(zip(DIFFERENT, keys, strict=True), 2)
        if first == second
    ]
    assert [] == doubles


@given(PLAIN, PLAIN)
def test_same_text_only_for_equals(one: Any, other: Any) -> None:
    assert (repr(sort(one)) == repr(sort(other))) is (canonical(one) == canonical(other))


def sort(value: Any) -> Any:
    """The value with its dicts in order of their keys."""
    if isinstance(value, dict):
        return {key: sort(value[key]) for key in sorted(value)}
    return [sort(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "value", [object(), [object()], {"a": lambda: 1}], ids=["an object", "in a list", "a function"]
)
def test_what_has_no_certain_text_is_refused(value: object) -> None:
    """A value that cannot be told from another for certain has no key; the error names the tool."""
    with pytest.raises(
        TypeError,
        match=r"^no cache key for look: an argument is a (object|function); numbers, texts, lists",
    ):
        get_cache_key("look", of=value)
