"""Caps on tokens, money and calls, validated strictly; 0 always means no limit.

Each scope (all games that share a ledger, the game, every assistant, every player, the test bench)
has its own caps, over four spans of time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Self

from evennia_ai.core.safety.limits import LimitKind, path_of
from evennia_ai.core.settings.model import LenientGroup, Limit, LimitAmount, Part, setting


class Scope(StrEnum):
    """Groups of calls that are counted together."""

    ALL_GAMES = "all_games"
    GAME = "game"
    ASSISTANT = "assistant"
    PLAYER = "player"
    BENCH = "bench"


class BudgetSpan(StrEnum):
    """Spans of time over which calls are counted."""

    EVER = "ever"
    MONTH = "month"
    DAY = "day"
    MINUTE = "minute"


class Measure(StrEnum):
    """Quantities that are counted."""

    TOKENS = "tokens"
    COST = "cost"
    CALLS = "calls"


@dataclass(frozen=True, slots=True)
class Cap:
    """A cap that can be set for each scope."""

    kind: LimitKind
    measure: Measure
    span: BudgetSpan


CAPS: Mapping[str, Cap] = MappingProxyType(
    {
        "tokens_total": Cap(LimitKind.TOKENS_TOTAL, Measure.TOKENS, BudgetSpan.EVER),
        "tokens_per_day": Cap(LimitKind.TOKENS_PER_DAY, Measure.TOKENS, BudgetSpan.DAY),
        "tokens_per_month": Cap(LimitKind.TOKENS_PER_MONTH, Measure.TOKENS, BudgetSpan.MONTH),
        "cost_per_day": Cap(LimitKind.COST_PER_DAY, Measure.COST, BudgetSpan.DAY),
        "cost_per_month": Cap(LimitKind.COST_PER_MONTH, Measure.COST, BudgetSpan.MONTH),
        "calls_per_minute": Cap(LimitKind.CALLS_PER_MINUTE, Measure.CALLS, BudgetSpan.MINUTE),
    }
)


class Caps(LenientGroup):
    """The caps of one scope; 0 for no limit."""

    tokens_total: Limit = setting(0, "tokens of prompts and answers in total, over all time.")
    tokens_per_day: Limit = setting(0, "tokens per day (UTC).")
    tokens_per_month: Limit = setting(0, "the same in one month.")
    cost_per_day: LimitAmount = setting(0.0, "US dollars per day (UTC); needs EVENNIA_AI_PRICES.")
    cost_per_month: LimitAmount = setting(0.0, "the same in one month.")
    calls_per_minute: Limit = setting(0, "model calls per clock minute.")


class OwnCaps(LenientGroup):
    """The caps that one assistant may set; the game's own are not among them."""

    NAME: ClassVar[str] = "budget_config"

    assistant: Caps = setting(Caps(), "caps of the assistant.")
    player: Caps = setting(Caps(), "caps of each player with this assistant.")


class BudgetConfig(LenientGroup):
    """The caps of the game, of each assistant and of each player."""

    NAME: ClassVar[str] = "budget_config"
    GAME_NAME: ClassVar[str] = "EVENNIA_AI_BUDGET_CONFIG"

    all_games: Caps = setting(
        Caps(), "caps of all games together that share a ledger (EVENNIA_AI_LEDGER_CONFIG)."
    )
    game: Caps = setting(
        Caps(tokens_per_day=4_000_000, calls_per_minute=600),
        "caps of all assistants of the game together.",
    )
    assistant: Caps = setting(
        Caps(tokens_per_day=1_500_000, calls_per_minute=60), "caps of each assistant."
    )
    player: Caps = setting(
        Caps(tokens_per_day=500_000), "caps of each player, with all assistants together."
    )
    bench: Caps = setting(
        Caps(tokens_per_day=200_000), "caps of the test bench, for all assistants together."
    )
    calls_in_flight: Limit = setting(2, "concurrent model calls of one assistant.")
    warn_at: Part = setting(
        0.8, "share of a cap at which staff are told, once; 0: never.", note="0 for never"
    )

    def caps_of(self, scope: Scope) -> Caps:
        """The caps of a scope."""
        caps: Caps = getattr(self, scope)
        return caps

    @cached_property
    def cost_cap(self) -> str:
        """The path of a cap on money that applies to assistants, or ""."""
        return self._cost_cap(Scope.ALL_GAMES, Scope.GAME, Scope.ASSISTANT, Scope.PLAYER)

    @cached_property
    def cost_cap_on_bench(self) -> str:
        """The path of a cap on money that applies to the test bench, or ""."""
        return self._cost_cap(Scope.BENCH, Scope.ALL_GAMES, Scope.GAME)

    def _cost_cap(self, *scopes: Scope) -> str:
        capped = (
            path_of(CAPS[name].kind, scope)
            for scope in scopes
            for name in ("cost_per_day", "cost_per_month")
            if getattr(self.caps_of(scope), name)
        )
        return next(capped, "")

    @classmethod
    def from_layers(cls, game: object, own: object) -> Self:
        """The caps in force for one assistant, from the game's settings and its own.

        Its own caps replace defaults, but can only tighten what the game set; the caps of the whole
        game are not its to set.

        Raises:
            ConfigurationError: a value is invalid; the text names its path.
        """
        game_caps = cls.from_stored(game, cls.GAME_NAME)
        theirs = game_caps.model_dump(exclude_unset=True)
        added = OwnCaps.from_stored(own).model_dump(exclude_unset=True)
        changes = {
            scope.value: _tightened(
                _DEFAULT.caps_of(scope), theirs.get(scope, {}), added.get(scope, {})
            )
            for scope in Scope
        }
        return game_caps.model_copy(update=changes)


GAME_NAME, OWN_NAME = BudgetConfig.GAME_NAME, BudgetConfig.NAME
_DEFAULT = BudgetConfig()


def _tightened(default: Caps, game: Mapping[str, float], own: Mapping[str, float]) -> Caps:
    """The default with the game's caps, and those of the assistant where they are tighter."""
    tighter = {
        # 0 is no limit, and so the loosest.
        name: min(value, game.get(name, value), key=lambda cap: cap or math.inf)
        for name, value in own.items()
    }
    return default.model_copy(update={**game, **tighter})
