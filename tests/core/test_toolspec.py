"""What a tool is to the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.toolspec import (
    ToolCall,
    ToolCategory,
    ToolResult,
    ToolSpec,
    arguments_problem,
    spec_from_function,
)
from tests.core.samples import ANY_TEXT, JSON_VALUES, make_spec

if TYPE_CHECKING:
    from pathlib import Path as Tower


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
    """Name, docstring, annotations and defaults make the spec; what the game gives is hidden."""
    properties = {
        "bell": {
            "type": "string",
            "description": "name of the bell; note: it must hang in a tower.",
        },
        "times": {"type": "integer", "description": "how often."},
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


def test_spec_as_function() -> None:
    """The spec is sent in the form of the chat completions API."""
    spec = make_spec("ring", {"bell": "string"})
    function = {"name": "ring", "description": "To ring.", "parameters": spec.parameters}
    assert {"type": "function", "function": function} == spec.as_function()


def test_a_tool_may_take_nothing() -> None:
    """A function of the character alone is a tool without arguments."""
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
    """An argument without a text in the docstring is offered by its type alone."""
    assert {"hours": {"type": "integer"}} == spec_from_function(_sleep).parameters["properties"]


def _undocumented(character: Any) -> None: ...


def _unannotated(character: Any, bell) -> None:  # type: ignore[no-untyped-def]
    """Ring."""


def _listed(character: Any, bells: list[str]) -> None:
    """Ring."""


def _ambiguous(character: Any, bell: int | str) -> None:
    """Ring."""


def _unreadable(character: Tower, bell: str) -> None:
    """Ring."""


@pytest.mark.parametrize(
    ("told", "function"),
    [
        pytest.param("'_undocumented' needs a docstring", _undocumented, id="no docstring"),
        pytest.param(
            "'bell' must be annotated as one of str, int, float, bool", _unannotated, id="none"
        ),
        pytest.param("'bells' must be annotated", _listed, id="a list"),
        pytest.param("'bell' must be annotated", _ambiguous, id="two types"),
        pytest.param("name 'Tower' is not defined; import that name", _unreadable, id="unreadable"),
    ],
)
def test_functions_that_are_no_tools(told: str, function: Any) -> None:
    """What the model could not be told is refused at start, in words that say what to mend."""
    with pytest.raises(TypeError) as refusal:
        spec_from_function(function)
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "result"),
    [
        pytest.param({"success": True, "result": "done"}, ToolResult(True, "done"), id="worked"),
        pytest.param({"success": False, "error": "no é"}, ToolResult(False, "no é"), id="failed"),
    ],
)
def test_result_as_content(content: dict[str, Any], result: ToolResult) -> None:
    """A result is told as JSON under `result` or `error`."""
    assert content == json.loads(result.as_content())


SPEC = make_spec(
    "ring",
    {"bell": "string", "times": "integer", "loudness": "number", "far": "boolean"},
    required=("bell",),
)


@pytest.mark.parametrize(
    ("problem", "arguments"),
    [
        pytest.param("", {"bell": "big"}, id="what is needed"),
        pytest.param("", {"bell": "", "times": 2, "loudness": 1, "far": True}, id="all"),
        pytest.param("", {"bell": "big", "times": None}, id="null for one that may be left out"),
        pytest.param("ring needs bell", {}, id="one missing"),
        pytest.param(
            "ring has no argument Bell; it takes bell, times, loudness, far",
            {"bell": "big", "Bell": 1},
            id="an unknown one",
        ),
        pytest.param(
            "ring: bell must be of type string, not NoneType", {"bell": None}, id="needed null"
        ),
        pytest.param("ring: bell must be of type string, not int", {"bell": 3}, id="a number"),
        pytest.param(
            "ring: times must be of type integer, not float", {"bell": "", "times": 1.5}, id="float"
        ),
        pytest.param(
            "ring: times must be of type integer, not bool", {"bell": "", "times": True}, id="bool"
        ),
        pytest.param(
            "ring: far must be of type boolean, not int", {"bell": "", "far": 1}, id="no bool"
        ),
        pytest.param(
            "ring: loudness must be of type number, not str",
            {"bell": "", "loudness": "1"},
            id="a number in a text",
        ),
    ],
)
def test_arguments_problem(problem: str, arguments: dict[str, Any]) -> None:
    """The first thing wrong with arguments is told in words a model can act on."""
    assert problem == arguments_problem(SPEC, arguments)


def test_several_missing_are_named_together() -> None:
    """Everything missing is named at once, so that one correction is enough."""
    spec = make_spec("whisper", {"target": "string", "message": "string"}, ("target", "message"))
    assert "whisper needs target, message" == arguments_problem(spec, {})


def test_a_tool_without_arguments_says_so() -> None:
    """A tool that takes nothing says that it takes none."""
    assert "rest has no argument x; it takes none" == arguments_problem(make_spec("rest"), {"x": 1})


@pytest.mark.parametrize(
    ("problem", "arguments"),
    [
        pytest.param("", {"target": "Tom"}, id="the only one"),
        pytest.param("", {"target": "Tom", "mood": None}, id="null for one that may be left out"),
        pytest.param("whisper: target must be Tom", {"target": "Mia"}, id="another"),
        pytest.param(
            "whisper: mood must be sweet or sour",
            {"target": "Tom", "mood": "Sour"},
            id="not spelled so",
        ),
        pytest.param(
            "whisper: target must be of type string, not list", {"target": ["Tom"]}, id="a list"
        ),
    ],
)
def test_arguments_with_a_choice(problem: str, arguments: dict[str, Any]) -> None:
    """An argument that has a choice of values takes one of them."""
    spec = make_spec("whisper", {"target": "string", "mood": "string"}, ("target",))
    spec.parameters["properties"]["target"]["enum"] = ["Tom"]
    spec.parameters["properties"]["mood"]["enum"] = ["sweet", "sour"]
    assert problem == arguments_problem(spec, arguments)


NAMES = st.sampled_from(["bell", "times", "loudness", "far"]) | ANY_TEXT


@given(st.dictionaries(NAMES, JSON_VALUES, max_size=4))
def test_arguments_problem_is_total(arguments: dict[str, Any]) -> None:
    """Any JSON object is judged, and what is let through can be given to the function."""
    if not arguments_problem(SPEC, arguments):
        assert {"bell"} <= set(arguments) <= set(SPEC.parameters["properties"])
        assert isinstance(arguments["bell"], str)


def test_calls_share_nothing() -> None:
    """Two calls without arguments are equal and stay apart."""
    first, second = ToolCall("c1", "look"), ToolCall("c1", "look")
    assert first == second
    assert first.arguments is not second.arguments
