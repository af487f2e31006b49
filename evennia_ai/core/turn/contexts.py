"""The seven contexts of a tick: what each shows the model, offers it, and lets it do.

A context is the second layer of the execution pattern. Whoever changes one may not take away what
keeps a context safe that nobody watches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from evennia_ai.core.settings.context_fields import ContextFields, listed
from evennia_ai.core.turn.execution import ExecutionMode
from evennia_ai.core.turn.parts import FULL, Part, part_before
from evennia_ai.core.turn.toolspec import ToolCategory
from evennia_ai.errors import ConfigurationError


class ContextType(StrEnum):
    """The subject of a tick."""

    TICK_EVENT = "tick_event"
    TICK_AUTONOMOUS = "tick_autonomous"
    REFLECTION = "reflection"
    REFLECTION_CONT = "reflection_cont"
    SLEEP_CONSOLIDATE = "sleep_consolidate"
    GOAL_DECOMPOSE = "goal_decompose"
    PRE_COMPACTION = "pre_compaction"


@dataclass(frozen=True, slots=True)
class ContextConfig:
    """One context. What may be set of it, `ContextFields` tells."""

    context_type: ContextType
    name: str
    description: str
    enabled_components: tuple[int, ...] = FULL
    component_overrides: Mapping[int, str] = field(default_factory=dict)
    tool_filter: frozenset[str] | None = None
    token_budget: int | None = None
    execution_mode: ExecutionMode = ExecutionMode.REACT_LOOP
    max_iterations: int = 5
    allowed_tool_categories: frozenset[ToolCategory] | None = None
    terminal_ends_loop: bool = True
    dangerous_requires_confirm: bool = False
    allows_multi_tool: bool = True
    allows_sub_agents: bool = True

    def shows(self, number: int) -> bool:
        """True for a shown component: a part by its own id, another with the part before it."""
        return part_before(number) in self.enabled_components

    def changed(self, overrides: Mapping[str, Any], path: str = "") -> ContextConfig:
        """This context with some of its fields set differently.

        Args:
            path: what to call the overrides in an error; "": `context_configs.<context>`.

        Raises:
            ConfigurationError: a field is unknown, a value does not fit, or what keeps the context
                safe would be gone.
        """
        path = path or f"context_configs.{self.context_type}"
        given = ContextFields.from_stored(overrides, path)
        if not given.model_fields_set:
            return self
        result = replace(self, **{name: getattr(given, name) for name in given.model_fields_set})
        self._keep_safe(result, path)
        return result

    def _keep_safe(self, result: ContextConfig, path: str) -> None:
        """Refuse a change of what others rely on."""
        lost = sorted(_needed(self.context_type) - set(result.enabled_components))
        if lost:
            raise ConfigurationError(
                f"{path}.enabled_components leaves out {lost[0]}; {self.context_type} needs it"
            )
        wider = result.dangerous_requires_confirm < self.dangerous_requires_confirm
        if wider:
            raise ConfigurationError(
                f"{path}.dangerous_requires_confirm is False; it must stay True, as it was set"
            )
        mine, theirs = self.allowed_tool_categories, result.allowed_tool_categories
        if mine is not None and (theirs is None or not theirs <= mine):
            raise ConfigurationError(
                f"{path}.allowed_tool_categories allows more than {listed(mine)}; "
                "it may only allow less"
            )


def _needed(context_type: ContextType) -> set[int]:
    """The rules stand in the system prompt; and without its event a tick has nothing to answer."""
    if context_type is ContextType.TICK_EVENT:
        return {Part.SYSTEM_PROMPT, Part.EVENT}
    return {Part.SYSTEM_PROMPT}


JOURNAL_TOOLS = frozenset(
    ("add_journal_entry", "read_journal", "search_journal", "recall_memories", "noop")
)
MEMORY_TOOLS = frozenset(("store_memory", "recall_memories"))
UNSEEN = frozenset((ToolCategory.SAFE_CHAIN, ToolCategory.ASYNC_REQUIRED))


def _unseen(
    context_type: ContextType,
    name: str,
    description: str,
    parts: tuple[int, ...],
    iterations: int,
    tools: frozenset[str] = JOURNAL_TOOLS,
) -> ContextConfig:
    """A context in which nobody waits and nobody watches: it may neither speak nor act."""
    return ContextConfig(
        context_type,
        name,
        description,
        enabled_components=parts,
        tool_filter=tools,
        execution_mode=(
            ExecutionMode.REACT_LOOP if iterations > 1 else ExecutionMode.SINGLE_ACTION
        ),
        max_iterations=iterations,
        allowed_tool_categories=UNSEEN,
        allows_sub_agents=False,
    )


_TABLE = (
    ContextConfig(ContextType.TICK_EVENT, "answering", "somebody spoke and waits for an answer"),
    ContextConfig(
        ContextType.TICK_AUTONOMOUS, "on its own", "nobody spoke, and there is a goal to work on"
    ),
    _unseen(
        ContextType.REFLECTION,
        "reflection",
        "thinking over what happened",
        (Part.SYSTEM_PROMPT, Part.CHARACTER, Part.HISTORY),
        3,
    ),
    _unseen(
        ContextType.REFLECTION_CONT,
        "reflection, next step",
        "going on after a tool of a reflection",
        (Part.SYSTEM_PROMPT, Part.TOOL_RESULT),
        2,
    ),
    _unseen(
        ContextType.SLEEP_CONSOLIDATE,
        "sleep",
        "sorting memories",
        (Part.SYSTEM_PROMPT, Part.MEMORIES),
        10,
        MEMORY_TOOLS | JOURNAL_TOOLS,
    ),
    _unseen(
        ContextType.GOAL_DECOMPOSE,
        "planning",
        "breaking a goal into smaller ones",
        (Part.SYSTEM_PROMPT, Part.CHARACTER, Part.GOALS),
        1,
        frozenset(),
    ),
    _unseen(
        ContextType.PRE_COMPACTION,
        "before forgetting",
        "keeping the facts of a talk that is about to be shortened",
        (Part.SYSTEM_PROMPT, Part.CHARACTER, Part.MEMORIES, Part.HISTORY),
        5,
    ),
)
CONTEXTS: Mapping[ContextType, ContextConfig] = MappingProxyType(
    {row.context_type: row for row in _TABLE}
)


def context_for(
    context_type: ContextType, game: Mapping[str, Any], own: Mapping[str, Any]
) -> ContextConfig:
    """A context as the game changed it, and one assistant after that.

    Args:
        game: the setting EVENNIA_AI_CONTEXT_CONFIGS.
        own: the assistant's `context_configs`.

    Raises:
        ConfigurationError: something in them is wrong.
    """
    config = CONTEXTS[context_type]
    for path, given in (("EVENNIA_AI_CONTEXT_CONFIGS", game), ("context_configs", own)):
        if not isinstance(given, Mapping):
            raise ConfigurationError(
                f"{path} is {given!r}; it must be like {{'tick_event': {{'max_iterations': 3}}}}"
            )
        unknown = [key for key in given if key not in tuple(ContextType)]
        if unknown:
            raise ConfigurationError(
                f"{path} has no context {unknown[0]!r}; there are {', '.join(ContextType)}"
            )
        config = config.changed(given.get(context_type, {}), f"{path}.{context_type}")
    return config
