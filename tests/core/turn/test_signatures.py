"""Plain functions as tools: the schema for the model, and the arguments for the function."""

from __future__ import annotations

import json
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.signatures import as_annotated, hints_of, spec_from_function
from evennia_ai.core.turn.toolspec import ToolCategory, ToolSpec

if TYPE_CHECKING:
    from pathlib import Path as Tower


class Mood(StrEnum):
    """An enum of today."""

    SWEET = "sweet"
    SOUR = "sour"


class OldMood(str, Enum):  # noqa: UP042
    """An enum as before there was StrEnum."""

    SWEET = "sweet"


class Nothing(StrEnum):
    """An enum without members."""


class Number(Enum):
    """An enum of no texts."""

    ONE = 1


def ring(
    character: Any,
    bell: str,
    times: int = 1,
    *,
    loudness: float | None = None,
    turn: Any,
    far: bool,
) -> str:
    """Ring a bell.

    Nobody sleeps after that.

    Args:
        character: who rings.
        turn: when.
        bell: name of the bell;
            note: it must hang in a tower.

        times (int): how often.
        loudness: in decibels.
        far:
            whether it is heard in the valley.

    Returns:
        times: how often it rang.
    """
    return "ding"


def test_spec_from_function() -> None:
    """Parameters that the game itself supplies are not in the schema."""
    properties = {
        "bell": {
            "type": "string",
            "description": "name of the bell; note: it must hang in a tower.",
        },
        "times": {"type": "integer", "description": "how often.", "default": 1},
        "loudness": {"type": "number", "description": "in decibels."},
        "far": {"type": "boolean", "description": "whether it is heard in the valley."},
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["bell", "far"],
        "additionalProperties": False,
    }
    text = "Ring a bell."
    expected = ToolSpec("ring", text, schema, ToolCategory.DANGEROUS, 5.0)
    assert expected == spec_from_function(
        ring, category=ToolCategory.DANGEROUS, timeout_seconds=5.0
    )


def test_a_tool_may_take_nothing() -> None:
    spec = spec_from_function(_rest)
    assert ({}, []) == (spec.parameters["properties"], spec.parameters["required"])
    assert ToolCategory.SAFE_CHAIN is spec.category


def _rest(character: Any) -> str:
    """Rest."""
    return ""


def _sleep(character: Any, hours: int) -> str:
    """Sleep."""
    return ""


def test_an_argument_need_not_be_described() -> None:
    assert {"hours": {"type": "integer"}} == spec_from_function(_sleep).parameters["properties"]


def _undocumented(character: Any) -> None: ...


def _unannotated(character: Any, bell) -> None:  # type: ignore[no-untyped-def]
    """Ring."""


def _ambiguous(character: Any, bell: int | str) -> None:
    """Ring."""


def _spread(character: Any, *bells: str) -> None:
    """Ring."""


def _loose(character: Any, **bells: str) -> None:
    """Ring."""


def _yielding(character: Any) -> Any:
    """Ring."""
    yield "ding"


async def _streaming(character: Any) -> Any:
    """Ring."""
    yield "ding"


def _nameless(character: Any, bell: str, /) -> None:
    """Ring."""


def _misspelt(character: Any, bell: str) -> None:
    """Ring.

    Args:
        bel: which one.
    """


def _unreadable(character: Tower, bell: str) -> None:
    """Ring."""


@pytest.mark.parametrize(
    ("told", "function"),
    [
        pytest.param("'_undocumented' needs a docstring", _undocumented, id="no docstring"),
        pytest.param("yields its result; return it", _yielding, id="generator"),
        pytest.param("yields its result; return it", _streaming, id="async generator"),
        pytest.param("list or dict, and has no annotation", _unannotated, id="none"),
        pytest.param("'bell' must be annotated", _ambiguous, id="two types"),
        pytest.param("'bells' cannot be given by its name", _spread, id="any number"),
        pytest.param("'bells' cannot be given by its name", _loose, id="any names"),
        pytest.param(
            "describes 'bel' under Args, which is not one of its parameters: character, bell",
            _misspelt,
            id="another parameter",
        ),
        pytest.param("cannot be given by its name", _nameless, id="by position only"),
        pytest.param(
            "'Tower' is not defined; import that name outside of TYPE_CHECKING; of `character`",
            _unreadable,
            id="unreadable",
        ),
    ],
)
def test_functions_that_are_no_tools(told: str, function: Any) -> None:
    with pytest.raises(TypeError) as refusal:
        spec_from_function(function)
    assert told in str(refusal.value)


def taking(annotation: Any, default: Any = None) -> Any:
    def probe(character: Any, x: Any = default) -> None:
        """Probe."""

    probe.__annotations__ = {"x": annotation}
    return probe


