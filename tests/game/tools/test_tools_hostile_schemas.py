"""Hostile schemas and arguments of tools."""

import re
import warnings
from typing import Any

import pytest

from evennia_ai.tools.schema import arguments_problem
from evennia_ai.tools.validator import TooManyStepsError, contained, schema_problem
from tests.game.tools.schemas import circle, remote, taking


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x" * 20_001, id="a book"),
        pytest.param(list(range(2_000)), id="a long list"),
        pytest.param({str(n): 1 for n in range(2_000)}, id="many keys"),
        pytest.param({"k" * 30_000: 1}, id="a long key"),
        pytest.param(nested(25), id="deep"),
        pytest.param(nested(100_000), id="deeper than Python goes"),
        pytest.param(circle(), id="without end"),
    ],
)
def test_too_much_is_refused(value: Any) -> None:
    """Arguments that would take long to check are not checked."""
    expected = "ring: the arguments are too long or too deep; give less"
    assert expected == arguments_problem(taking(x={}), {"x": value})


FANS = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)} | {"d60": {}}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(None, id="none"),
        pytest.param([], id="a list"),
        pytest.param(True, id="anything"),
        pytest.param({"type": "banana"}, id="a type that is none"),
        pytest.param({"properties": 5}, id="no properties"),
        pytest.param({"required": "bell"}, id="no list"),
        pytest.param({"properties": {"bell": {1, 2}}}, id="no JSON"),
        pytest.param({"description": "x" * 30_000}, id="a book"),
        pytest.param({"$ref": "#"}, id="a circle"),
        pytest.param({"$ref": "#/nowhere"}, id="a reference to nothing"),
        pytest.param({"properties": {"x": {"$ref": "#/nowhere"}}}, id="one for a null"),
        pytest.param({"$ref": "https://127.0.0.1:1/schema"}, id="a reference to an address"),
        pytest.param({"$ref": "#/$defs/d0", "$defs": FANS}, id="2 to the 60th steps"),
        pytest.param({"not": nested(3_000)}, id="deeper than Python goes"),
    ],
)
def test_a_bad_schema_is_reported(schema: Any) -> None:
    """Nothing is raised, fetched or computed for long."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = arguments_problem(remote(schema), {"x": None})
    assert re.fullmatch(r"ring cannot be used, .*; do something else", problem)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        pytest.param({"properties": {"x": {"pattern": "^(a+)+$"}}}, {"x": "a" * 60 + "b"},
                     id="a value"),
        pytest.param({"properties": {"x": {"pattern": "(a|a)*$"}}}, {"x": "a" * 60 + "b"},
                     id="branches"),
        pytest.param({"properties": {"x": {"pattern": "a*a*a*a*a*b"}}}, {"x": "a" * 200},
                     id="repetitions"),
        pytest.param({"patternProperties": {"^(a+)+$": {}}}, {"a" * 60 + "b": 1}, id="a key"),
        pytest.param({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
                     {"a" * 60 + "b": 1}, id="other keys"),
        pytest.param({"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False},
                     {"a" * 60 + "b": 1}, id="keys that are left"),
    ],
)  # fmt: skip
def test_patterns_that_could_run_for_ever_are_not_tried(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    """Each of these would hold up the whole game by catastrophic backtracking."""
    assert "" == arguments_problem(remote(schema), arguments)


@pytest.mark.parametrize(
    ("problem", "schema"),
    [
        pytest.param("", {"type": "object", "properties": {}}, id="an object"),
        pytest.param("", {}, id="anything"),
        pytest.param('its type must be "object", not "array"', {"type": "array"}, id="a list"),
        pytest.param("it must be an object of at most 20,000 characters and 30 levels", [],
                     id="no object"),
        pytest.param("it must be an object of at most 20,000 characters and 30 levels",
                     {"not": nested(30)}, id="too deep"),
        pytest.param("'banana' is not valid under any of the given schemas",
                     {"properties": {"x": {"type": "banana"}}}, id="a type that is none"),
        pytest.param("it is not JSON: Object of type set is not JSON serializable", {"x": {1}},
                     id="no JSON"),
    ],
)  # fmt: skip
def test_what_a_developer_is_told(problem: str, schema: Any) -> None:
    assert problem == schema_problem(schema)


class Panic(BaseException):
    """The exception of the library at the end of the stack."""


@pytest.mark.parametrize(
    ("told", "raised"),
    [
        pytest.param(TooManyStepsError, Panic, id="a panic"),
        pytest.param(ValueError, ValueError, id="an error"),
        pytest.param(KeyboardInterrupt, KeyboardInterrupt, id="the owner"),
    ],
)
def test_a_panic_is_contained(told: type[BaseException], raised: type[BaseException]) -> None:
    """It becomes an exception that others catch; Ctrl-C still ends the game."""

    def work() -> None:
        raise raised

    with pytest.raises(told):
        contained(work)
    assert 3 == contained(lambda: 3)
