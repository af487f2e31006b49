"""Settings of one tick: its steps, its calls, and its tools."""

from typing import Any

import pytest

from evennia_ai.core.turn.execution import ExecutionConfig, ExecutionMode, ExecutionPattern
from evennia_ai.core.turn.toolspec import ToolCategory
from evennia_ai.errors import ConfigurationError
from tests.core.samples import make_spec


@pytest.mark.parametrize(
    ("iterations", "stored"),
    [
        pytest.param(5, {}, id="the defaults"),
        pytest.param(10, {"max_iterations_per_tick": 10}, id="the most"),
        pytest.param(1, {"max_iterations_per_tick": 1}, id="the least"),
        pytest.param(1, {"multi_action_enabled": False}, id="a single action"),
        pytest.param(
            1,
            {"multi_action_enabled": False, "max_iterations_per_tick": 9},
            id="a single action whatever the count",
        ),
    ],
)
def test_iterations(iterations: int, stored: dict[str, Any]) -> None:
    assert iterations == ExecutionConfig.from_stored(stored).iterations


def test_the_defaults_are_the_documented_ones() -> None:
    expected = ExecutionConfig(
        multi_action_enabled=True,
        max_iterations_per_tick=5,
        calls_per_reply=4,
        task_assessment_enabled=False,
        sub_agents_enabled=False,
        sub_agent_budget=3,
        delegate_assistant_tag="specialist",
        personality_insulation="orchestrator",
        result_summarization=True,
    )
    assert expected == ExecutionConfig.from_stored({})


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param({"calls_per_reply": 1}, id="one call a reply"),
        pytest.param({"calls_per_reply": 10}, id="ten calls a reply"),
        pytest.param({"sub_agent_budget": 1}, id="one task handed on"),
        pytest.param({"sub_agent_budget": 10}, id="ten tasks handed on"),
        pytest.param({"personality_insulation": "none"}, id="nothing kept from helpers"),
        pytest.param({"personality_insulation": "delegate"}, id="much kept from helpers"),
        pytest.param({"delegate_assistant_tag": "smith"}, id="a tag"),
        pytest.param({"task_assessment_enabled": True}, id="assessed"),
        pytest.param({"result_summarization": False}, id="results whole"),
    ],
)
def test_right_values_are_kept(stored: dict[str, Any]) -> None:
    config = ExecutionConfig.from_stored(stored)
    assert stored == {key: getattr(config, key) for key in stored}


@pytest.mark.parametrize(
    ("told", "stored"),
    [
        pytest.param("per_tick is 0; it must be a whole number from 1 to 10",
                     {"max_iterations_per_tick": 0}, id="0"),
        pytest.param("per_tick is 11; it", {"max_iterations_per_tick": 11}, id="11"),
        pytest.param("per_tick is -1; it", {"max_iterations_per_tick": -1}, id="negative"),
        pytest.param("per_tick is True; it", {"max_iterations_per_tick": True}, id="a bool"),
        pytest.param("per_tick is '5'; it", {"max_iterations_per_tick": "5"}, id="a text"),
        pytest.param("per_tick is 2.0; it", {"max_iterations_per_tick": 2.0}, id="a float"),
        pytest.param("per_tick is nan; it", {"max_iterations_per_tick": float("nan")}, id="nan"),
        pytest.param("enabled is 1; it must be True", {"multi_action_enabled": 1}, id="no bool"),
        pytest.param("per_reply is 0; it must be a whole number from 1 to 10",
                     {"calls_per_reply": 0}, id="no calls"),
        pytest.param("per_reply is 11; it", {"calls_per_reply": 11}, id="too many calls"),
        pytest.param("budget is 11; it must be a whole number from 1 to 10",
                     {"sub_agent_budget": 11}, id="budget"),
        pytest.param("budget is 0; it", {"sub_agent_budget": 0}, id="no budget"),
        pytest.param("insulation is 'thick'; it must be one of none, orchestrator, delegate",
                     {"personality_insulation": "thick"}, id="an unknown insulation"),
        pytest.param("by is 'dice'; it must", {"task_assessment_by": "dice"},
                     id="an unknown judge"),
        pytest.param("tag is ' '; it must be text, such as specialist",
                     {"delegate_assistant_tag": " "}, id="blank"),
        pytest.param("tag is 5; it must be text, such as", {"delegate_assistant_tag": 5},
                     id="no text"),
        pytest.param(
            "no key 'max_iterations'; it has multi_action_enabled, max_iterations_per_tick",
            {"max_iterations": 3},
            id="an unknown key",
        ),
        pytest.param("no key 5; it has", {5: 3, "x": 1}, id="keys of several types"),
        pytest.param("execution_config is [5]; it must be a mapping of multi", [5],
                     id="no mapping"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused(told: str, stored: Any) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        ExecutionConfig.from_stored(stored)
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("is_offered", "category", "names"),
    [
        pytest.param(True, "safe_chain", None, id="of an allowed kind"),
        pytest.param(False, "dangerous", None, id="of another kind"),
        pytest.param(True, "safe_chain", {"look"}, id="named"),
        pytest.param(False, "safe_chain", {"say"}, id="not named"),
        pytest.param(False, "safe_chain", set(), id="none are named"),
        pytest.param(False, "dangerous", {"look"}, id="named, and of another kind"),
    ],
)
def test_what_is_offered(is_offered: bool, category: str, names: set[str] | None) -> None:
    """A tool is offered if both its category and its name are allowed."""
    pattern = ExecutionPattern(
        mode=ExecutionMode.REACT_LOOP,
        max_iterations=5,
        calls_per_reply=4,
        allowed_categories=frozenset([ToolCategory.SAFE_CHAIN]),
        tool_filter=None if names is None else frozenset(names),
        terminal_ends_loop=True,
        dangerous_requires_confirm=False,
        allows_multi_tool=True,
        allows_sub_agents=False,
    )
    assert is_offered is pattern.offers(make_spec("look", category=ToolCategory(category)))
