"""How tools are offered: schemas with an end to everything, made once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.llm.offers import (
    DEEPEST,
    LONGEST_ARGUMENT,
    MOST_ITEMS,
    Kept,
    as_choice,
    as_function,
    bounded,
)
from evennia_ai.llm.replies import REQUESTS

TEXT = {"type": "string"}
BOUNDED_TEXT = {"minLength": 1, "maxLength": LONGEST_ARGUMENT, "type": "string"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "anyOf", "$defs", "enum", "minItems"])
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


def _spec(parameters: dict[str, Any], name: str = "say") -> ToolSpec:
    return ToolSpec(name, "Say it.", parameters)


@pytest.mark.parametrize(
    ("expected", "schema"),
    [
        pytest.param(BOUNDED_TEXT, TEXT, id="a text"),
        pytest.param({"enum": ["a"], **TEXT}, {"enum": ["a"], **TEXT}, id="a choice of texts"),
        pytest.param({"const": "a", **TEXT}, {"const": "a", **TEXT}, id="one text"),
        pytest.param({"format": "date", **TEXT}, {"format": "date", **TEXT}, id="a format"),
        pytest.param({"maxLength": 9, **TEXT}, {"maxLength": 9, **TEXT}, id="a bound of its own"),
        pytest.param(
            {**BOUNDED_TEXT, "minLength": 500, "maxLength": 500 + LONGEST_ARGUMENT},
            {"minLength": 500, **TEXT},
            id="a least length above our most",
        ),
        pytest.param({"type": "integer"}, {"type": "integer"}, id="a number"),
        pytest.param({"description": "any"}, {"description": "any"}, id="no type"),
        pytest.param({}, {}, id="nothing"),
        pytest.param(True, True, id="anything"),
        pytest.param(
            {**BOUNDED_TEXT, "type": ["string", "null"]}, {"type": ["string", "null"]}, id="or none"
        ),
        pytest.param(
            {"maxItems": MOST_ITEMS, "type": "array", "items": BOUNDED_TEXT},
            {"type": "array", "items": TEXT},
            id="a list of texts",
        ),
        pytest.param(
            {"maxItems": MOST_ITEMS + 30, "minItems": 30, "type": "array"},
            {"minItems": 30, "type": "array"},
            id="a long list",
        ),
        pytest.param(
            {"maxItems": 2, "type": "array"}, {"maxItems": 2, "type": "array"}, id="a short list"
        ),
        pytest.param(
            {"type": "object", "properties": {"type": BOUNDED_TEXT, "items": BOUNDED_TEXT}},
            {"type": "object", "properties": {"type": TEXT, "items": TEXT}},
            id="arguments named like keywords",
        ),
        pytest.param(
            {"anyOf": [BOUNDED_TEXT, {"$ref": "#/$defs/a"}], "$defs": {"a": BOUNDED_TEXT}},
            {"anyOf": [TEXT, {"$ref": "#/$defs/a"}], "$defs": {"a": TEXT}},
            id="choices and definitions",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": BOUNDED_TEXT},
            {"type": "object", "additionalProperties": TEXT},
            id="free names",
        ),
        pytest.param(
            {"anyOf": "?", "properties": [], "items": 5, "minItems": "x"},
            {"anyOf": "?", "properties": [], "items": 5, "minItems": "x"},
            id="keywords that hold nonsense",
        ),
    ],
)
def test_every_text_and_list_has_an_end(expected: Any, schema: Any) -> None:
    """However deep it stands; and what a schema says of its lengths itself is kept."""
    assert expected == bounded(schema)


@given(JSON)
def test_any_schema_is_taken(schema: Any) -> None:
    """What a stranger's server sends as a schema is no crash, is not changed, and stays JSON."""
    before = json.dumps(schema)
    json.dumps(bounded(schema))
    assert before == json.dumps(schema)


def test_a_bottomless_schema_is_left_alone_far_down() -> None:
    """Ten thousand lists in each other end nothing."""
    schema: dict[str, Any] = TEXT
    for _ in range(10_000):
        schema = {"items": schema}
    made = bounded(schema)
    for _ in range(DEEPEST + 1):
        assert made is not schema
        made, schema = made["items"], schema["items"]
    assert made is schema


def test_a_tool_is_made_ready_once() -> None:
    """Two requests with the same tool share what was made of it; an equal tool has its own."""
    spec, twin = _spec({"type": "object"}), _spec({"type": "object"})
    first, second = (REQUESTS["native"]([], [spec])["tools"][0] for _ in range(2))
    assert first is second
    assert as_choice(spec) is as_choice(spec)
    assert as_function(spec) is not as_function(twin)
    assert as_function(spec) == as_function(twin) == spec.as_function()


def test_what_is_kept_has_an_end() -> None:
    """Tools that come and go by the thousand do not stay for ever, and none is mistaken."""
    kept = Kept(lambda spec: {"name": spec.name})
    names = [kept(_spec({}, str(number)))["name"] for number in range(2500)]
    assert [str(number) for number in range(2500)] == names
    assert 1000 == len(kept.kept)


@pytest.mark.parametrize("mode", ["native", "json"])
def test_nobody_is_told_to_call_in_parallel(mode: str) -> None:
    """Half of the servers refuse a member they do not know."""
    assert "parallel_tool_calls" not in REQUESTS[mode]([], [_spec({})])
