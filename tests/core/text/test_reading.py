"""JSON in a model's reply, read once and within bounds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.text import reading
from evennia_ai.core.text.reading import (
    DEEPEST,
    LARGEST_WHOLE,
    LONGEST_ARGUMENTS,
    MOST_CONTAINERS,
    MOST_TRIES,
    BeyondBoundsError,
    JsonText,
    UnreadableError,
    first_list,
    first_object,
    plain_arguments,
    read_json,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)
DEEP = "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param(({"a": 1}, 8), '{"a": 1} b', id="an object"),
        pytest.param((None, 3), "[1] b", id="a list"),
        pytest.param((None, 5), '{"a":', id="cut off"),
        pytest.param((None, 30_000), '{"a":' * 6_000, id="too deep for Python"),
        pytest.param((None, 300_000), '{"a":' * 60_000, id="too many"),
    ],
)
def test_an_object_in_a_text(expected: object, text: str) -> None:
    assert expected == JsonText(text).object_at(0)


@given(JSON)
def test_what_is_json_is_read_as_it_is(value: Any) -> None:
    text = json.dumps(value)
    assert value == read_json(f" {text}\n") == read_json(text.encode())


@pytest.mark.parametrize(
    ("found", "text"),
    [
        pytest.param([None, None, None], "[NaN, Infinity, -Infinity]", id="no numbers"),
        pytest.param([1, None], f"[1, {'9' * 5000}]", id="a number nobody can mean"),
        pytest.param([10**24], f"[{10**24}]", id="a large number"),
    ],
)
def test_what_is_no_number_is_none(found: object, text: str) -> None:
    """One such value does not make the whole reply unreadable."""
    assert found == read_json(text)


@pytest.mark.parametrize(
    "text", ["", "{", "[1] x", "hello", b"\xff\xff\xff", "[1,]", "9" * 5000 + "x"]
)
def test_what_is_no_json_is_unreadable(text: str | bytes) -> None:
    with pytest.raises(UnreadableError, match="are not valid JSON"):
        read_json(text)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("nested too deeply", DEEP),
        ("nested too deeply", "[" * 20_000),
        ("more than 50,000 lists and mappings", "[" + "[]," * MOST_CONTAINERS + "1]"),
    ],
)
def test_hole_c17_what_is_beyond_the_bounds_is_unreadable(words: str, text: str) -> None:
    with pytest.raises(BeyondBoundsError, match=words):
        read_json(text)


def test_hole_c17_brackets_in_words_are_words() -> None:
    words = "a[0] = {b[1]} \\" * MOST_CONTAINERS
    assert [words] == read_json(json.dumps([words]))


@pytest.mark.parametrize(
    ("found", "text"), [({"a": 1}, 'so: {"a": 1}'), (None, "so"), (None, "{so")]
)
def test_the_first_object(found: object, text: str) -> None:
    assert found == first_object(text)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        pytest.param([1], "[1]", id="a list"),
        pytest.param([1], "[not that] but [1]", id="after a bracket that is none"),
        pytest.param([1], "[1, [2, x] and [1]", id="after one that is cut off"),
        pytest.param(
            None, '[{"fact": "a", "entries": [1, 2], "imp', id="within one that is cut off"
        ),
        pytest.param(None, '[{"fact": "a [1] b', id="within words that are cut off"),
        pytest.param([1], f"[{'9' * 5000}x [1]", id="after an endless number"),
        pytest.param(None, "[" * 5_000, id="endless brackets"),
        pytest.param(None, "[" * 50_001, id="more brackets than are counted"),
        pytest.param([1], "[ " * (MOST_TRIES - 1) + "x [1]", id="some that are none"),
        pytest.param(None, "[1 x" * MOST_TRIES + "[1]", id="too many that are none"),
        pytest.param(None, "nothing", id="none"),
    ],
)
def test_the_first_list(found: object, text: str) -> None:
    assert found == first_list(text)


@pytest.mark.parametrize(
    ("found", "given_"),
    [
        ({"a": 1}, '{"a": 1}'),
        pytest.param({"a": 1}, '"{\\"a\\": 1}"', id="written as JSON twice"),
        pytest.param({}, "[]", id="an empty list for none"),
        ({"a": [1, {"b": None}, 2.5, True]}, {"a": [1, {"b": None}, 2.5, True]}),
        ({"e" + "\u0301" * 4: "e" + "\u0301" * 4}, {"e" + "\u0301" * 700: "e" + "\u0301" * 700}),
        ({"a": {"b" + "\u0301" * 4: LARGEST_WHOLE}}, {"a": {"b" + "\u0301" * 9: LARGEST_WHOLE}}),
    ],
)
def test_arguments(found: object, given_: object) -> None:
    """Stacked accents are cut, in keys too."""
    assert found == plain_arguments(given_)


@pytest.mark.parametrize(
    ("words", "given_"),
    [
        ("are not valid JSON", "{"),
        ("are not valid JSON", "[" * 5_000),
        ("are not valid JSON", '{"a": ' + "9" * 5_000 + "}"),
        ("are not a JSON object", "[1]"),
        ("are not a JSON object", None),
        ("hold NaN", '{"a": NaN}'),
        ("hold a number that is none", '{"a": 1e999}'),
        ("hold a number that is too large", {"a": [LARGEST_WHOLE + 1]}),
        ("are too long", '{"a": "' + "b" * LONGEST_ARGUMENTS + '"}'),
        ("are too long", '{"a": [' + "[]," * reading.MOST_VALUES + "1]}"),
        ("are too long or too deep", {"a": "b" * (LONGEST_ARGUMENTS + 1)}),
        ("are too long or too deep", {"a": [1] * reading.MOST_VALUES}),
        ("are too long or too deep", '{"a":' + DEEP + "}"),
    ],
)
def test_hole_c17_arguments_beyond_the_bounds_are_refused(words: str, given_: object) -> None:
    """The model reads the reason, and may try a smaller value."""
    with pytest.raises(UnreadableError, match=words):
        plain_arguments(given_)
