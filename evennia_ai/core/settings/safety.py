"""Settings of safety, validated strictly: an invalid value keeps an assistant from starting."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from evennia_ai.core.safety.limits import LIMITS, LimitKind, Mode
from evennia_ai.core.settings.model import (
    Amount,
    Count,
    LenientGroup,
    Limit,
    LimitAmount,
    MismatchError,
    Number,
    Whole,
    among,
    setting,
)

MOST_LOOKED_BACK_ON = 100
# From the strictest mode to the most permissive.
_BY_STRICTNESS = (Mode.UNATTENDED, Mode.INTERACTIVE, Mode.AUTO_EXTEND)
_ASKABLE = tuple(kind.value for kind, limit in LIMITS.items() if limit.asks)


class Oversize(StrEnum):
    """Ways to treat a message that is too long."""

    CUT = "cut"
    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


class CoolingMode(StrEnum):
    """Ways to treat failures that can be attributed to one person."""

    COOL_OFF = "cool_off"
    LOCK = "lock"


_MODE_SCHEMA = {"type": "string", "enum": [str(mode) for mode in Mode]}
Modes = Annotated[
    dict[Annotated[str, among(_ASKABLE)], Mode],
    Field(
        json_schema_extra={
            "properties": dict.fromkeys(_ASKABLE, _MODE_SCHEMA),
            "additionalProperties": False,
        }
    ),
]


class OnLimit(LenientGroup):
    """Settings of the decision at a limit."""

    mode: Mode = setting(
        Mode.INTERACTIVE,
        "interactive asks a person who may decide, auto_extend grants a few extensions "
        "by itself, unattended grants none.",
    )
    auto_extend_times: Count = setting(
        1, "extensions that auto_extend grants, for each task and limit.", note="0 for never"
    )
    ask_timeout_seconds: Amount = setting(
        60.0,
        "seconds that a question waits for its answer; 0: for ever.",
        note="0 to wait for ever",
    )
    modes: Modes = Field(default={}, description="by limit: another mode for that limit only.")

    def mode_of(self, kind: LimitKind) -> Mode:
        """The mode in force for a limit."""
        return self.modes.get(kind.value) or LIMITS[kind].mode or self.mode

    def tightened(self, other: OnLimit, kind: LimitKind) -> OnLimit:
        """The combination of two settings that both apply: the stricter value of each."""
        mode = min(self.mode_of(kind), other.mode_of(kind), key=_BY_STRICTNESS.index)
        waits = (self.ask_timeout_seconds, other.ask_timeout_seconds)
        return self.model_copy(
            update={
                "mode": mode,
                "auto_extend_times": min(self.auto_extend_times, other.auto_extend_times),
                # 0 waits for ever, so it is the longest wait.
                "ask_timeout_seconds": min(waits, key=lambda seconds: seconds or math.inf),
                "modes": {kind.value: mode},
            }
        )


class Loop(LenientGroup):
    """Limits on counts."""

    max_model_calls_per_tick: Limit = setting(20, "model calls of one tick.")
    max_tool_calls_per_context: Limit = setting(25, "tool calls in one context of a task.")
    max_context_visits: Limit = setting(25, "ticks of one task in the same context.")
    max_iterations_per_task: Limit = setting(50, "steps of one task over all its ticks.")
    max_tokens_per_task: Limit = setting(100_000, "tokens of all model calls of one task.")
    max_delegations_per_task: Limit = setting(5, "tasks delegated in one task.")
    max_own_turns: Limit = setting(25, "turns of its own in a row.")


class Timeout(LenientGroup):
    """Limits on time, in seconds."""

    tick_seconds: LimitAmount = setting(0.0, "seconds that a tick may take.")
    delegation_seconds: LimitAmount = setting(
        60.0, "seconds to wait for another assistant's answer."
    )
    wrap_up_seconds: Number = setting(
        20.0,
        "seconds for the last model call after a refused extension; never 0.",
        note="so that the last call always has its end",
        gt=0,
    )


class Size(LenientGroup):
    """Limits on lengths."""

    message_characters: Limit = setting(2000, "characters of the longest message that it accepts.")
    on_oversize: Oversize = setting(
        Oversize.CUT, "what happens to a longer message: cut, deny, ask or allow."
    )
    summary_tokens: Limit = setting(
        1500, "tokens of the longest summary of the older conversation."
    )


class Checks(LenientGroup):
    """Thresholds of loop detection; 0 turns a check off."""

    same_failures: Limit = setting(
        3, "failures in a row of the same call: one warning, then a halt."
    )
    same_successes: Limit = setting(
        3, "identical results of the same call: a warning; at twice as many, a halt."
    )
    failures_in_a_row: Limit = setting(5, "failures in a row of any calls: a warning.")
    window: Limit = setting(
        10, "number of newest operations that are checked, at most 100.", le=MOST_LOOKED_BACK_ON
    )
    anomalies: Limit = setting(8, "operations among them that went wrong: a halt.")

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if 0 < self.window < self.anomalies:
            wanted = f"at most checks.window, which is {self.window}"
            raise MismatchError("anomalies", self.anomalies, wanted)
        if self.same_successes == 1:
            wanted = "0 for off, or above 1: what is done once is no repetition"
            raise MismatchError("same_successes", 1, wanted)
        return self


class Cooling(LenientGroup):
    """Consequences of failures that can be attributed to one person."""

    mode: CoolingMode = setting(
        CoolingMode.COOL_OFF,
        "cool_off makes the person wait, and locks the assistant when other people "
        "cause the same; lock locks it at once.",
    )
    people: Whole = setting(
        2,
        "number of different people who must cause the same for a lockout; at least 2.",
        note="or cooling.mode 'lock', which locks whoever asked",
        ge=2,
    )
    window_seconds: Amount = setting(
        3600.0,
        "seconds within which they must do so, and for which a person's waits are remembered.",
        note="0 for: only what comes at the same moment",
    )
    first_seconds: Amount = setting(
        60.0,
        "seconds of a person's first wait; each later one is twice as long.",
        note="0 for no wait at all",
    )
    longest_seconds: Amount = setting(
        3600.0, "seconds of the longest wait.", note="0 for no wait at all"
    )


class SafetyConfig(LenientGroup):
    """All safety settings of one assistant."""

    NAME: ClassVar[str] = "safety_config"
    GAME_NAME: ClassVar[str] = "EVENNIA_AI_SAFETY_CONFIG"

    on_limit: OnLimit = setting(OnLimit(), "what happens at a limit.")
    loop: Loop = setting(Loop(), "limits on counts.")
    timeout: Timeout = setting(Timeout(), "limits on time, in seconds.")
    size: Size = setting(Size(), "limits on size.")
    checks: Checks = setting(Checks(), "when behaviour counts as going in circles.")
    cooling: Cooling = setting(Cooling(), "what happens when one person is the cause.")

    @classmethod
    def from_layers(cls, game: object, own: object) -> Self:
        """The defaults, overridden by the game's settings, and these by the assistant's own.

        The game's settings have to be valid by themselves; an assistant's own cannot repair them.

        Raises:
            ConfigurationError: a value is invalid; the text names its path.
        """
        config = cls.from_stored(game, cls.GAME_NAME)
        return config if own == {} else super().from_layers(game, own)
