"""Memories as values: their audience, and the choice of those worth recalling.

Who may know a memory is one word, its audience, and everything in a prompt has passed `may_know`.
Nothing that a player typed becomes part of an audience or an id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from hashlib import sha256

from evennia_ai.core.hearing.perception import PRIVATE
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.errors import ConfigurationError

DAY_SECONDS = 86_400.0
WORLD = "world"
# Audiences that no seeker belongs to.
NOBODY = "person:nobody"
NOWHERE = "room:nowhere"
_OPEN = ("room:", "channel:")
_AUDIENCE = re.compile(r"world|(?:person|room|channel|faction):[a-z0-9-]{1,60}")
_OBJECT = re.compile(r"#(\d{1,18})")
_ACCOUNT = re.compile(r"\*#(\d{1,18})")
_MASK = re.compile(r"#(\d{1,18}~[0-9a-f]{8})")


class MemoryKind(StrEnum):
    """Kinds of memories."""

    JOURNAL = "journal"
    FACT = "fact"
    INSIGHT = "insight"
    LORE = "lore"


class SourceType(StrEnum):
    """Ways by which the assistant came to know something."""

    DIRECT = "direct"
    OBSERVATION = "observation"
    INFERENCE = "inference"
    ENVIRONMENTAL = "environmental"


# Trust in a journal entry, unless something better is known.
SOURCE_TRUST: Mapping[str, float] = {
    SourceType.DIRECT: 0.9,
    SourceType.OBSERVATION: 0.8,
    SourceType.INFERENCE: 0.6,
    SourceType.ENVIRONMENTAL: 0.3,
}


def safe_id(dbref: str) -> str:
    """A dbref as part of an id: "*#3" becomes "account-3", "#12" "object-12".

    A mask "#12~1a2b3c4d" becomes "mask-12-1a2b3c4d".

    Raises:
        ConfigurationError: it is not a dbref, for instance a name.
    """
    for pattern, kind in ((_ACCOUNT, "account"), (_OBJECT, "object"), (_MASK, "mask")):
        if match := pattern.fullmatch(dbref):
            return f"{kind}-{match[1].replace('~', '-')}"
    raise ConfigurationError(f"{dbref!r} is not the id of a person or room; it must be like '#12'")


def _name_hash(name: str) -> str:
    return sha256(name.casefold().encode("utf-8", "replace")).hexdigest()[:24]


def unmasked_id(face: str) -> str:
    """The id behind a mask, "#12" for "#12~1a2b3c4d"; any other id is returned unchanged."""
    return face.partition("~")[0]


def is_mask(person: str) -> bool:
    """True for the id of a mask, about whose bearer nothing lasting is stored."""
    return _MASK.fullmatch(person) is not None


@lru_cache(maxsize=4096)
def person_audience(person: str) -> str:
    """The audience of one person alone; NOBODY for "" or anything but a dbref."""
    try:
        return f"person:{safe_id(person)}"
    except ConfigurationError:
        return NOBODY


@lru_cache(maxsize=4096)
def place_audience(source: str, place: str) -> str:
    """The audience of a room, or of a channel by its hashed name."""
    if source == "channel":
        return f"channel:{_name_hash(place)}"
    try:
        return f"room:{safe_id(place)}"
    except ConfigurationError:
        return NOWHERE


def faction_audience(name: str) -> str:
    """The audience of a faction, by its hashed name."""
    return f"faction:{_name_hash(name)}"


def is_audience(audience: str) -> bool:
    """True for a well-formed audience; stores are queried for nothing else."""
    return _AUDIENCE.fullmatch(audience) is not None


@dataclass(frozen=True)
class Seeker:
    """The person and place that a prompt is made for.

    Attributes:
        person: the player being spoken to ("*#3"), or "".
        source, place: how and where, as in an event.
        factions: factions that the person and the assistant both belong to.
        is_private: whether nobody else hears the answer.
        payer: the person who pays for the search, who began the chain.
        name_since: no earlier than this the person had the name, in seconds since 1970; 0: unknown.
    """

    person: str = ""
    source: str = ""
    place: str = ""
    factions: tuple[str, ...] = ()
    is_private: bool = False
    payer: str = field(default="", compare=False)
    name: str = field(default="", compare=False)
    name_since: float = field(default=0.0, compare=False)

    @cached_property
    def audiences(self) -> tuple[str, ...]:
        """The audiences that may be told: the world, this place, the factions, the person alone."""
        audiences = [WORLD]
        if self.place:
            source = "" if self.source in PRIVATE else self.source
            audiences.append(place_audience(source, self.place))
        audiences += map(faction_audience, self.factions)
        if self.is_private:
            audiences.append(person_audience(self.person))
        return tuple(audience for audience in audiences if audience not in (NOBODY, NOWHERE))


@dataclass(frozen=True, slots=True)
class Recollection:
    """A memory.

    Attributes:
        key: our id, 32 hexadecimal digits.
        person: who said or caused it ("*#3"), or "".
        place: where, as in an event: "#2", or a channel's name.
        trust: how far it is believed, 0 to 1.
        importance: 1 to 10.
        importance_by: what set the importance: heuristic, llm or manual.
        at: seconds since 1970.
        tags: keywords of lore, or labels of a memory.
        superseded_at: since when a later memory replaces it; None while it holds.
        similarity: to the search text, 0 to 1; 0 without a search.
    """

    key: str
    kind: str
    text: str
    audience: str
    person: str = ""
    place: str = ""
    source_type: str = SourceType.DIRECT
    trust: float = 0.9
    importance: int = 5
    importance_by: str = "heuristic"
    at: float = 0.0
    tags: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()
    superseded_at: float | None = None
    similarity: float = 0.0


def is_private(audience: str) -> bool:
    """True for the audience of a single person."""
    return audience.startswith("person:")


def is_open(audience: str) -> bool:
    """True for words said in front of others, in a room or on a channel."""
    return audience.startswith(_OPEN)


def is_for_all(audience: str) -> bool:
    """True for words that everybody present may hear, neither a person's nor a faction's."""
    return audience == WORLD or audience.startswith(_OPEN)


def may_know(memory: Recollection, seeker: Seeker) -> bool:
    """True if a prompt for this seeker may contain a memory.

    What somebody said in the open is known where it was said, and to the speaker anywhere.
    """
    if memory.audience in seeker.audiences:
        return True
    return is_open(memory.audience) and seeker.person != "" and memory.person == seeker.person


def score(memory: Recollection, now: float, config: MemoryConfig) -> float:
    """The weight of a memory: weighted mean of similarity, recency and importance, each 0 to 1."""
    age_days = max(0.0, now - memory.at) / DAY_SECONDS
    recency = math.exp2(-age_days / config.recency_half_life_days)
    weights = config.similarity_weight, config.recency_weight, config.importance_weight
    parts = memory.similarity, recency, memory.importance / 10
    # With all weights at 0 every memory scores 0.
    total = sum(weights) or 1.0
    return sum(weight * part for weight, part in zip(weights, parts, strict=True)) / total


def select_memories(
    candidates: Iterable[Recollection], seeker: Seeker, now: float, config: MemoryConfig
) -> list[Recollection]:
    """The memories to tell: those that hold, may be known, and are trusted enough.

    Best first. A memory that one of the best was concluded from is left out.
    """
    fit = [
        memory
        for memory in candidates
        if memory.superseded_at is None
        and memory.trust >= config.rumour_trust
        and may_know(memory, seeker)
    ]
    ranked = sorted(fit, key=lambda memory: -score(memory, now, config))
    cited = {key for memory in ranked[: config.recall_limit] for key in memory.cites}
    uncited = (memory for memory in ranked if memory.key not in cited)
    return without_duplicates(uncited, config.min_source_trust)[: config.recall_limit]


def point_of(text: str) -> str:
    """A key for duplicates: the text without case and final punctuation."""
    return " ".join(text.casefold().split()).rstrip(" .!;")


def without_duplicates(
    memories: Iterable[Recollection], least_trust: float = 0.0
) -> list[Recollection]:
    """Memories without duplicates: at the first one's position, the one with the widest audience.

    Args:
        least_trust: a memory below this gives way to one that is not, whatever the audiences.
    """

    def rank(memory: Recollection) -> tuple[bool, int]:
        return memory.trust < least_trust, _audience_rank(memory.audience)

    distinct: dict[str, Recollection] = {}
    for memory in memories:
        point = point_of(memory.text)
        # min() keeps the first of equals, and the dict the position of the first key.
        distinct[point] = min(distinct.get(point, memory), memory, key=rank)
    return list(distinct.values())


def _audience_rank(audience: str) -> int:
    """Rank of an audience, the widest first: world, place, faction, one person."""
    if audience == WORLD:
        return 0
    if is_open(audience):
        return 1
    return 3 if is_private(audience) else 2


def is_rumour(memory: Recollection, config: MemoryConfig) -> bool:
    """True for a memory to be told as hearsay."""
    return memory.trust < config.min_source_trust


def split_hearsay(
    memories: Sequence[Recollection], config: MemoryConfig
) -> tuple[list[Recollection], list[Recollection]]:
    """The memories split into known ones and hearsay."""
    known = [memory for memory in memories if not is_rumour(memory, config)]
    return known, [memory for memory in memories if is_rumour(memory, config)]
