"""What the game's settings make: which model answers, and the process's one pool of connections."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from twisted.internet import reactor

from evennia_ai.core.manners import HearingConfig
from evennia_ai.core.settings import GAME_SETTINGS
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm import endpoints
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.pacing import Pacer
from evennia_ai.llm.pool import Pool, PoolConfig


def _number(name: str) -> float:
    """A positive finite number from the environment or the settings.

    Raises:
        ConfigurationError: it is something else.
    """
    value = os.environ.get(name) or getattr(settings, name, GAME_SETTINGS[name].default)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number) or number <= 0:
        raise ConfigurationError(f"{name} is {value!r}; it must be a number above 0")
    return number


def _whole_number(name: str) -> int:
    """A whole number from 1 up.

    Raises:
        ConfigurationError: it is something else.
    """
    number = _number(name)
    if number < 1 or number != int(number):
        raise ConfigurationError(f"{name} is {number:g}; it must be a whole number from 1 up")
    return int(number)


@lru_cache(maxsize=1)
def pacer() -> Pacer:
    """The process's queue for beats."""
    return Pacer(reactor)


@lru_cache(maxsize=1)
def pool() -> Pool:
    """The process's pool."""
    server_dir = Path(settings.GAME_DIR) / "server"
    made = Pool(
        PoolConfig(
            state_dir=server_dir / ".local_model",
            pid_file=server_dir / "portal.pid",
            deadline_seconds=_number("EVENNIA_AI_CALL_DEADLINE_SECONDS"),
            max_calls_in_flight=_whole_number("EVENNIA_AI_MAX_CALLS_IN_FLIGHT"),
            app_name=settings.SERVERNAME,
        ),
        reactor=reactor,
    )
    reactor.addSystemEventTrigger("before", "shutdown", made.close)
    return made


def endpoint() -> Endpoint:
    """The model that answers unless an assistant names its own.

    Raises:
        ConfigurationError: what is set does not fit together.
    """
    return endpoints.resolve(os.environ, settings)


def tool_modules() -> tuple[str, ...]:
    """Modules with tools of the game.

    Raises:
        ConfigurationError: the setting is no list of names.
    """
    modules = getattr(settings, "EVENNIA_AI_TOOL_MODULES", ())
    if isinstance(modules, (list, tuple)) and all(isinstance(name, str) for name in modules):
        return tuple(modules)
    raise ConfigurationError(
        f"EVENNIA_AI_TOOL_MODULES is {modules!r}; it must be a list such as ['world.tools']"
    )


def _check_hearing() -> None:
    given = getattr(settings, "EVENNIA_AI_HEARING_CONFIG", {})
    if not isinstance(given, dict):
        raise ConfigurationError(
            f"EVENNIA_AI_HEARING_CONFIG is {given!r}; it must be like {{'calls_per_player': 6}}"
        )
    try:
        HearingConfig.from_stored(given)
    except ConfigurationError as error:
        raise ConfigurationError(f"EVENNIA_AI_HEARING_CONFIG: {error}") from None


def check_settings() -> str:
    """Read everything once that can be wrong.

    Returns:
        What the owner should know although it is no mistake, or "".

    Raises:
        ConfigurationError: something is wrong.
    """
    _number("EVENNIA_AI_CALL_DEADLINE_SECONDS")
    _whole_number("EVENNIA_AI_MAX_CALLS_IN_FLIGHT")
    tool_modules()
    _check_hearing()
    return endpoint().notice
