"""Control of where an assistant's words may go: one rule, and a table of all ways out.

A turn holds the audiences of everything in its prompt. Words may leave through a way only if
everybody who receives them there belongs to all of these audiences. Open speech in a room or on a
channel restricts nothing; a person's own words and a faction's do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from evennia_ai.core.memory.recollection import NOBODY, is_for_all
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.toolspec import ToolCategory, ToolSpec

Held = frozenset[str]
OPEN: Held = frozenset()


class Hearers(StrEnum):
    """Recipients of a way."""

    NOBODY = "nobody"  # it stays within the turn, or only names things that are there anyway
    SAME = "those who may know of the turn"
    ROOM = "everybody in the room"
    NAMED = "the person named"
    ANYBODY = "anybody, now or later"


class Otherwise(StrEnum):
    """Treatment of words that would reach somebody who may not know them."""

    ASIDE = "told only to the person who asked"
    REFUSED = "held back, and the model is told why"
    MASKED = "left out; their length is kept"


@dataclass(frozen=True, slots=True)
class Way:
    """A way by which words leave.

    Attributes:
        words: arguments that hold words, if only these have to be left out.
        alone: whether words sent to one person this way are private to that person.
    """

    name: str
    hearers: Hearers
    otherwise: Otherwise = Otherwise.REFUSED
    words: tuple[str, ...] = ()
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Listener:
    """A person who receives words."""

    name: str
    audiences: frozenset[str] = field(default=OPEN)


@dataclass(frozen=True, slots=True)
class Leave:
    """The decision whether words may leave by a way, with the reason if not."""

    way: Way
    is_allowed: bool = True
    why: str = ""


# These tools stay within the turn's own audience, or refer to things that everybody there can see.
_WITHIN_TURN = (
    "report attach_data attach_file delegate_task write_note store_memory add_journal_entry "
    "create_project swap_project update_project"
)
_NAMING_ONLY = "move get drop give go_to_sleep"
# All built-in tools and other outlets; a new one needs a row here.
WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        Way("say", Hearers.ROOM, Otherwise.ASIDE, ("message",)),
        Way("emote", Hearers.ROOM, Otherwise.ASIDE, ("action",)),
        Way("channel", Hearers.ANYBODY, Otherwise.ASIDE, ("message",)),
        Way("whisper", Hearers.NAMED, alone=True),
        Way("page", Hearers.NAMED, alone=True),
        *(Way(name, Hearers.SAME) for name in _WITHIN_TURN.split()),
        *(Way(name, Hearers.NOBODY) for name in _NAMING_ONLY.split()),
        Way("complete_goal", Hearers.ANYBODY, Otherwise.MASKED, ("outcome",)),
        Way("execute_command", Hearers.ANYBODY),
        Way("set_attribute", Hearers.ANYBODY),
        Way("log", Hearers.ANYBODY, Otherwise.MASKED),
        Way("audit", Hearers.ANYBODY, Otherwise.MASKED),
        Way("question", Hearers.NAMED, Otherwise.MASKED),
        Way("staff", Hearers.ANYBODY, Otherwise.MASKED),
    )
}
# The tools by which words go to one person alone.
ALONE = frozenset(way.name for way in WAYS.values() if way.alone)
# The outlets among them that are no tools; a tool of a game may be called like one.
_OUTLETS = ("log", "audit", "question", "staff")
# Tools of a game or an MCP server: as they declare themselves, else by category.
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
    """The audiences among these that do not include everybody."""
    return frozenset(audience for audience in audiences if not is_for_all(audience))


def listener(name: str, audiences: Iterable[str]) -> Listener:
    """A listener with these audiences. NOBODY is removed: it is the audience nobody belongs to."""
    return Listener(name, frozenset(audiences) - {NOBODY})


def way_of(spec: ToolSpec) -> Way:
    """The way out that a tool amounts to."""
    own = None if spec.name in _OUTLETS else WAYS.get(spec.name)
    return own or DECLARED.get(spec.heard_by) or BY_CATEGORY[spec.category]


def carries_words(spec: ToolSpec, arguments: Mapping[str, object]) -> bool:
    """True if a call passes words of the model: more than a choice of an enum, yes or no."""
    known = spec.parameters.get("properties", {})
    return (
        any(
            not (value is None or isinstance(value, bool))
            and value not in _choices(known.get(name))
            for name, value in arguments.items()
        )
        # An argument that the schema does not know was made up, and so counts as words.
        or not known.keys() >= arguments.keys()
    )


def _choices(schema: object) -> Iterable[object]:
    """The values of an enum; none for another schema, which may be just True."""
    return schema.get("enum", ()) if isinstance(schema, Mapping) else ()


def may_leave(way: Way, held: Held, listeners: Iterable[Listener] = ()) -> Leave:
    """Decide whether words of a turn may leave by a way. This is the only place that decides it.

    Args:
        held: the restricted audiences of everything in the turn's prompt.
        listeners: the current recipients, for a way whose recipients vary.
    """
    if not held or way.hearers in (Hearers.NOBODY, Hearers.SAME):
        return Leave(way)
    if way.hearers is Hearers.ANYBODY:
        return Leave(way, False, "anybody might come to know it")
    # To know the turn, a listener has to belong to every one of its audiences.
    barred = [each.name for each in listeners if not held <= each.audiences]
    if not barred:
        return Leave(way)
    return Leave(way, False, f"{', '.join(dict.fromkeys(barred))} would hear it")


def words(way: Way, text: str, held: Held) -> str:
    """The text if it may leave by a way that masks, else only its length."""
    return text if may_leave(way, held).is_allowed else masked(text)


def masked(text: str) -> str:
    """A stand-in for words that may not be shown."""
    return f"({counted(len(text), 'characters')})"
