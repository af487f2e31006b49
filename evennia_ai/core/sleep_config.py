"""When an assistant sleeps, and what a night may cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evennia_ai.core.stored import read_config
from evennia_ai.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class SleepSchedule:
    """The nights of an assistant. Units in names.

    Attributes:
        enabled: whether it goes to sleep by itself at that hour.
        sleep_start_hour: 0 to 23, in the game's time zone (the setting TIME_ZONE).
        sleep_duration_hours: how long a night is.
        tick_rate_sleep: seconds between beats while it sleeps.
        token_budget: tokens that the model calls of one night may use; 0: no calls in sleep.
        min_awake_minutes: how long it must have been awake before it may go to sleep by itself.
        min_activity: tools it must have used since it woke before it may go to sleep by itself.
    """

    enabled: bool = False
    sleep_start_hour: int = 2
    sleep_duration_hours: float = 4
    tick_rate_sleep: float = 60
    token_budget: int = 50_000
    min_awake_minutes: float = 30
    min_activity: int = 5

    def __post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise ConfigurationError(
                f"sleep_schedule.enabled is {self.enabled!r}; it must be True or False"
            )
        for name, least, most, is_whole in _BOUNDS:
            value = getattr(self, name)
            types = (int,) if is_whole else (int, float)
            is_number = isinstance(value, types) and not isinstance(value, bool)
            if not (is_number and math.isfinite(value) and least <= value <= most):
                kind = "a whole number" if is_whole else "a number"
                raise ConfigurationError(
                    f"sleep_schedule.{name} is {value!r}; "
                    f"it must be {kind} from {least:g} to {most:g}"
                )

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> SleepSchedule:
        """Read a stored mapping.

        Raises:
            ConfigurationError: a key is unknown or a value does not fit.
        """
        return read_config(cls, "sleep_schedule", stored, "{'enabled': True}")


_BOUNDS = (
    ("sleep_start_hour", 0, 23, True),
    ("sleep_duration_hours", 0.1, 23, False),
    ("tick_rate_sleep", 1, 3600, False),
    ("token_budget", 0, 1_000_000_000, True),
    ("min_awake_minutes", 0, 100_000, False),
    ("min_activity", 0, 100_000, True),
)
