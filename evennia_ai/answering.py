"""Whose turn it is, and what follows when a turn ends: who is told, and what is counted."""

from __future__ import annotations

from typing import Any

from evennia.utils import logger

from evennia_ai import delegations, inbound, outbound, state, turns
from evennia_ai.core.conversation import last_act
from evennia_ai.core.inbox import OWN, TASK, Event, talk_of
from evennia_ai.core.limits import LIMITS, Kind
from evennia_ai.core.lockout import Cause
from evennia_ai.core.perception import SPOKEN, Source
from evennia_ai.core.react import ENDINGS, Stop, StopReason
from evennia_ai.core.safety import is_error_limit_reached
from evennia_ai.core.turn import Turn
from evennia_ai.emergency import trigger_emergency_stop
from evennia_ai.remembering import episodes


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
    """Give up what waited too long, as after a day on which the game was down.

    A task that nobody waits for, as after a restart, is given up as well: no call is made for it.
    """
    inbox = script.work.inbox
    orphans = [item for item in inbox if delegations.is_orphan(Event.from_stored(item))]
    if orphans:
        state.discard(script, orphans)
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
    work.extensions.end(turn.scope)
    if turn.epoch != work.epoch:
        return
    work.in_flight = None
    errors = _errors_after(script, stop, turn.event)
    remembered = episodes.of_turn(script, turn, stop)
    turns.settle(script, turn, stop, consecutive_errors=errors, beside=remembered.write)
    remembered.index()
    for notice in turn.notices:
        note(script, turn, "went another way", notice)
    if turn.event.kind == OWN:
        work.autonomy.end(did_something=not stop.is_failure and stop.reason is not StopReason.NOOP)
    if stop.is_failure:
        _report(script, turn, stop, errors)
    else:
        _note_answer(script, turn, stop)
    _lock(script, turn, stop, errors)


def _note_answer(script: Any, turn: Turn, stop: Stop) -> None:
    work = script.work
    is_silent = stop.reason is StopReason.NOOP
    note(script, turn, "silent by choice" if is_silent else "answered", last_act(turn.said))
    if stop.limit is not None:
        outbound.alert_staff(f"{script.obj.key}: {stop.detail}. {_waiting(turn)} was told so far.")
    if turn.event.kind == TASK:
        delegations.end(turn.event, "" if is_silent else last_act(turn.said))
        return
    if turn.event.person:
        work.company.meet(turn.event.person).count_answers(len(turn.events))
    _engage(script, turn, stop)


def pause(script: Any, turn: Turn, stop: Stop) -> None:
    """Go on with the next beat, where an assistant may do one thing a beat."""
    script.work.in_flight = None
    turns.pause(script, turn, stop)
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
    told = "waited" if turn.event.kind == OWN else _whether(excuse(script, turn.event, _why(stop)))
    note(script, turn, f"failed: {stop.reason.value}", f"{stop.detail}; {told}")
    limit = _most_errors(script)
    outbound.alert_staff(
        f"{script.obj.key}: {stop.reason.value}, {stop.detail} ({errors} of {limit} errors in a "
        f"row before the emergency stop). {_waiting(turn)} {told}."
    )


def _waiting(turn: Turn) -> str:
    return turn.event.sender_name or "Nobody"


def _lock(script: Any, turn: Turn, stop: Stop, errors: int) -> None:
    """Lock the assistant where the end of a turn calls for it; the gravest cause is named."""
    cause, why = _cause_to_lock(script, turn, stop, errors)
    if cause is not None:
        trigger_emergency_stop(script, why, cause=cause)


def _cause_to_lock(script: Any, turn: Turn, stop: Stop, errors: int) -> tuple[Cause | None, str]:
    """Why the assistant is locked; nobody locks it by walking off in the middle of an answer."""
    if stop.halt is not None and not _is_gone(script, turn.event):
        return stop.halt.cause, stop.halt.detail
    if stop.limit is not None and LIMITS[Kind(stop.limit.kind)].locks:
        is_loop = stop.limit.kind == Kind.TASK_ITERATIONS
        return Cause.LOOP if is_loop else Cause.BUDGET, stop.detail
    if stop.is_failure and is_error_limit_reached(errors, _most_errors(script)):
        return Cause.CONSECUTIVE_ERRORS, f"Maximum consecutive errors reached ({errors})"
    return None, ""


def _most_errors(script: Any) -> int:
    return int(state.read(script, "max_consecutive_errors"))


def _why(stop: Stop) -> str:
    """Why there is no report, as another assistant may know it."""
    return f"limit {stop.limit.kind}" if stop.limit else ENDINGS[stop.reason].text


def _whether(told: bool) -> str:
    return "was told" if told else "could not be told"


def _errors_after(script: Any, stop: Stop, event: Event) -> int:
    """Errors in a row; one that the asker made by leaving or muting is no sign of trouble."""
    errors = int(state.read(script, "consecutive_errors"))
    if not stop.is_failure:
        return 0
    is_theirs = stop.reason is StopReason.MAX_ITERATIONS and _is_gone(script, event)
    return errors + 1 if stop.is_counted and not is_theirs else errors


def _is_gone(script: Any, event: Event) -> bool:
    """Whether the asker left or muted the assistant, so that no answer could reach them."""
    if event.kind in (OWN, TASK):
        return False
    return event.person in script.work.muted or _has_left(script.obj, event)


def _has_left(body: Any, event: Event) -> bool:
    asker = inbound.find_being(event.sender_id)
    if asker is None:
        return True
    if event.kind == TASK:
        return delegations.is_orphan(event)
    if event.source == Source.PAGE:
        return not asker.sessions.count()
    if event.source == Source.CHANNEL:
        return False
    return asker.location != body.location and asker != body.location


def excuse(script: Any, event: Event, why: str = "it was given up") -> bool:
    """Tell whoever waits for an answer, once and in character, that none will come.

    Args:
        why: for another assistant that waits for a report.
    """
    if event.kind == TASK:
        return delegations.fail(event, why)
    line = state.read(script, "failure_line") or outbound.FAILURE_LINE
    person = inbound.find_being(event.sender_id)
    return outbound.tell(script.obj, person, line, hops=event.hops + 1)
