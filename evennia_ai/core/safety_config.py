"""The settings of safety, read strictly: what makes no sense keeps an assistant from starting."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from evennia_ai.core.limits import LIMITS, Kind, Mode
from evennia_ai.errors import ConfigurationError

NAME = "safety_config"
LARGEST = sys.float_info.max
MOST_LOOKED_BACK_ON = 100
NO_LIMIT = "0 for no limit"
OTHER_ZEROS = {
    "auto_extend_times": "0 for never",
    "ask_timeout_seconds": "0 to wait for ever",
    "wrap_up_seconds": "and above 0",
    "first_seconds": "0 for no wait at all",
    "longest_seconds": "0 for no wait at all",
    "window_seconds": "0 for: only what comes at the same moment",
    "people": "and above 1",
}


class Oversize(StrEnum):
    """What becomes of a message that is too long."""

    CUT = "cut"
    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


class CoolingMode(StrEnum):
    """Whom a behaviour concerns that can be laid to one person."""

    COOL_OFF = "cool_off"
    LOCK = "lock"


def _listed(values: Any) -> str:
    return " or ".join(map(str, values))


def read_number(path: str, value: Any, *, is_whole: bool, zero: str = NO_LIMIT) -> float:
    """A number from 0 up, where 0 means: no limit.

    Args:
        zero: what to say of 0 where it means something else.

    Raises:
        ConfigurationError: it is something else (a bool, NaN, a text, below 0).
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Compared with its ends a whole number of any size is judged, and NaN is within none.
    if not is_number or not 0 <= value <= LARGEST or (is_whole and value != int(value)):
        wanted = "a whole number from 0 up" if is_whole else "a number from 0 up"
        raise ConfigurationError(f"{path} is {value!r}; it must be {wanted}, {zero}")
    return int(value) if is_whole else float(value)


def read_choice(path: str, value: Any, kind: type[StrEnum]) -> Any:
    """One of some words.

    Raises:
        ConfigurationError: it is another.
    """
    if value not in tuple(kind):
        raise ConfigurationError(f"{path} is {value!r}; it must be {_listed(kind)}")
    return kind(value)


def read_mapping(path: str, value: Any, known: Any) -> Mapping[str, Any]:
    """A mapping with none but known keys.

    Raises:
        ConfigurationError: it is something else.
    """
    known = [str(key) for key in known]
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{path} is {value!r}; it must be a mapping of {', '.join(known)}")
    unknown = [key for key in value if key not in known]
    if unknown:
        raise ConfigurationError(f"{path} has no key {unknown[0]!r}; it has {', '.join(known)}")
    return value


_FREEDOM = (Mode.UNATTENDED, Mode.INTERACTIVE, Mode.AUTO_EXTEND)


@dataclass(frozen=True, slots=True)
class OnLimit:
    """What happens at a limit.

    Attributes:
        mode: interactive asks whoever may decide it, auto_extend grants by itself a few times,
            unattended never goes on.
        auto_extend_times: grants of the mode auto_extend, for each task and limit.
        ask_timeout_seconds: seconds a question waits for its answer; 0: for ever.
        modes: limit: another mode for that one alone.
    """

    mode: Mode = Mode.INTERACTIVE
    auto_extend_times: int = 1
    ask_timeout_seconds: float = 60.0
    modes: Mapping[str, Mode] = field(default_factory=dict)

    def mode_of(self, kind: Kind) -> Mode:
        """The mode that holds for a limit."""
        return self.modes.get(kind.value) or LIMITS[kind].mode or self.mode

    def tightened(self, other: OnLimit, kind: Kind) -> OnLimit:
        """What happens at a limit where two have a say: what lets less go on, of each setting."""
        mode = min(self.mode_of(kind), other.mode_of(kind), key=_FREEDOM.index)
        waits = (self.ask_timeout_seconds, other.ask_timeout_seconds)
        return OnLimit(
            mode,
            min(self.auto_extend_times, other.auto_extend_times),
            min(waits, key=lambda seconds: seconds or math.inf),
            {kind.value: mode},
        )


@dataclass(frozen=True, slots=True)
class Loop:
    """How often.

    Attributes:
        max_model_calls_per_tick: all model calls of one tick.
        max_tool_calls_per_context: tool calls in one context of a task.
        max_context_visits: ticks of one task in the same context.
        max_iterations_per_task: steps of one task over all its ticks.
        max_tokens_per_task: tokens of all model calls of one task.
        max_delegations_per_task: tasks handed on in one task.
        max_own_turns: turns of its own in a row.
    """

    max_model_calls_per_tick: int = 20
    max_tool_calls_per_context: int = 25
    max_context_visits: int = 25
    max_iterations_per_task: int = 50
    max_tokens_per_task: int = 100_000
    max_delegations_per_task: int = 5
    max_own_turns: int = 25


