"""The consequences of a turn's end: counted errors, a lockout, or a wait for one person."""

from __future__ import annotations

from typing import Any

from evennia_ai import audit
from evennia_ai.agent import tracing
from evennia_ai.agent.failure_notices import cooling_line, notify_failure
from evennia_ai.approvals.people import is_assistant
from evennia_ai.core.hearing.chain import is_of_chain
from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.safety import notices
from evennia_ai.core.safety.cooling import NOBODY, Consequences, Ended, in_words
from evennia_ai.core.safety.limits import LIMITS, LimitKind
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.turn import Turn
from evennia_ai.emergency import trigger_emergency_stop
from evennia_ai.messages import incoming, outgoing
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tasks import delegations


def judge(script: Assistant, turn: Turn, stop: Stop) -> tuple[Consequences, dict[str, Any]]:
    """Judge the end of a turn. Returns that and the values to be stored with it."""
    blame, now = script.work.blame, script.clock.seconds()
    config, event = state.safety_config(script).cooling, turn.event
    # The stored count leads: staff may have set it by hand.
    blame.recall(int(state.read(script, "consecutive_errors")))
    cause, _, is_shared = _cause_to_lock(script, turn, stop)
    if not (stop.is_failure or cause or blame.run or event.person in blame.people):
        return Consequences(0), {}
    # Otherwise anybody could lock it: ask something long, walk off, and repeat.
    is_theirs = stop.reason is StopReason.MAX_ITERATIONS and _is_gone(script, event)
    # Without a location it fails for everybody alike.
    is_nobodys = stop.is_of_service or event.kind == OWN or script.obj.location is None
    ending = Ended(
        person=NOBODY if is_nobodys else event.person,
        is_failure=stop.is_failure,
        is_counted=stop.is_counted and not is_theirs,
        cause=cause,
        is_shared=is_shared,
        may_lock=stop.may_lock,
        is_person=not (event.person and _is_assistant(event.person)),
    )
    judged = blame.judge(ending, now, config, most_errors(script))
    stored = blame.as_stored(now, config)
    return judged, {} if stored == state.read(script, "cooling") else {"cooling": stored}


def apply(script: Assistant, turn: Turn, stop: Stop, judged: Consequences) -> None:
    """Lock the assistant, or make the sender wait, where the end of a turn calls for it."""
    if judged.locks is not None:
        why = _cause_to_lock(script, turn, stop)[1]
        why = why or f"Maximum consecutive errors reached ({judged.errors})"
        people = " and ".join(map(incoming.key_of, judged.people))
        whom = f", for {people}" if len(judged.people) > 1 else ""
        trigger_emergency_stop(script, f"{why.rstrip('.')}{whom}", cause=judged.locks)
    elif judged.cools:
        _cool_off(script, turn, stop, judged.cools)


def _cool_off(script: Assistant, turn: Turn, stop: Stop, seconds: float) -> None:
    """Tell everybody concerned that a person has to wait."""
    name, account, wait = asker_name(turn), incoming.key_of(turn.event.person), in_words(seconds)
    whom = name if account == name else f"{name} ({account})"
    cause = _cause_to_lock(script, turn, stop)[0]
    tracing.note(script, turn, "cools off", f"{name} has to wait {wait}")
    details = {"person": turn.event.person, "seconds": round(seconds)}
    audit.record("cooled_off", script, cause=cause or stop.reason.value, **details)
    if not stop.is_failure and turn.event.kind != TASK:
        notify_failure(script, turn.event, line=cooling_line(seconds))
    outgoing.alert_staff(notices.cools(str(script.obj.key), whom, wait, stop))


def _cause_to_lock(script: Assistant, turn: Turn, stop: Stop) -> tuple[Cause | None, str, bool]:
    """The cause for which an assistant would have to be locked, the gravest first.

    Returns:
        The cause, or None; the same in words; and whether it concerns everybody, not only the
        sender. Walking off in the middle of an answer locks nobody, nor does a player's own empty
        account.
    """
    if stop.halt is not None and not _is_gone(script, turn.event):
        return stop.halt.cause, stop.halt.detail, False
    hit = stop.limit
    # A limit of a whole chain is not the fault of its last assistant.
    if hit is None or is_of_chain(hit.scope) or not LIMITS[LimitKind(hit.kind)].locks:
        return None, "", False
    is_shared = hit.kind == LimitKind.TOKENS_TOTAL
    # Only one player's account is empty; the others may still talk to it.
    if is_shared and hit.scope.startswith(Scope.PLAYER):
        return None, "", False
    cause = Cause.LOOP if hit.kind == LimitKind.TASK_ITERATIONS else Cause.BUDGET
    return cause, stop.detail, is_shared


def most_errors(script: Assistant) -> int:
    """The number of errors in a row that locks an assistant."""
    return int(state.read(script, "max_consecutive_errors"))


def _is_gone(script: Assistant, event: Event) -> bool:
    """True where the sender left or muted the assistant, so that no answer could reach them."""
    if event.kind in (OWN, TASK):
        return False
    return event.person in script.work.muted or not delegations.is_awaited(script, event)


def _is_assistant(person: str) -> bool:
    being = incoming.find_being(person)
    return being is not None and is_assistant(being)


def asker_name(turn: Turn) -> str:
    """The name of the person who asked, for staff and logs."""
    return turn.event.sender_name or "Nobody"
