"""Admission of a message that triggers: it is queued, whole or cut, or it is rejected.

A sender who gets no answer is told so, in private and in character. Where a limit is reached, the
one checkpoint decides; while that waits for a person's answer, the message is kept in memory.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from evennia_ai import audit
from evennia_ai.agent import queueing
from evennia_ai.agent.ear_settings import ear_for, read_ear
from evennia_ai.agent.failure_notices import cooling_line
from evennia_ai.agent.queueing import cooling_seconds
from evennia_ai.approvals import checkpoints, holding
from evennia_ai.core.hearing.calling import without_address
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import Event, joins, talk_of
from evennia_ai.core.hearing.perception import CHANNEL, PRIVATE, SPOKEN, Heard, Overheard, Source
from evennia_ai.core.hearing.rate_limits import Admission
from evennia_ai.core.keys import new_key
from evennia_ai.core.safety.limits import LIMITS, Decision, LimitKind, denial_text
from evennia_ai.core.settings.safety import Oversize
from evennia_ai.core.text.cleaning import cut_at_sentence
from evennia_ai.core.text.words import counted, number
from evennia_ai.errors import LimitReachedError, StaleEpochError
from evennia_ai.messages import incoming, outgoing
from evennia_ai.messages.lines import literal
from evennia_ai.runtime import ability, names, state
from evennia_ai.runtime.assistant import Assistant

ADDRESSED = ("direct_address", "direct_message")
# Hops that one approval grants to a chain between assistants: a message and its answer.
HOPS_OF_AN_EXCHANGE = 2
CUT = " (cut)"
# Nobody types the same words twice in this time; a command may send them twice.
AT_ONCE_SECONDS = 0.25
SIZE_PATH = LIMITS[LimitKind.MESSAGE_CHARACTERS].path


def place_of(script: Assistant, heard: Heard) -> str:
    """The place of a conversation: the channel's name, or the room's "#2"."""
    if heard.source is CHANNEL:
        return heard.place
    # Without a body, staff still read what it heard.
    room = script.obj.location if script.obj is not None else None
    return room.dbref if room is not None else ""


def overhear(script: Assistant, record: DecisionTrace, heard: Heard) -> None:
    """Remember a message that needs no answer."""
    place, trust = place_of(script, heard), record.verdict.trust
    state.overhear(script, Overheard.from_heard(heard, trust, place))


def queue(script: Assistant, record: DecisionTrace, heard: Heard) -> bool:
    """Queue a message that triggers, unless the assistant is silent or the sender is over a limit.

    Returns:
        True where it waits for an answer now, or for a person who may allow one.
    """
    if _is_silent(script, record, heard) or _is_cooling_off(script, record, heard):
        return False
    size = state.safety_config(script).size
    is_too_long = 0 < size.message_characters < len(heard.body)
    # Before the sender's turn is counted: a message that is rejected for its size costs no turn.
    if is_too_long and size.on_oversize is Oversize.DENY:
        _reject_length(script, record, len(heard.body), size.message_characters)
        return False
    if is_too_long and size.on_oversize is Oversize.CUT:
        # Before it becomes an event: only the short text is stored, paid for and remembered.
        heard = _cut(record, heard, size.message_characters)
    event = event_of(script, record, heard)
    if _is_repeated(script, event):
        record.note("heard once", "the same words as a moment before")
        return True
    admission = _admit(script, event)
    if admission.is_refusal:
        record.note("refused", f"limit {admission.value}, in hearing_config")
        _reject(script, record, outgoing.TOO_MUCH_LINE)
    elif is_too_long and size.on_oversize is Oversize.ASK:
        asking = _ask_for_length(script, record, event, len(heard.body), size.message_characters)
        _decide_later(script, record, asking)
    else:
        _enqueue(script, record, event, admission)
    return not admission.is_refusal


def _is_silent(script: Assistant, record: DecisionTrace, heard: Heard) -> bool:
    """True where it answers nobody now, or nobody in this room; the sender is told."""
    if script.silence:
        record.note("silent", script.silence)
        if line := ability.inability(script.obj):
            if is_for_it(record) and tell_unable(script, heard, line):
                record.note("told", "that its body cannot act")
            return True
        # After a stop nothing is answered later, so each message is rejected, not one a minute.
        _reject(script, record, outgoing.STOPPED_LINE, is_each=state.is_stopped(script))
        return True
    if heard.source in SPOKEN and outgoing.is_hushed(script, script.obj.location):
        record.note("hushed", "somebody asked it to be quiet here")
        overhear(script, record, heard)
        _reject(script, record, outgoing.HUSHED_LINE)
        return True
    return False


def _is_cooling_off(script: Assistant, record: DecisionTrace, heard: Heard) -> bool:
    """True where the sender has to wait because of earlier requests; the sender is told."""
    seconds = cooling_seconds(script, heard.person)
    if seconds:
        record.note("refused", f"{heard.sender_name} has to wait {number(round(seconds))} s more")
        _reject(script, record, cooling_line(seconds))
    return seconds > 0


def _enqueue(script: Assistant, record: DecisionTrace, event: Event, admission: Admission) -> None:
    """Put an event into the inbox; a person's message ends a run of the assistant's own turns."""
    waiting = len(script.work.inbox)
    record.note(admission.value, f"{waiting} waiting before it" if waiting else "")
    script.enqueue(event)
    if admission is Admission.LATER or event.person in holding.people(script):
        _ask_for_patience(script, record)
    # A message without hops comes from a person; assistants must not renew each other's turns.
    if event.hops == 0 and state.read(script, "own_turns"):
        state.write(script, own_turns=0)
        script.work.extensions.end(f"own {script.obj.dbref}")


def event_of(script: Assistant, record: DecisionTrace, heard: Heard) -> Event:
    """Turn a message into an event, without the name that it is addressed to."""
    ear = ear_for(script, incoming.find_being(heard.sender_id))
    return Event.from_heard(
        heard,
        record.verdict,
        body=without_address(heard.body, ear.names),
        event_id=new_key(12),
        at=record.at,
        place=place_of(script, heard),
        number=record.number,
    )


def _is_repeated(script: Assistant, event: Event) -> bool:
    """True for a whisper that waits already, as after Evennia's own `whisper Ada, ada = hi`."""
    return event.source == Source.WHISPER and any(
        item["body"] == event.body
        and 0 <= event.at - item["at"] <= AT_ONCE_SECONDS
        and joins(item, event.as_stored())
        for item in script.work.inbox
        if item["id"] not in script.work.busy
    )


