"""The durable queue of things to answer: its events, its bound, and what makes room in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evennia_ai.core.hearing.audience import OPEN, Held, confined
from evennia_ai.core.hearing.perception import PRIVATE, Heard, Source, Verdict
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.text.plain_data import from_stored, to_stored

MESSAGE, NOTICE, OWN, TASK = "message", "notice", "own", "task"
# Beside what an event holds: the turn it is part of, which waits for whoever asked, as saved.
SET_ASIDE, SAVED_TURN = "set_aside", "tray"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing waiting for an answer.

    Attributes:
        id: unique within the assistant.
        kind: "message" (somebody waits for an answer), "notice" (the game tells what came of
            something, and somebody waits), "task" (another assistant waits for its report), or
            "own" (its own idea).
        source, sender_id, sender_name, body, hops, hops_granted, chain, begun_by, trust, rule,
            person: as heard and judged.
        mask: as heard: what a masked sender is known by, else "".
        at: seconds since the epoch, when it was heard.
        place: the channel's name, or the room's "#2".
        number: the message number that `assistant why` knows it by.
        audience: of a task: what the turn that gave it held, as of `core.hearing.audience`.
        ordered_by: the id of who has the right to have it done, and so told it; what is done by
            it needs that being's rights beside the assistant's; "": it is not an order.
    """

    id: str
    kind: str
    source: str
    sender_id: str
    sender_name: str
    body: str
    trust: float
    rule: int
    hops: int
    at: float
    person: str = ""
    place: str = ""
    number: int = 0
    hops_granted: int = 0
    audience: tuple[str, ...] = ()
    chain: str = ""
    begun_by: str = ""
    ordered_by: str = ""
    mask: str = ""

    @property
    def face(self) -> str:
        """The being that the assistant takes the sender for: the person, or somebody in a mask."""
        return self.mask or self.person

    @property
    def held(self) -> Held:
        """The audiences that its words belong to, where they are not open."""
        if self.kind == OWN:
            return OPEN
        if self.kind == TASK:
            return confined(self.audience)
        is_private = Source(self.source) in PRIVATE
        return frozenset((person_audience(self.face),)) if is_private else OPEN

    @classmethod
    def from_heard(
        cls,
        heard: Heard,
        verdict: Verdict,
        *,
        body: str,
        event_id: str,
        at: float,
        place: str,
        number: int,
    ) -> Event:
        """The event a judged message becomes.

        Args:
            body: its words, without the name it is addressed by.
        """
        return cls(
            person=heard.person,
            mask=heard.mask,
            place=place,
            number=number,
            id=event_id,
            kind=MESSAGE,
            source=heard.source.value,
            sender_id=heard.sender_id,
            sender_name=heard.sender_name,
            body=body,
            trust=verdict.trust,
            rule=verdict.rule,
            hops=heard.hops,
            hops_granted=heard.hops_granted,
            chain=heard.chain,
            begun_by=heard.begun_by,
            at=at,
        )

    @classmethod
    def from_stored(cls, stored: Mapping[str, object]) -> Event:
        """Read back what `as_stored` wrote, perhaps by another version."""
        return from_stored(cls, stored)

    def as_stored(self) -> dict[str, Any]:
        """Plain data for the database."""
        return to_stored(self)


Stored = dict[str, Any]


def talk_of(source: str, place: str) -> str:
    """The name of a talk: its channel, or its room."""
    return f"{'channel' if source == 'channel' else 'room'} {place}"


def push(
    events: Sequence[Stored], event: Stored, *, limit: int, busy: Collection[str] = ()
) -> tuple[list[Stored], list[Stored]]:
    """Add an event to a bounded inbox.

    When the inbox is full the oldest event of whoever has the most waiting makes room. Those that
    are being answered stay.

    Args:
        busy: ids of the events that are being answered.

    Returns:
        The new inbox, and what had to leave it (the caller tells whom it concerned).
    """
    kept = [*events, event]
    dropped: list[Stored] = []
    while len(kept) > max(1, limit):
        waiting = [item for item in kept if item["id"] not in busy]
        # The newest always has a place: somebody was just told that it waits.
        if len(waiting) < 2:
            break
        leaving = _of_the_loudest(waiting)
        kept.remove(leaving)
        dropped.append(leaving)
    return kept, dropped


def _of_the_loudest(waiting: Sequence[Stored]) -> Stored:
    """The oldest event of the person with the most of them; among equals, of who came first."""
    counts = Counter(item.get("person") or item["sender_id"] for item in waiting)
    # Of equals `max` takes the first, and a counter keeps the order of arrival.
    loudest = max(counts, key=lambda person: counts[person])
    return next(i for i in waiting if (i.get("person") or i["sender_id"]) == loudest)


def joins(event: Stored, other: Stored) -> bool:
    """True where one turn answers both: the same person in the same way at the same place.

    What assistants say belongs to whoever began their talk, so each of their chains has a turn of
    its own. A task has a turn of its own: each has somebody who waits for its report. So has what
    was begun and set aside.
    """
    if TASK in (event.get("kind"), other.get("kind")):
        return bool(event["id"] == other["id"])
    for name in ("kind", "source", "sender_id", "person", "place", SET_ASIDE):
        if event.get(name) != other.get(name):
            return False
    # Older versions stored neither.
    return all(event.get(name, "") == other.get(name, "") for name in ("chain", "mask"))


def count_turns(events: Sequence[Stored], limit: int) -> int:
    """The number of turns that answer these events, each at most `limit` of them."""
    turns, left = 0, list(events)
    while left:
        taken = {item["id"] for item in batch(left, left[0], limit)}
        left = [item for item in left if item["id"] not in taken]
        turns += 1
    return turns


def batch(events: Sequence[Stored], first: Stored, limit: int) -> list[Stored]:
    """The events that one turn answers, oldest first: `first` and those that join it."""
    return [item for item in events if item is first or joins(first, item)][: max(1, limit)]


def set_aside(events: Sequence[Stored], ids: Collection[str], turn_state: object) -> list[Stored]:
    """The inbox, in which the events of a turn keep the state of it until whoever asked is back."""
    turn = next(item["id"] for item in events if item["id"] in ids)
    return [
        {**item, SET_ASIDE: turn, **({SAVED_TURN: turn_state} if item["id"] == turn else {})}
        if item["id"] in ids
        else item
        for item in events
    ]


def without_saved_turn(events: Sequence[Stored], ids: Collection[str]) -> list[Stored]:
    """The inbox, in which the events of those ids are not set aside."""
    asides = (SET_ASIDE, SAVED_TURN)
    return [
        {name: value for name, value in item.items() if name not in asides}
        if item["id"] in ids
        else item
        for item in events
    ]


def settle(events: Sequence[Stored], ids: Collection[str]) -> list[Stored]:
    """The inbox without the events of those ids."""
    return [item for item in events if item["id"] not in ids]
