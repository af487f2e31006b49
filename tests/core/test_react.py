"""Why a loop ends."""

from __future__ import annotations

from itertools import product

import pytest

from evennia_ai.core.react import Stop, StopReason, after_tool
from evennia_ai.core.toolspec import ToolCategory


@pytest.mark.parametrize(
    ("reason", "name", "category", "success"),
    [
        pytest.param(None, "look", "safe_chain", True, id="a look goes on"),
        pytest.param(None, "look", "safe_chain", False, id="a failed look goes on"),
        pytest.param("terminal_tool", "say", "terminal", True, id="speech ends it"),
        pytest.param(None, "say", "terminal", False, id="failed speech may be corrected"),
        pytest.param(
            "dangerous_tool", "dig", "dangerous", True, id="a change of the world ends it"
        ),
        pytest.param(None, "dig", "dangerous", False, id="a failed change may be corrected"),
        pytest.param(None, "store", "async_required", True, id="waiting for something goes on"),
        pytest.param("noop", "noop", "safe_chain", True, id="nothing to do ends it"),
        pytest.param("noop", "noop", "safe_chain", False, id="nothing to do ends it at any rate"),
    ],
)
def test_what_follows_a_tool(reason: str | None, name: str, category: str, success: bool) -> None:
    """The category of a tool and its success decide whether the loop ends."""
    assert reason == after_tool(name, ToolCategory(category), success=success)


def test_every_category_has_a_row() -> None:
    """No category leaves the loop without an answer, and a failure never ends it by itself."""
    for category, success in product(ToolCategory, (False, True)):
        reason = after_tool("tool", category, success=success)
        assert reason is None or success


@pytest.mark.parametrize(
    ("is_failure", "reason"),
    [
        pytest.param(False, StopReason.NOOP, id="noop"),
        pytest.param(False, StopReason.TERMINAL_TOOL, id="terminal_tool"),
        pytest.param(False, StopReason.DANGEROUS_TOOL, id="dangerous_tool"),
        pytest.param(True, StopReason.MAX_ITERATIONS, id="max_iterations"),
        pytest.param(True, StopReason.LLM_ERROR, id="llm_error"),
        pytest.param(True, StopReason.PARSE_ERROR, id="parse_error"),
    ],
)
def test_which_ends_are_failures(is_failure: bool, reason: StopReason) -> None:
    """An end is a failure when whoever waits got no answer against the model's will."""
    assert is_failure is Stop(reason).is_failure
