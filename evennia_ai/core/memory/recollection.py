"""Memories as values: their audience, and the choice of those worth telling now.

Who may know a memory is one word, its audience; everything that reaches a prompt passes
`may_know`. Nothing a player typed ever becomes part of an audience or of an id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from evennia_ai.core.hearing.perception import PRIVATE
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.errors import ConfigurationError

DAY_SECONDS = 86_400.0
WORLD = "world"
# Audiences that no seeker belongs to.
NOBODY = "person:nobody"
NOWHERE = "room:nowhere"
_AUDIENCE = re.compile(r"world|(?:person|room|channel|faction):[a-z0-9-]{1,60}")
_OBJECT = re.compile(r"#(\d{1,18})")
_ACCOUNT = re.compile(r"\*#(\d{1,18})")
_MASK = re.compile(r"#(\d{1,18}~[0-9a-f]{8})")


class MemoryKind(StrEnum):
    """The kinds of memories."""

    JOURNAL = "journal"
    FACT = "fact"
    INSIGHT = "insight"
    LORE = "lore"


class SourceType(StrEnum):
    """The way by which the assistant came to know it."""

    DIRECT = "direct"
    OBSERVATION = "observation"
    INFERENCE = "inference"
    ENVIRONMENTAL = "environmental"


# What a journal entry is believed where nobody says better.
SOURCE_TRUST: Mapping[str, float] = {
    SourceType.DIRECT: 0.9,
    SourceType.OBSERVATION: 0.8,
    SourceType.INFERENCE: 0.6,
    SourceType.ENVIRONMENTAL: 0.3,
}


def safe_id(dbref: str) -> str:
    """A dbref as part of an id: "*#3" is "account-3", "#12" is "object-12".

    A mask, "#12~1a2b3c4d", is "mask-12-1a2b3c4d".

    Raises:
        ConfigurationError: it is not a dbref, such as a name.
    """
    for pattern, kind in ((_ACCOUNT, "account"), (_OBJECT, "object"), (_MASK, "mask")):
        if found := pattern.fullmatch(dbref):
            return f"{kind}-{found[1].replace('~', '-')}"
    raise ConfigurationError(f"{dbref!r} is not the id of a person or room; it must be like '#12'")


def _hashed(name: str) -> str:
    return sha256(name.casefold().encode("utf-8", "replace")).hexdigest()[:24]


def behind(face: str) -> str:
    """The being behind a mask, "#12" of "#12~1a2b3c4d"; of whoever wears none their own id."""
    return face.partition("~")[0]


def is_mask(person: str) -> bool:
    """True for the id of a mask: of whoever wears one nothing lasting is kept."""
    return _MASK.fullmatch(person) is not None


def person_audience(person: str) -> str:
    """The audience of one person alone; of nobody ("" or what is not a dbref) it is nobody's."""
    try:
        return f"person:{safe_id(person)}"
    except ConfigurationError:
        return NOBODY


def place_audience(source: str, place: str) -> str:
    """The audience of what was said at a place: a room's, or a channel's. A name is hashed."""
    if source == "channel":
        return f"channel:{_hashed(place)}"
    try:
        return f"room:{safe_id(place)}"
    except ConfigurationError:
        return NOWHERE


def faction_audience(name: str) -> str:
    """The audience of a faction, by its name, which is hashed."""
    return f"faction:{_hashed(name)}"


def is_audience(audience: str) -> bool:
    """True for a text that is an audience; stores are asked for nothing else."""
    return _AUDIENCE.fullmatch(audience) is not None


@dataclass(frozen=True, slots=True)
class Seeker:
    """The person a prompt is made for, and the place.

    Attributes:
        person: the player who is spoken to ("*#3"), "" for nobody.
        source, place: how and where: as of an event.
        factions: names of those that both the person and the assistant belong to.
        is_private: nobody else hears what is answered.
        payer: who pays for looking: whoever began what is answered.
    """

    person: str = ""
    source: str = ""
    place: str = ""
    factions: tuple[str, ...] = ()
    is_private: bool = False
    payer: str = field(default="", compare=False)

    @property
    def audiences(self) -> tuple[str, ...]:
        """The audiences that may be told: all, this place, these factions, this person alone."""
        found = [WORLD]
        if self.place:
            source = "" if self.source in PRIVATE else self.source
            found.append(place_audience(source, self.place))
        found += map(faction_audience, self.factions)
        if self.is_private:
            found.append(person_audience(self.person))
        return tuple(audience for audience in found if audience not in (NOBODY, NOWHERE))


