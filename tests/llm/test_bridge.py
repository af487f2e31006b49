"""Coroutines as Deferreds that fire in the reactor's thread."""

import asyncio
import threading
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.llm.bridge import Bridged, all_at_once, as_deferred


async def _give(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


async def _fail() -> None:
    raise LookupError("not there")


def test_a_result_comes_back(running_reactor: SelectReactor) -> None:
    assert 7 == blockingCallFromThread(running_reactor, as_deferred, _give(7), running_reactor)


def test_an_error_comes_back(running_reactor: SelectReactor) -> None:
    with pytest.raises(LookupError, match="not there"):
        blockingCallFromThread(running_reactor, as_deferred, _fail(), running_reactor)


def test_it_comes_back_in_the_reactors_thread(running_reactor: SelectReactor) -> None:
    """Callbacks may touch the game, which only that thread may."""

    def where() -> Deferred[int]:
        return as_deferred(_give(1), running_reactor).addCallback(lambda _: threading.get_ident())

    expected = blockingCallFromThread(running_reactor, threading.get_ident)
    assert expected == blockingCallFromThread(running_reactor, where)


def test_many_at_once_are_not_mixed_up(running_reactor: SelectReactor) -> None:
    def begin() -> Deferred[list[int]]:
        return gatherResults([as_deferred(_give(n), running_reactor) for n in range(300)])

    assert list(range(300)) == blockingCallFromThread(running_reactor, begin)


async def _wait(begun: threading.Event, ended: threading.Event) -> None:
    begun.set()
    try:
        await asyncio.Event().wait()
    finally:
        ended.set()


def test_cancelling_ends_the_task_where_it_waits(running_reactor: SelectReactor) -> None:
    begun, ended = threading.Event(), threading.Event()
    outcomes: list[Any] = []
    held: list[Deferred[None]] = []

    def begin() -> None:
        task = as_deferred(_wait(begun, ended), running_reactor)
        held.append(task.addBoth(outcomes.append))

    blockingCallFromThread(running_reactor, begin)
    assert begun.wait(10)
    blockingCallFromThread(running_reactor, held[0].cancel)
    assert ended.wait(10)
    assert outcomes[0].check(CancelledError)


def test_cancelling_at_once_lets_nothing_begin(running_reactor: SelectReactor) -> None:
    """The coroutine either never begins or, once begun, runs its clean-up."""
    begun, ended = threading.Event(), threading.Event()

    def begin() -> Deferred[Any]:
        task = as_deferred(_wait(begun, ended), running_reactor)
        task.cancel()
        return task.addErrback(lambda failure: failure.type)

    assert CancelledError is blockingCallFromThread(running_reactor, begin)
    blockingCallFromThread(running_reactor, as_deferred, _give(1), running_reactor)
    assert begun.is_set() is ended.is_set()


def test_an_outcome_after_the_end_is_dropped(running_reactor: SelectReactor) -> None:
    finished = threading.Event()

    async def refuse_to_end() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            finished.set()
        return "too late"

    def begin_and_cancel() -> Deferred[Any]:
        begun = as_deferred(refuse_to_end(), running_reactor)
        running_reactor.callLater(0.05, begun.cancel)
        return begun.addErrback(lambda failure: failure.type)

    assert CancelledError is blockingCallFromThread(running_reactor, begin_and_cancel)
    assert finished.wait(10)


def test_many_are_cancelled_at_once_and_have_ended_then(running_reactor: SelectReactor) -> None:
    begun, ended = threading.Semaphore(0), threading.Semaphore(0)
    seen: list[int] = []

    async def wait() -> None:
        begun.release()
        try:
            await asyncio.Event().wait()
        finally:
            ended.release()

    def cancel_all() -> None:
        with all_at_once():
            for each in waiting:
                each.addErrback(lambda failure: failure.trap(CancelledError)).cancel()
            seen.append(ended._value)
        seen.append(ended._value)

    waiting = blockingCallFromThread(
        running_reactor, lambda: [as_deferred(wait(), running_reactor) for _ in range(50)]
    )
    for _ in range(50):
        assert begun.acquire(timeout=10)
    blockingCallFromThread(running_reactor, cancel_all)
    assert [0, 50] == seen


def test_a_dropped_task_has_ended_before_who_waits_for_it(running_reactor: SelectReactor) -> None:
    """`drop` ends the task at once, but the Deferred fires only when it is cancelled."""
    begun, ended = threading.Event(), threading.Event()
    outcomes: list[Any] = []
    held: list[Bridged[None]] = []

    def begin() -> None:
        held.append(as_deferred(_wait(begun, ended), running_reactor))
        held[0].addBoth(outcomes.append)

    def drop() -> None:
        with all_at_once():
            held[0].drop()
        assert ended.is_set()

    blockingCallFromThread(running_reactor, begin)
    assert begun.wait(10)
    blockingCallFromThread(running_reactor, drop)
    # This later result arrives after anything that the dropped task could have delivered.
    blockingCallFromThread(running_reactor, as_deferred, _give(1), running_reactor)
    assert [] == outcomes
    blockingCallFromThread(running_reactor, held[0].cancel)
    assert outcomes[0].check(CancelledError)
