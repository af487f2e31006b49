"""The start of the demo brain by the first request to it."""

import threading
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from evennia_ai.errors import ModelConnectionError
from evennia_ai.llm import local_transport
from evennia_ai.llm.local_transport import LocalTransport

FULL = ModelConnectionError("no room on the disk")
Starts = list[Deferred[Any]]


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Starts:
    """The starts under way, each in a thread that cannot be cancelled."""
    begun: Starts = []

    def begin(*_: object) -> Deferred[Any]:
        begun.append(Deferred())
        return begun[-1]

    monkeypatch.setattr(local_transport, "in_own_thread", begin)
    return begun


def ask(transport: LocalTransport) -> tuple[Deferred[bytes], list[Any]]:
    """One request; its failure is appended to the list."""
    failures: list[Any] = []
    asked = transport.post({})
    asked.addErrback(lambda failure: failures.append(failure.value))
    return asked, failures


def test_calls_that_are_given_up_leave_one_start(tmp_path: Path, starts: Starts) -> None:
    """Loading takes minutes and a call waits for one: each would block another thread."""
    transport = LocalTransport(tmp_path, reactor=Clock())
    asked = [ask(transport) for _ in range(2)]
    for given_up, failures in asked:
        given_up.cancel()
        assert [CancelledError] == list(map(type, failures))
    waiting = [ask(transport) for _ in range(2)]
    assert 1 == len(starts)
    starts[0].errback(FULL)
    assert [[FULL]] * 2 == [failures for _, failures in waiting]


def test_the_end_of_the_game_does_not_wait_for_a_start() -> None:
    """A reload took minutes while the model was fetched or loaded."""
    clock, handed = Clock(), threading.Event()
    clock.callFromThread = lambda act, result: (act(result), handed.set())  # type: ignore[attr-defined]
    for work, expected in ((lambda: threading.current_thread().daemon, True), (lambda: 1 / 0, 0)):
        outcomes: list[Any] = []
        handed.clear()
        started = local_transport.in_own_thread(work, clock)
        started.addErrback(lambda failure: failure.trap(ZeroDivisionError) and 0)
        started.addCallback(outcomes.append)
        assert handed.wait(5)
        assert [expected] == outcomes


def test_a_start_that_failed_is_tried_again(tmp_path: Path, starts: Starts) -> None:
    transport = LocalTransport(tmp_path, reactor=Clock())
    for count in (1, 2):
        _, failures = ask(transport)
        assert (count, []) == (len(starts), failures)
        starts[-1].errback(FULL)
        assert [FULL] == failures


def test_a_start_that_ends_after_all_gave_up_is_no_error(tmp_path: Path, starts: Starts) -> None:
    transport = LocalTransport(tmp_path, reactor=Clock())
    given_up, _ = ask(transport)
    given_up.cancel()
    starts[0].errback(FULL)
    ask(transport)
    assert 2 == len(starts)
