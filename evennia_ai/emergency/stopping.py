"""Stops of one assistant and of several at once, and how they are cleared.

First everything under way is voided, the sockets of its model calls are closed, and it is
cancelled, all in memory. Then the stop is stored, and then people are told. `steps` has each step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field

from django.db import transaction
from evennia.utils import logger
from twisted.internet import reactor
from twisted.internet.defer import Deferred, succeed

from evennia_ai import audit
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.safety.cooling import Blame
from evennia_ai.core.safety.dropped import Dropped, listed
from evennia_ai.core.safety.lockout import Cause, Lockout
from evennia_ai.core.safety.notices import Notice, locked
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.emergency.steps import (
    NOTHING,
    Stopping,
    alert,
    cancel,
    fence,
    hang_up,
    has_questions,
    is_stopped,
    judge,
    lockout_of,
    name_of,
    now,
    settle,
    store,
    store_each,
    undisturbed,
    whatever_happens,
    work_of,
    write,
)
from evennia_ai.memory import indexing
from evennia_ai.runtime import game_thread, services, state
from evennia_ai.runtime.assistant import Assistant

# Of many that are stopped at once, how many are cancelled, and then stored, in one turn of the
# reactor.
CANCELS, PORTION = 100, 10
# Characters. A reason is one line: it must not be able to imitate lines of the log or of notices.
LONGEST_REASON = 1_000
NOT_ACTIVE = "Emergency stop is not active"
COOLING_CLEARED = "nobody has to wait any more; it was not stopped"
CLEARED = "Emergency stop cleared; the assistant goes on with its next beat"
SILENCED = "Emergency stop cleared; the assistant stays silent, as it was before the stop"
BODILESS = "Emergency stop cleared; the assistant has no body, and does nothing until it has one"


def trigger_emergency_stop(
    script: Assistant,
    reason: str,
    *,
    cause: Cause = Cause.KILL,
    by: str = "",
    is_alarm: bool = True,
) -> Dropped:
    """Stop an assistant at once, and tell everybody concerned. It never fails.

    Stopping twice is harmless. A stop turns a lockout into a stop; no lockout changes a stop.

    Args:
        reason: in words, for staff.
        cause: anything but KILL is a lockout.
        by: the person who stops it, or "" when it stops itself.
        is_alarm: tell staff, and log an error; otherwise only the log is told, as for a stop that
            is part of normal operation.
    """
    reason = one_line(reason, LONGEST_REASON)
    stopping = fence(script, Lockout(cause, reason, now(script), by))
    cancel(stopping)
    # An earlier stop of several may still wait to be stored; the cause is the earlier one's.
    with whatever_happens("earlier stops could not be ended"):
        finish(script)
    judge(stopping)
    store(stopping)
    dropped = settle(stopping)
    if stopping.is_new:
        name = name_of(script)
        if not is_alarm:
            word = "stopped" if cause is Cause.KILL else f"locked ({cause})"
            logger.log_info(f"[assistant] {name} is {word}: {reason} {dropped.describe()}".strip())
            return dropped
        alert(locked(name, cause, reason), dropped, name)
    return dropped


@dataclass(eq=False, slots=True)
class _BulkStop:
    """Several stops in progress: all are void and hung up; portions are cancelled, then stored.

    Attributes:
        uncancelled: stops that are void and nothing more.
        waiting: stops that are cancelled and not stored.
        context: of the person who stops them, for the audit log.
        held: while open, calls that wait for a slot do not begin.
        gives_up: nothing more can be stored, because another process holds the database.
        is_busy: a portion is being worked on, in which hooks of the game may stop others.
    """

    uncancelled: deque[Stopping]
    reason: str
    waiting: deque[Stopping] = field(default_factory=deque)
    context: Context = field(default_factory=copy_context)
    held: ExitStack = field(default_factory=ExitStack)
    ended: Deferred[int] = field(default_factory=Deferred)
    names: list[str] = field(default_factory=list)
    dropped: Dropped = NOTHING
    gives_up: bool = False
    is_busy: bool = False

    def cancel_some(self) -> None:
        """Cancel a portion of them."""
        some = [self.uncancelled.popleft() for _ in range(min(CANCELS, len(self.uncancelled)))]
        with self._doing("some of several stops could not be cancelled"):
            self.context.copy().run(_cancel, some)
        self.waiting += some
        if not self.uncancelled:
            with whatever_happens("calls that wait for a slot could not be let go on"):
                self.held.close()

    def store_some(self) -> None:
        """Store a portion of them, and tell people."""
        self._do([self.waiting.popleft() for _ in range(min(PORTION, len(self.waiting)))])

    def store_one(self, script: Assistant) -> None:
        """Store the stop of one of them now, if it still waits."""
        for stopping in [each for each in self.waiting if each.script is script]:
            self.waiting.remove(stopping)
            self._do([stopping])

    def _do(self, portion: list[Stopping]) -> None:
        with self._doing("some of several stops could not be ended"):
            self.context.copy().run(self._stop, portion)
        if not self.waiting and not self.uncancelled and self in _UNDER_WAY:
            _UNDER_WAY.remove(self)
            self._tell()
            self.ended.callback(len(self.names))

    @contextmanager
    def _doing(self, problem: str) -> Iterator[None]:
        self.is_busy = True
        try:
            with whatever_happens(problem):
                yield
        finally:
            self.is_busy = False

    def _stop(self, portion: list[Stopping]) -> None:
        for stopping in portion:
            judge(stopping)
        if not self.gives_up:
            self._store(portion)
        for stopping in portion:
            with whatever_happens("those whom a stop concerns could not be told"):
                self.dropped += settle(stopping)
                if stopping.is_new:
                    self.names.append(name_of(stopping.script))
        if not self.gives_up:
            self._keep_records(portion)

    @staticmethod
    def _keep_records(portion: list[Stopping]) -> None:
        """Store what was dropped."""
        # Otherwise the events of all portions would be written in a single turn of the reactor.
        with (
            whatever_happens("what was dropped is recorded later"),
            transaction.atomic(),
        ):
            for script in [stopping.script for stopping in portion]:
                if audit.has_waiting(script):
                    audit.save(script)

    def _store(self, portion: list[Stopping]) -> None:
        unstored = portion
        with whatever_happens("the stops could not be stored together"):
            with transaction.atomic():
                for stopping in portion:
                    store(stopping)
            unstored = [stopping for stopping in portion if not stopping.is_stored]
        if unstored:
            self.gives_up = not store_each(unstored)

    def _tell(self) -> None:
        if not self.names:
            return
        verb = "is" if len(self.names) == 1 else "are"
        text = f"{listed(self.names)} {verb} stopped: {self.reason.rstrip('.')}."
        name = self.names[0] if len(self.names) == 1 else "<name>"
        alert(Notice(text), self.dropped, name)


_UNDER_WAY: list[_BulkStop] = []
_stops = 0  # bulk stops in this process; see `count_of_stops`


def _cancel(stops: Iterable[Stopping]) -> None:
    with undisturbed():
        for stopping in stops:
            cancel(stopping)


def count_of_stops() -> int:
    """A number that changes whenever several assistants are stopped at once."""
    return _stops


def stop_all(scripts: Iterable[Assistant], reason: str, by: str = "") -> Deferred[int]:
    """Stop several assistants: when this returns, none of them does anything more.

    All are voided before anything is stored or told. Of many, portions are cancelled and then
    stored in the next turns of the reactor, so that the game goes on meanwhile.

    Returns:
        Fires with how many were not stopped before, when all are stored.
    """
    global _stops
    _stops += 1
    reason = one_line(reason, LONGEST_REASON)
    # Cancelling the owner of a shared question transfers it to another waiter: owners go last.
    stoppings = [
        fence(script, Lockout(Cause.KILL, reason, now(script), by))
        for script in sorted(scripts, key=has_questions)
    ]
    # Sockets first: unwinding what waits behind each of them takes many times longer.
    with undisturbed():
        for stopping in stoppings:
            hang_up(stopping)
    several = _BulkStop(deque(stoppings), reason)
    with whatever_happens("calls that wait for a slot could not be held back"):
        several.held.enter_context(services.pool().held())
    _UNDER_WAY.append(several)
    if len(stoppings) > CANCELS:
        services.pacer().call_first(_go_on)
    else:
        several.cancel_some()
        _go_on()
    return several.ended


def _go_on() -> None:
    """Work on a portion now, and on the next in a later turn of the reactor."""
    try:
        _do_portion()
    finally:
        if _is_cancelling():
            services.pacer().call_first(_go_on)
        elif _UNDER_WAY:
            # Not through the pacer: storing takes a while, and must not wait behind beats.
            reactor.callLater(0, _go_on)


def _do_portion() -> None:
    """Cancel a portion of those that are being stopped; once all are cancelled, store one."""
    # Never within a transaction: beginning one waits for other processes to release the database.
    for several in _UNDER_WAY:
        if several.uncancelled and not several.is_busy:
            several.cancel_some()
            return
    if _UNDER_WAY and not _is_cancelling() and not _UNDER_WAY[0].is_busy:
        _UNDER_WAY[0].store_some()


def _is_cancelling() -> bool:
    return any(several.uncancelled for several in _UNDER_WAY)


def finish(script: Assistant | None = None) -> None:
    """Complete stops under way, before the process ends or anything else is decided.

    A call from within a portion, as by a hook of the game, leaves the rest of that portion alone.

    Args:
        script: complete only the stop of this assistant; None: all.
    """
    for several in tuple(_UNDER_WAY):
        while several.uncancelled and not several.is_busy:
            several.cancel_some()
    for several in tuple(_UNDER_WAY):
        if script is not None and not several.is_busy:
            several.store_one(script)
        while script is None and several.waiting and not several.is_busy:
            several.store_some()


def clear_emergency_stop(script: Assistant, *, by: str = "") -> tuple[bool, str]:
    """Let an assistant act again. Nothing is refunded, and no history is lost.

    Returns:
        Whether there was a stop to clear, and a sentence for the caller.
    """
    finish(script)
    work = work_of(script)
    if not is_stopped(script):
        return _clear_cooling(script)
    before = lockout_of(script)
    was = before.cause.value if before else Cause.KILL.value
    event = audit_event("EmergencyStopCleared", cause=was, cleared_by=by)
    values = {"emergency_stop": False, "consecutive_errors": 0, "is_ticking": False, "lockout": {}}
    values["cooling"] = {}
    write(script, event, **values)
    if work is not None:
        work.is_ticking = work.is_stopping = False
        indexing.soon(script)
        work.blame = Blame()
    logger.log_info(f"[assistant] emergency stop of {name_of(script)} cleared by {by or 'code'}")
    if work is not None and script.obj is None:
        return True, BODILESS
    if work is not None and not state.read(script, "enabled"):
        return True, SILENCED
    return True, CLEARED


def clear_all(scripts: Iterable[Assistant], *, by: str = "") -> Deferred[int]:
    """Let several assistants act again, many of them one after the other, so that the game goes on.

    An assistant that is stopped again before its turn stays stopped; so do all that are left when
    the process ends.

    Returns:
        Fires with how many had something to clear, when all is stored.
    """
    counted_scripts = [(script, _stops_of(script)) for script in scripts]
    steps = _clear_each(counted_scripts, by)
    if len(counted_scripts) > PORTION:
        return game_thread.paced(steps)
    return succeed(game_thread.finish(steps))


def _stops_of(script: Assistant) -> int:
    work = work_of(script)
    return work.stops if work is not None else 0


def _clear_each(met: Sequence[tuple[Assistant, int]], by: str) -> game_thread.Steps[int]:
    """Clear one after the other.

    Args:
        met: each with its number of stops when the person asked for it.
    """
    count = 0
    for script, stops in met:
        if script.pk is not None and _stops_of(script) == stops:
            count += clear_emergency_stop(script, by=by)[0]
            script.beat_soon()
        yield
    return count


def _clear_cooling(script: Assistant) -> tuple[bool, str]:
    """Let people who have to wait ask again; without any there is nothing to clear."""
    work = work_of(script)
    if work is None or not work.blame.people:
        return False, NOT_ACTIVE
    work.blame = Blame()
    write(script, cooling={}, consecutive_errors=0)
    return True, COOLING_CLEARED
