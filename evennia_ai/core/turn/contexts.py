"""The seven contexts of a tick: what each shows the model, which tools it offers and allows.

A context is the second layer of the execution pattern. Settings may change one, but not remove what
keeps an unwatched context safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from evennia_ai.core.settings.model import Flag, Line, SettingsGroup, Text, Whole, among, setting
from evennia_ai.core.turn.execution import MOST_ITERATIONS, ExecutionMode
from evennia_ai.core.turn.toolspec import ToolCategory
from evennia_ai.errors import ConfigurationError

LEAST_TOKEN_BUDGET, MOST_TOKEN_BUDGET = 500, 100_000_000


class PromptPart(IntEnum):
    """The built-in prompt components; a game's own components take numbers in the gaps."""

    SYSTEM_PROMPT = 0
    CHARACTER = 1000
    ENTITIES = 1500
    MEMORIES = 2000
    OVERHEARD = 3000
    GOALS = 4000
    HISTORY = 5000
    EVENT = 6000
    TOOL_RESULT = 7000


FULL = tuple(PromptPart)
# Their text is composed elsewhere, message by message, so an override could not replace it.
WITHOUT_TEXT = (PromptPart.OVERHEARD, PromptPart.HISTORY, PromptPart.EVENT, PromptPart.TOOL_RESULT)


@lru_cache(maxsize=256)
def part_before(number: int) -> PromptPart:
    """The part with this number, or the built-in one before a game's own component."""
    return max(part for part in PromptPart if part <= number)


class ContextType(StrEnum):
    """The occasion of a tick."""

    TICK_EVENT = "tick_event"
    TICK_AUTONOMOUS = "tick_autonomous"
    REFLECTION = "reflection"
    REFLECTION_CONT = "reflection_cont"
    SLEEP_CONSOLIDATE = "sleep_consolidate"
    GOAL_DECOMPOSE = "goal_decompose"
    PRE_COMPACTION = "pre_compaction"


# ---- settable fields ---------------------------------------------------------------------------


def listed(values: Iterable[object]) -> str:
    """Values in one line, sorted and joined with commas."""
    return ", ".join(sorted(map(str, values)))


def _numbers(parts: Iterable[int]) -> str:
    return ", ".join(str(int(part)) for part in parts)


_COMPONENT_TEXTS = TypeAdapter(dict[Annotated[Whole, Field(ge=0)], Text])


def _component_texts(value: object) -> Mapping[int, str]:
    wanted = "texts by component id, like {4000: 'Your aims: {goals}'}"
    try:
        texts = _COMPONENT_TEXTS.validate_python(value)
    except ValidationError:
        raise ValueError(wanted) from None
    if not texts.keys().isdisjoint(WITHOUT_TEXT):
        raise ValueError(f"{wanted}; {_numbers(WITHOUT_TEXT)} have no text of their own")
    return MappingProxyType(texts)


Parts = Annotated[
    tuple[Annotated[Whole, among(FULL)], ...],
    AfterValidator(lambda parts: tuple(sorted(set(parts)))),
]
Overrides = Annotated[
    Mapping[int, str],
    PlainValidator(_component_texts),
    WithJsonSchema({"type": "object", "patternProperties": {r"^\d+$": {"type": "string"}}}),
]


class InnerFields(SettingsGroup):
    """Fields of an inner context that may be set; the others are fixed by the context."""

    enabled_components: Parts = setting(
        FULL,
        "ids of the parts that are shown. One of a game's own is shown where the part before it "
        "is.",
        note=f"each of them one of {_numbers(FULL)}",
        example="0, 1000, 5000, 6000",
    )
    component_overrides: Overrides = setting(
        {}, 'other texts for components, by id; "" leaves one out.'
    )
    tool_filter: frozenset[Line] | None = setting(None, "names of the tools on offer; None: all.")
    token_budget: Whole | None = setting(
        None,
        "the most tokens of a prompt; None: what the model takes.",
        ge=LEAST_TOKEN_BUDGET,
        le=MOST_TOKEN_BUDGET,
    )
    # No plan_execute: several calls in one reply do the same without a model call for the plan.
    execution_mode: ExecutionMode = setting(
        ExecutionMode.REACT_LOOP,
        "single_action or react_loop.",
        note="which may call several tools in one reply",
    )
    max_iterations: Whole = setting(
        5, "model calls of one tick, 1 to 10.", ge=1, le=MOST_ITERATIONS
    )
    allowed_tool_categories: frozenset[ToolCategory] | None = setting(
        None, "kinds of tools on offer; None: all.", note=f"of {listed(ToolCategory)}"
    )
    allows_multi_tool: Flag = setting(True, "whether a reply may hold more than one call.")


