"""Tasks that are with an assistant: who waits for the report, until when, and how that ends.

Another assistant may wait for it (`tasks.delegations`), or a program (`tasks.programs`). One
kind of watch looks after every wait. After a restart only what a program asked by a name of its own
is waited for again (`tasks.store`); every other task is dropped unread.
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

REPORT = "report"
DROPPED = "nobody waits for it any more"
STOPPED = "emergency_stop"
DID_NOTHING = "it chose to do nothing"
GIVEN_UP = "it was given up"
LOOK_EVERY_SECONDS = 5.0


class Watch:
    """The timers of one wait: a look whether a report can still come, and the limit on its time.

    Args:
        look: called every five seconds.
        late: called when the time is over.
    """

    def __init__(self, clock: Clock, look: Callable[[], None], late: Callable[[], None]) -> None:
        self._clock, self._late = clock, late
        self._limit: Any = None
        self._looking = LoopingCall(look)
        # Before it starts, else it goes by the reactor.
        self._looking.clock = clock
        self._looking.start(LOOK_EVERY_SECONDS, now=False)

    def limit(self, seconds: float) -> None:
        """Let the time be over in so many seconds from now; 0: never."""
        if seconds:
            self._limit = self._clock.callLater(seconds, self._late)

    def stop(self) -> None:
        """End both; no timer stays behind."""
        if self._looking.running:
            self._looking.stop()
        if self._limit is not None and self._limit.active():
            self._limit.cancel()


@dataclass(eq=False, slots=True, kw_only=True)
class TaskWait(ABC):
    """A task that is with an assistant, and whose report somebody waits for.

    Attributes:
        delegate: the script of whoever does it.
        event: the task as that one finds it in its inbox.
        began_at: seconds on the clock of whoever waits.
        asked_in: the event that the one who waits is answering; None where no assistant waits.
        is_quiet: nobody but the one who waits may notice anything of it.
        learned: the audiences of what the report was made of.
        answer: fires with the report; cancelling it takes the task back.
        watch: its timers, from `expect` until it ends.
        is_talk: the report is mere words, for which nothing was done.
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
    def note_end(self, outcome: str | Exception, **facts: Any) -> None:
        """Record how it ended, with the report or the error that the one who waits gets."""

    @abstractmethod
    def error(self, why: str, *, is_lost: bool = False) -> Exception:
        """The error that the one who waits gets in place of a report.

        Args:
            is_lost: nobody said so; it was found out.
        """

    def cut(self, text: str) -> str:
        """A report, as long as the one who waits takes it."""
        return text

    def loss(self) -> str:
        """The reason why no report can come any more although nobody said so, or ""."""
        delegate, work = self.delegate, self.delegate.work
        if delegate.pk is None or work is None:
            return "it is gone"
        if self.event.id not in [item["id"] for item in work.inbox]:
            return "it gave the task up"
        return delegate.silence

    def look(self) -> None:
        """End the wait where no report can come any more."""
        try:
            if why := self.loss():
                give_up(self, self.error(why, is_lost=True))
        except Exception:  # the next look may succeed, and the limit ends it in any case
            logger.log_trace(f"[assistant] {self.delegate.key}: a wait could not be looked after")


_OPEN: dict[str, TaskWait] = {}


def start_anew() -> None:
    """Forget all that is open, untold: between two tests, which have a database each."""
    waits = every()
    _OPEN.clear()
    for wait in waits:
        if wait.watch is not None:
            wait.watch.stop()


def expect(wait: TaskWait, clock: Clock, seconds: float, late: Callable[[], None]) -> None:
    """Wait from now on; the event is put into the inbox after that.

    Args:
        clock: of whoever waits.
        seconds: the time for it; 0: no limit.
        late: called when that is over.
    """
    _OPEN[wait.event.id] = wait
    wait.watch = Watch(clock, wait.look, late)
    wait.watch.limit(seconds)


def every() -> list[TaskWait]:
    """All that is waited for, the oldest first."""
    return list(_OPEN.values())


def of(event: Event) -> TaskWait | None:
    """The wait for the report of an event, while anybody waits."""
    return _OPEN.get(event.id)


def by_id(number: str) -> TaskWait | None:
    """The same by the number of the event."""
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
    """Give a report to whoever waits for it.

    Args:
        is_talk: it is mere words, for which nothing was done.
        held: the audiences of what it was made of.
        stopped_by: the limit that kept the delegate from doing all of it, or "".

    Returns:
        True where anybody waits.
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
    # Kept by now: a program that asks again by its name gets the same.
    _deliver(wait, report)
    return True


def fail(event: Event, why: str, *, so_far: str = "", held: Held = OPEN) -> bool:
    """Tell whoever waits that no report will come. Returns True where anybody waits.

    Args:
        so_far: what came of it before it ended.
        held: the audiences of what that was made of.
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
    """The delegate's turn is over, and it gave no report.

    Args:
        act: the last thing it did, in words, or "" if it chose to do nothing.
        held: the audiences of what that was made of.
    """
    if not act:
        return fail(event, DID_NOTHING)
    return answer(event, f"(no report; the last thing it did was: {act})", held=held)


def give_up(wait: TaskWait, error: Exception) -> None:
    """End a wait with an error, and take the task back."""
    if withdraw(wait, str(error), error):
        _deliver(wait, error)


def withdraw(wait: TaskWait, why: str, error: Exception | None = None) -> bool:
    """Take a task back: it leaves the delegate's inbox, and what is under way for it is dropped.

    Returns:
        True where anybody waited for it still.
    """
    is_open = _end(wait, error or wait.error(why), why=why)
    if is_open:
        _take_back(wait)
    return is_open


def _take_back(wait: TaskWait) -> None:
    delegate, work = wait.delegate, wait.delegate.work
    if work is None or delegate.pk is None:
        return
    # Asked first: to discard it ends turns that are set aside, which are busy too.
    is_begun = wait.event.id in work.busy
    try:
        state.discard(delegate, [wait.event.as_stored()])
    except Exception:  # a stop must not fail for it; nobody takes up what nobody waits for
        logger.log_trace(f"[assistant] {delegate.key}: a task could not be taken back")
    if is_begun:
        state.bump_epoch(delegate)


def _close(wait: TaskWait) -> bool:
    """Wait no longer, and stop the timers. Returns True where it was still open."""
    if wait.watch is not None:
        wait.watch.stop()
    return _OPEN.pop(wait.event.id, None) is not None


def _end(wait: TaskWait, outcome: str | Exception, **facts: Any) -> bool:
    is_open = _close(wait)
    if is_open:
        wait.note_end(outcome, **facts)
    return is_open


def _deliver(wait: TaskWait, outcome: str | Exception) -> None:
    """Wake whoever waits in a moment: not in the middle of what the delegate is doing."""

    def give() -> None:
        if not wait.answer.called:
            is_error = isinstance(outcome, Exception)
            (wait.answer.errback if is_error else wait.answer.callback)(outcome)

    services.pacer().call(give)
