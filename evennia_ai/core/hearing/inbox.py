"""The durable queue of messages to answer: its events, its limit, and what is dropped first."""

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
# The verdict on a tool that a person had the assistant use, which is no message.
RUN_BY_HAND = "by_hand"
# Keys added to a stored event while its turn waits for the person to come back. "tray" is the name
# in stored data.
SET_ASIDE, SAVED_TURN = "set_aside", "tray"


@dataclass(frozen=True, slots=True)
class Event:
    """An event that waits for an answer.

    Attributes:
        kind: "message" (a person waits for an answer), "notice" (the game reports an outcome to
            somebody who waits), "task" (another assistant waits for a report), or "own" (an
            unprompted act).
        source, sender_id, sender_name, body, hops, hops_granted, chain, begun_by, trust, rule,
            person: as heard and judged.
        mask: id of a masked sender, as heard, else "".
        at: when it was heard, in seconds since 1970.
        place: the channel's name, or the room's "#2".
        number: its number for `assistant why`.
        audience: for a task, what the delegating turn held; see `core.hearing.audience`.
        ordered_by: id of the authorized person who ordered it, so that its acts need that person's
            rights besides the assistant's; "" if it is not an order.
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
        """Id by which the assistant knows the sender: the mask, or else the person."""
        return self.mask or self.person

    @property
    def held(self) -> Held:
        """The restricted audiences that its words belong to."""
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
        """Create the event of a judged message.

        Args:
            body: the words without the name that addresses the assistant.
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
        """Read what `as_stored` wrote, possibly in another version."""
        return from_stored(cls, stored)

    def as_stored(self) -> dict[str, Any]:
        """Plain data for the database."""
        return to_stored(self)


Stored = dict[str, Any]


def talk_of(source: str, place: str) -> str:
    """The name of a conversation: its channel or room."""
    return f"{'channel' if source == 'channel' else 'room'} {place}"


def push(
    events: Sequence[Stored], event: Stored, *, limit: int, busy: Collection[str] = ()
) -> tuple[list[Stored], list[Stored]]:
    """Add an event to a bounded inbox.

    If it is full, the oldest event of the person with the most events is dropped. Events that are
    being answered stay.

    Returns:
        The new inbox, and the dropped events, whose senders the caller should tell.
    """
    inbox = [*events, event]
    dropped: list[Stored] = []
    while len(inbox) > max(1, limit):
        waiting = [item for item in inbox if item["id"] not in busy]
        # The newest event always stays: its sender was just told that it waits.
        if len(waiting) < 2:
            break
        leaving = _to_drop(waiting)
        inbox.remove(leaving)
        dropped.append(leaving)
    return inbox, dropped


def _to_drop(waiting: Sequence[Stored]) -> Stored:
    """The oldest event of the person with the most; among equals, of the one who came first."""
    counts = Counter(item.get("person") or item["sender_id"] for item in waiting)
    # max() returns the first of equals, and a Counter keeps the order of arrival.
    loudest = max(counts, key=lambda person: counts[person])
    return next(i for i in waiting if (i.get("person") or i["sender_id"]) == loudest)


def joins(event: Stored, other: Stored) -> bool:
    """True if one turn answers both: same person, same way, same place.

    Speech of assistants belongs to the person who began the chain, so each chain gets a turn of its
    own. So does each task, since somebody waits for its report, and a turn that was set aside.
    """
    if TASK in (event.get("kind"), other.get("kind")):
        return bool(event["id"] == other["id"])
    for name in ("kind", "source", "sender_id", "person", "place", SET_ASIDE):
        if event.get(name) != other.get(name):
            return False
    # Older versions did not store these keys.
    return all(event.get(name, "") == other.get(name, "") for name in ("chain", "mask"))


def count_turns(events: Sequence[Stored], limit: int) -> int:
    """The number of turns that these events need, with at most `limit` events each."""
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
    """The inbox with a turn's events set aside, its saved state with the first of them."""
    turn = next(item["id"] for item in events if item["id"] in ids)
    return [
        {**item, SET_ASIDE: turn, **({SAVED_TURN: turn_state} if item["id"] == turn else {})}
        if item["id"] in ids
        else item
        for item in events
    ]


def without_saved_turn(events: Sequence[Stored], ids: Collection[str]) -> list[Stored]:
    """The inbox in which the events with these ids are no longer set aside."""
    asides = (SET_ASIDE, SAVED_TURN)
    return [
        {name: value for name, value in item.items() if name not in asides}
        if item["id"] in ids
        else item
        for item in events
    ]


def settle(events: Sequence[Stored], ids: Collection[str]) -> list[Stored]:
    """The inbox without the events with these ids."""
    return [item for item in events if item["id"] not in ids]
