"""The execution pattern of a tick, composed from settings, context and assessment.

Each layer states what it allows as if there were no other, and only what all of them allow holds.
So neither the order of layers nor a mistake in one can allow more than another one does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evennia_ai.core.turn.assessment import Assessment
from evennia_ai.core.turn.contexts import ContextConfig, listed
from evennia_ai.core.turn.execution import (
    MOST_CALLS_PER_REPLY,
    MOST_ITERATIONS,
    ExecutionConfig,
    ExecutionMode,
    ExecutionPattern,
)
from evennia_ai.core.turn.toolspec import ToolCategory

WIDEST = ExecutionPattern(
    mode=ExecutionMode.REACT_LOOP,
    max_iterations=MOST_ITERATIONS,
    calls_per_reply=MOST_CALLS_PER_REPLY,
    allowed_categories=frozenset(ToolCategory),
    tool_filter=None,
    terminal_ends_loop=False,
    dangerous_requires_confirm=False,
    allows_multi_tool=True,
    allows_sub_agents=True,
)
# Restrictions in words for staff. terminal_ends_loop is left out because nearly every context sets
# it, and allows_multi_tool because calls_per_reply already tells it.
_WORDING: dict[str, Callable[[Any], str]] = {
    "mode": lambda mode: "one action, the next with the next beat",
    "max_iterations": lambda count: f"at most {count} model call{'s' * (count > 1)}",
    "calls_per_reply": lambda count: f"at most {count} tool call{'s' * (count > 1)} in a reply",
    "allowed_categories": lambda kinds: f"only tools that are {listed(kinds) or 'of no kind'}",
    "tool_filter": lambda names: f"only the tools {listed(names)}" if names else "no tools",
    "dangerous_requires_confirm": lambda _: "a person has to agree to what is dangerous",
    "allows_sub_agents": lambda _: "no task is handed on",
}


def compose_pattern(
    config: ExecutionConfig,
    context: ContextConfig,
    assessment: Assessment | None = None,
    reasons: tuple[str, ...] = (),
) -> ExecutionPattern:
    """The bounds of a tick, composed of all layers.

    Args:
        reasons: reasons to list before those of the layers.
    """
    pattern = _restrict(
        WIDEST,
        "settings",
        reasons,
        mode=_mode_of(goes_on=config.multi_action_enabled),
        max_iterations=config.iterations,
        calls_per_reply=config.calls_per_reply,
        allows_sub_agents=config.sub_agents_enabled,
    )
    kinds = context.allowed_tool_categories
    pattern = _restrict(
        pattern,
        f"context {context.context_type}",
        pattern.reasons,
        mode=context.execution_mode,
        max_iterations=context.max_iterations,
        allowed_categories=WIDEST.allowed_categories if kinds is None else kinds,
        tool_filter=context.tool_filter,
        terminal_ends_loop=context.terminal_ends_loop,
        dangerous_requires_confirm=context.dangerous_requires_confirm,
        allows_multi_tool=context.allows_multi_tool,
        allows_sub_agents=context.allows_sub_agents,
    )
    return pattern if assessment is None else assessed(pattern, config, assessment)


def assessed(
    pattern: ExecutionPattern, config: ExecutionConfig, assessment: Assessment
) -> ExecutionPattern:
    """The bounds of the first two layers, restricted by the third: the assessment of the task.

    Without `task_assessment_enabled` the assessment is only added to the reasons.
    """
    if config.task_assessment_enabled:
        return _restrict(
            pattern,
            f"task: {assessment.reasoning}",
            pattern.reasons,
            mode=assessment.recommended_mode or WIDEST.mode,
            max_iterations=assessment.recommended_iterations,
            dangerous_requires_confirm=assessment.recommend_confirm_dangerous,
        )
    return replace(pattern, reasons=(*pattern.reasons, f"task, only noted: {assessment.reasoning}"))


def _mode_of(*, goes_on: bool) -> ExecutionMode:
    return ExecutionMode.REACT_LOOP if goes_on else ExecutionMode.SINGLE_ACTION


def _restrict(
    wider: ExecutionPattern,
    name: str,
    reasons: tuple[str, ...],
    *,
    mode: ExecutionMode,
    max_iterations: int,
    calls_per_reply: int = WIDEST.calls_per_reply,
    allowed_categories: frozenset[ToolCategory] = WIDEST.allowed_categories,
    tool_filter: frozenset[str] | None = None,
    terminal_ends_loop: bool = False,
    dangerous_requires_confirm: bool = False,
    allows_multi_tool: bool = True,
    allows_sub_agents: bool = True,
) -> ExecutionPattern:
    """The bounds that the pattern and one layer both allow, with a reason for each restriction."""
    # A single action is one model call with one tool call, whatever the numbers say.
    goes_on = ExecutionMode.SINGLE_ACTION not in (wider.mode, mode)
    allows_several = goes_on and wider.allows_multi_tool and allows_multi_tool
    bounds: dict[str, Any] = {
        "mode": _mode_of(goes_on=goes_on),
        "max_iterations": min(wider.max_iterations, max_iterations) if goes_on else 1,
        "calls_per_reply": min(wider.calls_per_reply, calls_per_reply) if allows_several else 1,
        "allowed_categories": wider.allowed_categories & allowed_categories,
        "tool_filter": common(wider.tool_filter, tool_filter),
        "terminal_ends_loop": wider.terminal_ends_loop or terminal_ends_loop,
        "dangerous_requires_confirm": (
            wider.dangerous_requires_confirm or dangerous_requires_confirm
        ),
        "allows_multi_tool": allows_several,
        "allows_sub_agents": wider.allows_sub_agents and allows_sub_agents,
    }
    changed = [
        f"{name}: {words(bounds[field])}"
        for field, words in _WORDING.items()
        if bounds[field] != getattr(wider, field)
    ]
    return ExecutionPattern(**bounds, reasons=(*reasons, *changed))


def common(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """The names that two filters both let through; None lets everything through."""
    if one is None or other is None:
        return other if one is None else one
    return one & other
