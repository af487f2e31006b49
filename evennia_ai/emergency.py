"""The emergency stop: one flag that keeps an assistant from acting until a person clears it.

What a person stops is stopped, what stops itself is locked: the same thing with another cause.
First everything under way is cancelled, in memory; then the stop is stored; then it is told.
Works with any script-like object: one with `db`, and perhaps `obj`, `clock` and `work`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from contextvars import Context, copy_context
from dataclasses import dataclass, field

from django.db import transaction
from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai.core.safety.audit_events import fact
from evennia_ai.core.safety.cooling import Blame
from evennia_ai.core.safety.dropped import Dropped, listed
from evennia_ai.core.safety.lockout import Cause, Lockout, State
from evennia_ai.core.safety.notices import Notice, locked
from evennia_ai.emergency_steps import (
    NOTHING,
    RETURNED_LINE,
    Stopping,
    alert,
    cancel,
    has_questions,
    is_stopped,
    judge,
    lockout_of,
    name_of,
    now,
    settle,
    state_of,
    store,
    store_each,
    undisturbed,
    whatever_happens,
    work_of,
    write,
)
from evennia_ai.memory import indexing
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Assistant

__all__ = [
    "RETURNED_LINE",
    "State",
    "clear_emergency_stop",
    "count_of_stops",
    "finish",
    "lockout_of",
    "state_of",
    "stop_all",
    "trigger_emergency_stop",
]

# Of many that are stopped at once, so many are stored and told of in one turn of the reactor.
PORTION = 25
NOT_ACTIVE = "Emergency stop is not active"
WELCOME = "nobody has to wait any more; it was not stopped"
CLEARED = "Emergency stop cleared; the assistant goes on with its next beat"


def trigger_emergency_stop(
    script: Assistant,
    reason: str,
    *,
    cause: Cause = Cause.KILL,
    by: str = "",
    is_alarm: bool = True,
) -> Dropped:
    """Stop an assistant at once, and tell everybody whom it concerns. It never fails.

    Stopping twice is harmless. A stop turns a lockout into a stop; no lockout changes a stop.

    Args:
        reason: in words, for staff.
        cause: why; anything but KILL is a lockout.
        by: who stops it, or "" when it stops itself.
        is_alarm: staff are told, and the log at the level of errors; else the log alone, as of
            what goes its way.
    """
    stopping = cancel(script, Lockout(cause, reason, now(script), by))
    _finish_earlier()
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
class _Several:
    """Several stops on their way: all are cancelled, and stored a portion after the other.

    Attributes:
        context: of whoever stops them, for the record.
        gives_up: nothing more can be stored, since another process holds the database.
        is_busy: a portion is being done, of which hooks of the game may stop others.
    """

    waiting: deque[Stopping]
    reason: str
    context: Context = field(default_factory=copy_context)
    ended: Deferred[int] = field(default_factory=Deferred)
    names: list[str] = field(default_factory=list)
    dropped: Dropped = NOTHING
    gives_up: bool = False
    is_busy: bool = False

    def go_on(self) -> None:
        """Do a portion now, and the next one in another turn of the reactor."""
        try:
            self._do_portion()
        finally:
            if self.waiting:
                services.pacer().call(self.go_on)

    def finish(self) -> None:
        """Do all that is left now, but for what the game asks in the middle of a portion."""
        while self.waiting and not self.is_busy:
            self._do_portion()

    def _do_portion(self) -> None:
        portion = [self.waiting.popleft() for _ in range(min(PORTION, len(self.waiting)))]
        self.is_busy = True
        try:
            with whatever_happens("some of several stops could not be ended"):
                self.context.copy().run(self._stop, portion)
        finally:
            self.is_busy = False
        if not self.waiting and self in _UNDER_WAY:
            _UNDER_WAY.remove(self)
            self._tell()
            self.ended.callback(len(self.names))

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

    def _store(self, portion: list[Stopping]) -> None:
        is_stored = False
        with whatever_happens("the stops could not be stored together"):
            with transaction.atomic():
                for stopping in portion:
                    store(stopping)
            is_stored = all(stopping.is_stored for stopping in portion)
        if not is_stored:
            self.gives_up = not store_each(portion)

    def _tell(self) -> None:
        if not self.names:
            return
        verb = "is" if len(self.names) == 1 else "are"
        told = f"{listed(self.names)} {verb} stopped: {self.reason.rstrip('.')}."
        name = self.names[0] if len(self.names) == 1 else "<name>"
        alert(Notice(told), self.dropped, name)


_UNDER_WAY: list[_Several] = []
_stops = 0


def count_of_stops() -> int:
    """A number that changes whenever several are stopped at once."""
    return _stops


def stop_all(scripts: Iterable[Assistant], reason: str, by: str = "") -> Deferred[int]:
    """Stop several assistants: all are cancelled before anything is stored or told of any.

    Of many, some are stored and told of now and the others in the next turns of the reactor, for
    the game to go on meanwhile. None of them acts before.

    Returns:
        How many were not stopped before, when all are stored.
    """
    global _stops
    _stops += 1
    all_of_them: deque[Stopping] = deque()
    # Outside of any transaction: to begin one takes as long as others hold the database.
    with undisturbed():
        # Who stores a question that others share hands it on when cancelled: they go last.
        for script in sorted(scripts, key=has_questions):
            lockout = Lockout(Cause.KILL, reason, now(script), by)
            all_of_them.append(cancel(script, lockout))
    _finish_earlier()
    several = _Several(all_of_them, reason)
    _UNDER_WAY.append(several)
    several.go_on()
    return several.ended


def finish() -> None:
    """Store what is left of stops under way, before a process ends or anything else is decided."""
    for several in tuple(_UNDER_WAY):
        several.finish()


def _finish_earlier() -> None:
    with whatever_happens("earlier stops could not be ended"):
        finish()


def clear_emergency_stop(script: Assistant, *, by: str = "") -> tuple[bool, str]:
    """Let an assistant act again. Nothing is refunded, and no history is lost.

    Returns:
        Whether there was a stop to clear, and a sentence for whoever asked.
    """
    finish()
    work = work_of(script)
    if not (is_stopped(script) or (work is not None and work.is_stopping)):
        return _let_back(script)
    before = lockout_of(script)
    was = before.cause.value if before else Cause.KILL.value
    told = fact("EmergencyStopCleared", cause=was, cleared_by=by)
    values = {"emergency_stop": False, "consecutive_errors": 0, "is_ticking": False, "lockout": {}}
    values["cooling"] = {}
    write(script, told, **values)
    if work is not None:
        work.is_ticking = work.is_stopping = False
        indexing.soon(script)
        work.blame = Blame()
    logger.log_info(f"[assistant] emergency stop of {name_of(script)} cleared by {by or 'code'}")
    return True, CLEARED


def _let_back(script: Assistant) -> tuple[bool, str]:
    """Let those ask again who have to wait; without any there is nothing to clear."""
    work = work_of(script)
    if work is None or not work.blame.people:
        return False, NOT_ACTIVE
    work.blame = Blame()
    write(script, cooling={}, consecutive_errors=0)
    return True, WELCOME
