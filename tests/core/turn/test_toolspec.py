"""Tools, calls and results as values."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolCategory, ToolResult, offered_name
from tests.core.samples import ANY_TEXT, make_spec


def test_spec_as_function() -> None:
    spec = make_spec("ring", {"bell": "string"})
    function = {"name": "ring", "description": "To ring.", "parameters": spec.parameters}
    assert {"type": "function", "function": function} == spec.as_function


@pytest.mark.parametrize(
    ("may_repeat", "is_noticed", "category", "is_idempotent"),
    [
        pytest.param(True, False, "safe_chain", False, id="what only reads"),
        pytest.param(False, True, "terminal", False, id="what is heard"),
        pytest.param(True, True, "terminal", True, id="what is heard, twice as once"),
        pytest.param(False, True, "dangerous", False, id="what changes the world"),
        pytest.param(True, True, "dangerous", True, id="a change that is one however often"),
        pytest.param(False, False, "async_required", False, id="what waits for something outside"),
        pytest.param(True, False, "async_required", True, id="what may be asked for twice"),
    ],
)
def test_what_may_be_repeated(
    may_repeat: bool, is_noticed: bool, category: str, is_idempotent: bool
) -> None:
    """A failed attempt is repeated only where nobody can notice two."""
    spec = replace(make_spec("ring"), category=ToolCategory(category), is_idempotent=is_idempotent)
    assert (may_repeat, is_noticed) == (spec.may_repeat, spec.is_noticed)


@pytest.mark.parametrize(
    ("content", "result", "advisory"),
    [
        pytest.param({"success": True, "result": "done"}, ToolResult(True, "done"), "",
                     id="worked"),
        pytest.param({"success": False, "error": "no é"}, ToolResult(False, "no é", Fault.FAILED),
                     "", id="failed"),
        pytest.param({"success": True, "result": "done", "advisory": "be brief"},
                     ToolResult(True, "done"), "be brief", id="with advice"),
    ],
)  # fmt: skip
def test_result_as_content(content: dict[str, Any], result: ToolResult, advisory: str) -> None:
    assert content == json.loads(result.as_content(advisory))


@given(ANY_TEXT, ANY_TEXT)
def test_results_keep_their_text(text: str, advisory: str) -> None:
    content = json.loads(ToolResult(True, text).as_content(advisory))
    assert (True, text, advisory) == (
        content["success"],
        content["result"],
        content.get("advisory", ""),
    )


def test_what_was_raised_is_beside_the_result() -> None:
    """Results are compared without the exception behind them."""
    assert ToolResult(False, "no", Fault.FAILED, OSError()) == ToolResult(False, "no", Fault.FAILED)


def test_calls_share_nothing() -> None:
    first, second = ToolCall("c1", "look"), ToolCall("c1", "look")
    assert first == second
    assert first.arguments is not second.arguments


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        pytest.param("look_at", "look_at", id="as offered"),
        pytest.param("Look-At", "look_at", id="case and dash"),
        pytest.param("look at", "look_at", id="a space"),
        pytest.param("Say", "Say", id="an offered one in this case"),
        pytest.param("lookat", "lookat", id="another word"),
    ],
)
def test_offered_name(name: str, offered: str) -> None:
    assert offered == offered_name(name, ("look_at", "say", "Say"))
