"""The pacing of work in the reactor's thread, in slices of limited length."""

import threading
from functools import partial

import pytest
from twisted.internet.defer import CancelledError
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Clock
from twisted.internet.threads import blockingCallFromThread
from twisted.logger import globalLogPublisher

from evennia_ai.llm.bridge import Pacer


def test_a_call_runs_soon_but_not_at_once() -> None:
    clock, done = Clock(), []
    Pacer(clock).call(done.append, "a")
    assert [] == done
    clock.advance(0)
    assert ["a"] == done


def test_a_slice_ends_and_others_get_their_turn() -> None:
    """At 2 ms a call, the third one exceeds the slice of 5 ms."""
    clock, done = Clock(), []

    def work(number: int) -> None:
        clock.rightNow += 0.002
        done.append(number)

    pacer = Pacer(clock, slice_seconds=0.005)
    for number in range(5):
        pacer.call(work, number)
    clock.callLater(0, done.append, "somebody else")
    clock.advance(0)
    assert [0, 1, 2, "somebody else", 3, 4] == done


def test_what_goes_first_comes_before_all_that_waits() -> None:
    """An emergency stop goes first, even when asked for in the middle of a slice."""
    clock, done = Clock(), []
    pacer = Pacer(clock)
    assert not pacer.is_busy
    pacer.call(pacer.call_first, done.append, "first")
    pacer.call(done.append, "waits")
    assert pacer.is_busy
    clock.advance(0)
    assert ["first", "waits"] == done


def test_whoever_waits_for_a_turn_goes_on_in_order_and_may_leave() -> None:
    """Each turn takes the whole slice of 5 ms, and the cancelled one is skipped."""
    clock, done = Clock(), []

    def work(_: None, number: int) -> None:
        clock.rightNow += 0.005
        done.append(number)

    pacer = Pacer(clock, slice_seconds=0.005)
    turns = [pacer.turn() for _ in range(3)]
    for number, turn in enumerate(turns):
        turn.addCallbacks(work, lambda failure: failure.trap(CancelledError), (number,))
    clock.callLater(0, done.append, "somebody else")
    turns[1].cancel()
    clock.advance(0)
    assert [0, "somebody else", 2] == done


def test_a_failing_call_is_logged_and_does_not_stop_the_rest() -> None:
    clock, done, logged = Clock(), [], []
    pacer = Pacer(clock)

    def fail() -> None:
        raise RuntimeError("broken")

    pacer.call(fail)
    pacer.call(done.append, "after")
    globalLogPublisher.addObserver(logged.append)
    try:
        clock.advance(0)
    finally:
        globalLogPublisher.removeObserver(logged.append)
    assert ["after"] == done
    assert 1 == len(logged)


def test_work_handed_in_while_working_is_done_too() -> None:
    clock, done = Clock(), []
    pacer = Pacer(clock)
    pacer.call(lambda: pacer.call(done.append, "second"))
    for _ in range(3):
        clock.advance(0)
    assert ["second"] == done


@pytest.mark.parametrize("slice_seconds", [0.0, 0.005])
def test_four_threads_lose_nothing(running_reactor: SelectReactor, slice_seconds: float) -> None:
    pacer = Pacer(running_reactor, slice_seconds)
    done: list[tuple[int, int]] = []
    places = set()
    finished = threading.Event()

    def work(item: tuple[int, int]) -> None:
        done.append(item)
        places.add(threading.get_ident())
        if len(done) == 4 * 500:
            finished.set()

    def hand_in(who: int) -> None:
        for number in range(500):
            pacer.call_from_thread(work, (who, number))

    threads = [threading.Thread(target=partial(hand_in, who)) for who in range(4)]
    for thread in threads:
        thread.start()
    assert finished.wait(20)
    for who in range(4):
        assert list(range(500)) == [number for by, number in done if by == who]
    assert {blockingCallFromThread(running_reactor, threading.get_ident)} == places
