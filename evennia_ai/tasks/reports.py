"""Who waits for an assistant's report, and how such a wait ends.

Another assistant may wait for it (`tasks.delegations`), or a program of the game
(`agent.requests`). It is kept
in memory alone: after a restart nobody waits, and the task is dropped unread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai.core.hearing.audience import OPEN, Held
from evennia_ai.core.hearing.inbox import TASK, Event
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant

REPORT = "report"
DROPPED = "nobody waits for it any more"
STOPPED = "emergency_stop"
DID_NOTHING = "it chose to do nothing"
GIVEN_UP = "it was given up"


@dataclass(eq=False, slots=True, kw_only=True)
class Awaited(ABC):
    """A task that is with an assistant, and whose report somebody waits for.

    Attributes:
        delegate: the script of whoever does it.
        event: what that one finds in its inbox.
        began_at: seconds on the clock of whoever waits.
        asked_in: what the one who waits is answering itself; None where no assistant waits.
        is_quiet: whether nobody but the one who waits may notice anything of it.
        learned: the audiences of what the report was made of.
        answer: fires with the report; cancelling it takes the task back.
    """

    delegate: Assistant
    event: Event
    began_at: float
    asked_in: Event | None = None
    is_quiet: bool = False
    learned: Held = OPEN
    answer: Deferred[str] = field(init=False)

    def __post_init__(self) -> None:
        self.answer = Deferred(lambda _: withdraw(self, DROPPED))

    @abstractmethod
    def note_end(self, *, is_answered: bool, **facts: object) -> None:
        """Write down how it ended; it is open no more."""

    @abstractmethod
    def error(self, why: str) -> Exception:
        """What the one who waits gets in place of a report."""

    def cut(self, text: str) -> str:
        """A report, as long as the one who waits takes it."""
        return text

    def loss(self) -> str:
        """Why no report can come any more although nobody said so, or ""."""
        delegate, work = self.delegate, self.delegate.work
        if delegate.pk is None or work is None:
            return "it is gone"
        if self.event.id not in [item["id"] for item in work.inbox]:
            return "it gave the task up"
        return str(delegate.silence)


_OPEN: dict[str, Awaited] = {}


def start_anew() -> None:
    """Forget all that is open, untold: between two tests, which have a database each."""
    _OPEN.clear()


def expect(held: Awaited) -> None:
    """Note that somebody waits from now on; the event is put into the inbox after that."""
    _OPEN[held.event.id] = held


def every() -> list[Awaited]:
    """All that is waited for, the oldest first."""
    return list(_OPEN.values())


def of(event: Event) -> Awaited | None:
    """Who waits for the report of an event, while anybody does."""
    return _OPEN.get(event.id)


def is_orphan(event: Event) -> bool:
    """Whether it is a task for which nobody waits any more, as after a restart."""
    return event.kind == TASK and event.id not in _OPEN


def is_quiet(event: Event | None) -> bool:
    """Whether nobody may notice anything of what is done for an event, however deep in a chain."""
    while event is not None and event.kind == TASK:
        held = of(event)
        if held is None:
            return False
        if held.is_quiet:
            return True
        event = held.asked_in
    return False


# ---- how it ends -------------------------------------------------------------------------------


def answer(event: Event, text: str, *, held: Held, stopped_by: str = "") -> bool:
    """Give a report to whoever waits for it.

    Args:
        held: the audiences of what it was made of.
        stopped_by: the limit that kept the delegate from doing all of it, or "".

    Returns:
        Whether anybody waits.
    """
    if stopped_by:
        return fail(event, f"limit {stopped_by}", so_far=text, held=held)
    waits = of(event)
    if waits is None:
        return False
    waits.learned |= held
    _close(waits, is_answered=True, characters=len(text))
    _deliver(waits, lambda: waits.answer.callback(waits.cut(text)))
    return True


def fail(event: Event, why: str, *, so_far: str = "", held: Held = OPEN) -> bool:
    """Tell whoever waits that no report will come. Returns whether anybody waits.

    Args:
        so_far: what came of it before it ended.
        held: the audiences of what that was made of.
    """
    waits = of(event)
    if waits is None:
        return False
    waits.learned |= held
    _close(waits, is_answered=False, why=why)
    error = waits.error(f"{why}; so far: {waits.cut(so_far)}" if so_far else why)
    _deliver(waits, lambda: waits.answer.errback(error))
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


def give_up(held: Awaited, error: Exception) -> None:
    """Whoever waits does so no longer, and gets this error."""
    if withdraw(held, str(error)):
        _deliver(held, lambda: held.answer.errback(error))


def withdraw(held: Awaited, why: str) -> bool:
    """Take a task back: it leaves the delegate's inbox, and what is under way for it is dropped.

    Returns:
        Whether anybody waited for it still.
    """
    is_open = _close(held, is_answered=False, why=why)
    if is_open:
        _take_back(held)
    return is_open


def _take_back(held: Awaited) -> None:
    delegate, work = held.delegate, held.delegate.work
    if work is None or delegate.pk is None:
        return
    is_begun = held.event.id in work.busy
    try:
        state.discard(delegate, [held.event.as_stored()])
    except Exception:  # a stop must not fail for it; nobody takes up what nobody waits for
        logger.log_trace(f"[assistant] {delegate.key}: a task could not be taken back")
    if is_begun:
        state.bump_epoch(delegate)


def _close(held: Awaited, *, is_answered: bool, **facts: object) -> bool:
    """Close a wait and record how it ended. Returns whether it was still open."""
    if _OPEN.pop(held.event.id, None) is None:
        return False
    held.note_end(is_answered=is_answered, **facts)
    return True


def _deliver(held: Awaited, give: Callable[[], None]) -> None:
    """Wake whoever waits in a moment: not in the middle of what the delegate is doing."""
    services.pacer().call(lambda: None if held.answer.called else give())
