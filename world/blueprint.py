"""Dataclasses of the entries in `library.py`, `lore.py` and `residents.py`.

All texts are shown to players unchanged, including colour codes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

# Ways to ask a resident what it knows, by answer.
Answers = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Thing:
    """Something to look at: a detail that is part of its room, or an object to carry."""

    name: str
    desc: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Way:
    """A way from one place to another, and the way back.

    Args:
        name: the exit in the place that lists this way, such as "south".
        to: the key of the place it leads to.
        back: the exit that leads back from there, such as "north".
    """

    name: str
    to: str
    back: str


@dataclass(frozen=True)
class Place:
    """A room. `key` is its permanent name in the code; players read `name`."""

    key: str
    name: str
    desc: str
    ways: tuple[Way, ...] = ()
    details: tuple[Thing, ...] = ()
    things: tuple[Thing, ...] = ()


@dataclass(frozen=True)
class Lore:
    """An entry of lore, which all residents know.

    Args:
        keywords: words in a message that make the model see it.
        text: one or two short sentences.
        place: the key of the place where it is known; "": everywhere.
    """

    keywords: tuple[str, ...]
    text: str
    place: str = ""


@dataclass(frozen=True)
class Resident:
    """An assistant who lives in a place.

    Args:
        name: what players call this assistant.
        place: the key of its place.
        looks: its description for `look <name>`. Say openly that this is an AI.
        post: one sentence that the room shows while the assistant is in its place.
        persona: who it is, for the model.
        facts: what it knows, one short sentence each, also for the model.
        thinking: lines that players see while an answer takes long.
        failure: the line that players see if there is no answer.
        aliases: other names it answers to.
        examples: pairs of question and answer; they help a small model most.
    """

    name: str
    place: str
    looks: str
    post: str
    persona: str
    facts: tuple[str, ...]
    thinking: tuple[str, ...]
    failure: str
    aliases: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def briefing(self) -> str:
        """Persona and facts as one text for the model."""
        return "\n".join([self.persona, "What you know:", *(f"- {fact}" for fact in self.facts)])


def pairs(answers: Answers) -> tuple[tuple[str, str], ...]:
    """Return answers in the form of `Resident.examples`, the ways to ask on a line each."""
    return tuple(("\n".join(ways), answer) for answer, ways in answers.items())
