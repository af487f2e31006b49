"""The words that the commands take, and the setting by which a game calls them otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings

from evennia_ai.errors import ConfigurationError

SETTING = "EVENNIA_AI_COMMAND_NAMES"
WORDS = (
    *("assistant", "history", "hush", "page"),
    *("aiaudit", "aiexec", "aigoal", "aimemory", "aiinteract"),
)


def command_names() -> dict[str, str]:
    """The names that the game gives to commands, by the usual ones; "" leaves a command out.

    Raises:
        ConfigurationError: the setting is no such mapping, or gives a name twice.
    """
    given = getattr(settings, SETTING, {})
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f'{SETTING} is {given!r}; it must be a mapping such as {{"history": "aihistory"}}'
        )
    names = dict(zip(WORDS, WORDS, strict=True))
    for word, name in given.items():
        if word not in WORDS:
            raise ConfigurationError(
                f"{SETTING} has {word!r}, which is no command; there are {', '.join(WORDS)}"
            )
        if not isinstance(name, str) or len(name.split()) > 1 or name.strip() != name:
            raise ConfigurationError(
                f"{SETTING}[{word!r}] is {name!r}; it must be one word, or '' for no such command"
            )
        names[word] = name.casefold()
    taken = [name for name in names.values() if name]
    for name in taken:
        if taken.count(name) > 1:
            raise ConfigurationError(f"{SETTING} makes two commands be called {name!r}")
    return names
