"""When an assistant sleeps: what can be set, and what is said of what cannot."""

from __future__ import annotations

from typing import Any

import pytest

from evennia_ai.core.settings.memory import SleepSchedule
from evennia_ai.errors import ConfigurationError


def test_defaults() -> None:
    """As the specification has them: off, from two in the morning for four hours."""
    read = SleepSchedule.from_stored({})
    assert (False, 2, 4, 60) == (
        read.enabled,
        read.sleep_start_hour,
        read.sleep_duration_hours,
        read.tick_rate_sleep,
    )


def test_what_is_stored_is_read() -> None:
    """Half hours too."""
    read = SleepSchedule.from_stored({"enabled": True, "sleep_duration_hours": 0.5})
    assert (True, 0.5) == (read.enabled, read.sleep_duration_hours)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("enabled is 'yes'; it must be True or False", "enabled", "yes"),
        ("sleep_start_hour is 24; it must be a whole number from 0 to 23", "sleep_start_hour", 24),
        ("sleep_start_hour is 2.5; it must be a whole number", "sleep_start_hour", 2.5),
        ("sleep_duration_hours is 24; it must be a number", "sleep_duration_hours", 24),
        ("tick_rate_sleep is 0; it must be a number from 1 to 3600", "tick_rate_sleep", 0),
        ("token_budget is -1; it must be a whole number", "token_budget", -1),
        ("token_budget is True; it must be a whole number", "token_budget", True),
        ("min_awake_minutes is nan; it must be a number", "min_awake_minutes", float("nan")),
        ("min_activity is '5'; it must be a whole number", "min_activity", "5"),
    ],
)
def test_what_is_wrong_is_said(text: str, key: str, value: Any) -> None:
    """One sentence: which key, what it is, and what it must be."""
    with pytest.raises(ConfigurationError) as caught:
        SleepSchedule.from_stored({key: value})
    assert str(caught.value).startswith(f"sleep_schedule.{text}")


def test_an_unknown_key_is_refused() -> None:
    """A misspelt setting is not passed over."""
    with pytest.raises(ConfigurationError, match="has no key 'hour'"):
        SleepSchedule.from_stored({"hour": 3})