@pytest.mark.parametrize(
    ("schema", "annotation"),
    [
        pytest.param({"type": "string"}, str | None, id="optional"),
        pytest.param({"type": "string"}, Optional[str], id="optional, as it used to be written"),  # noqa: UP045
        pytest.param({"type": "string", "enum": ["a", "b"]}, Literal["a", "b"], id="a choice"),
        pytest.param({"type": "integer", "enum": [1, 2]}, Literal[1, 2], id="a choice of numbers"),
        pytest.param({"type": "string", "enum": ["a"]}, Literal["a"] | None,
                     id="an optional choice"),
        pytest.param({"type": "string", "enum": ["sweet", "sour"]}, Mood, id="an enum"),
        pytest.param({"type": "string", "enum": ["sweet"]}, OldMood, id="an older enum"),
        pytest.param({"type": "array", "items": {}}, list, id="any list"),
        pytest.param({"type": "array", "items": {"type": "integer"}}, list[int], id="a list"),
        pytest.param({"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
                     list[list[str]], id="a list of lists"),
        pytest.param({"type": "object", "additionalProperties": {}}, dict, id="any dict"),
        pytest.param({"type": "object", "additionalProperties": {"type": "number"}},
                     dict[str, float], id="a dict"),
    ],
)  # fmt: skip
def test_annotations(schema: dict[str, Any], annotation: Any) -> None:
    assert {"x": schema} == spec_from_function(taking(annotation)).parameters["properties"]


@pytest.mark.parametrize(
    "annotation",
    [
        pytest.param(object, id="anything"),
        pytest.param(tuple[int, int], id="a tuple"),
        pytest.param(list[object], id="a list of anything"),
        pytest.param(dict[int, str], id="a dict with numbers for keys"),
        pytest.param(dict[str, object], id="a dict of anything"),
        pytest.param(Literal["a", 1], id="a choice of two kinds"),
        pytest.param(Literal[b"a"], id="a choice of bytes"),
        pytest.param(Nothing, id="an empty enum"),
        pytest.param(Number, id="an enum of something else"),
        pytest.param(int | str | None, id="two types or none"),
    ],
)
def test_annotations_without_a_schema(annotation: Any) -> None:
    with pytest.raises(TypeError, match="'x' must be annotated as one of str, int, float"):
        spec_from_function(taking(annotation))


@pytest.mark.parametrize(
    ("told", "annotation", "default"),
    [
        pytest.param({"default": 3}, int, 3, id="a number"),
        pytest.param({"default": ""}, str, "", id="an empty text"),
        pytest.param({"default": False}, bool, False, id="no"),
        pytest.param({"default": ["a"]}, list[str], ("a",), id="a tuple"),
        pytest.param({"default": "sour"}, Mood, Mood.SOUR, id="a member of an enum"),
        pytest.param({}, str | None, None, id="nothing"),
        pytest.param({}, float, float("inf"), id="no end"),
        pytest.param({}, list, [object()], id="no JSON"),
    ],
)
def test_defaults(told: dict[str, Any], annotation: Any, default: Any) -> None:
    properties = spec_from_function(taking(annotation, default)).parameters["properties"]
    assert told == {key: value for key, value in properties["x"].items() if key == "default"}


def test_a_default_is_a_copy() -> None:
    default = ["a"]
    spec = spec_from_function(taking(list[str], default))
    spec.parameters["properties"]["x"]["default"].append("b")
    assert ["a"] == default


@pytest.mark.parametrize(
    ("given", "annotation", "value"),
    [
        pytest.param(Mood.SOUR, Mood, "sour", id="an enum"),
        pytest.param(Mood.SOUR, Mood | None, "sour", id="an optional enum"),
        pytest.param(None, Mood | None, None, id="none of it"),
        pytest.param([Mood.SOUR], list[Mood], ["sour"], id="a list of them"),
        pytest.param({"a": Mood.SOUR}, dict[str, Mood], {"a": "sour"}, id="a dict of them"),
        pytest.param([1], list, [1], id="any list"),
        pytest.param({"a": 1}, dict, {"a": 1}, id="any dict"),
        pytest.param("sour", str, "sour", id="a text"),
    ],
)
def test_what_the_function_is_given(given: Any, annotation: Any, value: Any) -> None:
    """Members of enums arrive as members, not as their texts."""
    arguments = as_annotated(hints_of(taking(annotation)), {"x": value, "other": "sour"})
    assert {"x": given, "other": "sour"} == arguments
    assert type(given) is type(arguments["x"])


LEAVES = st.sampled_from([str, int, float, bool, Literal["a", "b"], Mood])
ANNOTATIONS = st.recursive(
    LEAVES,
    lambda inner: (
        inner.map(lambda kind: list[kind])  # type: ignore[valid-type]
        | inner.map(lambda kind: dict[str, kind])  # type: ignore[valid-type]
        | inner.map(lambda kind: kind | None)
    ),
    max_leaves=4,
)


@given(ANNOTATIONS)
def test_every_annotation_makes_plain_json(annotation: Any) -> None:
    schema = spec_from_function(taking(annotation)).parameters
    assert schema == json.loads(json.dumps(schema))
    assert schema["properties"]["x"]["type"] in (
        *("string", "integer", "number", "boolean"),
        *("array", "object"),
    )
