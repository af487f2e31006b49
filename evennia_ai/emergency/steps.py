"""The steps of an emergency stop, in the order in which they are taken: cancel, store, settle."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from evennia.typeclasses.attributes import AttributeHandler
from evennia.utils import logger
from twisted.internet import reactor

from evennia_ai import approvals, audit
from evennia_ai.audit.acting import acting, actor, signed
from evennia_ai.core.hearing.inbox import TASK, Event, Stored
from evennia_ai.core.safety import lockout as states
from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.core.safety.dropped import Dropped
from evennia_ai.core.safety.lockout import Cause, Lockout, Move, State
from evennia_ai.core.safety.notices import Notice
from evennia_ai.llm import bridge
from evennia_ai.memory import indexing
from evennia_ai.messages import incoming, outgoing
from evennia_ai.messages.lines import literal
from evennia_ai.runtime import state, turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.turns import aside
from evennia_ai.runtime.work import Work
from evennia_ai.tasks import remote_tasks, task_waits

RETURNED_LINE = '{name} stops short. "I have to break off here. Ask me again another time."'
LOCKED_SECONDS = 1.0  # a write that fails after this long waited for another process
# Fields of `Work` that storing a stop changes.
CHANGED = ("executions", "given_up", "history", "inbox", "metrics", "unkept")
NOTHING = Dropped()


@dataclass(slots=True)
class Stopping:
    """A stop in progress: what was under way, and whether the stop changes anything.

    Attributes:
        before: the fields of `Work` that storing changes, as they were before.
    """

    script: Assistant
    lockout: Lockout
    is_new: bool = True
    calls: int = 0
    tools: tuple[str, ...] = ()
    questions: int = 0
    inbox: list[Stored] = field(default_factory=list)
    is_stored: bool = False
    before: dict[str, Any] = field(default_factory=dict)


# ---- the state of an assistant -----------------------------------------------------------------


def lockout_of(script: Assistant) -> Lockout | None:
    """The lockout of an assistant; None when it may act, or when nobody stored why not."""
    return Lockout.from_stored(_read(script, "lockout")) if _has_flag(script) else None


def state_of(script: Assistant) -> State:
    """The state of an assistant: whether it may act, and whether it does."""
    is_ticking = bool(getattr(work_of(script), "is_ticking", False))
    return states.state_of(lockout_of(script), is_stopped(script), is_ticking)


def is_unstored(script: Assistant) -> bool:
    """True while a stop is in effect that is not stored, or could not be."""
    return bool(getattr(work_of(script), "is_stopping", False))


# ---- the steps of a stop -----------------------------------------------------------------------


@contextmanager
def undisturbed() -> Iterator[None]:
    """Run many cancellations without garbage collections and other reactor work in between."""
    # Cancelling many creates so much garbage that collecting it would take longer than the work.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with bridge.all_at_once():
            yield
    finally:
        if was_enabled:
            gc.enable()


def fence(script: Assistant, lockout: Lockout) -> Stopping:
    """Void everything under way, in memory only: from here on nothing starts or goes on."""
    if (work := work_of(script)) is not None:
        # In effect at once, until the stop is stored; see `state.is_stopped`.
        work.is_stopping = True
        work.stops += 1
        work.epoch += 1
    return Stopping(script, lockout)


def hang_up(stopping: Stopping) -> None:
    """Close the sockets of its model calls; `cancel` cancels what waits for them."""
    if (work := work_of(stopping.script)) is not None:
        with whatever_happens("what was under way could not be broken off"):
            for request in tuple(work.requests):
                request.drop()


def cancel(stopping: Stopping) -> None:
    """Cancel everything under way, in memory only."""
    script, work = stopping.script, work_of(stopping.script)
    if work is not None:
        with whatever_happens("what was under way could not be counted"):
            _count(stopping, work)
        with whatever_happens("something under way could not be cancelled"):
            state.bump_epoch(script)
            for running in tuple(work.beside):
                running.cancel()
        with whatever_happens("what the store of memories is told could not be broken off"):
            indexing.halt(script)
        # Players must address it again, and are then told that it does not answer.
        work.conversations.by_place.clear()


def _count(stopping: Stopping, work: Work) -> None:
    """Count what is under way: a turn at its model, at a tool or at a person; and the night."""
    checkpoint = _read(stopping.script, "current_tool_call") or {}
    questions = approvals.pending(stopping.script)
    asked_for = {question.event.get("id") for question in questions if question.is_waited_for}
    if work.in_flight is not None and "tool" in checkpoint:
        stopping.tools = (str(checkpoint["tool"]),)
    elif work.in_flight is not None:
        stopping.calls = int(not asked_for & work.running)
    stopping.calls += (work.compacting is not None) + (work.resting is not None)
    stopping.questions = len(questions)


def judge(stopping: Stopping) -> None:
    """Find out whether a stop changes anything, once earlier stops are stored."""
    with whatever_happens("it could not be found out whether it is stopped already"):
        script, is_kill = stopping.script, stopping.lockout.cause is Cause.KILL
        # As stored: this stop is in effect already, and a stop that was not stored is tried again.
        is_ticking = bool(getattr(work_of(script), "is_ticking", False))
        before = states.state_of(lockout_of(script), _has_flag(script), is_ticking)
        stopping.is_new = states.move(before, Move.KILL if is_kill else Move.HALT) is not before


def store(stopping: Stopping) -> None:
    """Store the stop and the usage up to then, and empty the inbox, in one write."""
    script, work, values = stopping.script, work_of(stopping.script), {}
    events: list[AuditEvent] = []
    _note_memory(stopping, work)
    with whatever_happens("the stop could not be stored"):
        if stopping.is_new:
            lockout = stopping.lockout.as_stored()
            values = {"emergency_stop": True, "lockout": lockout}
            errors = _read(script, "consecutive_errors") or 0
            events = [audit_event("EmergencyStopTriggered", **lockout, consecutive_errors=errors)]
        if _is_ours(script):
            waiting = work.inbox if work else state.read(script, "pending_events")
            stopping.inbox = stopping.inbox or list(waiting)
            if work is not None:
                aside.void(script)
            if cut_off := aside.recover(script, is_final=True):
                logger.log_warn(f"[assistant] {script.key}: cut off, and not repeated: {cut_off}")
            values |= {"pending_events": [], "current_tool_call": None}
        write(script, *events, **values)
        stopping.is_stored = True
    # Also if the write failed: a stopped assistant must not go on with what waits in memory.
    if work is not None:
        work.inbox = []


def _note_memory(stopping: Stopping, work: Work | None) -> None:
    """Save the fields that storing a stop changes, or restore them after a rollback."""
    if work is None:
        return
    if not stopping.before:
        stopping.before = {name: copy(getattr(work, name)) for name in CHANGED}
    for name, value in stopping.before.items():
        setattr(work, name, copy(value))


def store_each(all_of_them: list[Stopping]) -> bool:
    """Store one by one the stops whose common transaction failed or was rolled back.

    Returns:
        False where another process holds the database, so that one more wait was enough.
    """
    for stopping in all_of_them:
        stopping.is_stored = False
        if _is_ours(stopping.script):
            stopping.script.attributes.reset_cache()
    for stopping in all_of_them:
        began = time.monotonic()
        store(stopping)
        if not stopping.is_stored and time.monotonic() - began > LOCKED_SECONDS:
            return False
    return True


def settle(stopping: Stopping) -> Dropped:
    """Tell everybody concerned."""
    script, lockout = stopping.script, stopping.lockout
    if (work := work_of(script)) is not None:
        work.is_stopping = not stopping.is_stored
    if not stopping.is_stored:
        text = f"{name_of(script)}: the stop could not be stored, and holds until a restart."
        alert(Notice(text))
    dropped = _reject_waiting(stopping)
    with whatever_happens("the open questions could not be withdrawn"):
        if _is_ours(script):
            approvals.discard_all(script, f"{name_of(script)} is stopped")
    with whatever_happens("its tasks with external agents could not be called off"):
        remote_tasks.give_up_all(script, why="emergency_stop")
    if not stopping.is_new:
        return dropped
    with whatever_happens("its character could not be told"):
        if (character := getattr(script, "obj", None)) is not None:
            character.msg(incoming.notice(literal(f"Emergency stop: {lockout.reason}")))
    with whatever_happens("the stop could not be recorded"):
        details = {key: value for key, value in asdict(dropped).items() if key != "is_new"}
        if any(details.values()):
            audit.record("dropped", script, **details)
    return dropped


def _reject_waiting(stopping: Stopping) -> Dropped:
    """Reject every waiting message: each sender is told once, in private."""
    by_person: dict[str, list[Event]] = {}
    for stored in stopping.inbox:
        with whatever_happens("a waiting message cannot be read"):
            event = Event.from_stored(stored)
            sender = event.id if event.kind == TASK else event.person or event.sender_id
            by_person.setdefault(sender, []).append(event)
    dropped = Dropped(stopping.is_new, stopping.calls, stopping.tools, stopping.questions)
    for events in by_person.values():
        is_told = False
        with whatever_happens("a waiting message could not be returned"):
            is_told = _tell(stopping.script, events[-1])
        with whatever_happens("a record could not be kept"):
            step = "was told" if is_told else "could not be told"
            stopping.script.work.decisions.note([e.number for e in events], "returned", step)
        number, name = len(events), events[-1].sender_name
        dropped += Dropped(messages=number, names=(name,)) if is_told else Dropped(untold=number)
    return dropped


def _tell(script: Assistant, event: Event) -> bool:
    """Tell a sender that no answer will come; to an assistant that would be one more message."""
    if event.kind == TASK:
        return task_waits.fail(event, "emergency_stop")
    if script.obj is None or event.hops:
        return False
    person = incoming.find_being(event.sender_id)
    return outgoing.tell(script.obj, person, RETURNED_LINE, hops=1)


def alert(notice: Notice, dropped: Dropped = NOTHING, name: str = "") -> None:
    """Tell staff about a stop, and how to end it."""
    until = f"To let it go on: assistant emergency clear {name}" if name else ""
    with whatever_happens("staff could not be told"):
        line = " ".join(filter(None, (notice.line, dropped.describe(), until)))
        outgoing.alert_staff(replace(notice, line=line))


# ---- script-like objects -----------------------------------------------------------------------


@contextmanager
def whatever_happens(problem: str) -> Iterator[None]:
    """Log an error and go on: no failing step may keep a stop from being completed."""
    try:
        yield
    except Exception:
        logger.log_trace(f"[assistant] emergency stop: {problem}")


def _is_ours(script: Assistant) -> bool:
    handler = getattr(script, "attributes", None)
    return isinstance(handler, AttributeHandler) and hasattr(script, "work")


def work_of(script: Assistant) -> Work | None:
    """The memory of a running assistant; None for anything else."""
    work = getattr(script, "work", None)
    return work if isinstance(work, Work) else None


def has_questions(script: Assistant) -> bool:
    """True where people are asked something on its behalf."""
    with whatever_happens("its questions could not be read"):
        return _is_ours(script) and bool(approvals.stored(script))
    return False


def is_stopped(script: Assistant) -> bool:
    """True while a stop is in effect, stored or not."""
    return is_unstored(script) or _has_flag(script)


def _has_flag(script: Assistant) -> bool:
    return bool(_read(script, "emergency_stop"))


def _read(script: Assistant, name: str) -> Any:
    return state.read(script, name) if _is_ours(script) else getattr(script.db, name, None)


def write(script: Assistant, *audit_events: AuditEvent, **values: Any) -> None:
    """Store values, leaving out defaults that were never stored."""
    if _is_ours(script):
        known = script.attributes.has
        changed = {k: v for k, v in values.items() if v != state.DEFAULTS[k] or known(k)}
        if work_of(script) is None:
            state.write(script, *audit_events, **changed)
            return
        # Events of its own earlier acts must not be attributed to the person who stops it.
        own = [signed(each) for each in audit_events]
        with acting("", "", is_logged=actor().is_logged):
            turns.save_usage(script, *own, **changed)
        return
    for name, value in values.items():
        setattr(script.db, name, value)
    for event in audit_events:
        audit.record(event.event, script, **event.details)


def name_of(script: Assistant) -> str:
    """The name that staff read."""
    subject = getattr(script, "obj", None) or script
    return str(getattr(subject, "key", type(subject).__name__))


def now(script: Assistant) -> float:
    """Seconds on its clock."""
    return float(getattr(script, "clock", reactor).seconds())
