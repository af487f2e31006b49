"""The fields of a context that may be set differently, and what each takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from evennia_ai.core.settings.model import Flag, SettingsGroup, Whole, setting
from evennia_ai.core.turn.execution import MOST_ITERATIONS, ExecutionMode
from evennia_ai.core.turn.parts import FULL, WITHOUT_TEXT
from evennia_ai.core.turn.toolspec import ToolCategory

LEAST_TOKEN_BUDGET, MOST_TOKEN_BUDGET = 500, 100_000_000


def listed(values: Iterable[Any]) -> str:
    """Several values in one line, sorted."""
    return ", ".join(sorted(map(str, values)))


def _mode(value: Any) -> ExecutionMode:
    if value not in (ExecutionMode.SINGLE_ACTION, ExecutionMode.REACT_LOOP):
        raise ValueError(
            "'single_action' or 'react_loop' (which may call several tools in one reply; "
            "'plan_execute' would pay one more model call for the same)"
        )
    return ExecutionMode(value)


def _sequence(value: Any, wanted: str) -> list[Any]:
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise ValueError(wanted)
    return list(value)


def _parts(value: Any) -> tuple[int, ...]:
    wanted = f"a list of {_numbers(FULL)}"
    given = _sequence(value, wanted)
    if any(isinstance(item, bool) or item not in FULL for item in given):
        raise ValueError(wanted)
    return tuple(sorted(set(map(int, given))))


def _numbers(parts: Iterable[int]) -> str:
    return ", ".join(str(int(part)) for part in parts)


def _texts(value: Any) -> Mapping[int, str]:
    wanted = "texts by component id, like {4000: 'Your aims: {goals}'}"
    if not isinstance(value, Mapping):
        raise ValueError(wanted)
    for key, text in value.items():
        if isinstance(key, bool) or not isinstance(key, int) or key < 0:
            raise ValueError(wanted)
        if not isinstance(text, str):
            raise ValueError(wanted)
        if key in WITHOUT_TEXT:
            raise ValueError(f"{wanted}; {_numbers(WITHOUT_TEXT)} have no text of their own")
    return MappingProxyType(dict(value))


def _names(value: Any) -> frozenset[str] | None:
    wanted = "a list of tools' names, or None for all"
    given = None if value is None else _sequence(value, wanted)
    if given is not None and not all(isinstance(name, str) and name for name in given):
        raise ValueError(wanted)
    return None if given is None else frozenset(given)


def _categories(value: Any) -> frozenset[ToolCategory] | None:
    wanted = f"a list of {listed(ToolCategory)}, or None for all"
    given = None if value is None else _sequence(value, wanted)
    if given is not None and not all(item in tuple(ToolCategory) for item in given):
        raise ValueError(wanted)
    return None if given is None else frozenset(map(ToolCategory, given))


_TEXTS = {"type": "array", "items": {"type": "string"}, "nullable": True}
Parts = Annotated[
    tuple[int, ...],
    PlainValidator(_parts),
    WithJsonSchema({"type": "array", "items": {"type": "integer"}}),
]
Overrides = Annotated[
    Mapping[int, str],
    PlainValidator(_texts),
    WithJsonSchema({"type": "object", "patternProperties": {r"^\d+$": {"type": "string"}}}),
]
ToolNames = Annotated[frozenset[str] | None, PlainValidator(_names), WithJsonSchema(_TEXTS)]
Categories = Annotated[
    frozenset[ToolCategory] | None, PlainValidator(_categories), WithJsonSchema(_TEXTS)
]
Loop = Annotated[
    ExecutionMode,
    PlainValidator(_mode),
    WithJsonSchema({"enum": [str(ExecutionMode.SINGLE_ACTION), str(ExecutionMode.REACT_LOOP)]}),
]


class ContextFields(SettingsGroup):
    """The fields of a context that may be set; the others stay as the context has them."""

    enabled_components: Parts = setting(
        (),
        "ids of the parts that are shown. One of a game's own is shown where the part before it "
        "is.",
        example="0, 1000, 5000, 6000",
    )
    component_overrides: Overrides = setting(
        {}, 'other texts for components, by id; "" leaves one out.'
    )
    tool_filter: ToolNames = setting(None, "names of the tools on offer; None: all.")
    token_budget: Whole | None = setting(
        None,
        "the most tokens of a prompt; None: what the model takes.",
        ge=LEAST_TOKEN_BUDGET,
        le=MOST_TOKEN_BUDGET,
    )
    execution_mode: Loop = setting(ExecutionMode.REACT_LOOP, "single_action or react_loop.")
    max_iterations: Whole = setting(
        5, "model calls of one tick, 1 to 10.", ge=1, le=MOST_ITERATIONS
    )
    allowed_tool_categories: Categories = setting(None, "kinds of tools on offer; None: all.")
    terminal_ends_loop: Flag = setting(True, "whether it is over when the assistant has spoken.")
    dangerous_requires_confirm: Flag = setting(
        False, "whether a person has to agree to every dangerous call."
    )
    allows_multi_tool: Flag = setting(True, "whether a reply may hold more than one call.")
    allows_sub_agents: Flag = setting(True, "whether a task may be handed to another assistant.")
