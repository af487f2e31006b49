"""The profile of one being: how well the assistant knows it, and what it knows about it.

Favour goes from 0 to 1. Each meeting moves it closer to 1, and a night's reflection moves it up or
down a little. Its bands follow Dunbar's circles of friendship.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypedDict

from evennia_ai.core.memory.namesakes import former_names, is_former_name
from evennia_ai.core.memory.recollection import (
    MemoryKind,
    Recollection,
    Seeker,
    is_audience,
    is_private,
    may_know,
    without_duplicates,
)
from evennia_ai.core.text.cleaning import one_line, quote


class ProfileAttribute(TypedDict):
    """A fact about a being, for an audience, with the time it is known since, in seconds."""

    text: str
    audience: str
    at: float


BANDS = ((0.75, "close friend"), (0.5, "friend"), (0.25, "acquaintance"), (0.0, "stranger"))
# Six meetings make an acquaintance, fourteen a friend, twenty-eight a close friend.
MEETINGS_TO_KNOW = 20
FAVOUR_OF_A_MEETING = 1 - math.exp(-1 / MEETINGS_TO_KNOW)
MOST_NUDGE = 0.1
# Talks within this time are one meeting.
MEETING_SECONDS = 900.0
MOST_OPEN = MOST_PRIVATE = 12
MOST_FORMER_NAMES = 4
LONGEST_ATTRIBUTE = 200


def band(favour: float) -> str:
    """The closeness of two beings: stranger, acquaintance, friend or close friend."""
    return next((name for least, name in BANDS if favour >= least), BANDS[-1][1])


def nudged(favour: float, nudge: float) -> float:
    """The favour after a night, 0 to 1; a night changes it by MOST_NUDGE at most."""
    # NaN would spread: a favour that became NaN would stay NaN for ever.
    if not math.isfinite(nudge):
        return favour
    return min(1.0, max(0.0, favour + max(-MOST_NUDGE, min(MOST_NUDGE, nudge))))


def bounded(attributes: Iterable[ProfileAttribute]) -> list[ProfileAttribute]:
    """The attributes of a being that are stored, oldest first.

    Equal words for the same audience are stored once, with the newest time. The newest 12 for
    several people and the newest 12 private ones are kept.

    Args:
        attributes: those without text or a valid audience are dropped.
    """
    distinct: dict[tuple[str, str], ProfileAttribute] = {}
    for item in attributes:
        text = one_line(str(item["text"]), LONGEST_ATTRIBUTE)
        if text and is_audience(item["audience"]):
            distinct[text.casefold(), item["audience"]] = {
                "text": text,
                "audience": item["audience"],
                "at": float(item["at"]),
            }
    every = sorted(distinct.values(), key=lambda item: item["at"])
    newest = [item for item in every if not is_private(item["audience"])][-MOST_OPEN:]
    newest += [item for item in every if is_private(item["audience"])][-MOST_PRIVATE:]
    return sorted(newest, key=lambda item: item["at"])


def with_former_name(
    attributes: Iterable[ProfileAttribute], former: ProfileAttribute
) -> list[ProfileAttribute]:
    """The attributes of a being with one more former name; the newest few are kept."""
    names = former_names([former["text"]])
    others = [item for item in attributes if not former_names([item["text"]]) & names]
    earlier = [item for item in others if is_former_name(item["text"])]
    dropped = earlier[: max(0, len(earlier) + 1 - MOST_FORMER_NAMES)]
    return bounded([*(item for item in others if item not in dropped), former])


def known_to(
    attributes: Iterable[ProfileAttribute], entity: str, seeker: Seeker
) -> list[ProfileAttribute]:
    """The attributes of a being that a seeker may know, without duplicates.

    Args:
        entity: id of the being; people may know what they said of themselves in the open.
    """
    known = (
        Recollection("", MemoryKind.FACT, item["text"], item["audience"], entity, at=item["at"])
        for item in attributes
    )
    fit = without_duplicates(memory for memory in known if may_know(memory, seeker))
    return [{"text": each.text, "audience": each.audience, "at": each.at} for each in fit]


def described(name: str, favour: float, details: Sequence[str], facts: Sequence[str]) -> str:
    """A line about a being for a prompt.

    Args:
        name: as returned by `core.text.cleaning.name_as_data`.
        details: for example "met 7 times".
        facts: what is known, in sentences or phrases.
    """
    kind = band(favour)
    article = "an" if kind[0] in "aeiou" else "a"
    head = ", ".join((f"{name}: {article} {kind}", *details))
    # In quotes: they are drawn from what players say, and must not pose as anything else.
    known = "; ".join(quote(fact.rstrip(" .;")) for fact in facts)
    return f"{head}." + (f" Known: {known}." if known else "")
