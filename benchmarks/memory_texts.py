"""Made-up memories and questions, the same in each run."""

from __future__ import annotations

import json
import random

from evennia_ai.core.memory.recollection import (
    MemoryKind,
    Recollection,
    person_audience,
    place_audience,
)

PEOPLE = 20
ROOM = place_audience("say", "#2")
# Entries of a hundred that were said in the room; the others were whispered by one person.
OF_ROOM = 3
FIRST_AT, BETWEEN_SECONDS = 1_750_000_000.0, 40.0
_WHO = ("smith", "baker", "sailor", "monk", "widow", "scribe", "miller", "duke", "nun", "thief")
_DID = ("owes", "lent", "hid", "found", "promised", "lost", "sold", "keeps", "mended", "stole")
_WHAT = ("barrel", "ring", "letter", "lamp", "boat", "key", "cloak", "hammer", "book", "coin")
_WHERE = ("harbour", "mill", "forge", "chapel", "market", "cellar", "tower", "bridge", "inn")
_HOW = ("last winter", "by night", "in a storm", "for a song", "in anger", "by mistake", "in May")


def sentence(number: int) -> str:
    """Return a statement, seldom the same for two numbers."""
    chance = random.Random(number)
    who, other = chance.sample(_WHO, 2)
    did, what, where, how = (chance.choice(words) for words in (_DID, _WHAT, _WHERE, _HOW))
    ago = f"{number % 40 + 2} years ago"
    return f"The {who} {did} the {what} of the {other} at the {where} {how}, {ago}."


def question(number: int) -> str:
    """Return a question."""
    chance = random.Random(-number - 1)
    return f"Do you know of the {chance.choice(_WHAT)} and the {chance.choice(_WHO)}?"


def person(number: int) -> str:
    """Return the id of one of the people."""
    return f"*#{number % PEOPLE + 3}"


def audiences(number: int) -> tuple[str, ...]:
    """Return the audiences whose memories one person may know: some 8 of 100."""
    return "world", person_audience(person(number)), ROOM


def entry(number: int, *, is_shared: bool) -> Recollection:
    """Return an entry of the journal: mostly whispered by one person, else said in the room.

    Args:
        is_shared: whether everything is said in the room.
    """
    is_room = is_shared or number % 100 < OF_ROOM
    who = person(number)
    verb = "said" if is_room else "whispered"
    return Recollection(
        f"{number:032x}",
        MemoryKind.JOURNAL,
        f"Tom{number % PEOPLE} {verb}: {json.dumps(sentence(number))}",
        ROOM if is_room else person_audience(who),
        person=who,
        at=FIRST_AT + number * BETWEEN_SECONDS,
    )
