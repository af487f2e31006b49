"""How each field of a context is read from what somebody set: strictly, and told what fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from evennia_ai.core.execution import MOST_ITERATIONS, ExecutionMode
from evennia_ai.core.parts import FULL, WITHOUT_TEXT
from evennia_ai.core.toolspec import ToolCategory

LEAST_TOKEN_BUDGET = 500


def listed(values: Iterable[Any]) -> str:
    """Several values in one line, sorted."""
    return ", ".join(sorted(map(str, values)))


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("True or False")
    return value


def _whole(value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{least} to {most}")
    return value


def _budget(value: Any) -> int | None:
    if value is None:
        return None
    try:
        return _whole(value, LEAST_TOKEN_BUDGET, 100_000_000)
    except ValueError:
        raise ValueError(f"a number of tokens from {LEAST_TOKEN_BUDGET} up, or None") from None


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


READERS: Mapping[str, Callable[[Any], Any]] = {
    "enabled_components": _parts,
    "component_overrides": _texts,
    "tool_filter": _names,
    "token_budget": _budget,
    "execution_mode": _mode,
    "max_iterations": lambda value: _whole(value, 1, MOST_ITERATIONS),
    "allowed_tool_categories": _categories,
    "terminal_ends_loop": _flag,
    "dangerous_requires_confirm": _flag,
    "allows_multi_tool": _flag,
    "allows_sub_agents": _flag,
}
