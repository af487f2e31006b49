"""May a tick run at all? Asked first, answered from a snapshot, and a no costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Skip(StrEnum):
    """The reason why a beat passes without a tick."""

    EMERGENCY = "emergency_stop"
    DISABLED = "disabled"
    TICKING = "already_ticking"
    NOTHING_TO_DO = "nothing_to_do"


@dataclass(frozen=True, slots=True)
class GateState:
    """The facts that the gate looks at.

    Attributes:
        has_event: something waits for an answer.
        has_reason: there is something to do unasked.
    """

    emergency_stop: bool
    enabled: bool
    is_ticking: bool
    has_event: bool
    has_reason: bool = False


def may_tick(snapshot: GateState) -> Skip | None:
    """None to go on, else the first reason not to, in this order."""
    if snapshot.emergency_stop:
        return Skip.EMERGENCY
    if not snapshot.enabled:
        return Skip.DISABLED
    if snapshot.is_ticking:
        return Skip.TICKING
    if not (snapshot.has_event or snapshot.has_reason):
        return Skip.NOTHING_TO_DO
    return None
