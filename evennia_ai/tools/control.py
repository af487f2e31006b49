"""Tools that control the turn itself, and the tool that tells the time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from django.conf import settings
from django.utils import timezone
from evennia.utils import gametime

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.needs import FIND_TOOLS
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Character
from evennia_ai.tools.groups import TIME
from evennia_ai.tools.registry import SPECS, tool

# Tools that one search returns, each of which lengthens the next prompt.
MOST_FOUND = 8
MOST_OF_GROUP = 16
LONGEST_DESCRIPTION = 160
_WORD = re.compile(r"[^\W_]{3,}")

# Where `find_tools` searches. A game with other sources of tools may append to it; of two tools
# with one name, the first is found.
CATALOGUES: list[Callable[[], Mapping[str, ToolSpec]]] = [
    lambda: SPECS,
    lambda: services.remote_servers().specs(),
]


@tool(category="safe_chain", only_reads=True)
def noop(character: Character, reason: str | None = None) -> str:
    """Do nothing and stay silent, because nothing needs an answer.

    Args:
        reason: why nothing is done.
    """
    return reason or "nothing done"


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _score(spec: ToolSpec, wanted: set[str]) -> int:
    """The number of matching words; a word of the tool's name counts three times."""
    name, words = _words(spec.name), _words(spec.description)
    return sum(3 * (word in name) + (word in words) for word in wanted)


def _allowed_tools(character: Character, turn: Turn) -> Iterator[ToolSpec]:
    """All tools that the character may use in a turn, except `find_tools` itself."""
    known: dict[str, ToolSpec] = {}
    for catalogue in CATALOGUES:
        known |= {name: spec for name, spec in catalogue().items() if name not in known}
    for name, spec in known.items():
        if name == FIND_TOOLS or (turn.may_use is not None and name not in turn.may_use):
            continue
        if character.access(character, f"tool_{name}", default=True):
            yield spec


def _matching(known: list[ToolSpec], query: str) -> list[ToolSpec]:
    """The tools of a group if the query is its name, or else those that match the words best."""
    name = query.strip().casefold()
    of_group = [spec for spec in known if spec.group and spec.group.name.casefold() == name]
    if of_group:
        return of_group[:MOST_OF_GROUP]
    query_words = _words(query)
    if not query_words:
        raise ToolError("say in words of three letters or more what you want to do")
    scores = {spec.name: _score(spec, query_words) for spec in known}
    best = sorted(known, key=lambda spec: -scores[spec.name])[:MOST_FOUND]
    return [spec for spec in best if scores[spec.name]]


@tool(category="safe_chain", only_reads=True)
def find_tools(character: Character, query: str, *, turn: Turn) -> str:
    """Look for further tools, by words for what you want to do. You can use those it finds.

    Args:
        query: some words, such as: pick up a thing; or the name of a group.
    """
    matching = _matching(list(_allowed_tools(character, turn)), query)
    turn.found += [spec.name for spec in matching if spec.name not in turn.found]
    lines = [f"{spec.name}: {one_line(spec.description, LONGEST_DESCRIPTION)}" for spec in matching]
    return "\n".join(lines) or "no tool does that"


def _by_calendar(seconds: float, units: Mapping[str, float]) -> str:
    """A date of the game's own calendar, such as `year 3, month 2, day 5`."""
    # TIME_UNITS may have abbreviations of the same length; the longest name is shown.
    names: dict[float, str] = {}
    for name, length in units.items():
        names[length] = max(name, names.get(length, ""), key=len)
    parts, left = [], int(seconds)
    for length in sorted(names, reverse=True):
        count, left = divmod(left, int(length))
        parts.append(f"{names[length]} {count}")
    return ", ".join(parts)


def _game_time() -> str:
    seconds = gametime.gametime(absolute=True)
    units = getattr(settings, "TIME_UNITS", None)
    if units:
        return _by_calendar(seconds, units)
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%A %d %B %Y, %H:%M}"
    # The game's time may be beyond the year 9999, where `datetime` ends.
    except (OverflowError, OSError, ValueError):
        return f"second {seconds:.0f}"


@tool(category="safe_chain", group=TIME, only_reads=True)
def time(character: Character) -> str:
    """Find out what time it is, in the game and in the real world."""
    zone = timezone.get_default_timezone()
    now = datetime.fromtimestamp(character.assistant_script.clock.seconds(), zone)
    return f"In the game: {_game_time()}. In the real world: {now:%A %d %B %Y, %H:%M %Z}."