class ContextFields(InnerFields):
    """Fields of a context in which the assistant speaks and acts."""

    terminal_ends_loop: Flag = setting(True, "whether it is over when the assistant has spoken.")
    dangerous_requires_confirm: Flag = setting(
        False, "whether a person has to agree to every dangerous call."
    )
    allows_sub_agents: Flag = setting(True, "whether a task may be handed to another assistant.")


class ContextConfig(ContextFields):
    """The complete configuration of one context."""

    context_type: ContextType
    name: str
    description: str

    @property
    def is_inner(self) -> bool:
        """True for a context in which nobody waits for an answer and nobody watches."""
        return self.context_type in MAIN_PARTS

    def shows(self, number: int) -> bool:
        """True if a component is shown; a game's own one follows the built-in part before it."""
        return part_before(number) in self.enabled_components

    def changed(self, overrides: Mapping[str, object], path: str = "") -> ContextConfig:
        """This context with some of its fields overridden.

        Args:
            path: name of the overrides in an error; "" for `context_configs.<context>`.

        Raises:
            ConfigurationError: a field is unknown, a value does not fit, or a safeguard of the
                context would be lost.
        """
        path = path or f"context_configs.{self.context_type}"
        given = fields_of(self.context_type).from_stored(overrides, path)
        if not given.model_fields_set:
            return self
        changes = {name: getattr(given, name) for name in given.model_fields_set}
        result = self.model_copy(update=changes)
        self._check_safeguards(result, path)
        return result

    def _check_safeguards(self, result: ContextConfig, path: str) -> None:
        """Refuse changes that remove a safeguard."""
        missing = sorted(_required_parts(self.context_type) - set(result.enabled_components))
        if missing:
            raise ConfigurationError(
                f"{path}.enabled_components leaves out {missing[0]}; {self.context_type} needs it"
            )
        # False < True: a confirmation that was required would no longer be.
        if result.dangerous_requires_confirm < self.dangerous_requires_confirm:
            raise ConfigurationError(
                f"{path}.dangerous_requires_confirm is False; it must stay True, as it was set"
            )
        mine, theirs = self.allowed_tool_categories, result.allowed_tool_categories
        if mine is not None and (theirs is None or not theirs <= mine):
            raise ConfigurationError(
                f"{path}.allowed_tool_categories allows more than {listed(mine)}; "
                "it may only allow less"
            )


# The component with the subject of a call in an inner context. It cannot be left out.
MAIN_PARTS: Mapping[ContextType, PromptPart] = MappingProxyType(
    {
        ContextType.REFLECTION: PromptPart.HISTORY,
        ContextType.REFLECTION_CONT: PromptPart.TOOL_RESULT,
        ContextType.SLEEP_CONSOLIDATE: PromptPart.MEMORIES,
        ContextType.GOAL_DECOMPOSE: PromptPart.GOALS,
        ContextType.PRE_COMPACTION: PromptPart.HISTORY,
    }
)
# The context in which a call continues after a tool.
AFTER_TOOL: Mapping[ContextType, ContextType] = MappingProxyType(
    {ContextType.REFLECTION: ContextType.REFLECTION_CONT}
)


def fields_of(context_type: ContextType) -> type[InnerFields]:
    """The settings group of a context: its fields that may be set."""
    return InnerFields if context_type in MAIN_PARTS else ContextFields


