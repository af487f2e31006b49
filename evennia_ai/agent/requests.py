"""Requests of programs: a question that an assistant answers with text, or an order to act.

A request is a task whose report only the program reads. Like a whisper it is judged, traced, queued
in the inbox and paid for. A request with a name of the program's own survives a restart: asking
again by that name returns its answer. Any other is dropped then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from django.db import transaction
from twisted.internet.defer import Deferred, maybeDeferred

from evennia_ai import audit
from evennia_ai.agent import queueing
from evennia_ai.agent.admission import CUT, SIZE_PATH, place_of
from evennia_ai.agent.ear_settings import read_ear
from evennia_ai.agent.queueing import cooling_seconds
from evennia_ai.approvals.people import is_assistant
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import TASK, Event
from evennia_ai.core.hearing.perception import (
    STRANGER,
    TRIGGER,
    Ear,
    Evidence,
    Heard,
    Source,
    Standing,
    Verdict,
)
from evennia_ai.core.hearing.rate_limits import Admission
from evennia_ai.core.hearing.rules import classify
from evennia_ai.core.hearing.trust import Basis
from evennia_ai.core.keys import new_key
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.safety.cooling import in_words
from evennia_ai.core.settings.safety import Oversize
from evennia_ai.core.text.cleaning import cut_at_sentence, strip_control
from evennia_ai.core.text.words import counted, number
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.incoming import MOST_HEARD, id_of, person_of
from evennia_ai.runtime import names, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import meets
from evennia_ai.tasks import programs, store
from evennia_ai.tasks.programs import (
    MUTED,
    Begun,
    NoAnswerError,
    ProgramRequest,
    Reason,
    gives_no_answer,
)

__all__ = ["NoAnswerError", "Reason", "ask", "begin"]

NO_WORD = "there is not a word in what it is asked"
# The longest that a program is kept waiting, also where the setting has no limit.
A_DAY_SECONDS = 86_400.0
THE_GAME = "The game"
_REFUSED = {
    "interaction_disabled": "it talks to nobody: its interaction_enabled is off",
    "own_speech": "it cannot ask itself",
    "self_message": "it cannot ask itself",
}


def ask(
    script: Assistant,
    question: str,
    *,
    asker: Being | None = None,
    timeout_seconds: float | None = None,
    name: str = "",
) -> Deferred[str]:
    """Ask an assistant something; it answers with text, and does nothing others could notice.

    Call it in the reactor's thread. Cancelling the Deferred withdraws the question, unless it has a
    name.

    Args:
        asker: the character or account in whose name it is asked: that person pays, the question is
            believed like a whisper of theirs, and it belongs to their private conversation. None:
            the game itself, which is believed fully.
        timeout_seconds: how long the answer may take; None: as long as a delegated task may
            (`safety_config.timeout.delegation_seconds`).
        name: the program's own name for this question. However often this is called with one name,
            the question is asked once, and its answer survives restarts for a day.

    Returns:
        The answer, plain text of at most 4,000 characters; show it with `messages.lines.literal`.
        It fails with a NoAnswerError, which says why.
    """
    # Errors of `begin` come through the Deferred too, so that a caller handles them in one place.
    return maybeDeferred(lambda: begin(script, question, asker, timeout_seconds, name=name).answer)


def begin(
    script: Assistant,
    words: str,
    person: Being | None = None,
    timeout_seconds: float | None = None,
    *,
    is_order: bool = False,
    name: str = "",
    hops: int = 0,
    storing: Callable[[Event], None] | None = None,
) -> Begun:
    """Put a request into an assistant's inbox, if it may be asked.

    Args:
        is_order: it is told to do something, and may act; the caller has checked the right to.
        name: as in `ask`.
        hops: assistants of other games that the request has passed through.
        storing: for a new request with a name: stores what belongs to it, in the same transaction.

    Raises:
        NoAnswerError: it may not be asked; the text says why.
    """
    if script is None or script.pk is None or script.work is None or script.obj is None:
        raise NoAnswerError(gives_no_answer(script, "it is not running"), Reason.STOPPED)
    body = strip_control(str(words)).strip()[:MOST_HEARD]
    if not body:
        raise NoAnswerError(gives_no_answer(script, NO_WORD), Reason.INVALID)
    if name and (known := programs.find(script, person, name)) is not None:
        return programs.go_on(script, known, body, is_order=is_order)
    seconds = _seconds(script, timeout_seconds)
    # Traced before it may be refused, so that `assistant why` explains refusals too.
    trace = _judge(script, body, person, is_order)
    admitted = _admitted(script, trace, body)
    request = _request(script, trace, admitted, is_order, hops)
    _record(script, person, trace.number, len(admitted), is_order)
    if name:
        # Before it is in the inbox: after a crash in between, the name still has an outcome.
        with transaction.atomic():
            programs.save(request, name, body, seconds, is_order=is_order)
            if storing is not None:
                storing(request.event)
    programs.expect(request, seconds)
    answer = _queue(script, request)
    trace.note("queued", "a program waits for the report")
    return Begun(trace.number, answer)


def _record(
    script: Assistant, person: Being | None, number: int, characters: int, is_order: bool
) -> None:
    audit.record(
        "told" if is_order else "asked",
        script,
        by="" if person is None else str(person.key),
        number=number,
        characters=characters,
    )


def _queue(script: Assistant, request: ProgramRequest) -> Deferred[str]:
    """Put a request into the inbox. The Deferred fires with its answer."""
    answer = request.wait()
    try:
        script.enqueue(request.event)
    # It could not be stored, so it will never be answered: nothing of it may stay behind.
    except Exception:
        request.answer.addErrback(lambda _: None).cancel()
        answer.addErrback(lambda _: None)
        if request.is_kept:
            store.remove(request.event.id)
        raise
    return answer


def _request(
    script: Assistant, trace: DecisionTrace, body: str, is_order: bool, hops: int
) -> ProgramRequest:
    now, heard = script.clock.seconds(), trace.heard
    event = Event(
        id=new_key(12),
        kind=TASK,
        source="whisper",
        sender_id=heard.sender_id,
        sender_name=heard.sender_name or THE_GAME,
        body=body,
        trust=trace.verdict.trust,
        rule=trace.verdict.rule,
        hops=hops,
        at=now,
        person=heard.person,
        mask=heard.mask,
        place=place_of(script, heard),
        number=trace.number,
        audience=() if is_order else (person_audience(heard.face),),
        ordered_by=heard.sender_id if is_order else "",
    )
    return ProgramRequest(delegate=script, event=event, began_at=now, is_quiet=not is_order)


# ---- whether it may be asked -------------------------------------------------------------------


def _judge(script: Assistant, body: str, person: Being | None, is_order: bool) -> DecisionTrace:
    if person is None:
        heard = Heard(body, Source.SYSTEM, evidence=Evidence.KWARGS)
        verdict = Verdict(TRIGGER, 0, "asked", Basis("the game", 1.0))
    else:
        heard = Heard(
            body,
            Source.WHISPER,
            sender_id=id_of(person),
            sender_name=names.name_of(person, script.obj),
            person=person_of(person),
            mask=names.mask_of(person, script.obj),
            from_assistant=is_assistant(person),
            evidence=Evidence.KWARGS,
        )
        verdict = Verdict(TRIGGER, 0, "told", Basis("staff", 1.0))
        if not is_order:
            ear = script.work.ear or read_ear(script)
            verdict = classify(heard, ear, _standing(script, person, ear))
    trace: DecisionTrace = script.work.decisions.add(script.clock.seconds(), heard, verdict)
    size = counted(len(body), "characters")
    trace.note("told by staff" if is_order else "asked by the game", size)
    return trace


def _standing(script: Assistant, person: Being, ear: Ear) -> Standing:
    known = script.work.senders.people.get(person_of(person))
    standing = STRANGER if known is None else known.standing()
    overrides = [trust for lock, trust in ear.trust_overrides if meets(person, lock, script.obj)]
    return replace(standing, trust_override=overrides[0]) if overrides else standing


def _admitted(script: Assistant, trace: DecisionTrace, body: str) -> str:
    """The words that may wait in the inbox, perhaps cut."""
    name, verdict = trace.heard.sender_name, trace.verdict
    if script.silence:
        raise _refuse(script, trace, Reason.STOPPED, str(script.silence))
    if trace.heard.person in script.work.muted:
        raise _refuse(script, trace, Reason.REFUSED, f"{name} {MUTED}")
    if verdict.outcome is not TRIGGER:
        why = _REFUSED.get(verdict.name, f"rule {verdict.rule}, {verdict.name}, forbids it")
        raise _refuse(script, trace, Reason.REFUSED, why)
    if seconds := cooling_seconds(script, trace.heard.person):
        raise _refuse(script, trace, Reason.BUSY, f"{name} has to wait {in_words(seconds)}")
    body = _sized(script, trace, body)
    if trace.heard.person:
        _admit(script, trace)
    return body


def _refuse(script: Assistant, trace: DecisionTrace, reason: Reason, why: str) -> NoAnswerError:
    trace.note("refused", why)
    return NoAnswerError(gives_no_answer(script, why), reason, trace.number)


def _sized(script: Assistant, trace: DecisionTrace, body: str) -> str:
    """Cut or refuse words that are too long."""
    # Unlike a player, a program does not wait until a person allows it: it can ask for less.
    size = state.safety_config(script).size
    most, length = size.message_characters, len(body)
    if not 0 < most < length or size.on_oversize is Oversize.ALLOW:
        return body
    if size.on_oversize is Oversize.CUT:
        trace.note("cut", f"from {number(length)} to {number(most)} characters")
        return cut_at_sentence(body[: most + 1], most) + CUT
    why = f"{number(length)} characters are too many, of {number(most)} in {SIZE_PATH}"
    raise _refuse(script, trace, Reason.INVALID, why)


def _admit(script: Assistant, trace: DecisionTrace) -> None:
    """Count a request for the person in whose name it is made."""
    work, person = script.work, trace.heard.person
    waiting = [item for item in work.inbox if item["id"] not in work.busy]
    known, now = work.senders.meet(person), script.clock.seconds()
    admission = known.admit(
        now,
        # A program is not kept waiting for the next minute: it is told at once.
        state.hearing_config(script).model_copy(update={"queued_per_player": 0}),
        waiting=sum(item.get("person") == person for item in waiting),
        turns=queueing.turns_of(script, person)[0],
    )
    if admission is Admission.YES:
        known.begin_turn(now)
    else:
        why = f"{trace.heard.sender_name} is at the limit {admission.value}, in hearing_config"
        raise _refuse(script, trace, Reason.BUSY, why)


# ---- how long it is waited for -----------------------------------------------------------------


def _seconds(script: Assistant, wanted: float | None) -> float:
    if wanted is not None and not wanted > 0:
        why = f"its time is {wanted!r}; it must be seconds above 0, or None"
        raise NoAnswerError(gives_no_answer(script, why), Reason.INVALID)
    seconds = wanted or state.safety_config(script).timeout.delegation_seconds
    return float(min(seconds or A_DAY_SECONDS, A_DAY_SECONDS))
