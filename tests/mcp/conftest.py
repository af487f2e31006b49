"""A reactor of its own in a thread, and the ear for programs that end."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from twisted.internet.selectreactor import SelectReactor

from tests.mcp.harness import Lifeline, Remote, command


@pytest.fixture(scope="session")
def running_reactor() -> Iterator[SelectReactor]:
    """A reactor that runs in a thread until the tests end."""
    reactor = SelectReactor()
    thread = threading.Thread(
        target=reactor.run, kwargs={"installSignalHandlers": False}, daemon=True
    )
    thread.start()
    yield reactor
    reactor.callFromThread(reactor.stop)
    thread.join(10)


@pytest.fixture
def lifeline() -> Iterator[Lifeline]:
    ear = Lifeline()
    yield ear
    ear.close()


@pytest.fixture(scope="module")
def almanac(running_reactor: SelectReactor) -> Iterator[Remote]:
    """A server that is up, for tests that leave it as it was."""
    with Remote.running(running_reactor, almanac={"command": command("almanac")}) as remote:
        remote.read_log("connected")
        yield remote
