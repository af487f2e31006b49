"""The state of the game's own stream of events: caps of the whole game, refusals."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from eventsourcing.domain import Aggregate, event

from evennia_ai.audit.aggregates import NOBODY, More, RecordSnapshot, count, put


class GameAggregate(Aggregate):
    """The whole game, as its record tells of it.

    Attributes:
        caps: what was last added to each cap, by name.
        refusals: how often somebody was refused.
        noted: how often each other event happened.
    """

    TOPIC = "game"
    Snapshot = RecordSnapshot
    if TYPE_CHECKING:  # the library makes it
        GameBegun: type[Aggregate.Created]

    class Event(Aggregate.Event):
        """Details that every event has besides its own."""

        by: str
        via: str
        more: More

    class Created(Event, Aggregate.Created):
        """The library's own; the game begins with GameBegun."""

        TOPIC = "game:Created"

    @event("GameBegun", topic="game:GameBegun")
    def __init__(self) -> None:
        self.caps: dict[str, Any] = {}
        self.refusals = 0
        self.noted: dict[str, int] = {}

    @classmethod
    def create(cls, id: UUID, timestamp: datetime | None = None) -> GameAggregate:  # noqa: A002
        """A new record."""
        return cls._create(cls.GameBegun, id=id, timestamp=timestamp, **NOBODY)

    def trigger_event(self, event_class: type[Any], **kwargs: Any) -> None:
        """Let something happen, by nobody in particular unless somebody is named."""
        super().trigger_event(event_class, **{**NOBODY, **kwargs})

    def as_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        own = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {"created_at": self.created_on.isoformat(), "version": self.version, **own}

    @event("BudgetRaised", topic="game:budget_raised")
    def raise_budget(
        self,
        cap: str = "",
        account: str = "",
        amount: Any = 0,
        by: str = "",
    ) -> None:
        """Somebody added to a cap of the game."""
        put(self.caps, cap, {"account": account, "amount": amount, "by": by})

    @event("ControlRefused", topic="game:control_refused")
    def refuse(self, act: str = "") -> None:
        """Somebody tried what he may not."""
        self.refusals += 1

    @event("Noted", topic="game:noted")
    def note(self, event: str) -> None:
        """Anything else."""
        count(self.noted, event)
