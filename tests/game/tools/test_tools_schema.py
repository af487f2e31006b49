"""Checks of arguments against a schema, told in words that a model can act on."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.tools.schema import LONGEST_PROBLEM, arguments_problem, fitted
from tests.core.samples import ANY_TEXT, JSON_VALUES, make_spec
from tests.game.tools.schemas import SPEC, remote, taking


@pytest.mark.parametrize(
    ("problem", "arguments"),
    [
        pytest.param("", {"bell": "big"}, id="what is needed"),
        pytest.param("", {"bell": "", "times": 2, "loudness": 1, "far": True}, id="all"),
        pytest.param("", {"bell": "big", "times": None}, id="null for one that may be left out"),
        pytest.param("", {"bell": "big", "times": 2.0}, id="a whole number with a point"),
        pytest.param("ring needs bell", {}, id="one missing"),
        pytest.param("ring has no argument Bell; it takes bell, times, loudness, far",
                     {"bell": "big", "Bell": 1}, id="an unknown one"),
        pytest.param("ring has no argument Bell; it takes bell, times, loudness, far",
                     {"bell": "big", "Bell": None}, id="null for an unknown one"),
        pytest.param("ring: bell must be text, not null", {"bell": None}, id="needed null"),
        pytest.param("ring: bell must be text, not 3", {"bell": 3}, id="a number"),
        pytest.param("ring: times must be a whole number, not 1.5", {"bell": "", "times": 1.5},
                     id="float"),
        pytest.param("ring: times must be a whole number, not true", {"bell": "", "times": True},
                     id="bool"),
        pytest.param("ring: times must be a whole number, not 1e+300", {"bell": "", "times": 1e300},
                     id="whole, but beyond all bounds"),
        pytest.param("ring: far must be true or false, not 1", {"bell": "", "far": 1},
                     id="no bool"),
        pytest.param('ring: loudness must be a number, not "loud"',
                     {"bell": "", "loudness": "loud"}, id="a text"),
        pytest.param("", {"bell": "3", "times": "2", "loudness": " -1.5\n", "far": "True"},
                     id="numbers and a boolean in texts"),
        pytest.param('ring: times must be a whole number, not "1.5"', {"bell": "", "times": "1.5"},
                     id="the wrong number in a text"),
        pytest.param("ring: nan is not a number that can be used",
                     {"bell": "", "loudness": float("nan")}, id="no number"),
        pytest.param("ring: -inf is not a number that can be used",
                     {"bell": "", "loudness": float("-inf")}, id="no end"),
        pytest.param("ring: a number in it is too large", {"bell": "", "times": 10**5000},
                     id="huge"),
        pytest.param("ring: it holds a set, which is not JSON", {"bell": {1}}, id="no JSON at all"),
    ],
)  # fmt: skip
def test_arguments_problem(problem: str, arguments: dict[str, Any]) -> None:
    """The worst problem is told: which argument, what is right, and what was given."""
    assert problem == arguments_problem(SPEC, arguments)


@pytest.mark.parametrize(
    ("problem", "schema", "value"),
    [
        pytest.param('ring: x must be "sweet" or "sour", not "Sour"', {"enum": ["sweet", "sour"]},
                     "Sour", id="a choice"),
        pytest.param('ring: x must be "a", not "b"', {"const": "a"}, "b", id="the only one"),
        pytest.param("ring: x must be at least 1, not 0", {"minimum": 1}, 0, id="too little"),
        pytest.param("ring: x must be at most 1, not 2", {"maximum": 1}, 2, id="too much"),
        pytest.param("ring: x must be more than 1, not 1", {"exclusiveMinimum": 1}, 1,
                     id="not more"),
        pytest.param("ring: x must be less than 1, not 1", {"exclusiveMaximum": 1}, 1,
                     id="not less"),
        pytest.param("ring: x must be a multiple of 2, not 3", {"multipleOf": 2}, 3,
                     id="no multiple"),
        pytest.param('ring: x must be at least 2 characters long, not "a"', {"minLength": 2}, "a",
                     id="too short"),
        pytest.param('ring: x must be at most 1 characters long, not "ab"', {"maxLength": 1}, "ab",
                     id="too long"),
        pytest.param("ring: x must be a list of at least 1, not []", {"minItems": 1}, [],
                     id="too few"),
        pytest.param("ring: x must be a list of at most 1, not [1, 2]", {"maxItems": 1}, [1, 2],
                     id="too many"),
        pytest.param("ring: x must be a list without repetitions, not [1, 1]",
                     {"uniqueItems": True}, [1, 1], id="twice"),
        pytest.param('ring: x must be of the form "^[A-Z]+$", not "abc"', {"pattern": "^[A-Z]+$"},
                     "abc", id="a simple pattern"),
        pytest.param("ring: x must be text or null, not 3", {"type": ["string", "null"]}, 3,
                     id="two types"),
        pytest.param('ring: x must be a whole number or null, not "x"',
                     {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x",
                     id="one of two forms"),
        pytest.param("ring: x[1].n must be a whole number, not null",
                     {"type": "array", "items": {"properties": {"n": {"type": "integer"}}}},
                     [{"n": 1}, {"n": None}], id="deep inside"),
        pytest.param("ring: x needs n, m", {"type": "object", "required": ["n", "o", "m"]},
                     {"o": 1}, id="missing inside"),
        pytest.param("ring: x may only have n",
                     {"properties": {"n": {}}, "additionalProperties": False}, {"o": 1},
                     id="too much inside"),
        pytest.param("ring: x may only have nothing", {"additionalProperties": False}, {"o": 1},
                     id="not any"),
        pytest.param("ring: x: 1 should not be valid under {}", {"not": {}}, 1,
                     id="what has no words"),
        pytest.param("", {"pattern": r"^\p{Lu}+$"}, "abc", id="a pattern of another dialect"),
        pytest.param("", {"anyOf": [{}, {"type": "null"}]}, "x", id="any form"),
        pytest.param("", True, "x", id="anything goes"),
    ],
)  # fmt: skip
def test_each_keyword_has_words(problem: str, schema: Any, value: Any) -> None:
    assert problem == arguments_problem(taking(x=schema), {"x": value})


def test_several_missing_are_named_together() -> None:
    """One correction is enough then."""
    spec = make_spec("whisper", {"target": "string", "message": "string"}, ("target", "message"))
    assert "whisper needs target, message" == arguments_problem(spec, {})


def test_a_tool_without_arguments_says_so() -> None:
    assert "rest has no argument x; it takes none" == arguments_problem(make_spec("rest"), {"x": 1})


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x" * 15_000, id="a long text"),
        pytest.param(["x" * 100] * 100, id="many texts"),
        pytest.param({f"key{n}": n for n in range(400)}, id="many keys"),
    ],
)
def test_a_problem_has_a_bounded_length(value: Any) -> None:
    for schema in ({"type": "integer"}, {"enum": list(range(1000))}, {"not": {}}):
        problem = arguments_problem(taking(x=schema), {"x": value})
        assert 0 < len(problem) <= LONGEST_PROBLEM


# ---- the arguments that the tool is given ------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "properties", "arguments"),
    [
        pytest.param({}, {"x": {"type": "string"}}, {"x": None}, id="null that says left out"),
        pytest.param(
            {"x": None}, {"x": {"type": ["string", "null"]}}, {"x": None}, id="null as a value"
        ),
        pytest.param({"x": 3}, {"x": {"type": "integer"}}, {"x": 3.0}, id="a whole number"),
        pytest.param({"x": 3.0}, {"x": {"type": "number"}}, {"x": 3.0}, id="a number"),
        pytest.param(
            {"x": [3]},
            {"x": {"type": "array", "items": {"type": "integer"}}},
            {"x": [3.0]},
            id="in a list",
        ),
        pytest.param(
            {"x": {"n": 3, "m": 4, "o": 5.0}},
            {
                "x": {
                    "properties": {"n": {"type": "integer"}, "o": {}},
                    "additionalProperties": {"type": "integer"},
                }
            },
            {"x": {"n": 3.0, "m": 4.0, "o": 5.0}},
            id="in an object",
        ),
        pytest.param(
            {"a": [1, 2], "b": {"k": "v"}, "c": 3, "d": "4", "e": None, "f": "[5]", "g": "6"},
            {
                "a": {"type": "array", "items": {"type": "integer"}},
                "b": {"type": "object"},
                "c": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "d": {"type": "string"},
                "e": {"type": ["integer", "null"]},
                "f": {"type": ["string", "array"]},
                "g": {},
            },
            {
                "a": "[1, 2]",
                "b": '{"k": "v"}',
                "c": "3",
                "d": "4",
                "e": "null",
                "f": "[5]",
                "g": "6",
            },
            id="JSON in a text, where no text is wanted",
        ),
        pytest.param({"x": [3.0], "y": 1.0}, {"x": True}, {"x": [3.0], "y": 1.0}, id="untold"),
    ],
)
def test_what_the_tool_is_given(
    given_: dict[str, Any], properties: dict[str, Any], arguments: dict[str, Any]
) -> None:
    """A null that is not a value is left out, and a whole number is one, wherever it stands."""
    whole = fitted(remote({"type": "object", "properties": properties}), arguments)
    assert (given_, repr(given_)) == (whole, repr(whole))


NAMES = st.sampled_from(["bell", "times", "loudness", "far"]) | ANY_TEXT
SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {},
            True,
            {"type": "integer"},
            {"type": "string", "maxLength": 2},
            {"enum": [1, "a", None]},
            {"$ref": "#"},
            {"type": 3},
        ]
    ),
    lambda inner: st.dictionaries(
        st.sampled_from(["properties", "items", "not", "additionalProperties", "allOf"]),
        inner | st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
        max_size=2,
    ),
    max_leaves=6,
)


@given(st.dictionaries(NAMES, JSON_VALUES, max_size=4))
def test_any_arguments_are_judged(arguments: dict[str, Any]) -> None:
    """Arguments that pass can be given to the function."""
    if not arguments_problem(SPEC, arguments):
        whole = fitted(SPEC, arguments)
        assert {"bell"} <= set(whole) <= set(SPEC.parameters["properties"])
        assert isinstance(whole["bell"], str)
        assert isinstance(whole.get("times", 1), int)


@given(SCHEMAS, st.dictionaries(NAMES, JSON_VALUES, max_size=3))
def test_any_schema_is_survived(schema: Any, arguments: dict[str, Any]) -> None:
    """A server may call anything a schema; a call is judged in bounded words all the same."""
    problem = arguments_problem(remote(schema), arguments)
    assert len(problem) <= LONGEST_PROBLEM
    assert "\n" not in problem
    if not problem:
        json.dumps(fitted(remote(schema), arguments))