@dataclass(frozen=True, slots=True)
class Recollection:
    """One thing remembered.

    Attributes:
        key: its id, 32 hexadecimal digits, ours.
        audience: who may know of it.
        person: who said or caused it ("*#3"), "" for nobody.
        place: where, as of an event: "#2", or a channel's name.
        trust: how far it is believed, 0 to 1.
        importance: 1 to 10.
        importance_by: who said so: heuristic, llm or manual.
        at: seconds since 1970.
        tags: words to find lore by, and what else groups memories.
        cites: keys of what it was concluded from.
        superseded_at: since when it holds no more, as something later says; None: it holds.
        similarity: to what was sought, 0 to 1; 0 where nothing was.
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
    """True for an audience of one person alone."""
    return audience.startswith("person:")


def is_open(audience: str) -> bool:
    """True for words that were said before others, in a room or on a channel."""
    return audience.startswith(("room:", "channel:"))


def is_for_all(audience: str) -> bool:
    """True for words that all who are there may hear: neither one person's nor a faction's."""
    return audience == WORLD or is_open(audience)


def may_know(memory: Recollection, seeker: Seeker) -> bool:
    """True for a memory that a prompt for this seeker may hold.

    What somebody said in the open is known where it was said, and to whoever said it.
    """
    if memory.audience in seeker.audiences:
        return True
    return is_open(memory.audience) and seeker.person != "" and memory.person == seeker.person


def score(memory: Recollection, now: float, config: MemoryConfig) -> float:
    """The weight of a memory now: similarity, recency and importance, each 0 to 1, weighed."""
    age_days = max(0.0, now - memory.at) / DAY_SECONDS
    recency = math.exp2(-age_days / config.recency_half_life_days)
    weights = config.similarity_weight, config.recency_weight, config.importance_weight
    parts = memory.similarity, recency, memory.importance / 10
    total = sum(weights) or 1.0
    return sum(weight * part for weight, part in zip(weights, parts, strict=True)) / total


def chosen(
    found: Iterable[Recollection], seeker: Seeker, now: float, config: MemoryConfig
) -> list[Recollection]:
    """The memories that are told: those that hold, may be known and are believed enough.

    The best come first. What one of the best was concluded from is not told beside it.
    """
    fit = [
        memory
        for memory in found
        if memory.superseded_at is None
        and memory.trust >= config.rumour_trust
        and may_know(memory, seeker)
    ]
    ranked = sorted(fit, key=lambda memory: -score(memory, now, config))
    cited = {key for memory in ranked[: config.recall_limit] for key in memory.cites}
    left = (memory for memory in ranked if memory.key not in cited)
    return once(left, config.min_source_trust)[: config.recall_limit]


def point_of(text: str) -> str:
    """The mark of one point: its words in any case, without the signs at its end."""
    return " ".join(text.casefold().split()).rstrip(" .!;")


def once(memories: Iterable[Recollection], least_trust: float = 0.0) -> list[Recollection]:
    """Each point once: where the first of its kind stands, for the widest audience of them all.

    Args:
        least_trust: what is believed less gives way to what is not, whoever may know it.
    """

    def rank(memory: Recollection) -> tuple[bool, int]:
        return memory.trust < least_trust, _narrowness(memory.audience)

    found: dict[str, Recollection] = {}
    for memory in memories:
        point = point_of(memory.text)
        # Of equals `min` keeps the first, and the dict the place of that.
        found[point] = min(found.get(point, memory), memory, key=rank)
    return list(found.values())


def _narrowness(audience: str) -> int:
    """The rank of an audience, the widest first: all, a place, a faction, one person."""
    return 0 if audience == WORLD else 1 if is_open(audience) else 3 if is_private(audience) else 2


def is_rumour(memory: Recollection, config: MemoryConfig) -> bool:
    """True for a memory that is told as hearsay and not as known."""
    return memory.trust < config.min_source_trust


def parted(
    memories: Sequence[Recollection], config: MemoryConfig
) -> tuple[list[Recollection], list[Recollection]]:
    """The known memories, and those that were only heard."""
    known = [memory for memory in memories if not is_rumour(memory, config)]
    return known, [memory for memory in memories if is_rumour(memory, config)]
