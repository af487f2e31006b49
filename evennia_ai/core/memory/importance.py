"""Importance of a memory, 1 to 10, by rules alone; a model may refine it at night."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from evennia_ai.core.text.words import WORD

LEAST, BASE, MOST = 1, 5, 10
OF_SOURCE: Mapping[str, int] = {"direct": 2, "observation": 1, "inference": 0, "environmental": -1}
# Each group counts once, however many of its words occur.
OF_WORDS: tuple[tuple[str, int, re.Pattern[str]], ...] = (
    ("promise", 1, re.compile(r"\b(?:promis\w*|swear|sworn|swore|vow\w*|oath|my word|pledge\w*)")),
    ("debt", 1, re.compile(r"\b(?:ow(?:e|es|ed|ing)|debts?|lent|lend|borrow\w*|repaid|repay)\b")),
    ("name", 1, re.compile(r"\b(?:my name is|i am called|i'm called|call me|known as)\b")),
    ("secret", 2, re.compile(r"\b(?:secret\w*|confess\w*|tell nobody|tell no one|don't tell)\b")),
    ("danger", 2, re.compile(r"\b(?:danger\w*|attack\w*|threat\w*|poison\w*|trap|beware|enem\w+)")),
    ("death", 2, re.compile(r"\b(?:died|dies|dying|dead|death|kill\w*|murder\w*|slain|buried)\b")),
    ("love", 1, re.compile(r"\b(?:in love|love|loves|loved|marry|married|wedding|betroth\w*)\b")),
    ("wish", 1, re.compile(r"\b(?:i wish|i hope|i dream|i want|my goal|my dream|looking for)\b")),
)
OF_TAGS: Mapping[str, int] = {
    "important": 2,
    "secret": 2,
    "danger": 2,
    "promise": 1,
    "debt": 1,
    "quest": 1,
    "trivial": -3,
    "greeting": -3,
    "small talk": -3,
}
SMALL_TALK, SHORT = -3, -1
SHORT_WORDS = 3
# Characters; what follows in a longer text is not weighed.
LONGEST_WEIGHED = 10_000
_GREETING = re.compile(
    r"bye|cheers|cold|day|evening|farewell|fine|good|goodbye|greetings|hail|hello|hey|hi|hot"
    r"|how|how's|later|morning|night|no|ok|okay|rain|raining|sunny|thank|thanks|warm|weather"
    r"|welcome|yes"
)
_FILLING = re.compile(
    r"a|about|again|all|and|any|are|been|care|do|doing|for|friend|have|i|i'm|is|it|it's"
    r"|lovely|luck|me|much|my|nice|of|oh|old|please|see|so|take|that|that's|the|there|this"
    r"|time|to|today|too|very|was|well|what|what's|you|your|yourself|up"
)


def heuristic(text: str, source_type: str, tags: Iterable[str] = ()) -> int:
    """Estimate the importance of a text.

    The base is 5. The source adds to it (direct 2, observation 1, environmental -1), and so do
    words of promises, debts, names, secrets, danger, death, love and wishes, and tags. A greeting
    or a remark on the weather loses 3, and one more if it is very short.

    Args:
        source_type: a `core.memory.recollection.SourceType`; anything else counts as inference.
        tags: in any case.

    Returns:
        1 to 10.
    """
    folded = text[:LONGEST_WEIGHED].casefold().replace("’", "'")  # noqa: RUF001
    weight = sum(more for _, more, pattern in OF_WORDS if pattern.search(folded))
    weight += sum(OF_TAGS.get(tag, 0) for tag in {tag.casefold() for tag in tags})
    if _is_small_talk(WORD.findall(folded)):
        weight += SMALL_TALK + SHORT * (len(folded.split()) <= SHORT_WORDS)
    return max(LEAST, min(MOST, BASE + OF_SOURCE.get(source_type, 0) + weight))


def _is_small_talk(words: list[str]) -> bool:
    """True for words that anybody says to anybody, with at most one name among them."""
    greetings = [word for word in words if _GREETING.fullmatch(word)]
    others = [word for word in words if not (word in greetings or _FILLING.fullmatch(word))]
    return bool(greetings) and len(others) <= min(1, len(words) // 2)
