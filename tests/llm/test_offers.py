"""Tools as a model is offered them: schemas with bounds, prepared once."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.offers import (
    DEEPEST,
    LONGEST_ARGUMENT,
    MOST_ITEMS,
    IdentityCache,
    as_choice,
    bounded,
    offered,
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
        pytest.param({**BOUNDED_TEXT, "minLength": 500, "maxLength": 500 + LONGEST_ARGUMENT},
                     {"minLength": 500, **TEXT}, id="a least length above our most"),
        pytest.param({"type": "integer"}, {"type": "integer"}, id="a number"),
        pytest.param({"description": "any"}, {"description": "any"}, id="no type"),
        pytest.param({}, {}, id="nothing"),
        pytest.param(True, True, id="anything"),
        pytest.param({**BOUNDED_TEXT, "type": ["string", "null"]}, {"type": ["string", "null"]},
                     id="or none"),
        pytest.param({"maxItems": MOST_ITEMS, "type": "array", "items": BOUNDED_TEXT},
                     {"type": "array", "items": TEXT}, id="a list of texts"),
        pytest.param({"maxItems": MOST_ITEMS + 30, "minItems": 30, "type": "array"},
                     {"minItems": 30, "type": "array"}, id="a long list"),
        pytest.param({"maxItems": 2, "type": "array"}, {"maxItems": 2, "type": "array"},
                     id="a short list"),
        pytest.param(
            {"type": "object", "properties": {"type": BOUNDED_TEXT, "items": BOUNDED_TEXT}},
            {"type": "object", "properties": {"type": TEXT, "items": TEXT}},
            id="arguments named like keywords",
        ),
        pytest.param({"anyOf": [BOUNDED_TEXT, {"$ref": "#/$defs/a"}], "$defs": {"a": BOUNDED_TEXT}},
                     {"anyOf": [TEXT, {"$ref": "#/$defs/a"}], "$defs": {"a": TEXT}},
                     id="choices and definitions"),
        pytest.param({"type": "object", "additionalProperties": BOUNDED_TEXT},
                     {"type": "object", "additionalProperties": TEXT}, id="free names"),
        pytest.param({"anyOf": "?", "properties": [], "items": 5, "minItems": "x"},
                     {"anyOf": "?", "properties": [], "items": 5, "minItems": "x"},
                     id="keywords that hold nonsense"),
    ],
)  # fmt: skip
def test_every_text_and_list_has_an_end(expected: Any, schema: Any) -> None:
    """Limits that a schema has itself are kept."""
    assert expected == bounded(schema)


@given(JSON)
def test_any_schema_is_taken(schema: Any) -> None:
    """Schemas come from strangers' servers: none crashes this, and none is changed."""
    before = json.dumps(schema)
    json.dumps(bounded(schema))
    assert before == json.dumps(schema)


def test_a_bottomless_schema_is_left_alone_far_down() -> None:
    schema: dict[str, Any] = TEXT
    for _ in range(10_000):
        schema = {"items": schema}
    result = bounded(schema)
    for _ in range(DEEPEST + 1):
        assert result is not schema
        result, schema = result["items"], schema["items"]
    assert result is schema


@pytest.mark.parametrize(
    ("expected", "parameters"),
    [
        pytest.param(False, {"type": "object", "properties": {}}, id="no word of others"),
        pytest.param(True, {"additionalProperties": True}, id="others are allowed"),
        pytest.param(None, {"anyOf": [{"properties": {"a": {}}}]}, id="a choice has others"),
        pytest.param(None, {"patternProperties": {"^x": {}}}, id="a pattern has others"),
    ],
)
def test_a_constrained_model_makes_up_no_argument(
    expected: bool | None, parameters: dict[str, Any]
) -> None:
    closed = as_choice(_spec(parameters))["properties"]["parameters"]
    assert expected is closed.get("additionalProperties")


def test_a_tool_is_made_ready_once() -> None:
    """The cache goes by identity: an equal tool that is another object is prepared anew."""
    spec, twin = _spec({"type": "object"}), _spec({"type": "object"})
    first, second = (REQUESTS["native"]([], [spec])["tools"][0] for _ in range(2))
    assert first is second
    assert as_choice(spec) is as_choice(spec)
    assert spec.as_function is not twin.as_function
    assert spec.as_function == twin.as_function


