"""The reach of forgetting: all that leaves with a memory that is forgotten or put right.

The entries that a fact was drawn from leave with it, and so does what says the same: a fact or an
attribute of a profile that has the same telling words, an entry of which a sentence has all of
them. What was concluded from any of that leaves too. A fact that rests on such an entry and says
something else stays, and cites it no more.

Words are compared, not meanings: nothing leaves that only sounds alike. So of what was said in
quite other words, only that leaves which a fact cites.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evennia_ai.core.memory.phrasing import denies
from evennia_ai.core.memory.recollection import MemoryKind, Recollection
from evennia_ai.core.memory.wording import telling_words

# The same said shorter has more than this part of the telling words.
LEAST_SHARED = 0.5
# So few words stand in many sentences that say something else.
FEW_WORDS = 1
_SENTENCES = re.compile(r"(?<=[.!?;\"])\s+|\n+")
# What stands around the words in an entry of a talk.
_FRAME = frozenset(("whisper", "pag", "said", "caus", "answer"))
# What a person says of themselves stands there as "Tom is", of which nothing tells.
_OF_ONESELF = frozenset(("am", "i'm", "i've", "i'd", "i'll"))
SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Reach:
    """A memory with all that leaves with it.

    Attributes:
        target: the memory itself.
        gone: the memories that leave with it.
        loosened: what the facts that stay cite from then on, by their keys.
        ignored: words that do not count, such as those of the person's names.
    """

    target: Recollection
    gone: tuple[Recollection, ...]
    loosened: Mapping[str, tuple[str, ...]]
    ignored: frozenset[str] = frozenset()

    def takes(self, attribute: str) -> bool:
        """True for an attribute of a profile that is not to be told any more."""
        said = (memory.text for memory in self.gone if memory.kind != MemoryKind.JOURNAL)
        if any(is_alike(attribute, text, self.ignored) for text in said):
            return True
        says = is_said_in if self.target.kind == MemoryKind.JOURNAL else is_alike
        return says(attribute, self.target.text, self.ignored)


def said_words(text: str) -> frozenset[str]:
    """The telling words of a text without endings: "like" and "likes" are the same."""
    return frozenset(
        word[:-1] if len(word) > SHORTEST and word[-1] in "ey" else word
        for word in telling_words(text) - _OF_ONESELF
    )


def word_to_look_for(statement: str, ignored: frozenset[str] = frozenset()) -> str:
    """A part of a word that stands in whatever says the same; "" where none is known.

    A database finds it in capitals too, which is sure of English letters alone.
    """
    plain = (word for word in said_words(statement) - ignored if word.isascii())
    return max(sorted(plain), key=len, default="")


def is_alike(one: str, other: str, ignored: frozenset[str] = frozenset()) -> bool:
    """True for two statements of which one has all telling words of the other and few more.

    Args:
        ignored: words that do not count, such as those of names.
    """
    first, second = (said_words(text) - ignored for text in (one, other))
    fewer, more = sorted((first, second), key=len)
    is_part = bool(fewer) and fewer <= more and len(fewer) > LEAST_SHARED * len(more)
    return is_part and denies(one) == denies(other)


def is_said_in(statement: str, text: str, ignored: frozenset[str] = frozenset()) -> bool:
    """True where a sentence of a text has all telling words of a statement."""
    wanted = said_words(statement) - ignored
    sentences = _SENTENCES.split(text)
    if len(wanted) <= FEW_WORDS:
        around = ignored | (_FRAME - wanted)
        return any(is_alike(statement, each, around) for each in sentences)
    return any(
        wanted <= said_words(each) and denies(each) == denies(statement) for each in sentences
    )


def conclusions(cites: Mapping[str, Collection[str]], keys: Collection[str]) -> set[str]:
    """Keys of what was concluded from some memories, and from that, and so on.

    Args:
        cites: what each memory was concluded from, by its key.
    """
    found: set[str] = set()
    known, is_more = set(keys), bool(keys)
    while is_more:
        new = {key for key, cited in cites.items() if key not in known and known & {*cited}}
        found |= new
        known |= new
        is_more = bool(new)
    return found


def reach(
    target: Recollection,
    near: Iterable[Recollection],
    resting: Sequence[Recollection],
    ignored: frozenset[str] = frozenset(),
) -> Reach:
    """The reach of a memory that is forgotten.

    Args:
        target: the memory; an attribute of a profile is a fact without a key.
        near: memories that may say the same or be cited by it, as far as whoever asks may reach.
        resting: all memories that cite some other.
        ignored: words that do not count, such as those of the person's names.
    """
    others = [memory for memory in near if memory.key != target.key]
    drawn = [memory for memory in resting if memory.key != target.key]
    cites = {memory.key: memory.cites for memory in drawn}
    same: list[Recollection] = []
    if target.kind == MemoryKind.JOURNAL:
        forgotten, concluded = {target.key}, conclusions(cites, [target.key])
    else:
        same = _saying(target, others, ignored)
        forgotten = {memory.key for memory in same if memory.kind == MemoryKind.JOURNAL}
        facts = {target.key, *(memory.key for memory in same)} - forgotten
        # Of what rests on an entry, a fact says something else; an insight is concluded of it all.
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


def _saying(
    target: Recollection, others: Sequence[Recollection], ignored: frozenset[str]
) -> list[Recollection]:
    """The facts that say the same as one, and the entries they were drawn from or that say it."""
    same = [
        memory
        for memory in others
        if memory.kind != MemoryKind.JOURNAL and is_alike(target.text, memory.text, ignored)
    ]
    said = (target, *same)
    cited = {key for memory in said if memory.kind == MemoryKind.FACT for key in memory.cites}
    entries = [
        memory
        for memory in others
        if memory.kind == MemoryKind.JOURNAL
        and (
            memory.key in cited or any(is_said_in(each.text, memory.text, ignored) for each in said)
        )
    ]
    return [*same, *entries]