@dataclass(frozen=True, slots=True)
class Timeout:
    """How long, in seconds.

    Attributes:
        tick_seconds: one tick by the clock.
        delegation_seconds: waiting for another assistant's answer.
        wrap_up_seconds: the last call after a no; never 0.
    """

    tick_seconds: float = 0.0
    delegation_seconds: float = 60.0
    wrap_up_seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class Size:
    """How large.

    Attributes:
        message_characters: one message that it is sent.
        on_oversize: what becomes of a longer one: cut, deny, ask or allow.
        summary_tokens: one summary of older talk.
    """

    message_characters: int = 2000
    on_oversize: Oversize = Oversize.CUT
    summary_tokens: int = 1500


@dataclass(frozen=True, slots=True)
class Checks:
    """When a behaviour counts as going in circles; 0 turns a check off.

    Attributes:
        same_failures: the same call failed so often in a row: one warning, then a halt.
        same_successes: the same call brought the same so often: a warning; twice that, a halt.
        failures_in_a_row: any calls failed so often in a row: a warning.
        window: operations that are looked back on, at most 100.
        anomalies: so many of them went wrong: a halt.
    """

    same_failures: int = 3
    same_successes: int = 3
    failures_in_a_row: int = 5
    window: int = 10
    anomalies: int = 8


@dataclass(frozen=True, slots=True)
class Cooling:
    """What comes of a lockout or a failure that can be laid to one person.

    Attributes:
        mode: cool_off lets that person wait, and locks when others meet the same; lock locks at
            once, whoever asked.
        people: so many different people have to meet the same for a lockout; at least 2.
        window_seconds: within which they do, and for which a person's waits are remembered.
        first_seconds: the first wait of a person; each further one is twice as long.
        longest_seconds: no wait is longer.
    """

    mode: CoolingMode = CoolingMode.COOL_OFF
    people: int = 2
    window_seconds: float = 3600.0
    first_seconds: float = 60.0
    longest_seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class SafetyConfig:
    """All settings of safety of one assistant."""

    on_limit: OnLimit = OnLimit()
    loop: Loop = Loop()
    timeout: Timeout = Timeout()
    size: Size = Size()
    checks: Checks = Checks()
    cooling: Cooling = Cooling()

    def changed(self, given: Any, path: str = NAME) -> SafetyConfig:
        """This with some keys set differently.

        Raises:
            ConfigurationError: a key is unknown or a value makes no sense; nothing is taken then.
        """
        sections = {entry.name for entry in fields(self)}
        read = read_mapping(path, given, sorted(sections))
        changes = {
            name: _changed(getattr(self, name), value, f"{path}.{name}")
            for name, value in read.items()
        }
        result = replace(self, **changes)
        result._check(path)
        return result

    def _check(self, path: str) -> None:
        """Refuse what is a number, but none that could work."""
        checks, last = self.checks, self.timeout.wrap_up_seconds
        wrong = (
            (
                not last,
                "timeout.wrap_up_seconds",
                last,
                "above 0: the last call always has its end",
            ),
            (
                checks.window > MOST_LOOKED_BACK_ON,
                "checks.window",
                checks.window,
                f"at most {MOST_LOOKED_BACK_ON}",
            ),
            (
                0 < checks.window < checks.anomalies,
                "checks.anomalies",
                checks.anomalies,
                f"at most checks.window, which is {checks.window}",
            ),
            (
                checks.same_successes == 1,
                "checks.same_successes",
                1,
                "0 for off, or above 1: what is done once is no repetition",
            ),
            (
                self.cooling.people < 2,
                "cooling.people",
                self.cooling.people,
                "at least 2; cooling.mode 'lock' locks whoever asked",
            ),
        )
        for is_wrong, name, value, wanted in wrong:
            if is_wrong:
                raise ConfigurationError(f"{path}.{name} is {value!r}; it must be {wanted}")


def _changed(section: Any, given: Any, path: str) -> Any:
    read = read_mapping(path, given, [entry.name for entry in fields(section)])
    changes = {
        name: _read(name, getattr(section, name), value, f"{path}.{name}")
        for name, value in read.items()
    }
    return replace(section, **changes)


def _read(name: str, default: Any, value: Any, path: str) -> Any:
    """A value of the same kind as the one before it; modes are added to those before them."""
    if isinstance(default, StrEnum):
        return read_choice(path, value, type(default))
    if isinstance(default, Mapping):
        modes = read_mapping(path, value, [kind.value for kind in Kind if LIMITS[kind].asks])
        read = {str(kind): read_choice(f"{path}.{kind}", modes[kind], Mode) for kind in modes}
        return {**default, **read}
    zero = OTHER_ZEROS.get(name, NO_LIMIT)
    return read_number(path, value, is_whole=isinstance(default, int), zero=zero)


def read_safety_config(game: Any, own: Any) -> SafetyConfig:
    """The settings of one assistant: the defaults, the game's over them, its own over those.

    Args:
        game: the setting EVENNIA_AI_SAFETY_CONFIG.
        own: the assistant's `safety_config`.

    Raises:
        ConfigurationError: something in them is wrong; the text names the path.
    """
    return SafetyConfig().changed(game, "EVENNIA_AI_SAFETY_CONFIG").changed(own, NAME)
