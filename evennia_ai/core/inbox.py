"""The durable queue of things to answer: its events, its bound, and what makes room in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evennia_ai.core.perception import Heard, Verdict


@dataclass(frozen=True, slots=True)
class Event:
    """One thing waiting for an answer.

    Attributes:
        id: unique within the assistant.
        kind: "message" (somebody waits for an answer) or "ambient" (nobody does).
        source, sender_id, sender_name, body, hops, trust, rule: as heard and judged.
        at: seconds since the epoch, when it was heard.
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

    @classmethod
    def from_heard(cls, heard: Heard, verdict: Verdict, *, event_id: str, at: float) -> Event:
        """The event a judged message becomes."""
        return cls(
            id=event_id,
            kind="message",
            source=heard.source.value,
            sender_id=heard.sender_id,
            sender_name=heard.sender_name,
            body=heard.body,
            trust=verdict.trust,
            rule=verdict.rule,
            hops=heard.hops,
            at=at,
        )

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Event:
        """Read back what `as_stored` wrote; unknown keys of other versions are left out."""
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__})

    def as_stored(self) -> dict[str, Any]:
        """Plain data for the database."""
        return asdict(self)


Stored = dict[str, Any]


def push(
    events: Sequence[Stored], event: Stored, *, limit: int
) -> tuple[list[Stored], list[Stored]]:
    """Add an event to a bounded inbox.

    When the inbox is full the oldest ambient event makes room, be it the new one; with none, the
    oldest event does. The first event stays in either case: it is being answered.

    Returns:
        The new inbox, and what had to leave it (the caller tells whom it concerned).
    """
    kept = [*events, event]
    dropped: list[Stored] = []
    while len(kept) > max(1, limit):
        ambient = (i for i, item in enumerate(kept) if i > 0 and item["kind"] == "ambient")
        dropped.append(kept.pop(next(ambient, 1)))
    return kept, dropped


def settle(events: Sequence[Stored], event_id: str) -> list[Stored]:
    """The inbox without the event of that id."""
    return [item for item in events if item["id"] != event_id]
