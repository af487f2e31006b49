"""The limits on words leaving an assistant: one rule, and a table of every way out.

A turn holds the audiences of all that its prompt was made of. Words may leave by a way only where
everybody who hears them by it belongs to each of these audiences. What was said in the open, in a
room or on a channel, is open; a person's own words and a faction's are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from evennia_ai.core.memory.recollection import NOBODY, is_for_all
from evennia_ai.core.turn.toolspec import ToolCategory, ToolSpec

Held = frozenset[str]
OPEN: Held = frozenset()


class Hearers(StrEnum):
    """Those who hear what leaves by a way."""

    NOBODY = "nobody"  # it stays with the turn, or names only what is there already
    SAME = "those who may know of the turn"
    ROOM = "everybody in the room"
    NAMED = "the person named"
    ANYBODY = "anybody, now or later"


class Otherwise(StrEnum):
    """The end of words that somebody would hear who may not."""

    ASIDE = "told only to the person who asked"
    REFUSED = "held back, and the model is told why"
    MASKED = "left out; their length is kept"


@dataclass(frozen=True, slots=True)
class Way:
    """A way by which words leave.

    Attributes:
        words: the arguments that hold words, where only these are left out.
        alone: what one is told by it belongs to that one alone.
    """

    name: str
    hearers: Hearers
    otherwise: Otherwise = Otherwise.REFUSED
    words: tuple[str, ...] = ()
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Listener:
    """Somebody who hears.

    Attributes:
        audiences: all that this one belongs to.
    """

    name: str
    audiences: frozenset[str] = field(default=OPEN)


@dataclass(frozen=True, slots=True)
class Leave:
    """The leave of words to go out by a way, with the reason where there is none."""

    way: Way
    is_allowed: bool = True
    why: str = ""


_SAME = (
    "report attach_data attach_file delegate_task write_note store_memory add_journal_entry "
    "create_project swap_project update_project"
)
_NAMES = "move get drop give go_to_sleep"
# Every way out by a tool of ours, and those that are none: a new way out is a new row.
WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        Way("say", Hearers.ROOM, Otherwise.ASIDE, ("message",)),
        Way("emote", Hearers.ROOM, Otherwise.ASIDE, ("action",)),
        Way("channel", Hearers.ANYBODY, Otherwise.ASIDE, ("message",)),
        Way("whisper", Hearers.NAMED, alone=True),
        Way("page", Hearers.NAMED, alone=True),
        *(Way(name, Hearers.SAME) for name in _SAME.split()),
        *(Way(name, Hearers.NOBODY) for name in _NAMES.split()),
        Way("complete_goal", Hearers.ANYBODY, Otherwise.MASKED, ("outcome",)),
        Way("execute_command", Hearers.ANYBODY),
        Way("set_attribute", Hearers.ANYBODY),
        Way("log", Hearers.ANYBODY, Otherwise.MASKED),
        Way("audit", Hearers.ANYBODY, Otherwise.MASKED),
        Way("question", Hearers.NAMED, Otherwise.MASKED),
        Way("staff", Hearers.ANYBODY, Otherwise.MASKED),
    )
}
# Tools of a game and of MCP servers: as they say of themselves, else by their category.
DECLARED: dict[str, Way] = {
    "nobody": Way("a tool that nobody hears", Hearers.NOBODY),
    "anybody": Way("a tool that anybody may hear", Hearers.ANYBODY),
}
BY_CATEGORY: dict[ToolCategory, Way] = {
    ToolCategory.SAFE_CHAIN: Way("a tool that reads", Hearers.NOBODY),
    ToolCategory.TERMINAL: Way("a tool that speaks", Hearers.ANYBODY),
    ToolCategory.DANGEROUS: Way("a tool that changes the world", Hearers.ANYBODY),
    ToolCategory.ASYNC_REQUIRED: Way("a tool that asks elsewhere", Hearers.ANYBODY),
}


def confined(audiences: Iterable[str]) -> Held:
    """Those of some audiences that not everybody belongs to who is there."""
    return frozenset(audience for audience in audiences if not is_for_all(audience))


def listener(name: str, audiences: Iterable[str]) -> Listener:
    """Somebody who hears; nobody belongs to the audience of nobody."""
    return Listener(name, frozenset(audiences) - {NOBODY})


def way_of(spec: ToolSpec) -> Way:
    """The way out that a tool is."""
    return WAYS.get(spec.name) or DECLARED.get(spec.heard_by) or BY_CATEGORY[spec.category]


def carries_words(spec: ToolSpec, arguments: Mapping[str, object]) -> bool:
    """True for a call that is given the model's own words: more than a choice, or yes and no."""
    known = spec.parameters.get("properties", {})
    return (
        any(
            not (value is None or isinstance(value, bool))
            and value not in known.get(name, {}).get("enum", ())
            for name, value in arguments.items()
        )
        or not known.keys() >= arguments.keys()
    )


def may_leave(way: Way, held: Held, listeners: Iterable[Listener] = ()) -> Leave:
    """Decide if words of a turn may leave by a way. This is the one place where that is decided.

    Args:
        held: the confined audiences of all that the turn's prompt holds.
        listeners: those who would hear it now, where the way's hearers depend on the moment.
    """
    if not held or way.hearers in (Hearers.NOBODY, Hearers.SAME):
        return Leave(way)
    if way.hearers is Hearers.ANYBODY:
        return Leave(way, False, "anybody might come to know it")
    # Who is missing in one of the audiences may not know the turn.
    barred = [each.name for each in listeners if not held <= each.audiences]
    if not barred:
        return Leave(way)
    return Leave(way, False, f"{', '.join(dict.fromkeys(barred))} would hear it")


def words(way: Way, text: str, held: Held) -> str:
    """A text as it may leave by a way that masks: whole, or no more than its length."""
    return text if may_leave(way, held).is_allowed else masked(text)


def masked(text: str) -> str:
    """A stand-in for words that somebody may not read."""
    return f"({len(text)} characters)"
