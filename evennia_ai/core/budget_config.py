"""Caps on tokens, money and calls, as they are set: strictly, and with one meaning of 0.

Each scope (the game, every assistant, every player) has caps of its own, over four spans of time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from evennia_ai.core.limits import Kind, path_of
from evennia_ai.core.safety_config import read_mapping, read_number
from evennia_ai.errors import ConfigurationError

GAME_NAME, OWN_NAME = "EVENNIA_AI_BUDGET_CONFIG", "budget_config"


class Scope(StrEnum):
    """Whose calls are counted together."""

    GAME = "game"
    ASSISTANT = "assistant"
    PLAYER = "player"


class Span(StrEnum):
    """Over what time."""

    EVER = "ever"
    MONTH = "month"
    DAY = "day"
    MINUTE = "minute"


class Measure(StrEnum):
    """What is counted."""

    TOKENS = "tokens"
    COST = "cost"
    CALLS = "calls"


@dataclass(frozen=True, slots=True)
class Cap:
    """One cap that can be set for each scope."""

    kind: Kind
    measure: Measure
    span: Span


CAPS: Mapping[str, Cap] = MappingProxyType(
    {
        "tokens_total": Cap(Kind.TOKENS_TOTAL, Measure.TOKENS, Span.EVER),
        "tokens_per_day": Cap(Kind.TOKENS_PER_DAY, Measure.TOKENS, Span.DAY),
        "tokens_per_month": Cap(Kind.TOKENS_PER_MONTH, Measure.TOKENS, Span.MONTH),
        "cost_per_day": Cap(Kind.COST_PER_DAY, Measure.COST, Span.DAY),
        "cost_per_month": Cap(Kind.COST_PER_MONTH, Measure.COST, Span.MONTH),
        "calls_per_minute": Cap(Kind.CALLS_PER_MINUTE, Measure.CALLS, Span.MINUTE),
    }
)


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps of one scope; 0: no limit.

    Attributes:
        tokens_total: tokens, prompts and answers together, for ever.
        tokens_per_day: the same in one day of UTC.
        tokens_per_month: the same in one month.
        cost_per_day: US dollars in one day; needs EVENNIA_AI_PRICES.
        cost_per_month: the same in one month.
        calls_per_minute: model calls in one minute of the clock.
    """

    tokens_total: int = 0
    tokens_per_day: int = 0
    tokens_per_month: int = 0
    cost_per_day: float = 0.0
    cost_per_month: float = 0.0
    calls_per_minute: int = 0

    @property
    def has_cost(self) -> bool:
        """Whether money itself is capped."""
        return bool(self.cost_per_day or self.cost_per_month)


@dataclass(frozen=True, slots=True)
class BudgetConfig:
    """What may be used up.

    Attributes:
        game: all assistants together.
        assistant: each of them.
        player: each player, with all assistants together.
        calls_in_flight: model calls of one assistant at one time.
        warn_at: the part of a cap at which staff are told, once; 0: never.
    """

    game: Caps = Caps(tokens_per_day=4_000_000, calls_per_minute=600)
    assistant: Caps = Caps(tokens_per_day=1_500_000, calls_per_minute=60)
    player: Caps = Caps(tokens_per_day=500_000)
    calls_in_flight: int = 2
    warn_at: float = 0.8

    def caps_of(self, scope: Scope) -> Caps:
        """The caps of a scope."""
        caps: Caps = getattr(self, scope)
        return caps

    @property
    def cost_cap(self) -> str:
        """The path of a cap on money that is set, or ""."""
        capped = (
            path_of(CAPS[name].kind, scope)
            for scope in Scope
            for name in ("cost_per_day", "cost_per_month")
            if getattr(self.caps_of(scope), name)
        )
        return next(capped, "")


def read_budget_config(game: Any, own: Any) -> BudgetConfig:
    """The caps that hold for one assistant.

    Its own take the place of the defaults, but what the game sets they can only make tighter.

    Args:
        game: the setting EVENNIA_AI_BUDGET_CONFIG.
        own: the assistant's `budget_config`; the caps of the game are not its to set.

    Raises:
        ConfigurationError: something in them is wrong; the text names the path.
    """
    default = BudgetConfig()
    names = [entry.name for entry in fields(default)]
    given = read_mapping(GAME_NAME, game, names)
    mine = read_mapping(OWN_NAME, own, [Scope.ASSISTANT, Scope.PLAYER])
    changes: dict[str, Any] = {}
    for scope in Scope:
        theirs = _read_caps(f"{GAME_NAME}.{scope}", given.get(scope, {}))
        added = _read_caps(f"{OWN_NAME}.{scope}", mine.get(scope, {}))
        tighter = {
            name: min(value, theirs.get(name, value), key=lambda cap: cap or math.inf)
            for name, value in added.items()
        }
        changes[scope] = replace(default.caps_of(scope), **(theirs | tighter))
    if "calls_in_flight" in given:
        path = f"{GAME_NAME}.calls_in_flight"
        changes["calls_in_flight"] = read_number(path, given["calls_in_flight"], is_whole=True)
    if "warn_at" in given:
        changes["warn_at"] = _read_part(f"{GAME_NAME}.warn_at", given["warn_at"])
    return replace(default, **changes)


def _read_caps(path: str, given: Any) -> dict[str, Any]:
    return {
        name: read_number(f"{path}.{name}", value, is_whole=CAPS[name].measure is not Measure.COST)
        for name, value in read_mapping(path, given, CAPS).items()
    }


def _read_part(path: str, value: Any) -> float:
    part = read_number(path, value, is_whole=False)
    if part > 1:
        raise ConfigurationError(f"{path} is {value!r}; it must be from 0 to 1, 0 for no limit")
    return part
