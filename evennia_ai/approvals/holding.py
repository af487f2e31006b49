"""Waiting for a person's answer about a turn's limit, beside the assistant's other turns.

The turn leaves the slot while its question is open, and gets it back at the next free moment after
the answer or the timeout. Further messages of its sender wait until then.
"""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred

from evennia_ai.approvals.people import is_assistant
from evennia_ai.core.hearing.inbox import OWN, TASK
from evennia_ai.core.safety.questions import Answer
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import StaleEpochError
from evennia_ai.messages import outgoing
from evennia_ai.messages.incoming import find_being
from evennia_ai.messages.thinking import FIRST_AFTER_SECONDS
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.turns import aside
from evennia_ai.runtime.work import Seat, Work

# Turns set aside at once. One more would have to wait in the slot and hold up everybody, so nobody
# is asked about it.
MOST_ASIDE = 10
ASIDE = "for an answer about the message before"
_NOBODY: frozenset[str] = frozenset()


async def wait(script: Assistant, turn: Turn | None, asked: Deferred[Answer]) -> Answer:
    """Wait for the answer to a question about a turn, and let others be answered meanwhile.

    Args:
        turn: the turn in question; None: none, as for a message that is too long.

    Raises:
        CancelledError: the turn was dropped meanwhile, as by a stop.
        StaleEpochError: the assistant was reloaded.
    """
    seat = None if asked.called or turn is None else _seat_of(script, turn)
    answer: Answer
    if seat is None:
        answer = await asked
        return answer
    work = script.work
    aside.hold(script, seat.turn)
    work.aside[seat.turn.scope], work.seat = seat, None
    # Last: with the slot free the next turn may begin.
    seat.step_aside()
    showing = script.clock.callLater(FIRST_AFTER_SECONDS, _show, script, seat.turn)
    try:
        answer = await asked
        return answer
    except CancelledError:
        # A void turn does not come back to the slot.
        seat = None
        raise
    finally:
        if showing.active():
            showing.cancel()
        if seat is not None:
            await _come_back(script, work, seat)


def _show(script: Assistant, turn: Turn) -> None:
    """Show that it waits: once to the room, and to each sender who is elsewhere."""
    body, event = script.obj, turn.event
    if body is None or event.kind == OWN:
        return
    is_first = next(iter(script.work.aside)) == turn.scope
    if is_first:
        outgoing.show(body, outgoing.ASKING_LINE, hops=turn.hops)
    asker = find_being(event.sender_id) if event.kind != TASK else None
    is_near = asker is not None and getattr(asker, "location", None) is body.location
    if asker is not None and not (is_first and is_near) and not is_assistant(asker):
        outgoing.tell(body, asker, outgoing.ASKING_LINE, hops=turn.hops)


async def _come_back(script: Assistant, work: Work, seat: Seat) -> None:
    """Get the slot back before anything else is done, whatever became of the question."""
    if script.work is not work or work.is_closing:
        raise StaleEpochError(work.epoch, work.epoch + 1)
    called = seat.come_back()
    script.beat_soon()
    await called


def _seat_of(script: Assistant, turn: Turn) -> Seat | None:
    """The seat of a turn that may be set aside; None where it has to wait in the slot."""
    seat: Seat | None = script.work.seat
    if seat is None or seat.turn is not turn or len(script.work.aside) >= MOST_ASIDE:
        return None
    # In the middle of an effect nothing is set aside: its outcome would be unknown.
    checkpoint = state.read(script, "current_tool_call")
    return None if checkpoint and "tool" in checkpoint else seat


def is_full(script: Assistant, turn: Turn | None) -> bool:
    """True where a turn has the slot and no more turns can be set aside."""
    seat: Seat | None = script.work.seat
    is_seated = turn is not None and seat is not None and seat.turn is turn
    return is_seated and len(script.work.aside) >= MOST_ASIDE


def take_back(script: Assistant) -> Turn | None:
    """The turn that was set aside and may go on now, under way again; None if there is none."""
    if not script.work.aside:
        return None
    due = next((seat for seat in script.work.aside.values() if seat.is_due), None)
    if due is None:
        return None
    aside.take_back(script, due.turn)
    return due.turn


def is_due(script: Assistant) -> bool:
    """True where a turn that was set aside may go on."""
    aside = script.work.aside
    return bool(aside) and any(seat.is_due for seat in aside.values())


def is_one_its_own(script: Assistant) -> bool:
    """True while a turn of the assistant's own is set aside; it takes one at a time."""
    return any(seat.turn.event.kind == OWN for seat in script.work.aside.values())


def people(script: Assistant) -> frozenset[str]:
    """Persons whose turn is set aside; their further messages wait."""
    if not script.work.aside:
        return _NOBODY
    turns = [seat.turn.event for seat in script.work.aside.values()]
    return frozenset(event.person for event in turns if event.kind not in (OWN, TASK))
