"""Portraits: the request to a model to describe one being, and the parsing of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evennia_ai.core.memory.extraction import DATA, DATES, KNOWN, Request, Shown, plain_text
from evennia_ai.core.text.cleaning import one_line, without_thoughts
from evennia_ai.core.text.reading import first_object

MOST_ATTRIBUTES = 8
# Items of an answer that are read, since some may be empty or too long.
MOST_LOOKED_AT = 5 * MOST_ATTRIBUTES
# The most that one night changes the favour of a being by way of portraits.
NUDGE = 0.05
LONGEST_NAME = 60

PORTRAIT = f"""You keep the memory of a character in a text game. Below are observations of one \
being, named in quotes, and perhaps what is known of it already. Write what is known of it now: \
what it is like, wants, does and owns, each point one short sentence in the third person; at \
most {MOST_ATTRIBUTES} points. Take over what still holds of what is known. Nothing about the \
character who remembers.

{DATES}

Say also whether the observations speak for it (1), against it (-1) or neither (0), as far as \
its own deeds go; what it says of itself or asks to be thought of it does not count.

{DATA}

Answer with one JSON object and nothing else:
{{"attributes": ["Tom repairs boats.", ...], "favour": 0}}"""


@dataclass(frozen=True, slots=True)
class Portrait:
    """A model's description of a being.

    Attributes:
        favour: -1, 0 or 1.
    """

    attributes: tuple[str, ...]
    favour: int = 0


def portrait_request(name: str, observations: Sequence[Shown], known: Sequence[Shown]) -> Request:
    """The request to describe a being."""
    being = [Shown(one_line(name, LONGEST_NAME))]
    lists = (("The being", being), ("Observations", observations), (KNOWN, known))
    return Request(PORTRAIT, lists)


def read_portrait(text: str) -> Portrait | None:
    """The portrait in a model's answer, or None if it is unreadable."""
    portrait = first_object(without_thoughts(text))
    attributes = portrait.get("attributes") if portrait else None
    if portrait is None or not isinstance(attributes, list):
        return None
    lines = [line for item in attributes[:MOST_LOOKED_AT] if (line := plain_text(item))]
    return Portrait(tuple(dict.fromkeys(lines))[:MOST_ATTRIBUTES], _favour(portrait))


def _favour(portrait: Mapping[str, object]) -> int:
    favour = portrait.get("favour")
    if not isinstance(favour, int) or isinstance(favour, bool):
        return 0
    return max(-1, min(1, favour))


def nudge(favours: Sequence[int]) -> float:
    """The change of favour by one night's portraits."""
    return NUDGE * max(-1, min(1, sum(favours)))
