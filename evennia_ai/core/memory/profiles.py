"""The profile of one being: how well known it is, and the things known of it.

Favour goes from 0 to 1. Each meeting takes it a little nearer to 1, and what is thought over in the
night moves it a little up or down; its bands are those that Dunbar found friendships to come in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypedDict

from evennia_ai.core.memory.recollection import (
    MemoryKind,
    Recollection,
    Seeker,
    is_audience,
    is_private,
    may_know,
    once,
)
from evennia_ai.core.text.cleaning import one_line


class ProfileAttribute(TypedDict):
    """Something that is known of a being, for an audience; `at`: since when, in seconds."""

    text: str
    audience: str
    at: float


BANDS = ((0.75, "close friend"), (0.5, "friend"), (0.25, "acquaintance"), (0.0, "stranger"))
# Six talks make an acquaintance, fourteen a friend, twenty-eight a close one.
MEETINGS_TO_KNOW = 20
FAVOUR_OF_A_MEETING = 1 - math.exp(-1 / MEETINGS_TO_KNOW)
MOST_NUDGE = 0.1
MEETING_SECONDS = 900.0
MOST_OPEN = MOST_PRIVATE = 12
LONGEST_ATTRIBUTE = 200


def band(favour: float) -> str:
    """The closeness of two beings: stranger, acquaintance, friend or close friend."""
    return next((name for least, name in BANDS if favour >= least), BANDS[-1][1])


def nudged(favour: float, nudge: float) -> float:
    """The favour after a night's thought, 0 to 1; one night moves it by 0.1 at most."""
    # A favour that became NaN would never be a number again.
    if not math.isfinite(nudge):
        return favour
    return min(1.0, max(0.0, favour + max(-MOST_NUDGE, min(MOST_NUDGE, nudge))))


def bounded(attributes: Iterable[ProfileAttribute]) -> list[ProfileAttribute]:
    """The attributes of a being that are kept, the newest last.

    The same words for the same audience stand there once, as last told. Of those that several may
    know 12 are kept, and as many of the private ones: the newest.

    Args:
        attributes: one without words or a known audience is left out.
    """
    found: dict[tuple[str, str], ProfileAttribute] = {}
    for item in attributes:
        text = one_line(str(item["text"]), LONGEST_ATTRIBUTE)
        if text and is_audience(item["audience"]):
            found[text.casefold(), item["audience"]] = {
                "text": text,
                "audience": item["audience"],
                "at": float(item["at"]),
            }
    every = sorted(found.values(), key=lambda item: item["at"])
    left = [item for item in every if not is_private(item["audience"])][-MOST_OPEN:]
    left += [item for item in every if is_private(item["audience"])][-MOST_PRIVATE:]
    return sorted(left, key=lambda item: item["at"])


def known_to(
    attributes: Iterable[ProfileAttribute], entity: str, seeker: Seeker
) -> list[ProfileAttribute]:
    """The attributes of a being that a seeker may know, each point once, for its widest audience.

    Args:
        entity: whose attributes they are; what was said of oneself in the open is known to oneself.
    """
    known = (
        Recollection("", MemoryKind.FACT, item["text"], item["audience"], entity, at=item["at"])
        for item in attributes
    )
    fit = once(memory for memory in known if may_know(memory, seeker))
    return [{"text": each.text, "audience": each.audience, "at": each.at} for each in fit]


def described(name: str, favour: float, details: Sequence[str], facts: Sequence[str]) -> str:
    """One line of a being for a prompt.

    Args:
        name: as `core.text.cleaning.name_as_data` gives it.
        details: such as "met 7 times".
        facts: what is known of it, in sentences or words.
    """
    kind = band(favour)
    article = "an" if kind[0] in "aeiou" else "a"
    head = ", ".join((f"{name}: {article} {kind}", *details))
    known = "; ".join(fact.rstrip(" .;") for fact in facts)
    return f"{head}." + (f" Known: {known}." if known else "")
