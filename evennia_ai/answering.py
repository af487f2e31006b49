"""Whose turn it is, and what follows when a turn ends: who is told, and what is counted."""

from __future__ import annotations

from typing import Any

from evennia.utils import logger

from evennia_ai import inbound, outbound, state, turns
from evennia_ai.core.conversation import last_act
from evennia_ai.core.inbox import OWN, Event, talk_of
from evennia_ai.core.perception import SPOKEN, Source
from evennia_ai.core.react import Stop, StopReason
from evennia_ai.core.safety import is_error_limit_reached
from evennia_ai.core.turn import Turn
from evennia_ai.emergency import trigger_emergency_stop


def take(script: Any) -> Turn | float | None:
    """The turn that is due: for the oldest event of somebody whose cooldown is over.

    Returns:
        The turn; or the seconds until one is due; or None when nothing waits.
    """
    work, now, config = script.work, script.clock.seconds(), state.hearing_config(script)
    _expire(script, now - config.expires_seconds)
    resumed = turns.resume(script)
    if resumed is not None:
        note(script, resumed, "taken up again", f"after {resumed.iterations} steps")
        return resumed
    waits = []
    for stored in work.inbox:
        known = work.company.meet(stored.get("person") or stored["sender_id"])
        wait = known.wait_seconds(now, config)
        if wait <= 0:
            known.turn_began = now
            turn = turns.load(script, stored, config.batch_messages)
            count = len(turn.events)
            note(script, turn, "taken", f"with {count} messages at once" if count > 1 else "")
            return turn
        waits.append(wait)
    return min(waits, default=None)


def _expire(script: Any, oldest: float) -> None:
    """Give up what waited too long, as after a day on which the game was down."""
    stale = [item for item in script.work.inbox if item["at"] < oldest]
    if not stale:
        return
    state.discard(script, stale)
    for event in map(Event.from_stored, stale):
        logger.log_warn(f"[assistant] {script.key}: a message of {event.sender_name} expired")
        told = excuse(script, event)
        script.work.records.note([event.number], "expired", _whether(told))


def note(script: Any, turn: Turn, step: str, detail: str = "") -> None:
    """Add a step to the records of a turn's messages."""
    script.work.records.note([event.number for event in turn.events], step, detail)


def close(script: Any, turn: Turn, stop: Stop) -> None:
    """Close a turn: count, tell whoever waits and staff if it failed, stop after too many."""
    work = script.work
    if turn.epoch != work.epoch:
        return
    work.in_flight = None
    errors = _errors_after(script, stop, turn.event)
    turns.settle(script, turn, is_answered=not stop.is_failure, consecutive_errors=errors)
    for notice in turn.notices:
        note(script, turn, "went another way", notice)
    if turn.event.kind == OWN:
        work.autonomy.end(did_something=not stop.is_failure and stop.reason is not StopReason.NOOP)
    if stop.is_failure:
        _report(script, turn, stop, errors)
        return
    is_silent = stop.reason is StopReason.NOOP
    note(script, turn, "silent by choice" if is_silent else "answered", last_act(turn.said))
    if turn.event.person:
        work.company.meet(turn.event.person).count_answers(len(turn.events))
    _engage(script, turn, stop)


def pause(script: Any, turn: Turn) -> None:
    """Go on with the next beat, where an assistant may do one thing a beat."""
    script.work.in_flight = None
    turns.pause(script, turn)
    note(script, turn, "goes on with the next beat", last_act(turn.said))


def _engage(script: Any, turn: Turn, stop: Stop) -> None:
    """After an answer in the open, its asker need not repeat the name for a while."""
    event, config = turn.event, state.hearing_config(script)
    is_open = event.source == Source.CHANNEL or event.source in SPOKEN
    if is_open and event.hops == 0 and stop.reason is StopReason.TERMINAL_TOOL:
        now, seconds = script.clock.seconds(), config.engagement_seconds
        script.work.engagements.begin(
            talk_of(event.source, event.place), event.person, now, seconds
        )


def _report(script: Any, turn: Turn, stop: Stop, errors: int) -> None:
    who = turn.event.sender_name or "Nobody"
    told = "waited" if turn.event.kind == OWN else _whether(excuse(script, turn.event))
    note(script, turn, f"failed: {stop.reason.value}", f"{stop.detail}; {told}")
    limit = state.read(script, "max_consecutive_errors")
    outbound.alert_staff(
        f"{script.obj.key}: {stop.reason.value}, {stop.detail} ({errors} of {limit} errors in a "
        f"row before the emergency stop). {who} {told}."
    )
    if is_error_limit_reached(errors, limit):
        trigger_emergency_stop(script, f"Maximum consecutive errors reached ({errors})")


def _whether(told: bool) -> str:
    return "was told" if told else "could not be told"


def _errors_after(script: Any, stop: Stop, event: Event) -> int:
    """Errors in a row; one that the asker made by leaving or muting is no sign of trouble."""
    errors = int(state.read(script, "consecutive_errors"))
    if not stop.is_failure:
        return 0
    is_gone = event.person in script.work.muted or _has_left(script.obj, event)
    is_theirs = stop.reason is StopReason.MAX_ITERATIONS and is_gone
    return errors + 1 if stop.is_counted and not is_theirs else errors


def _has_left(body: Any, event: Event) -> bool:
    asker = inbound.find_being(event.sender_id)
    if asker is None:
        return True
    if event.source == Source.PAGE:
        return not asker.sessions.count()
    if event.source == Source.CHANNEL:
        return False
    return asker.location != body.location and asker != body.location


def excuse(script: Any, event: Event) -> bool:
    """Tell whoever waits for an answer, once and in character, that none will come."""
    line = state.read(script, "failure_line") or outbound.FAILURE_LINE
    person = inbound.find_being(event.sender_id)
    return outbound.tell(script.obj, person, line, hops=event.hops + 1)
