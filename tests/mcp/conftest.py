"""A running reactor, a connected server, and a watch on programs that end."""

from collections.abc import Iterator

import pytest
from twisted.internet.selectreactor import SelectReactor

from tests.fakes.reactor import running_reactor
from tests.mcp.harness import Lifeline, Remote, command

__all__ = ("running_reactor",)


@pytest.fixture
def lifeline() -> Iterator[Lifeline]:
    watch = Lifeline()
    yield watch
    watch.close()


@pytest.fixture(scope="module")
def almanac(running_reactor: SelectReactor) -> Iterator[Remote]:
    """A connected server, for tests that leave it as it was."""
    with Remote.running(running_reactor, almanac={"command": command("almanac")}) as remote:
        remote.read_log("connected")
        yield remote
