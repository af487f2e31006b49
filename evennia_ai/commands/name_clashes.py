"""Fits the commands' names in with the game's own, so that no command of the game is replaced.

A custom command of the game, other than Evennia's default, keeps its names. Ours then uses another
of its names, or is not added. This is logged, and ours can still be typed after `assistant`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.conf import settings
from evennia.commands.cmdhandler import CMD_NOMATCH
from evennia.commands.command import Command
from evennia.utils import logger

from evennia_ai.commands import game_commands
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.naming import SETTING, WORDS, command_names

PAGE = "page"
# Aliases that can replace the key, as they do the same. Others, such as `unhush`, do not.
SYNONYMS = frozenset(("aisetup", "aihistory"))


@dataclass(frozen=True, slots=True)
class Place:
    """A command with the names it has in this game.

    Attributes:
        help, how: its help and usage with these names; "" for the original ones.
    """

    kind: type[Command]
    key: str
    aliases: tuple[str, ...]
    help: str = ""
    how: str = ""

    def command(self) -> Command:
        """Create the command with these names."""
        command = self.kind()
        command.set_key(self.key)
        command.set_aliases(self.aliases)
        if self.help:
            command.__doc__, command.how = self.help, self.how
            # Evennia builds the index entry from the class, so help would list the old name.
            command.search_index_entry = {
                **command.search_index_entry,
                "key": self.key,
                "aliases": " ".join(self.aliases),
                "text": self.help,
            }
        return command


class _LastFit:
    """The result of the last call of `create_commands`, and what it was computed from."""

    asked: tuple[object, ...] = ()
    places: tuple[Place, ...] = ()
    clashes: tuple[str, ...] = ()


def create_commands(kinds: Iterable[type[Command]]) -> list[Command]:
    """Create commands of these classes, under names that the game does not use itself."""
    names = _names()
    inputs = (game_commands.paths(), tuple(names.items()))
    # Evennia creates the set for each character, but the game's commands do not change.
    if _LastFit.asked != inputs:
        clashes: list[str] = []
        places = (_place(kind, names, clashes) for kind in kinds)
        _LastFit.places = _with_help([place for place in places if place is not None])
        _LastFit.clashes = (*clashes, *game_commands.left_alone())
        _LastFit.asked = inputs
        for line in _LastFit.clashes:
            logger.log_warn(f"[assistant] {line}")
    return [place.command() for place in _LastFit.places]


def _with_help(places: Iterable[Place]) -> tuple[Place, ...]:
    """Adapt the help texts of all commands to their names in this game."""
    all_places = tuple(places)
    words = {place.kind.key: place.key for place in all_places if place.kind.key != place.key}
    if not words:
        return all_places
    return tuple(
        replace(
            place,
            help=in_words_of(place.kind.__doc__ or "", words),
            how=in_words_of(getattr(place.kind, "how", ""), words),
        )
        for place in all_places
    )


def in_words_of(text: str, words: Mapping[str, str]) -> str:
    """Replace the names of commands in a help text.

    Names are only recognised at the start of a usage line, after `help`, and in backticks.

    Args:
        words: new names by the usual ones.
    """
    usual = "|".join(map(re.escape, words))
    # Python 3.13 removes four of the six spaces before a usage line.
    pattern = rf"(^ {{2}}(?: {{4}})?|\A|, |: |`|\bhelp\s+)({usual})(?= [\[<a-z{{]|$|[,;`])"
    return re.sub(pattern, lambda match: match[1] + words[match[2]], text, flags=re.MULTILINE)


def clashes() -> tuple[str, ...]:
    """Sentences about names that the game uses itself."""
    return _LastFit.clashes


def _names() -> dict[str, str]:
    try:
        return command_names()
    except ConfigurationError as error:
        logger.log_err(f"[assistant] the commands have their usual names: {error}")
        return dict(zip(WORDS, WORDS, strict=True))


def _place(kind: type[Command], names: dict[str, str], clashes: list[str]) -> Place | None:
    """The names for one command, or None if it gets none."""
    wanted = names.get(kind.key, kind.key)
    if not wanted:
        return None
    aliases = tuple(kind.aliases) + (_words_of_stock_page() if wanted == PAGE else ())
    owners = {word: _owner(word, kind) for word in (wanted, *aliases)}
    free = [word for word, owner in owners.items() if owner is None]
    key = next((word for word in free if word == wanted or word in SYNONYMS), "")
    for word, owner in owners.items():
        # Without any free name one sentence is enough.
        if owner is not None and (key or word == wanted):
            clashes.append(_clash_text(word, owner, wanted, key))
    return Place(kind, key, tuple(word for word in free if word != key)) if key else None


def _words_of_stock_page() -> tuple[str, ...]:
    """The aliases of Evennia's own `page`, to which ours delegates."""
    return tuple(
        alias
        for command in game_commands.all_commands()
        if _is_stock_page(command)
        for alias in command.aliases
    )


def _is_stock_page(command: Command) -> bool:
    return command.key == PAGE and type(command).__module__.startswith(game_commands.STOCK)


def _owner(word: str, kind: type[Command]) -> Command | None:
    """The game's own command with this name, or None."""
    for command in game_commands.all_commands():
        is_ours = isinstance(command, kind) or (kind.key == PAGE and _is_stock_page(command))
        if not is_ours and bare(word) in map(bare, (command.key, *command.aliases)):
            return command
    return None


def bare(word: str) -> str:
    """A name without a prefix such as @ that Evennia treats as optional."""
    return word.casefold().lstrip(settings.CMD_IGNORE_PREFIXES) or word


def _clash_text(word: str, owner: Command, wanted: str, key: str) -> str:
    own = f"{type(owner).__module__}.{type(owner).__name__}"
    if word == CMD_NOMATCH:
        return (
            f"The game has a command of its own for unknown lines ({own}): a line that begins with "
            "@name is said aloud only if it calls evennia_ai.commands.say_to_assistant"
        )
    beginning = f"The game has a command {word} of its own ({own}), which stays as it is:"
    if word != wanted:
        return f"{beginning} that of assistants is called {key} only"
    if key:
        return f"{beginning} that of assistants is called {key}"
    return f"{beginning} for assistants type: assistant {wanted}. Another name for it: {SETTING}"