def _admit(script: Assistant, event: Event) -> Admission:
    """Count an event for its sender."""
    work, config = script.work, state.hearing_config(script)
    # Messages of assistants never wait for the next minute: they are admitted now or rejected.
    if event.hops:
        config = config.model_copy(update={"queued_per_player": 0})
    busy = work.busy
    waiting = [item for item in work.inbox if item["id"] not in busy]
    # Long messages that wait for approval are in no inbox, and would otherwise escape the limits.
    asked_about = work.asked_about.count(event.person)
    stored = event.as_stored()
    turns, queued = queueing.turns_of(script, event.person)
    return work.senders.meet(event.person).admit(
        script.clock.seconds(),
        config,
        waiting=sum(item.get("person") == event.person for item in waiting) + asked_about,
        joinable=sum(joins(item, stored) for item in waiting),
        turns=turns + asked_about,
        queued=queued,
    )


def _reject(script: Assistant, record: DecisionTrace, line: str, *, is_each: bool = False) -> None:
    """Tell a person who addressed the assistant, in private, that no answer will come.

    Args:
        is_each: tell it for every message; otherwise once a minute.
    """
    heard = record.heard
    if not is_for_it(record):
        return
    known = script.work.senders.meet(heard.person)
    if not (known.may_tell(script.clock.seconds()) or is_each):
        return
    person = incoming.find_being(heard.sender_id)
    if outgoing.tell(script.obj, person, line, hops=heard.hops + 1):
        record.note("told", "that no answer will come")


def _ask_for_patience(script: Assistant, record: DecisionTrace) -> None:
    """Tell a person who addressed the assistant, once a minute, that the answer takes a while."""
    heard, now = record.heard, script.clock.seconds()
    if is_for_it(record) and script.work.senders.meet(heard.person).may_tell_later(now):
        person = incoming.find_being(heard.sender_id)
        if outgoing.tell(script.obj, person, outgoing.LATER_LINE, hops=heard.hops + 1):
            record.note("told", "that the answer takes a moment")


def is_for_it(record: DecisionTrace) -> bool:
    """True where a person addressed the assistant, and should learn what becomes of it."""
    return not record.heard.from_assistant and record.verdict.name in ADDRESSED


def tell_unable(script: Assistant, heard: Heard | Event, line: str) -> bool:
    """Tell a sender why the body cannot act, once until it can again. Returns True if told."""
    work = script.work
    informed = work.unable = set() if work.unable is None else work.unable
    if heard.hops or heard.person in informed:
        return False
    # Noted first: telling may run hooks of the game that speak to the assistant again.
    informed.add(heard.person)
    person = incoming.find_being(heard.sender_id)
    return outgoing.tell(script.obj, person, line, hops=1, is_of_body=True)


def tell_of_mute(script: Assistant, record: DecisionTrace, heard: Heard) -> None:
    """Tell a person who muted the assistant that it heard nothing, in the game's own voice."""
    person = None if heard.from_assistant else incoming.find_being(heard.sender_id)
    if person is not None and not getattr(person, "is_bot", False):
        person.msg(
            outgoing.MUTED_LINE.replace("{name}", literal(names.name_of(script.obj, person)))
        )
        record.note("told", "that the sender has muted it")


# ---- what reaches a limit ----------------------------------------------------------------------


def end_or_extend(script: Assistant, record: DecisionTrace, heard: Heard) -> None:
    """End a chain of messages between assistants, or let it go on for one more exchange."""
    _decide_later(script, record, _ask_for_hops(script, record, heard))


