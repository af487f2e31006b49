"""The shapes of the entries in `library.py`: what one writes down to have it built.

Only frozen values live here, and how examples are written. Every text is shown to players as it
stands, colour codes included.
"""

from collections.abc import Mapping
from dataclasses import dataclass

# More ways to ask a resident what it knows, by the answer that each of them brings.
Answers = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Thing:
    """Something to look at: a detail that is part of its room, or an object one can carry off."""

    name: str
    desc: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Way:
    """A way from one place to another, and the way back.

    Args:
        name: the exit in the place that lists this way, such as "south".
        to: the key of the place it leads to.
        back: the exit over there that leads back here, such as "north".
    """

    name: str
    to: str
    back: str


@dataclass(frozen=True)
class Place:
    """A room. `key` is its lasting name in the code; `name` is what players read."""

    key: str
    name: str
    desc: str
    ways: tuple[Way, ...] = ()
    details: tuple[Thing, ...] = ()
    things: tuple[Thing, ...] = ()


@dataclass(frozen=True)
class Lore:
    """What residents know beside what each of them is told of itself.

    Args:
        keywords: words that bring it to mind.
        text: one or two short sentences.
        place: the key of the place where it is known; everywhere without one.
    """

    keywords: tuple[str, ...]
    text: str
    place: str = ""


@dataclass(frozen=True)
class Resident:
    """An assistant who lives in a place.

    Args:
        name: what players call this assistant.
        place: the key of the place where it stands.
        looks: what `look <name>` shows. Say openly that this is an AI.
        post: one sentence the room shows while the assistant is where it belongs.
        persona: who it is, as told to the model.
        facts: what it knows, one short sentence each; the model is told these too.
        thinking: lines players see while an answer takes its time.
        failure: the line players see when no answer comes.
        aliases: other names it answers to.
        examples: pairs of what is asked and how it answers; they help a small model most.
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
        """Persona and facts as the one text the model is given."""
        return "\n".join([self.persona, "What you know:", *(f"- {fact}" for fact in self.facts)])


def pairs(answers: Answers) -> tuple[tuple[str, str], ...]:
    """The ways to ask, a line each, with their answer, as a resident's examples are written."""
    return tuple(("\n".join(ways), answer) for answer, ways in answers.items())