def test_what_is_kept_has_an_end() -> None:
    cache = IdentityCache(lambda spec: {"name": spec.name})
    names = [cache(_spec({}, str(number)))["name"] for number in range(2500)]
    assert [str(number) for number in range(2500)] == names
    assert 1000 == len(cache.kept)


@pytest.mark.parametrize("mode", ["native", "json"])
def test_nobody_is_told_to_call_in_parallel(mode: str) -> None:
    """Half of the servers refuse members that they do not know."""
    assert "parallel_tool_calls" not in REQUESTS[mode]([], [_spec({})])


# ---- tools as the chat completions API writes them -----------------------------------------------

LOOK = {"type": "function", "function": {"name": "look", "description": "Look around."}}
GO = {
    "type": "function",
    "function": {"name": "go", "parameters": {"type": "object", "properties": {"way": TEXT}}},
}
ONLY_GO = {"type": "function", "function": {"name": "go"}}


def test_a_tool_can_be_written_as_the_api_writes_it() -> None:
    spec = ToolSpec("say", "Say it.", {"type": "object", "properties": {"text": TEXT}})
    specs, _ = offered([spec, LOOK, GO], {}, is_native=True)
    assert spec is specs[0]
    assert [
        LOOK["function"] | {"parameters": {"type": "object", "properties": {}}},
        {"description": "", **GO["function"]},
    ] == [each.as_function["function"] for each in specs[1:]]


@pytest.mark.parametrize(
    ("left", "is_sent", "extra", "is_native"),
    [
        pytest.param(["look", "go"], False, {}, True, id="no choice"),
        pytest.param(["look", "go"], False, {"tool_choice": None}, True, id="None"),
        pytest.param(["look", "go"], True, {"tool_choice": "none"}, True, id="native: sent"),
        pytest.param(["look", "go"], True, {"tool_choice": "any"}, True, id="a service's own"),
        pytest.param(["look", "go"], False, {"tool_choice": "auto"}, False, id="auto"),
        pytest.param(["look", "go"], False, {"tool_choice": "required"}, False, id="required"),
        pytest.param([], False, {"tool_choice": "none"}, False, id="none"),
        pytest.param(["go"], False, {"tool_choice": ONLY_GO}, False, id="one of them"),
    ],
)
def test_a_choice_among_tools(
    left: list[str], is_sent: bool, extra: dict[str, Any], is_native: bool
) -> None:
    """A model without native tool calls is offered only the tools that the choice leaves."""
    specs, rest = offered([LOOK, GO], {"seed": 1, **extra}, is_native=is_native)
    assert left == [spec.name for spec in specs]
    assert {"seed": 1, **(extra if is_sent else {})} == rest


@pytest.mark.parametrize("is_native", [True, False])
def test_without_tools_there_is_nothing_to_choose(is_native: bool) -> None:
    """Services refuse a choice without tools."""
    assert ([], {}) == offered([], {"tool_choice": "auto"}, is_native=is_native)


@pytest.mark.parametrize(
    ("tools", "choice", "expected"),
    [
        pytest.param([LOOK, "go"], "auto", r"tools\[1\] is 'go'; it must be a ToolSpec", id="text"),
        pytest.param([{"name": "go"}], "auto", r"tools\[0\] is {'name'", id="no function"),
        pytest.param([{"function": {"name": 3}}], "auto", r"tools\[0\]", id="no name"),
        pytest.param([{"function": {"name": "a", "parameters": 3}}], "auto", "0", id="no schema"),
        pytest.param([LOOK, GO], "any", "'any'; it must be 'auto', .*: look, go$", id="a word"),
        pytest.param([LOOK], ONLY_GO, "with one of: look$", id="a tool that is not there"),
    ],
)
def test_what_cannot_be_read_is_told(tools: list[Any], choice: object, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        offered(tools, {"tool_choice": choice}, is_native=False)
