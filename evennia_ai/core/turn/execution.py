"""Settings that bound a tick, and the pattern composed from all layers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal

from evennia_ai.core.settings.model import Flag, SettingsGroup, Whole, Word, setting
from evennia_ai.core.turn.toolspec import ToolCategory, ToolSpec

MOST_ITERATIONS = 10
MOST_CALLS_PER_REPLY = 10


class ExecutionMode(StrEnum):
    """Ways for a tick to go on after a tool call, the narrowest first."""

    SINGLE_ACTION = "single_action"
    REACT_LOOP = "react_loop"


Assessor = Literal["heuristic", "model"]
Insulation = Literal["none", "orchestrator", "delegate"]


class ExecutionConfig(SettingsGroup):
    """Bounds of one tick: the first layer of the execution pattern."""

    NAME: ClassVar[str] = "execution_config"

    multi_action_enabled: Flag = setting(True, "whether the loop may go on after a safe tool.")
    max_iterations_per_tick: Whole = setting(
        5, "model calls in one tick, 1 to 10.", ge=1, le=MOST_ITERATIONS
    )
    calls_per_reply: Whole = setting(
        4, "tool calls of one reply that run, 1 to 10.", ge=1, le=MOST_CALLS_PER_REPLY
    )
    task_assessment_enabled: Flag = setting(
        False, "whether an assessment of the task may narrow a tick."
    )
    task_assessment_by: Assessor = setting(
        "heuristic", "heuristic, or model, which takes one more short call before each turn."
    )
    sub_agents_enabled: Flag = setting(
        False, "whether it may delegate a task to another assistant."
    )
    sub_agent_budget: Whole = setting(
        3, "delegated tasks that may be under way, 1 to 10.", ge=1, le=10
    )
    delegate_assistant_tag: Word = setting(
        "specialist", "the tag of assistants it may delegate to.", example="specialist"
    )
    personality_insulation: Insulation = setting(
        "orchestrator", "none, orchestrator or delegate: what they are told about it."
    )
    result_summarization: Flag = setting(
        True, "whether a report of more than 1,500 characters is summarized first."
    )

    @property
    def iterations(self) -> int:
        """Model calls that one tick may make."""
        return self.max_iterations_per_tick if self.multi_action_enabled else 1


@dataclass(frozen=True, slots=True)
class ExecutionPattern:
    """The effective bounds of one tick, composed from all layers.

    Attributes:
        mode: whether the tick goes on after a safe tool.
        tool_filter: names of the tools that are offered; None for all.
        terminal_ends_loop: whether the tick ends once the assistant has spoken.
        dangerous_requires_confirm: whether a person has to confirm every dangerous call.
        allows_multi_tool: whether a reply may hold more than one call.
        reasons: which layer restricted what, in words.
    """

    mode: ExecutionMode
    max_iterations: int
    calls_per_reply: int
    allowed_categories: frozenset[ToolCategory]
    tool_filter: frozenset[str] | None
    terminal_ends_loop: bool
    dangerous_requires_confirm: bool
    allows_multi_tool: bool
    allows_sub_agents: bool
    reasons: tuple[str, ...] = ()

    def offers(self, spec: ToolSpec) -> bool:
        """True if the model is offered this tool."""
        is_named = self.tool_filter is None or spec.name in self.tool_filter
        return is_named and spec.category in self.allowed_categories
