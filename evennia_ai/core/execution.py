"""How much one tick may do: the static layer, checked when it is read, and what layers make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from evennia_ai.core.stored import read_config
from evennia_ai.core.toolspec import ToolCategory, ToolSpec
from evennia_ai.errors import ConfigurationError

MOST_ITERATIONS = 10
MOST_CALLS_PER_REPLY = 10


class ExecutionMode(StrEnum):
    """How a tick goes on after a tool; the narrower first."""

    SINGLE_ACTION = "single_action"
    REACT_LOOP = "react_loop"
    PLAN_EXECUTE = "plan_execute"


_NUMBERS = {
    "max_iterations_per_tick": (1, MOST_ITERATIONS),
    "calls_per_reply": (1, MOST_CALLS_PER_REPLY),
    "sub_agent_budget": (1, 10),
}
_CHOICES = {
    "task_assessment_by": ("heuristic", "model"),
    "personality_insulation": ("none", "orchestrator", "delegate"),
}


@dataclass(frozen=True, slots=True)
class ExecutionConfig:
    """Bounds of one tick: the first layer.

    Attributes:
        multi_action_enabled: whether the loop may go on after a safe tool.
        max_iterations_per_tick: model calls in one tick, 1 to 10.
        calls_per_reply: tool calls of one reply that are run, 1 to 10.
        task_assessment_enabled: whether an assessment of the task may narrow a tick.
        task_assessment_by: heuristic, or model: one more short call before each turn.
        sub_agents_enabled: whether it may hand a task to another assistant.
        sub_agent_budget: how many such tasks may be under way, 1 to 10.
        delegate_assistant_tag: the tag of those it may hand tasks to.
        personality_insulation: none, orchestrator or delegate: what they are told of it.
        result_summarization: whether their results are shortened first.
    """

    multi_action_enabled: bool = True
    max_iterations_per_tick: int = 5
    calls_per_reply: int = 4
    task_assessment_enabled: bool = False
    task_assessment_by: str = "heuristic"
    sub_agents_enabled: bool = False
    sub_agent_budget: int = 3
    delegate_assistant_tag: str = "specialist"
    personality_insulation: str = "orchestrator"
    result_summarization: bool = True

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if wanted := self._problem(entry.name, value, type(entry.default)):
                raise ConfigurationError(
                    f"execution_config.{entry.name} is {value!r}; it must be {wanted}"
                )

    @staticmethod
    def _problem(name: str, value: Any, kind: type) -> str:
        """What the value would have to be, or ""."""
        if kind is bool:
            return "" if isinstance(value, bool) else "True or False"
        if kind is int:
            least, most = _NUMBERS[name]
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            return "" if is_whole and least <= value <= most else f"{least} to {most}"
        if name in _CHOICES:
            return "" if value in _CHOICES[name] else " or ".join(_CHOICES[name])
        return "" if isinstance(value, str) and value.strip() else "a tag, such as 'specialist'"

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> ExecutionConfig:
        """Read a stored mapping.

        Raises:
            ConfigurationError: it is no mapping, a key is unknown or a value is out of bounds.
        """
        return read_config(cls, "execution_config", stored, "{'max_iterations_per_tick': 5}")

    @property
    def iterations(self) -> int:
        """Model calls one tick may make."""
        return self.max_iterations_per_tick if self.multi_action_enabled else 1


@dataclass(frozen=True, slots=True)
class ExecutionPattern:
    """What one tick may do, when all layers have had their say.

    Attributes:
        mode: whether it goes on after a safe tool.
        max_iterations: model calls.
        calls_per_reply: tool calls of one reply that are run.
        allowed_categories: what kinds of tools are on offer.
        tool_filter: which of them, by name; None: all.
        terminal_ends_loop: whether it is over when the assistant has spoken.
        dangerous_requires_confirm: whether a person has to agree to every dangerous call.
        allows_multi_tool: whether a reply may hold more than one call.
        allows_sub_agents: whether a task may be handed on.
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
        """Whether the model is shown this tool."""
        is_named = self.tool_filter is None or spec.name in self.tool_filter
        return is_named and spec.category in self.allowed_categories
