"""Tasks that an assistant works on: who waits for the report, until when, and how that ends.

Another assistant may wait (`tasks.delegations`), or a program (`tasks.programs`). Each wait has the
same kind of watch. After a restart only named requests of programs are waited for again
(`tasks.store`); every other task is dropped unread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall

from evennia_ai.core.hearing.audience import OPEN, Held
from evennia_ai.core.hearing.inbox import TASK, Event
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant, Clock
from evennia_ai.runtime.turns import aside

REPORT = "report"
DROPPED = "nobody waits for it any more"
STOPPED = "emergency_stop"
DID_NOTHING = "it chose to do nothing"
GIVEN_UP = "it was given up"
INBOX_FULL = "its inbox was full"
LOOK_EVERY_SECONDS = 5.0


class Watch:
    """The timers of one wait: a regular check whether a report can still come, and the time limit.

    Args:
        look: called every five seconds.
    """

    def __init__(self, clock: Clock, look: Callable[[], None], late: Callable[[], None]) -> None:
        self._clock, self._late = clock, late
        self._limit: Any = None
        self._looking = LoopingCall(look)
        # Before it starts, or it would run on the reactor's clock.
        self._looking.clock = clock
        self._looking.start(LOOK_EVERY_SECONDS, now=False)

    def limit(self, seconds: float) -> None:
        """Let the time be over in so many seconds from now; 0: never."""
        if seconds:
            self._limit = self._clock.callLater(seconds, self._late)

    def stop(self) -> None:
        """Stop both timers."""
        if self._looking.running:
            self._looking.stop()
        if self._limit is not None and self._limit.active():
            self._limit.cancel()


@dataclass(eq=False, slots=True, kw_only=True)
class TaskWait(ABC):
    """A task that an assistant works on, and whose report somebody waits for.

    Attributes:
        began_at: seconds on the clock of the one who waits.
        asked_in: the event that the waiting assistant is answering; None where none waits.
        is_quiet: nobody but the one who waits may notice anything of it.
        learned: the audiences of what the report was made from.
        answer: fires with the report; cancelling it withdraws the task.
        watch: its timers, from `expect` until it ends.
        is_talk: the report is only words, for which nothing was done.
    """

    delegate: Assistant
    event: Event
    began_at: float
    asked_in: Event | None = None
    is_quiet: bool = False
    learned: Held = OPEN
    answer: Deferred[str] = field(init=False)
    watch: Watch | None = field(init=False, default=None)
    is_talk: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.answer = Deferred(lambda _: withdraw(self, DROPPED))

    @abstractmethod
    def note_end(self, outcome: str | Exception, **details: Any) -> None:
        """Record how it ended, with the report or the error that the one who waits gets."""

    @abstractmethod
    def error(self, why: str, *, is_lost: bool = False) -> Exception:
        """The error in place of a report.

        Args:
            is_lost: nobody reported this; it was found out by looking.
        """

    def cut(self, text: str) -> str:
        """Cut a report to the length that the one who waits accepts."""
        return text

    def loss(self) -> str:
        """The reason no report can come any more, found by looking; "" while one can."""
        delegate, work = self.delegate, self.delegate.work
        if delegate.pk is None or work is None:
            return "it is gone"
        if self.event.id not in [item["id"] for item in work.inbox]:
            return "it gave the task up"
        return delegate.silence

    def look(self) -> None:
        """End the wait if no report can come any more."""
        try:
            if why := self.loss():
                give_up(self, self.error(why, is_lost=True))
        except Exception:  # the next check may succeed, and the limit ends it in any case
            logger.log_trace(f"[assistant] {self.delegate.key}: a wait could not be looked after")


# Open waits by the id of their event, oldest first.
_OPEN: dict[str, TaskWait] = {}


def start_anew() -> None:
    """Forget all open waits without telling anybody: between tests with separate databases."""
    waits = every()
    _OPEN.clear()
    for wait in waits:
        if wait.watch is not None:
            wait.watch.stop()


def expect(wait: TaskWait, clock: Clock, seconds: float, late: Callable[[], None]) -> None:
    """Start waiting; the caller puts the event into the inbox afterwards.

    Args:
        clock: of the one who waits.
        seconds: the time limit; 0: none.
    """
    _OPEN[wait.event.id] = wait
    wait.watch = Watch(clock, wait.look, late)
    wait.watch.limit(seconds)


def every() -> list[TaskWait]:
    """All open waits, oldest first."""
    return list(_OPEN.values())


def of(event: Event) -> TaskWait | None:
    """The wait for the report of an event, while anybody waits."""
    return _OPEN.get(event.id)


def by_id(number: str) -> TaskWait | None:
    """The wait for the report of the event of that id."""
    return _OPEN.get(number)


def is_quiet(event: Event | None) -> bool:
    """True where nobody may notice what is done for an event, however deep in a chain."""
    while event is not None and event.kind == TASK:
        wait = of(event)
        if wait is None:
            return False
        if wait.is_quiet:
            return True
        event = wait.asked_in
    return False


# ---- how it ends -------------------------------------------------------------------------------


def answer(
    event: Event, text: str, *, held: Held, stopped_by: str = "", is_talk: bool = False
) -> bool:
    """Deliver a report to the one who waits for it; False: nobody does.

    Args:
        is_talk: the report is only words, for which nothing was done.
        held: the audiences of what it was made from.
        stopped_by: the limit that kept the delegate from finishing, or "".
    """
    if stopped_by:
        return fail(event, f"limit {stopped_by}", so_far=text, held=held)
    wait = of(event)
    if wait is None:
        return False
    wait.learned |= held
    wait.is_talk = is_talk
    report = wait.cut(text)
    _end(wait, report, characters=len(text))
    # The outcome is stored by now: a program that asks again by the name gets the same.
    _deliver(wait, report)
    return True


def fail(event: Event, why: str, *, so_far: str = "", held: Held = OPEN) -> bool:
    """Tell the one who waits that no report will come. Returns True where anybody waits.

    Args:
        so_far: what was found before it ended.
        held: the audiences of what that was made from.
    """
    wait = of(event)
    if wait is None:
        return False
    wait.learned |= held
    error = wait.error(f"{why}; so far: {wait.cut(so_far)}" if so_far else why)
    _end(wait, error, why=why)
    _deliver(wait, error)
    return True


def end(event: Event, act: str, *, held: Held) -> bool:
    """End the wait for a delegate whose turn ended without a report.

    Args:
        act: the last thing it did, in words, or "" if it chose to do nothing.
        held: the audiences of what that was made from.
    """
    if not act:
        return fail(event, DID_NOTHING)
    return answer(event, f"(no report; the last thing it did was: {act})", held=held)


def give_up(wait: TaskWait, error: Exception) -> None:
    """End a wait with an error, and withdraw the task."""
    if withdraw(wait, str(error), error):
        _deliver(wait, error)


def withdraw(wait: TaskWait, why: str, error: Exception | None = None) -> bool:
    """Withdraw a task: it leaves the delegate's inbox, and work on it is dropped."""
    is_open = _end(wait, error or wait.error(why), why=why)
    if is_open:
        _remove_from_inbox(wait)
    return is_open


def _remove_from_inbox(wait: TaskWait) -> None:
    delegate, work = wait.delegate, wait.delegate.work
    if work is None or delegate.pk is None:
        return
    state.void_turns(work, (wait.event.id,))
    try:
        aside.forget(delegate, [item for item in work.inbox if item["id"] == wait.event.id])
    except Exception:  # a stop must not fail here; a task nobody waits for is dropped later anyway
        logger.log_trace(f"[assistant] {delegate.key}: a task could not be taken back")


def _end(wait: TaskWait, outcome: str | Exception, **details: Any) -> bool:
    """Stop waiting and stop the timers. Returns True where it was still open."""
    if wait.watch is not None:
        wait.watch.stop()
    if _OPEN.pop(wait.event.id, None) is None:
        return False
    wait.note_end(outcome, **details)
    return True


def _deliver(wait: TaskWait, outcome: str | Exception) -> None:
    """Wake the one who waits, in a later turn of the reactor."""

    def give() -> None:
        if not wait.answer.called:
            is_error = isinstance(outcome, Exception)
            (wait.answer.errback if is_error else wait.answer.callback)(outcome)

    # Not now: the delegate may be in the middle of its own tool call.
    services.pacer().call(give)
