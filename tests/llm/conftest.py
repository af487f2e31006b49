"""A reactor of its own in a thread, for what needs one that runs, and the server that misbehaves.

It is not the process's global reactor: tests of the shell drive that one in the main thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from twisted.internet.selectreactor import SelectReactor

from tests.fakes.handle import FakeModel


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


@pytest.fixture(scope="session")
def shared_model() -> Iterator[FakeModel]:
    with FakeModel.in_thread() as model:
        yield model


@pytest.fixture
def model(shared_model: FakeModel) -> FakeModel:
    """The real HTTP server, as if it had just begun."""
    shared_model.reset()
    return shared_model
