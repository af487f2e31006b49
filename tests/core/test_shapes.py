"""What a typed text is read as, and which values are refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.shapes import DEEPEST, LONGEST_VALUE, Kind, Shape, parse, plain, read, with_ids
from evennia_ai.errors import ConfigurationError

FLAG, TEXT, ANY = Shape(Kind.FLAG), Shape(Kind.TEXT), Shape(Kind.ANY)
WHOLE, PART = Shape(Kind.WHOLE, 1, 10), Shape(Kind.NUMBER, 0, 1)
MODE = Shape(Kind.CHOICE, choices=("none", "all"))
TEXTS, PAIRS = Shape(Kind.LIST, item=TEXT), Shape(Kind.LIST, item=Shape(Kind.LIST, 2, 2, item=TEXT))
MAPPING = Shape(Kind.MAPPING, item=ANY)


@pytest.mark.parametrize(
    ("shape", "text", "expected"),
    [
        pytest.param(FLAG, " Yes ", True, id="yes"),
        pytest.param(FLAG, "off", False, id="off"),
        pytest.param(FLAG, "maybe", "maybe", id="no flag"),
        pytest.param(WHOLE, "10", 10, id="whole"),
        pytest.param(WHOLE, "0.5", 0.5, id="not whole"),
        pytest.param(PART, "1e-3", 0.001, id="exponent"),
        pytest.param(PART, "fast", "fast", id="no number"),
        pytest.param(TEXT, "  as it is, [1]  ", "as it is, [1]", id="text"),
        pytest.param(MODE, "NONE", "none", id="choice"),
        pytest.param(MODE, "some", "some", id="no choice"),
        pytest.param(TEXTS, "Builder, perm(Admin, Player) ,", ["Builder", "perm(Admin, Player)"]),
        pytest.param(TEXTS, '["a, b", "c"]', ["a, b", "c"], id="list as JSON"),
        pytest.param(TEXTS, "['a']", ["a"], id="list as Python"),
        pytest.param(TEXTS, "[a", ["[a"], id="no list"),
        pytest.param(TEXTS, "null", None, id="null"),
        pytest.param(Shape(Kind.LIST), "1, yes", [1, True], id="list of anything"),
        pytest.param(MAPPING, '{"a": 1}', {"a": 1}, id="mapping as JSON"),
        pytest.param(MAPPING, "{'a': True}", {"a": True}, id="mapping as Python"),
        pytest.param(MAPPING, "trigger", "trigger", id="no mapping"),
        pytest.param(MAPPING, "{'a': open('x')}", "{'a': open('x')}", id="never run"),
        pytest.param(ANY, "yes", True, id="anything: flag"),
        pytest.param(ANY, "7", 7, id="anything: number"),
        pytest.param(ANY, "seven", "seven", id="anything: text"),
        pytest.param(ANY, "[1]", [1], id="anything: list"),
    ],
)
def test_a_typed_text_is_read_by_what_is_wanted(shape: Shape, text: str, expected: Any) -> None:
    """Numbers, yes and no, lists and mappings; what fits nothing stays text, to be refused."""
    assert expected == parse(shape, text)


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        pytest.param(FLAG, True, id="flag"),
        pytest.param(WHOLE, 10, id="whole"),
        pytest.param(PART, 0.5, id="part"),
        pytest.param(PART, 1, id="whole part"),
        pytest.param(TEXT, "", id="empty text"),
        pytest.param(MODE, "all", id="choice"),
        pytest.param(TEXTS, [], id="empty list"),
        pytest.param(PAIRS, [["a", "b"]], id="pairs"),
        pytest.param(Shape(Kind.LIST), [None, {}], id="list of anything"),
        pytest.param(MAPPING, {}, id="mapping"),
        pytest.param(ANY, object, id="anything"),
        pytest.param(Shape(Kind.TEXT, may_be_none=True), None, id="none"),
        pytest.param(Shape(Kind.NUMBER), -5, id="number without ends"),
    ],
)
def test_what_fits_is_taken(shape: Shape, value: Any) -> None:
    """As it is."""
    assert value is read(shape, value, "it")


@pytest.mark.parametrize(
    ("shape", "value", "expected"),
    [
        pytest.param(FLAG, 1, "it is 1; it must be yes or no", id="flag"),
        pytest.param(WHOLE, 0, "it is 0; it must be a whole number from 1 to 10", id="too small"),
        pytest.param(WHOLE, 11, "it is 11; it must be a whole number from 1 to 10", id="too large"),
        pytest.param(WHOLE, 2.0, "it is 2.0; it must be a whole number", id="not whole"),
        pytest.param(WHOLE, True, "it is True; it must be a whole number", id="a flag"),
        pytest.param(PART, math.nan, "it is nan; it must be a number from 0 to 1", id="nan"),
        pytest.param(Shape(Kind.WHOLE, 1), "x", "a whole number from 1 up", id="no upper end"),
        pytest.param(TEXT, None, "it is None; it must be a text", id="none"),
        pytest.param(MODE, "some", "it is 'some'; it must be one of none, all", id="choice"),
        pytest.param(Shape(Kind.NUMBER), "x", "it is 'x'; it must be a number", id="no ends"),
        pytest.param(TEXTS, "a", "it is 'a'; it must be a list of texts", id="no list"),
        pytest.param(TEXTS, [""], "it is ['']; it must be a list of texts", id="empty entry"),
        pytest.param(TEXTS, [1], "it is [1]; it must be a list of texts", id="wrong entry"),
        pytest.param(PAIRS, [["a"]], "a list of lists of 2 texts", id="no pair"),
        pytest.param(MAPPING, [], "it is []; it must be a mapping", id="no mapping"),
        pytest.param(Shape(Kind.FIXED), "x", "it is 'x'; it must be fixed", id="fixed"),
        pytest.param(
            Shape(Kind.WHOLE, 1, may_be_none=True, example="7"),
            "x",
            "it is 'x'; it must be a whole number from 1 up, or none, such as 7",
            id="with an example",
        ),
    ],
)
def test_what_does_not_fit_is_refused(shape: Shape, value: Any, expected: str) -> None:
    """With what it is, and what it must be."""
    with pytest.raises(ConfigurationError) as raised:
        read(shape, value, "it")
    assert expected in str(raised.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param((1, 2.5, None, True), [1, 2.5, None, True], id="tuple"),
        pytest.param({"a": {"b": {1}}, 3: "x\ny"}, {"a": {"b": [1]}, 3: "x\ny"}, id="mapping"),
        pytest.param(frozenset(), [], id="set"),
    ],
)
def test_plain_data_is_kept(value: Any, expected: Any) -> None:
    """As lists and mappings."""
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
        pytest.param(math.inf, "it is no number of ordinary size", id="infinity"),
        pytest.param(math.nan, "it is no number of ordinary size", id="nan"),
        pytest.param(10**400, "it is no number of ordinary size", id="huge"),
        pytest.param("a\x00b", "it holds the character '\\x00', which cannot be shown", id="zero"),
        pytest.param("\ud800", "it holds the character '\\ud800'", id="surrogate"),
        pytest.param({"\x1b": 1}, "it holds the character '\\x1b'", id="odd key"),
        pytest.param({None: 1}, "it has a key of type NoneType; it must be a text", id="no key"),
        pytest.param({True: 1}, "it has a key of type bool", id="a flag as key"),
        pytest.param(_deep(DEEPEST + 1), "it holds things in things; at most 8 deep", id="deep"),
        pytest.param("x" * LONGEST_VALUE, "it has 20,002 characters; it must have", id="long"),
    ],
)
def test_what_cannot_be_kept_is_refused(value: Any, expected: str) -> None:
    """With where it is and what it is."""
    with pytest.raises(ConfigurationError) as raised:
        plain(value, "it")
    assert str(raised.value).startswith(expected)


def test_as_deep_as_may_be() -> None:
    """Neither more nor less."""
    assert _deep(DEEPEST) == plain(_deep(DEEPEST), "it")


def test_keys_that_are_numbers_come_as_texts() -> None:
    """JSON has no others; also below known keys, and no other key is touched."""
    numbered = Shape(Kind.MAPPING, item=TEXT, is_numbered=True)
    shape = Shape(Kind.MAPPING, keys={"a": numbered})
    given = {"a": {"250": "x", "x": "y", 7: "z", "9" * 10: "far"}, "b": {"1": {"2": 3}}}
    expected = {"a": {250: "x", "x": "y", 7: "z", "9" * 10: "far"}, "b": {"1": {"2": 3}}}
    assert expected == with_ids(shape, given)
    assert "text" == with_ids(numbered, "text")


@given(st.text(), st.sampled_from(Kind))
def test_any_text_is_read_without_an_error(text: str, kind: Kind) -> None:
    """Whatever somebody types, of whatever is wanted."""
    parse(Shape(kind, choices=("a",), item=TEXT), text)


_WORDS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(_WORDS)
def test_any_data_is_kept_or_refused(value: Any) -> None:
    """What is kept is kept again as the same."""
    try:
        kept = plain(value, "it")
    except ConfigurationError:
        return
    assert kept == plain(kept, "it")
