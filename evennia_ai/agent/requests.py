"""Requests of programs: a question that is answered with text, or something to do.

An errand is a task whose report only the program reads. It goes the way of a whisper: it is judged
and recorded, waits in the inbox, and is paid for. After a restart nobody waits, and it is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import uuid4

from evennia.utils import logger
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.task import LoopingCall
from twisted.python.failure import Failure

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
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.safety.cooling import in_words
from evennia_ai.core.settings.safety import Oversize
from evennia_ai.core.text.cleaning import cut_at_sentence, strip_control
from evennia_ai.core.text.words import number
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import AssistantError
from evennia_ai.messages.incoming import MOST_HEARD, id_of, person_of
from evennia_ai.runtime import names, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import meets
from evennia_ai.tasks import reports
from evennia_ai.tasks.reports import DID_NOTHING, STOPPED, Awaited

LONGEST_ANSWER = 4_000
LOOK_EVERY_SECONDS = 5.0
# Where an assistant may be waited for without a limit; a program is never kept for longer.
A_DAY_SECONDS = 86_400.0
THE_GAME = "The game"
MUTED = "has muted it, and so gets nothing of it"
_REFUSED = {
    "interaction_disabled": "it talks to nobody: its interaction_enabled is off",
    "own_speech": "it cannot ask itself",
    "self_message": "it cannot ask itself",
}


class Reason(StrEnum):
    """The reason no answer comes, for programs; people read the message."""

    INVALID = "invalid"  # what was asked makes no sense, or is too long
    REFUSED = "refused"  # it may not be asked this, or not by this person
    BUSY = "busy"  # it has too much to do; later it may go
    STOPPED = "stopped"  # it is stopped, silent or gone
    LATE = "late"  # the time is over
    SILENT = "silent"  # it chose to say nothing
    FAILED = "failed"  # its model failed, or a limit ended it


class NoAnswerError(AssistantError):
    """A program asked an assistant, and no answer will come. The text says why.

    Attributes:
        reason: the same in one word.
        number: the message that `assistant why` knows it by; 0: it was not even heard.
    """

    def __init__(self, text: str, reason: Reason = Reason.FAILED, number: int = 0) -> None:
        super().__init__(text)
        self.reason = reason
        self.number = number


@dataclass(eq=False, slots=True, kw_only=True)
class Errand(Awaited):
    """Something that a program waits for."""

    def note_end(self, *, is_answered: bool, **facts: Any) -> None:
        """Write down how it ended, without a word of it."""
        name = "errand_answered" if is_answered else "errand_failed"
        seconds = self.delegate.clock.seconds() - self.began_at
        facts = {"number": self.event.number, "seconds": round(seconds, 3)} | facts
        audit.record(name, self.delegate, **facts)

    def error(self, why: str) -> Exception:
        """The error that the program gets in place of an answer."""
        reasons = {
            STOPPED: Reason.STOPPED,
            DID_NOTHING: Reason.SILENT,
            reports.GIVEN_UP: Reason.BUSY,
        }
        text = "it was stopped" if why == STOPPED else why
        return self.refusal(text, reasons.get(why, Reason.FAILED))

    def refusal(self, why: str, reason: Reason) -> NoAnswerError:
        """An error of this errand."""
        return NoAnswerError(_told(self.delegate, why), reason, self.event.number)

    def cut(self, text: str) -> str:
        """An answer of a length that a program can show."""
        return cut_at_sentence(text, LONGEST_ANSWER)

    def loss(self) -> str:
        """The reason no answer can come any more although nobody said so, or ""."""
        work = self.delegate.work
        if work is not None and self.event.person in work.muted:
            return f"{self.event.sender_name} {MUTED}"
        return Awaited.loss(self)


def ask(
    script: Assistant,
    question: str,
    *,
    asker: Being | None = None,
    timeout_seconds: float | None = None,
) -> Deferred[str]:
    """Ask an assistant something. Its answer is not spoken, and nothing in the world is changed.

    To be called in the reactor's thread. Cancelling the Deferred takes the question back.

    Args:
        asker: the character or account in whose name it is asked: it is paid for by that person,
            believed as a whisper of theirs, and part of their private talk. None: the game itself,
            which is believed fully.
        timeout_seconds: how long the answer may take; None: as long as another assistant would be
            waited for (`safety_config.timeout.delegation_seconds`).

    Returns:
        The answer, plain text of at most 4,000 characters; show it by `messages.outgoing.literal`.
        It fails with a NoAnswerError, which says why.
    """
    return maybeDeferred(lambda: begin(script, question, asker, timeout_seconds).answer)


def begin(
    script: Assistant,
    words: str,
    person: Being | None = None,
    timeout_seconds: float | None = None,
    *,
    is_order: bool = False,
) -> Errand:
    """Put an errand into an assistant's inbox, as far as it may go there.

    Args:
        is_order: it is told to do something, and may act; the right to is checked already.

    Raises:
        NoAnswerError: it may not; whoever asks is told why.
    """
    if script is None or script.pk is None or script.work is None or script.obj is None:
        raise NoAnswerError(_told(script, "it is not running"), Reason.STOPPED)
    body = strip_control(str(words)).strip()[:MOST_HEARD]
    if not body:
        why = "there is not a word in what it is asked"
        raise NoAnswerError(_told(script, why), Reason.INVALID)
    seconds = _seconds(script, timeout_seconds)
    record = _record(script, body, person, is_order)
    body = _admitted(script, record, body)
    errand = _errand(script, record, body, is_order)
    audit.record(
        "told" if is_order else "asked",
        script,
        by="" if person is None else str(person.key),
        number=record.number,
        characters=len(body),
    )
    reports.expect(errand)
    _watch(errand, seconds)
    try:
        script.enqueue(errand.event)
    except Exception:  # it could not be stored, so nobody will take it up
        errand.answer.addErrback(lambda _: None).cancel()
        raise
    record.note("queued", "a program waits for the report")
    return errand


def _told(script: Assistant, why: str) -> str:
    return f"{getattr(script, 'key', 'it')} gives no answer: {why}"


def _errand(script: Assistant, record: DecisionTrace, body: str, is_order: bool) -> Errand:
    now, heard = script.clock.seconds(), record.heard
    event = Event(
        id=uuid4().hex[:12],
        kind=TASK,
        source="whisper",
        sender_id=heard.sender_id,
        sender_name=heard.sender_name or THE_GAME,
        body=body,
        trust=record.verdict.trust,
        rule=record.verdict.rule,
        hops=0,
        at=now,
        person=heard.person,
        mask=heard.mask,
        place=place_of(script, heard),
        number=record.number,
        audience=() if is_order else (person_audience(heard.face),),
        ordered_by=heard.sender_id if is_order else "",
    )
    return Errand(delegate=script, event=event, began_at=now, is_quiet=not is_order)


# ---- whether it may be asked -------------------------------------------------------------------


def _record(script: Assistant, body: str, person: Being | None, is_order: bool) -> DecisionTrace:
    """Judge what it is asked, and begin the record of it."""
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
    record: DecisionTrace = script.work.decisions.add(script.clock.seconds(), heard, verdict)
    record.note("told by staff" if is_order else "asked by the game", f"{len(body)} characters")
    return record


def _standing(script: Assistant, person: Being, ear: Ear) -> Standing:
    known = script.work.senders.people.get(person_of(person))
    standing = STRANGER if known is None else known.standing()
    kept = [trust for lock, trust in ear.trust_overrides if meets(person, lock, script.obj)]
    return replace(standing, trust_override=kept[0]) if kept else standing


def _admitted(script: Assistant, record: DecisionTrace, body: str) -> str:
    """The words that may wait in the inbox, perhaps cut.

    Raises:
        NoAnswerError: nothing.
    """
    name, verdict = record.heard.sender_name, record.verdict
    if script.silence:
        raise _refuse(script, record, Reason.STOPPED, str(script.silence))
    if record.heard.person in script.work.muted:
        raise _refuse(script, record, Reason.REFUSED, f"{name} {MUTED}")
    if verdict.outcome is not TRIGGER:
        why = _REFUSED.get(verdict.name, f"rule {verdict.rule}, {verdict.name}, forbids it")
        raise _refuse(script, record, Reason.REFUSED, why)
    if seconds := cooling_seconds(script, record.heard.person):
        raise _refuse(script, record, Reason.BUSY, f"{name} has to wait {in_words(seconds)}")
    body = _sized(script, record, body)
    if record.heard.person:
        _admit(script, record)
    return body


def _refuse(script: Assistant, record: DecisionTrace, reason: Reason, why: str) -> NoAnswerError:
    record.note("refused", why)
    return NoAnswerError(_told(script, why), reason, record.number)


def _sized(script: Assistant, record: DecisionTrace, body: str) -> str:
    """A program is not kept waiting until somebody allows what is too long: it may ask for less."""
    size = state.safety_config(script).size
    most, length = size.message_characters, len(body)
    if not 0 < most < length or size.on_oversize is Oversize.ALLOW:
        return body
    if size.on_oversize is Oversize.CUT:
        record.note("cut", f"from {number(length)} to {number(most)} characters")
        return cut_at_sentence(body[: most + 1], most) + CUT
    why = f"{number(length)} characters are too many, of {number(most)} in {SIZE_PATH}"
    raise _refuse(script, record, Reason.INVALID, why)


def _admit(script: Assistant, record: DecisionTrace) -> None:
    """Count it for the person in whose name it is asked. A program is not kept waiting."""
    work, person = script.work, record.heard.person
    waiting = [item for item in work.inbox if item["id"] not in work.busy]
    known, now = work.senders.meet(person), script.clock.seconds()
    admission = known.admit(
        now,
        state.hearing_config(script).model_copy(update={"queued_per_player": 0}),
        waiting=sum(item.get("person") == person for item in waiting),
        turns=queueing.turns_of(script, person),
    )
    if admission is Admission.YES:
        known.begin_turn(now)
    else:
        why = f"{record.heard.sender_name} is at the limit {admission.value}, in hearing_config"
        raise _refuse(script, record, Reason.BUSY, why)


# ---- how long it is waited for -----------------------------------------------------------------


def _seconds(script: Assistant, wanted: float | None) -> float:
    if wanted is not None and not wanted > 0:
        why = f"its time is {wanted!r}; it must be seconds above 0, or None"
        raise NoAnswerError(_told(script, why), Reason.INVALID)
    seconds = wanted or state.safety_config(script).timeout.delegation_seconds
    return float(min(seconds or A_DAY_SECONDS, A_DAY_SECONDS))


def _watch(errand: Errand, seconds: float) -> None:
    """See to it that the wait ends: when its time is over, and when no answer can come any more."""
    clock = errand.delegate.clock
    late = clock.callLater(seconds, _end_late, errand, seconds)
    look = LoopingCall(_look, errand)
    look.clock = clock
    look.start(LOOK_EVERY_SECONDS, now=False)

    def stop(outcome: str | Failure) -> str | Failure:
        look.stop()
        if late.active():
            late.cancel()
        return outcome

    errand.answer.addBoth(stop)


def _end_late(errand: Errand, seconds: float) -> None:
    reports.give_up(errand, errand.refusal(f"none came within {seconds:g} s", Reason.LATE))


def _look(errand: Errand) -> None:
    try:
        why = errand.loss() if reports.of(errand.event) is errand else ""
        if why:
            reports.give_up(errand, errand.refusal(why, Reason.STOPPED))
    except Exception:
        logger.log_trace(f"[assistant] {errand.delegate.key}: a wait could not be looked after")
