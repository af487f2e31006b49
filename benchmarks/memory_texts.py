"""Made-up memories and questions, the same each time, for measuring what many of them cost."""

from __future__ import annotations

import random

PEOPLE = 5
_WHO = ("smith", "baker", "sailor", "monk", "widow", "scribe", "miller", "duke", "nun", "thief")
_DID = ("owes", "lent", "hid", "found", "promised", "lost", "sold", "keeps", "mended", "stole")
_WHAT = ("barrel", "ring", "letter", "lamp", "boat", "key", "cloak", "hammer", "book", "coin")
_WHERE = ("harbour", "mill", "forge", "chapel", "market", "cellar", "tower", "bridge", "inn")
_HOW = ("last winter", "by night", "in a storm", "for a song", "in anger", "by mistake", "in May")


def sentence(number: int) -> str:
    """A statement like no other of its number."""
    chance = random.Random(number)
    who, other = chance.sample(_WHO, 2)
    did, what, where, how = (chance.choice(words) for words in (_DID, _WHAT, _WHERE, _HOW))
    return f"The {who} {did} the {what} of the {other} at the {where} {how}, {number} years ago."


def question(number: int) -> str:
    """Something that somebody asks."""
    chance = random.Random(-number - 1)
    return f"Do you know of the {chance.choice(_WHAT)} and the {chance.choice(_WHO)}?"
