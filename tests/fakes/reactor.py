"""A running reactor in a thread of its own.

It is not the process's global reactor, which tests of the shell drive in the main thread.
"""

import threading
from collections.abc import Iterator

import pytest
from twisted.internet.selectreactor import SelectReactor


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