def _required_parts(context_type: ContextType) -> set[int]:
    # The rules are in the system prompt, and without its subject a call has nothing to answer. An
    # autonomous turn is told what to do by the event that starts it.
    if context_type is ContextType.TICK_AUTONOMOUS:
        return {PromptPart.SYSTEM_PROMPT}
    return {PromptPart.SYSTEM_PROMPT, MAIN_PARTS.get(context_type, PromptPart.EVENT)}


# Results of inner calls are taken from the answer, which has to cite its sources: a memory stored
# by a tool would cite nothing, so forgetting could not follow it. Tools therefore only read.
READING_TOOLS = frozenset(("read_journal", "search_journal", "recall_memories"))
UNWATCHED = frozenset((ToolCategory.SAFE_CHAIN, ToolCategory.ASYNC_REQUIRED))


def _inner(
    context_type: ContextType,
    name: str,
    description: str,
    parts: tuple[int, ...],
    iterations: int,
    tools: frozenset[str] = READING_TOOLS,
) -> ContextConfig:
    """A context in which nobody waits and nobody watches: the assistant may not speak or act."""
    return ContextConfig(
        context_type=context_type,
        name=name,
        description=description,
        enabled_components=parts,
        tool_filter=tools,
        execution_mode=(
            ExecutionMode.REACT_LOOP if iterations > 1 else ExecutionMode.SINGLE_ACTION
        ),
        max_iterations=iterations,
        allowed_tool_categories=UNWATCHED,
        allows_sub_agents=False,
    )


_TABLE = (
    ContextConfig(
        context_type=ContextType.TICK_EVENT,
        name="answering",
        description="somebody spoke and waits for an answer",
    ),
    ContextConfig(
        context_type=ContextType.TICK_AUTONOMOUS,
        name="on its own",
        description="nobody spoke, and there is a goal to work on",
    ),
    _inner(
        ContextType.REFLECTION,
        "reflection",
        "thinking over what happened",
        (PromptPart.SYSTEM_PROMPT, PromptPart.CHARACTER, PromptPart.HISTORY),
        3,
    ),
    _inner(
        ContextType.REFLECTION_CONT,
        "reflection, next step",
        "concluding from what was looked up in a reflection",
        (PromptPart.SYSTEM_PROMPT, PromptPart.TOOL_RESULT),
        2,
    ),
    _inner(
        ContextType.SLEEP_CONSOLIDATE,
        "sleep",
        "sorting memories, by night or in a pause",
        (PromptPart.SYSTEM_PROMPT, PromptPart.MEMORIES),
        10,
    ),
    _inner(
        ContextType.GOAL_DECOMPOSE,
        "planning",
        "breaking a goal into smaller ones",
        (PromptPart.SYSTEM_PROMPT, PromptPart.CHARACTER, PromptPart.GOALS),
        1,
        frozenset(),
    ),
    _inner(
        ContextType.PRE_COMPACTION,
        "before forgetting",
        "keeping the facts of a talk that is about to be shortened",
        (PromptPart.SYSTEM_PROMPT, PromptPart.CHARACTER, PromptPart.MEMORIES, PromptPart.HISTORY),
        5,
    ),
)
CONTEXTS: Mapping[ContextType, ContextConfig] = MappingProxyType(
    {row.context_type: row for row in _TABLE}
)


def context_for(
    context_type: ContextType, game: Mapping[str, Any], own: Mapping[str, Any]
) -> ContextConfig:
    """A context with the game's changes, and then the assistant's own.

    Raises:
        ConfigurationError: something in them is wrong.
    """
    config = CONTEXTS[context_type]
    for path, configs in (("EVENNIA_AI_CONTEXT_CONFIGS", game), ("context_configs", own)):
        if not isinstance(configs, Mapping):
            raise ConfigurationError(
                f"{path} is {configs!r}; it must be like {{'tick_event': {{'max_iterations': 3}}}}"
            )
        if not configs:
            continue
        unknown = [key for key in configs if key not in tuple(ContextType)]
        if unknown:
            raise ConfigurationError(
                f"{path} has no context {unknown[0]!r}; there are {', '.join(ContextType)}"
            )
        config = config.changed(configs.get(context_type, {}), f"{path}.{context_type}")
    return config
