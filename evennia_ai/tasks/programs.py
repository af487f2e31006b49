"""Requests of programs while somebody waits for them, and the names by which they are found again.

`agent.requests` decides what may be asked, and puts it into an inbox.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from evennia.utils import logger
from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from evennia_ai import audit
from evennia_ai.core.hearing.inbox import TASK, Event
from evennia_ai.core.text.cleaning import cut_at_sentence
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import AssistantError
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import PendingTask
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tasks import store, task_waits
from evennia_ai.tasks.task_waits import DID_NOTHING, STOPPED, TaskWait

LONGEST_ANSWER = 4_000  # characters
# The least time of a request that is resumed after its end: it then expires like any other.
MOMENT_SECONDS = 1.0
MUTED = "has muted it, and so gets nothing of it"
BAD_NAME = "its name is {name!r}; it must be 1 to 64 of the characters A-Z, a-z, 0-9 and . : _ -"
CUT_OFF = "the game stopped in the middle of it, and nobody knows how far it came"
OTHER_WORDS = "by the name {name!r} something else was asked; another task needs another name"
_NAME = re.compile(r"[\w.:-]{1,64}", re.ASCII)


class Reason(StrEnum):
    """The reason there is no answer, for programs; people read the message."""

    INVALID = "invalid"  # the request makes no sense, or is too long
    TAKEN = "taken"  # another request has that name
    REFUSED = "refused"  # it may not be asked this, or not by this person
    BUSY = "busy"  # it has too much to do; a later try may succeed
    STOPPED = "stopped"  # it is stopped, silent or gone
    LATE = "late"  # the time is over
    SILENT = "silent"  # it chose to say nothing
    FAILED = "failed"  # its model failed, or a limit ended it


class NoAnswerError(AssistantError):
    """A program asked an assistant, and no answer will come; the text says why.

    Attributes:
        number: of the message, for `assistant why`; 0: it was not even heard.
    """

    def __init__(self, text: str, reason: Reason = Reason.FAILED, number: int = 0) -> None:
        super().__init__(text)
        self.reason = reason
        self.number = number


@dataclass(eq=False, slots=True, kw_only=True)
class ProgramRequest(TaskWait):
    """A request that a program waits for.

    Attributes:
        is_kept: it has a name, so its outcome is kept in the table.
        waiters: those who wait for a kept request; each may leave, and it goes on.
    """

    is_kept: bool = False
    waiters: list[Deferred[str]] = field(default_factory=list)

    def wait(self) -> Deferred[str]:
        """The coming answer; cancelling withdraws the request, unless it has a name."""
        if not self.is_kept:
            return self.answer
        waiter: Deferred[str] = Deferred(self.waiters.remove)
        self.waiters.append(waiter)
        return waiter

    def tell(self, outcome: str | Failure) -> None:
        """Pass the outcome of a kept request on to all waiters."""
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            # `callback` sends a Failure to the errbacks.
            waiter.callback(outcome)

    def note_end(self, outcome: str | Exception, **details: Any) -> None:
        """Record how it ended, without any words; keep the outcome if it has a name."""
        now, is_answered = self.delegate.clock.seconds(), isinstance(outcome, str)
        if self.is_kept:
            self._keep(outcome, now)
        name = "errand_answered" if is_answered else "errand_failed"
        seconds = round(now - self.began_at, 3)
        audit.record(name, self.delegate, number=self.event.number, seconds=seconds, **details)

    def _keep(self, outcome: str | Exception, now: float) -> None:
        reason: str = store.TALK if self.is_talk else ""
        if isinstance(outcome, NoAnswerError):
            reason = outcome.reason
        state = store.ANSWERED if isinstance(outcome, str) else store.FAILED
        try:
            store.close(self.event.id, state, str(outcome), now, reason=reason)
        except Exception:  # the program that waits must be told all the same
            logger.log_trace(f"[assistant] {self.delegate.key}: an outcome could not be kept")

    def error(self, why: str, *, is_lost: bool = False) -> NoAnswerError:
        """The error that the program gets in place of an answer."""
        reasons = {
            STOPPED: Reason.STOPPED,
            DID_NOTHING: Reason.SILENT,
            task_waits.GIVEN_UP: Reason.BUSY,
            task_waits.INBOX_FULL: Reason.BUSY,
        }
        text = "it was stopped" if why == STOPPED else why
        return self.refusal(text, Reason.STOPPED if is_lost else reasons.get(why, Reason.FAILED))

    def refusal(self, why: str, reason: Reason) -> NoAnswerError:
        """An error of this request."""
        return NoAnswerError(gives_no_answer(self.delegate, why), reason, self.event.number)

    def cut(self, text: str) -> str:
        """Cut an answer to a length that a program can show."""
        return cut_at_sentence(text, LONGEST_ANSWER)

    def loss(self) -> str:
        """The reason no answer can come any more, found by looking; "" while one can."""
        work = self.delegate.work
        if work is not None and self.event.person in work.muted:
            return f"{self.event.sender_name} {MUTED}"
        return TaskWait.loss(self)


class Begun(NamedTuple):
    """A request that is under way, or over.

    Attributes:
        number: of the message, for `assistant why`.
        answer: fires with the answer, or fails with a NoAnswerError.
    """

    number: int
    answer: Deferred[str]


def gives_no_answer(script: Assistant | None, why: str) -> str:
    """The text of an error: who gives no answer, and why."""
    return f"{getattr(script, 'key', 'it')} gives no answer: {why}"


def expect(request: ProgramRequest, seconds: float) -> None:
    """Start waiting for a request."""
    late = partial(_end_late, request, seconds)
    task_waits.expect(request, request.delegate.clock, seconds, late)


def _end_late(request: ProgramRequest, seconds: float) -> None:
    task_waits.give_up(request, request.refusal(f"none came within {seconds:g} s", Reason.LATE))


# ---- by a name of the program's own ------------------------------------------------------------


def find(script: Assistant, person: Being | None, name: str) -> PendingTask | None:
    """The task that a person asked an assistant under a name.

    Args:
        person: the one in whose name it was asked; None: the game's.

    Raises:
        NoAnswerError: the name is not valid.
    """
    if not _NAME.fullmatch(name):
        raise NoAnswerError(
            gives_no_answer(script, BAD_NAME.format(name=name[:80])), Reason.INVALID
        )
    whose, now = "" if person is None else person_of(person), script.clock.seconds()
    task = store.find(script.id, whose, name, now)
    # Open in the table, but nobody works on it: a crash cut it off, so it has failed.
    if task is not None and task.state == store.OPEN and task_waits.by_id(task.id) is None:
        reason = gives_no_answer(script, CUT_OFF)
        store.close(task.id, store.FAILED, reason, now, reason=Reason.FAILED)
        # Another process may have closed it first, and then `close` changed nothing.
        task.refresh_from_db()
    return task


def go_on(script: Assistant, task: PendingTask, body: str, *, is_order: bool) -> Begun:
    """Wait for a request that was made before, or return its outcome.

    Raises:
        NoAnswerError: the name belongs to another request.
    """
    if (task.digest, task.is_order) != (store.digest_of(body), is_order):
        why = OTHER_WORDS.format(name=task.name)
        raise NoAnswerError(gives_no_answer(script, why), Reason.TAKEN, task.number)
    if task.state == store.ANSWERED:
        return Begun(task.number, succeed(task.answer))
    if task.state == store.FAILED:
        reason = Reason(task.reason or Reason.FAILED)
        return Begun(task.number, fail(NoAnswerError(task.answer, reason, task.number)))
    request = task_waits.by_id(task.id)
    assert isinstance(request, ProgramRequest)
    return Begun(task.number, request.wait())


def resume(script: Assistant) -> None:
    """After a start, wait again for named requests in the inbox."""
    items = {item["id"]: item for item in script.work.inbox if item["kind"] == TASK}
    unknown = [number for number in items if task_waits.by_id(number) is None]
    try:
        tasks = store.still_open(unknown) if unknown else []
    except Exception:  # the assistant must start; a program that asks again is told
        logger.log_trace(f"[assistant] {script.key}: requests could not be taken up again")
        return
    for task in tasks:
        event, now = Event.from_stored(items[task.id]), script.clock.seconds()
        request = ProgramRequest(
            delegate=script, event=event, began_at=task.began_at, is_quiet=not task.is_order
        )
        _tell_waiters(request)
        expect(request, max(MOMENT_SECONDS, task.ends_at - now))


def save(request: ProgramRequest, name: str, words: str, seconds: float, *, is_order: bool) -> None:
    """Give a request a name, by which its outcome is kept.

    Args:
        words: the request before anything was cut.
    """
    event = request.event
    store.begin(
        PendingTask(
            id=event.id,
            assistant=request.delegate.id,
            person=event.person,
            name=name,
            # Not the words: they stay in the inbox alone, and leave with the request.
            digest=store.digest_of(words),
            number=event.number,
            is_order=is_order,
            began_at=event.at,
            ends_at=event.at + seconds,
        )
    )
    _tell_waiters(request)


def _tell_waiters(request: ProgramRequest) -> None:
    request.is_kept = True
    request.answer.addBoth(request.tell)
