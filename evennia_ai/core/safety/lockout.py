"""Safety states of an assistant, and the transitions between them.

The only way out of a lockout or stop is that an authorized person unlocks the assistant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from evennia_ai.core.text.words import ExplainedEnum


class Cause(ExplainedEnum):
    """Reasons why an assistant is locked or stopped."""

    KILL = "stopped", "a person stopped it"
    BUDGET = "budget", "its whole budget is used up"
    LOOP = "loop", "one task took more steps than it may"
    REPEAT = "repeat", "it kept repeating the same failed action"
    CASCADE = "cascade", "most of its recent actions failed"
    CONSECUTIVE_ERRORS = "consecutive_errors", "too many ticks in a row failed"
    BODY = "body", "the game deleted its body; `assistant adopt` gives it another"


class State(StrEnum):
    """States that decide whether the assistant may act."""

    RUNNING = "running"
    WAITING_FOR_EVENT = "waiting_for_event"
    SAFETY_LOCKOUT = "safety_lockout"
    STOPPED = "stopped"


class Move(ExplainedEnum):
    """Transitions between states."""

    BEGIN = "begin", "a tick begins"
    SETTLE = "settle", "the tick ends, of itself or cut off"
    HALT = "halt", "a check or a used-up limit locks it"
    KILL = "kill", "a person stops it"
    UNLOCK = "unlock", "somebody with the right clears it"


_LEGAL = {
    State.WAITING_FOR_EVENT: {
        Move.BEGIN: State.RUNNING,
        Move.HALT: State.SAFETY_LOCKOUT,
        Move.KILL: State.STOPPED,
    },
    State.RUNNING: {
        Move.SETTLE: State.WAITING_FOR_EVENT,
        Move.HALT: State.SAFETY_LOCKOUT,
        Move.KILL: State.STOPPED,
    },
    State.SAFETY_LOCKOUT: {
        Move.SETTLE: State.SAFETY_LOCKOUT,
        Move.HALT: State.SAFETY_LOCKOUT,
        Move.KILL: State.STOPPED,
        Move.UNLOCK: State.WAITING_FOR_EVENT,
    },
    State.STOPPED: {
        Move.SETTLE: State.STOPPED,
        Move.HALT: State.STOPPED,
        Move.KILL: State.STOPPED,
        Move.UNLOCK: State.WAITING_FOR_EVENT,
    },
}
# A pair that is missing is illegal. SETTLE is legal while locked or stopped, because a tick that
# was under way still ends.
TRANSITIONS: Mapping[tuple[State, Move], State] = MappingProxyType(
    {(state, by): to for state, moves in _LEGAL.items() for by, to in moves.items()}
)


def move(state: State, by: Move) -> State:
    """The state after a move.

    Raises:
        ValueError: the move is not legal in that state.
    """
    if (state, by) not in TRANSITIONS:
        legal = ", ".join(_LEGAL[state])
        raise ValueError(f"{by} is not a move while {state}; legal are: {legal}")
    return TRANSITIONS[state, by]


@dataclass(frozen=True, slots=True)
class Lockout:
    """The lock on an assistant.

    Attributes:
        reason: explanation for people.
        at: time of the lockout in seconds since 1970.
        by: the person who stopped it, or "" if it stopped itself.
    """

    cause: Cause
    reason: str
    at: float
    by: str = ""

    @property
    def state(self) -> State:
        """The state it puts the assistant in; only a person's act is a stop."""
        return State.STOPPED if self.cause is Cause.KILL else State.SAFETY_LOCKOUT

    def as_stored(self) -> dict[str, Any]:
        """Plain data for the database."""
        return {"cause": self.cause.value, "reason": self.reason, "at": self.at, "by": self.by}

    @classmethod
    def from_stored(cls, stored: object) -> Lockout | None:
        """Read what `as_stored` wrote; None if there is nothing, or nothing readable.

        Unreadable data frees nobody: `emergency_stop` alone decides whether the assistant may act.
        """
        if not isinstance(stored, Mapping) or stored.get("cause") not in tuple(Cause):
            return None
        at = stored.get("at")
        is_time = isinstance(at, (int, float)) and math.isfinite(at)
        return cls(
            Cause(stored["cause"]),
            str(stored.get("reason", "")),
            float(at) if is_time else 0.0,  # type: ignore[arg-type]
            str(stored.get("by", "")),
        )


def state_of(lockout: Lockout | None, is_stopped: bool, is_ticking: bool) -> State:
    """The state according to stored data.

    Args:
        is_stopped: the attribute `emergency_stop`, which alone decides whether the assistant may
            act; the lockout only names the cause. Without one, a person stopped it.
    """
    if is_stopped:
        return lockout.state if lockout else State.STOPPED
    return State.RUNNING if is_ticking else State.WAITING_FOR_EVENT
