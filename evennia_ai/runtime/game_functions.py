"""Functions of the game that its settings name: macros of its own, and the state of a quest."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from django.conf import settings
from evennia.utils import logger

from evennia_ai.core.settings.game import named_function
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.errors import ConfigurationError

MACROS, QUEST_STATE = "EVENNIA_AI_MACROS", "EVENNIA_AI_QUEST_STATE"
LONGEST_VALUE = 200  # characters of a macro's value in a prompt
_NAME = re.compile(r"[a-z][a-z_]{0,39}")
_NONE: Mapping[str, Callable[..., object]] = MappingProxyType({})


def macros() -> Mapping[str, Callable[..., object]]:
    """The game's own macros by name; each is called with the assistant's body.

    Raises:
        ConfigurationError: a name is not valid, or there is no such function.
    """
    paths = getattr(settings, MACROS, _NONE)
    # Most games set none, and a turn asks twenty times.
    if paths is _NONE:
        return _NONE
    example = "{'moon': 'world.macros.moon'}"
    if not isinstance(paths, Mapping):
        raise ConfigurationError(f"{MACROS} is {paths!r}; it must be like {example}")
    for name, path in paths.items():
        if not (isinstance(name, str) and _NAME.fullmatch(name) and isinstance(path, str)):
            raise ConfigurationError(
                f"{MACROS} has {name!r}: {path!r}; a name of a-z and _ and a path are wanted, as "
                f"in {example}"
            )
    return {name: named_function(path, MACROS) for name, path in paths.items()}


def macro_value(name: str, body: GameObject) -> str:
    """The value of one of the game's macros, on one line; "" where it has none or fails."""
    try:
        return one_line(str(macros()[name](body) or ""), LONGEST_VALUE)
    except Exception:
        logger.log_trace(f"[assistant] the macro {name!r} of {MACROS} failed")
        return ""


def quest_state(being: Being, quest: str) -> str:
    """The state of a player's quest; "" where the game gives none or its function fails.

    Raises:
        ConfigurationError: the setting names no function.
    """
    path = getattr(settings, QUEST_STATE, "")
    if not path:
        return ""
    if not isinstance(path, str):
        raise ConfigurationError(f"{QUEST_STATE} is {path!r}; it must be like 'world.quests.state'")
    function = named_function(path, QUEST_STATE)
    try:
        return str(function(being, quest) or "")
    except Exception:
        logger.log_trace(f"[assistant] {QUEST_STATE} failed for the quest {quest!r}")
        return ""


def check_settings() -> None:
    """Look up every function that is named, once."""
    macros()
    if path := getattr(settings, QUEST_STATE, ""):
        named_function(str(path), QUEST_STATE)
