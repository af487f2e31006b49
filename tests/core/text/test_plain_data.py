"""Reduction of a value to plain data, and the refusal of what is none."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.text.plain_data import DEEPEST, LONGEST_VALUE, plain
from evennia_ai.errors import ConfigurationError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param((1, 2.5, None, True), [1, 2.5, None, True], id="tuple"),
        pytest.param({"a": {"b": {1}}, 3: "x\ny"}, {"a": {"b": [1]}, 3: "x\ny"}, id="mapping"),
        pytest.param(frozenset(), [], id="set"),
    ],
)
def test_plain_data_is_kept(value: Any, expected: Any) -> None:
    assert expected == plain(value, "it")


def _deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(object(), "it holds something of type object; texts, numbers,", id="object"),
        pytest.param(b"x", "it holds something of type bytes", id="bytes"),
        pytest.param({"a": 1j}, "it.a holds something of type complex", id="within"),
        pytest.param(math.inf, "it is not a number of ordinary size", id="infinity"),
        pytest.param(math.nan, "it is not a number of ordinary size", id="nan"),
        pytest.param(10**400, "it is not a number of ordinary size", id="huge"),
        pytest.param("a\x00b", "it holds the character '\\x00', which cannot be shown", id="zero"),
        pytest.param("\ud800", "it holds the character '\\ud800'", id="surrogate"),
        pytest.param({"\x1b": 1}, "it holds the character '\\x1b'", id="odd key"),
        pytest.param({None: 1}, "it has a key of type NoneType; it must be text", id="no key"),
        pytest.param({True: 1}, "it has a key of type bool", id="a flag as key"),
        pytest.param(_deep(DEEPEST + 1), "it holds things in things; at most 8 deep", id="deep"),
        pytest.param("x" * LONGEST_VALUE, "it has 20,002 characters; it must have", id="long"),
    ],
)
def test_what_cannot_be_kept_is_refused(value: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        plain(value, "it")
    assert str(raised.value).startswith(expected)


def test_as_deep_as_may_be() -> None:
    assert _deep(DEEPEST) == plain(_deep(DEEPEST), "it")


_WORDS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(_WORDS)
def test_any_data_is_kept_or_refused(value: Any) -> None:
    """Data that is kept is kept again as the same."""
    try:
        data = plain(value, "it")
    except ConfigurationError:
        return
    assert data == plain(data, "it")
