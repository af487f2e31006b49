"""The settings of sleep: its hours, and the cost of a night."""

from __future__ import annotations

from typing import ClassVar

from evennia_ai.core.settings.model import Flag, Number, SettingsGroup, Whole, setting


class SleepSchedule(SettingsGroup):
    """The nights of an assistant. Units in names."""

    NAME: ClassVar[str] = "sleep_schedule"

    enabled: Flag = setting(False, "whether it goes to sleep by itself at that hour.")
    sleep_start_hour: Whole = setting(
        2, "0 to 23, in the game's time zone (the setting TIME_ZONE).", ge=0, le=23
    )
    sleep_duration_hours: Number = setting(4, "how long a night is.", ge=0.1, le=23)
    tick_rate_sleep: Number = setting(60, "seconds between beats while it sleeps.", ge=1, le=3600)
    token_budget: Whole = setting(
        50_000,
        "tokens that the model calls of one night may use; 0: no calls in sleep.",
        ge=0,
        le=1_000_000_000,
    )
    min_awake_minutes: Number = setting(
        30,
        "how long it must have been awake before it may go to sleep by itself.",
        ge=0,
        le=100_000,
    )
    min_activity: Whole = setting(
        5,
        "tools it must have used since it woke before it may go to sleep by itself.",
        ge=0,
        le=100_000,
    )
