"""The clocks by which goals have their time: the wall's, and the game's with its own calendar."""

from __future__ import annotations

from collections.abc import Mapping

import evennia
from django.conf import settings
from django.utils import timezone

from evennia_ai.core.turn.goal_times import GAME, NAMED_HOURS, REAL, Clocks, DayClock, clock_hour
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime.assistant import Assistant

HOURS = "EVENNIA_AI_NAMED_HOURS"


def of(script: Assistant) -> Clocks:
    """Both clocks as they stand; no statement but the first in a game without TIME_GAME_EPOCH."""
    zone = timezone.get_default_timezone()
    return {REAL: DayClock(script.clock.seconds(), zone), GAME: _of_game()}


def _of_game() -> DayClock:
    """The game's clock; `TIME_UNITS` is the calendar of Evennia's contrib custom_gametime."""
    # Imported by Evennia when it has a database: before that, gametime complains aloud.
    now, rate = evennia.gametime.gametime(absolute=True), float(settings.TIME_FACTOR)
    units: Mapping[str, float] = getattr(settings, "TIME_UNITS", None) or {}
    if not units:
        return DayClock(now, timezone.get_default_timezone(), rate=rate)
    return DayClock(
        now,
        day=units.get("day", 86_400),
        hour=units.get("hour", units.get("hr", 3600)),
        minute=units.get("min", 60),
        rate=rate,
    )


def named_hours() -> dict[str, str]:
    """The hours of the game's day that have a name, in words of one line and small letters.

    Raises:
        ConfigurationError: one that the game sets is none.
    """
    own = getattr(settings, HOURS, {})
    if not isinstance(own, Mapping):
        raise ConfigurationError(f"{HOURS} is {own!r}; it must be like {{'dusk': '18:00'}}")
    named = dict(NAMED_HOURS)
    for name, hour in own.items():
        at = clock_hour(hour) if isinstance(hour, str) else ""
        if not at or not str(name).isidentifier():
            raise ConfigurationError(
                f"{HOURS}[{name!r}] is {hour!r}; it must be a name and an hour, {{'dusk': '18:00'}}"
            )
        named[str(name).casefold()] = at
    return named