def _decide_later(
    script: Assistant, record: DecisionTrace, asking: Coroutine[Any, Any, None]
) -> None:
    """Let the checkpoint decide in the background."""

    def report(failure: Failure) -> None:
        if failure.check(CancelledError, StaleEpochError):
            record.note("cut off", "by a stop, a reset or a restart")
            _reject(script, record, outgoing.STOPPED_LINE)
        else:
            logger.log_err(f"[assistant] {script.key}: {failure.getTraceback()}")

    Deferred.fromCoroutine(asking).addErrback(report)


def _cut(record: DecisionTrace, heard: Heard, most: int) -> Heard:
    record.note("cut", f"from {number(len(heard.body))} to {number(most)} characters")
    return replace(heard, body=cut_at_sentence(heard.body[: most + 1], most) + CUT)


def _reject_length(script: Assistant, record: DecisionTrace, length: int, most: int) -> None:
    details = {"scope": f"message {record.number}", "used": length, "cap": most}
    audit.record("limit_denied", script, kind=LimitKind.MESSAGE_CHARACTERS.value, **details)
    _return_message(script, record, length, most)


def _return_message(script: Assistant, record: DecisionTrace, length: int, most: int) -> None:
    record.note("refused", f"{number(length)} characters, of {number(most)} in {SIZE_PATH}")
    line = outgoing.TOO_LONG_LINE.replace("{most}", number(most))
    _reject(script, record, line, is_each=True)


async def _ask_for_length(
    script: Assistant, record: DecisionTrace, event: Event, length: int, most: int
) -> None:
    """Queue a long message once a person allows it; until then it waits in memory."""
    hit = LimitReachedError(
        LimitKind.MESSAGE_CHARACTERS,
        used=length,
        cap=most,
        amount=length - most,
        scope=f"message {event.id}",
    )
    record.note("asked", f"whether {number(length)} characters may be read")
    task = f"a message of {record.heard.sender_name}"
    asked_about = script.work.asked_about
    # Counted while the question is open, so that nobody can fill memory with long messages.
    asked_about.append(event.person)
    try:
        decision = await _decide(script, hit, task=task, event=event)
    finally:
        asked_about.remove(event.person)
    if not decision.allow_continue:
        _return_message(script, record, length, most)
    # The approval may come an hour later: by then it may be muted, stopped or without a body.
    elif event.person not in script.work.muted and not _is_silent(script, record, record.heard):
        _enqueue(script, record, event, Admission.YES)


async def _ask_for_hops(script: Assistant, record: DecisionTrace, heard: Heard) -> None:
    ear = script.work.ear or read_ear(script)
    # Grants travel with the message and its answer, so that both ends count alike.
    cap = ear.max_agent_hops + heard.hops_granted
    hit = LimitReachedError(
        LimitKind.AGENT_HOPS,
        used=heard.hops,
        cap=cap,
        amount=HOPS_OF_AN_EXCHANGE,
        scope=_chain_of(script, heard),
    )
    times = heard.hops_granted // HOPS_OF_AN_EXCHANGE
    task = f"a talk with {heard.sender_name}"
    decision = await _decide(script, hit, task=task, times=times)
    if decision.allow_continue:
        more = int(decision.extension)
        record.note("granted", f"{more} hops more: {decision.reason.text}")
        granted = heard.hops_granted + more
        queue(script, record, replace(heard, hops_granted=granted))
        return
    record.note(
        "silent",
        f"{counted(heard.hops, 'messages')} in a row between assistants, of {cap}; "
        + denial_text(LimitKind.AGENT_HOPS, cap, hit.scope, decision.reason, has_partial=False),
    )
    audit.record("hop_limit", script, sender=heard.sender_name, hops=heard.hops, cap=cap)
    overhear(script, record, heard)


def _chain_of(script: Assistant, heard: Heard) -> str:
    """The scope that hops are counted in: a pair in private, or everybody at one place."""
    if heard.source in PRIVATE:
        return f"chain {' '.join(sorted((heard.sender_id, script.obj.dbref)))}"
    return f"chain {talk_of(heard.source, place_of(script, heard))}"


async def _decide(
    script: Assistant,
    hit: LimitReachedError,
    *,
    task: str,
    times: int = 0,
    event: Event | None = None,
) -> Decision:
    """Ask the checkpoint about a scope that ends with its answer.

    Args:
        times: how often it was extended before, where only the message itself knows.

    Raises:
        StaleEpochError: the assistant was reloaded or stopped meanwhile.
    """
    work, extensions = script.work, script.work.extensions
    # Only the message knows how often its chain was extended; no count outlives the exchange.
    extensions.counts[hit.scope, hit.kind] = times
    try:
        decision = await checkpoints.ask(script, hit, task=task, event=event)
    finally:
        extensions.end(hit.scope)
    # A reload rebuilds `work`; a message queued in the old one would be lost.
    if script.work is not work or work.is_closing:
        raise StaleEpochError(work.epoch, work.epoch + 1)
    return decision
