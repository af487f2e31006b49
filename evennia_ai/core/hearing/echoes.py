"""One message that reaches an assistant by two ways, and is heard once.

A game whose own commands say who speaks by `evennia_ai.hear` mostly sends the line to all who are
there as well: without marks, or with those of Evennia.
"""

from __future__ import annotations

from collections.abc import Iterable

from evennia_ai.core.hearing.perception import Evidence, Heard, Source

# The two ways are taken by one command, one right after the other.
ECHO_SECONDS = 1.0
MOST_CALLS = 20
UNMARKED = frozenset((Source.EMIT, Source.SYSTEM))

Call = tuple[float, Heard]


def is_same(call: Heard, other: Heard) -> bool:
    """True where another message is the one that game code told of: marked alike, or a bare line.

    Args:
        call: what game code told.
    """
    if other.evidence is Evidence.CALL:
        return False  # said again
    if other.sender_id == call.sender_id and other.source is call.source:
        return other.body == call.body
    if other.source not in UNMARKED or other.sender_id not in ("", call.sender_id):
        return False
    is_of_sender = bool(other.sender_id) or call.sender_name.casefold() in other.body.casefold()
    return is_of_sender and call.body in other.body


def is_echo(calls: Iterable[Call], heard: Heard, now: float) -> bool:
    """True for a message that game code told of just before.

    Args:
        now: seconds on the clock by which the calls were noted.
    """
    return any(0 <= now - at <= ECHO_SECONDS and is_same(call, heard) for at, call in calls)
