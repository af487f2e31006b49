"""The reach of forgetting: everything that goes with a memory that is forgotten or corrected.

The entries that a fact was derived from go with it, and so does whatever says the same: a fact or
profile attribute with the same significant words, an entry with a sentence that has all of them.
Conclusions from any of these go too. A fact that rests on such an entry but says something else
stays, and no longer cites it.

Words are compared, not meanings: a vector would also match what only sounds similar, and that would
be lost for good. So of what was said in quite different words, only cited entries are found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evennia_ai.core.memory.phrasing import denies
from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.core.memory.wording import telling_words

# A shorter version of a statement has more than this share of its significant words.
LEAST_SHARED = 0.5
# With so few words, a statement would be found in many sentences that say something else.
FEW_WORDS = 1
_SENTENCES = re.compile(r"(?<=[.!?;\"])\s+|\n+")
# Stems of the verbs that frame the words of an entry about speech.
_FRAME = frozenset(("whisper", "pag", "said", "caus", "answer"))
# In a person's own words "I am" stands where a fact has "Tom is", which counts for nothing either.
_OF_ONESELF = frozenset(("am", "i'm", "i've", "i'd", "i'll"))
_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True)
class Reach:
    """A memory, and everything that goes with it.

    Attributes:
        loosened: for facts that stay, what they cite from here on, by key.
        ignored: words that do not count, such as the person's names.
    """

    target: Recollection
    gone: tuple[Recollection, ...]
    loosened: Mapping[str, tuple[str, ...]]
    ignored: frozenset[str] = frozenset()

    def takes(self, attribute: str) -> bool:
        """True for a profile attribute that goes too."""
        texts = (memory.text for memory in self.gone if memory.kind != MemoryKind.JOURNAL)
        if any(is_alike(attribute, text, self.ignored) for text in texts):
            return True
        says = is_said_in if self.target.kind == MemoryKind.JOURNAL else is_alike
        return says(attribute, self.target.text, self.ignored)


def said_words(text: str) -> frozenset[str]:
    """The significant words of a text without endings: "like" and "likes" are the same."""
    return frozenset(
        word[:-1] if len(word) > _SHORTEST_STEM and word[-1] in "ey" else word
        for word in telling_words(text) - _OF_ONESELF
    )


def word_to_look_for(statement: str, ignored: frozenset[str] = frozenset()) -> str:
    """A part of a word found in everything that says the same, to search for; "" if there is none.

    An ASCII word if there is one, since databases find those faster.
    """
    words = sorted(said_words(statement) - ignored)
    return max(words, key=lambda word: (word.isascii(), len(word)), default="")


def is_alike(one: str, other: str, ignored: frozenset[str] = frozenset()) -> bool:
    """True if one statement has all significant words of the other, and not many more.

    Args:
        ignored: words that do not count, such as names.
    """
    first, second = (said_words(text) - ignored for text in (one, other))
    fewer, more = sorted((first, second), key=len)
    is_part = bool(fewer) and fewer <= more and len(fewer) > LEAST_SHARED * len(more)
    return is_part and denies(one) == denies(other)


def is_said_in(statement: str, text: str, ignored: frozenset[str] = frozenset()) -> bool:
    """True if a sentence of a text has all significant words of a statement."""
    words = said_words(statement) - ignored
    sentences = _SENTENCES.split(text)
    if len(words) <= FEW_WORDS:
        around = ignored | (_FRAME - words)
        return any(is_alike(statement, each, around) for each in sentences)
    return any(
        words <= said_words(each) and denies(each) == denies(statement) for each in sentences
    )


def conclusions(cites: Mapping[str, Collection[str]], keys: Collection[str]) -> set[str]:
    """Keys of everything that was concluded from some memories, directly or indirectly."""
    reached: set[str] = set()
    known, is_more = set(keys), bool(keys)
    while is_more:
        new = {key for key, cited in cites.items() if key not in known and known & {*cited}}
        reached |= new
        known |= new
        is_more = bool(new)
    return reached


def reach(
    target: Recollection,
    near: Iterable[Recollection],
    resting: Sequence[Recollection],
    ignored: frozenset[str] = frozenset(),
) -> Reach:
    """Work out the reach of a memory that is forgotten.

    Args:
        target: the memory; a profile attribute is passed as a fact without a key.
        near: memories that may say the same or be cited, within what the requester may reach.
        resting: all memories that cite others.
        ignored: words that do not count, such as the person's names.
    """
    others = [memory for memory in near if memory.key != target.key]
    drawn = [memory for memory in resting if memory.key != target.key]
    cites = {memory.key: memory.cites for memory in drawn}
    same: list[Recollection] = []
    if target.kind == MemoryKind.JOURNAL:
        forgotten, concluded = {target.key}, conclusions(cites, [target.key])
    else:
        same = _same_or_sources(target, others, ignored)
        forgotten = {memory.key for memory in same if memory.kind == MemoryKind.JOURNAL}
        facts = {target.key, *(memory.key for memory in same)} - forgotten
        # A fact drawn from the same entry says something else and stays; an insight rests on all
        # its sources.
        insights = {m.key: m.cites for m in drawn if m.kind == MemoryKind.INSIGHT}
        concluded = conclusions(cites, facts)
        concluded |= conclusions(insights, forgotten | facts | concluded)
    gone = {memory.key: memory for memory in same}
    gone |= {memory.key: memory for memory in drawn if memory.key in concluded}
    forgotten |= set(gone)
    loosened = {
        memory.key: tuple(key for key in memory.cites if key not in forgotten)
        for memory in drawn
        if memory.key not in gone and forgotten & {*memory.cites}
    }
    return Reach(target, tuple(gone.values()), loosened, ignored)


def _same_or_sources(
    target: Recollection, others: Sequence[Recollection], ignored: frozenset[str]
) -> list[Recollection]:
    """Facts that say the same as the target, and the entries that they cite or that say it."""
    same = [
        memory
        for memory in others
        if memory.kind != MemoryKind.JOURNAL and is_alike(target.text, memory.text, ignored)
    ]
    memories_alike = (target, *same)
    cited = {
        key for memory in memories_alike if memory.kind == MemoryKind.FACT for key in memory.cites
    }
    entries = [
        memory
        for memory in others
        if memory.kind == MemoryKind.JOURNAL
        and (
            memory.key in cited
            or any(is_said_in(each.text, memory.text, ignored) for each in memories_alike)
        )
    ]
    return [*same, *entries]
