"""The pattern of a tick from three layers, each of which can only restrict."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.contexts import CONTEXTS, ContextConfig, ContextType
from evennia_ai.core.turn.execution import ExecutionConfig, ExecutionMode, ExecutionPattern
from evennia_ai.core.turn.pattern import Assessment, common, compose_pattern
from evennia_ai.core.turn.toolspec import ToolCategory

EVENT = CONTEXTS[ContextType.TICK_EVENT]
CATEGORIES = frozenset(ToolCategory)
MODES = st.sampled_from([ExecutionMode.SINGLE_ACTION, ExecutionMode.REACT_LOOP])
CONFIGS = st.builds(
    ExecutionConfig,
    multi_action_enabled=st.booleans(),
    max_iterations_per_tick=st.integers(1, 10),
    calls_per_reply=st.integers(1, 10),
    task_assessment_enabled=st.booleans(),
    sub_agents_enabled=st.booleans(),
)
CONTEXT_CONFIGS = st.builds(
    ContextConfig,
    context_type=st.sampled_from(ContextType),
    name=st.just("one"),
    description=st.just("of any kind"),
    tool_filter=st.none() | st.frozensets(st.sampled_from(["say", "look", "noop"])),
    execution_mode=MODES,
    max_iterations=st.integers(1, 10),
    allowed_tool_categories=st.none() | st.frozensets(st.sampled_from(ToolCategory)),
    terminal_ends_loop=st.booleans(),
    dangerous_requires_confirm=st.booleans(),
    allows_multi_tool=st.booleans(),
    allows_sub_agents=st.booleans(),
)
ASSESSMENTS = st.none() | st.builds(
    Assessment,
    complexity_score=st.integers(1, 5),
    recommended_mode=st.none() | MODES,
    recommended_iterations=st.integers(1, 10),
    recommend_confirm_dangerous=st.booleans(),
    reasoning=st.just("because"),
)


def is_within(one: ExecutionPattern, other: ExecutionPattern) -> bool:
    """True if `one` allows nothing that `other` does not allow."""
    loop = ExecutionMode.REACT_LOOP
    names = one.tool_filter is not None and one.tool_filter <= (other.tool_filter or set())
    return all(
        (
            (one.mode == loop) <= (other.mode == loop),
            one.max_iterations <= other.max_iterations,
            one.calls_per_reply <= other.calls_per_reply,
            one.allowed_categories <= other.allowed_categories,
            other.tool_filter is None or names,
            one.terminal_ends_loop >= other.terminal_ends_loop,
            one.dangerous_requires_confirm >= other.dangerous_requires_confirm,
            one.allows_multi_tool <= other.allows_multi_tool,
            one.allows_sub_agents <= other.allows_sub_agents,
        )
    )


@given(CONFIGS, CONTEXT_CONFIGS, ASSESSMENTS)
def test_no_layer_widens_what_another_allows(
    config: ExecutionConfig, context: ContextConfig, assessment: Assessment | None
) -> None:
    """The result is within each layer alone."""
    whole = compose_pattern(config, context, assessment)
    widest_config = ExecutionConfig(
        max_iterations_per_tick=10, calls_per_reply=10, sub_agents_enabled=True
    )
    widest_context = EVENT.changed({"max_iterations": 10, "terminal_ends_loop": False})
    assert is_within(whole, compose_pattern(config, widest_context))
    assert is_within(whole, compose_pattern(widest_config, context))
    assert is_within(whole, compose_pattern(config, context))


@given(CONFIGS, CONTEXT_CONFIGS, ASSESSMENTS)
def test_a_pattern_is_at_one_with_itself(
    config: ExecutionConfig, context: ContextConfig, assessment: Assessment | None
) -> None:
    """A single action is one model call with one tool call."""
    pattern = compose_pattern(config, context, assessment)
    if pattern.mode is ExecutionMode.SINGLE_ACTION:
        assert (1, 1) == (pattern.max_iterations, pattern.calls_per_reply)
    assert pattern.allows_multi_tool or pattern.calls_per_reply == 1
    assert 1 <= pattern.max_iterations
    assert 1 <= pattern.calls_per_reply


@given(CONFIGS, CONTEXT_CONFIGS, ASSESSMENTS)
def test_an_assessment_restricts_only_where_it_is_wanted(
    config: ExecutionConfig, context: ContextConfig, assessment: Assessment | None
) -> None:
    """If it is off, an assessment is only noted among the reasons."""
    alone = compose_pattern(config, context)
    pattern = compose_pattern(config, context, assessment)
    if not config.task_assessment_enabled:
        assert is_within(alone, pattern)
    if assessment is not None and not config.task_assessment_enabled:
        assert "task, only noted: because" == pattern.reasons[-1]


def test_the_ordinary_case() -> None:
    pattern = compose_pattern(ExecutionConfig(), EVENT)
    expected = ExecutionPattern(
        mode=ExecutionMode.REACT_LOOP,
        max_iterations=5,
        calls_per_reply=4,
        allowed_categories=CATEGORIES,
        tool_filter=None,
        terminal_ends_loop=True,
        dangerous_requires_confirm=False,
        allows_multi_tool=True,
        allows_sub_agents=False,
        reasons=(
            "settings: at most 5 model calls",
            "settings: at most 4 tool calls in a reply",
            "settings: no task is handed on",
        ),
    )
    assert expected == pattern


@pytest.mark.parametrize(
    ("reason", "config", "overrides", "assessment"),
    [
        pytest.param("settings: one action, the next with the next beat",
                     {"multi_action_enabled": False}, {}, None,
                     id="settings ask for a single action"),
        pytest.param("context tick_event: one action, the next with the next beat", {},
                     {"execution_mode": "single_action"}, None,
                     id="a context asks for a single action"),
        pytest.param("context tick_event: at most 1 model call", {}, {"max_iterations": 1}, None,
                     id="one"),
        pytest.param("context tick_event: at most 1 tool call in a reply", {},
                     {"allows_multi_tool": False}, None, id="one call a reply"),
        pytest.param("context tick_event: only tools that are safe_chain, terminal", {},
                     {"allowed_tool_categories": ["terminal", "safe_chain"]}, None,
                     id="some kinds"),
        pytest.param("context tick_event: only tools that are of no kind", {},
                     {"allowed_tool_categories": []}, None, id="no kinds"),
        pytest.param("context tick_event: only the tools look, say", {},
                     {"tool_filter": ["say", "look"]}, None, id="some tools"),
        pytest.param("context tick_event: no tools", {}, {"tool_filter": []}, None, id="no tools"),
        pytest.param("context tick_event: a person has to agree to what is dangerous", {},
                     {"dangerous_requires_confirm": True}, None, id="consent"),
        pytest.param("context tick_event: no task is handed on", {"sub_agents_enabled": True},
                     {"allows_sub_agents": False}, None, id="no helpers"),
        pytest.param("task: easy: at most 2 model calls", {"task_assessment_enabled": True}, {},
                     Assessment(3, None, 2, reasoning="easy"), id="an assessment"),
    ],
)  # fmt: skip
def test_reasons(
    reason: str, config: dict[str, Any], overrides: dict[str, Any], assessment: Assessment | None
) -> None:
    pattern = compose_pattern(ExecutionConfig(**config), EVENT.changed(overrides), assessment)
    assert reason in pattern.reasons


def test_two_filters_leave_what_both_name() -> None:
    one, other = frozenset(("say", "look")), frozenset(("look", "noop"))
    assert [one, one, frozenset(("look",))] == [
        common(None, one),
        common(one, None),
        common(one, other),
    ]


@pytest.mark.parametrize(
    ("mode", "confirms", "assessment"),
    [
        pytest.param("react_loop", True, Assessment(4, None, 5, True), id="ask a person first"),
        pytest.param(
            "single_action",
            False,
            Assessment(1, ExecutionMode.SINGLE_ACTION, 1),
            id="one step is enough",
        ),
        pytest.param("react_loop", False, Assessment(3, None, 5), id="no opinion"),
    ],
)
def test_what_an_assessment_says_holds(mode: str, confirms: bool, assessment: Assessment) -> None:
    pattern = compose_pattern(ExecutionConfig(task_assessment_enabled=True), EVENT, assessment)
    assert (mode, confirms) == (pattern.mode, pattern.dangerous_requires_confirm)


def test_what_a_context_restricts_stays_whatever_is_assessed() -> None:
    context = EVENT.changed(
        {"dangerous_requires_confirm": True, "terminal_ends_loop": True, "allows_multi_tool": False}
    )
    config = ExecutionConfig(task_assessment_enabled=True)
    pattern = compose_pattern(config, context, Assessment(5, None, 10))
    assert (True, True, False, 1) == (
        pattern.dangerous_requires_confirm,
        pattern.terminal_ends_loop,
        pattern.allows_multi_tool,
        pattern.calls_per_reply,
    )
