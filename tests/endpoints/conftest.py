"""The endpoint programs, each started once, and a pool that asks them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.core.turn.conversation import Message, user_message
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.engine.ports import Reply
from evennia_ai.llm.check import Report, check_endpoint
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.pool import Pool, PoolConfig
from tests.endpoints import programs
from tests.endpoints.doors import KEY, Door, write_answers, write_config
from tests.fakes.reactor import running_reactor

__all__ = ("running_reactor",)

NewFolder = Callable[[str], Path]


@pytest.fixture(scope="session")
def new_folder(tmp_path_factory: pytest.TempPathFactory) -> NewFolder:
    """Make a temporary folder by name; skips where the programs are not installed."""
    if missing := programs.lacks():
        pytest.skip(missing)
    return tmp_path_factory.mktemp


@contextmanager
def running_aimock(folder: Path, *options: str) -> Iterator[str]:
    """The address of an aimock that requires a key, with further command line options."""
    command = (*programs.AIMOCK, "-p", "{port}", "-f", str(write_answers(folder)), *options)
    env = {"AIMOCK_API_KEYS": KEY}
    with programs.running(command, folder=folder, ready="/health", env=env) as root:
        yield root


@pytest.fixture(scope="session")
def aimock(new_folder: NewFolder) -> Iterator[str]:
    with running_aimock(new_folder("aimock")) as root:
        yield root


@pytest.fixture
def faulty(new_folder: NewFolder) -> Iterator[str]:
    """The address of an aimock that spoils five answers in a hundred at random."""
    chances = ("--chaos-drop", "0.02", "--chaos-ratelimit", "0.02", "--chaos-disconnect", "0.01")
    with running_aimock(new_folder("faulty"), *chances) as root:
        yield root


@pytest.fixture(scope="session")
def litellm(new_folder: NewFolder, aimock: str) -> Iterator[str]:
    """The address of a LiteLLM proxy in front of aimock."""
    folder = new_folder("litellm")
    config = write_config(folder, aimock)
    command = (*programs.LITELLM, "--config", str(config), "--host", "127.0.0.1")
    # Otherwise it would fetch prices from the internet, and wait for them.
    env = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    command += ("--telemetry", "False", "--port", "{port}")
    with programs.running(command, folder=folder, ready="/health/liveliness", env=env) as root:
        yield root


@pytest.fixture(scope="session")
def llmock(new_folder: NewFolder) -> Iterator[str]:
    """The address of llmock, which supports no tools and answers in Latin."""
    command = (*programs.LLMOCK, "start", "--port={port}", "--host=127.0.0.1", "--foreground")
    folder = new_folder("llmock")
    with programs.running((*command, "--validateRequests=false"), folder=folder, ready="/") as root:
        yield root


@dataclass
class Caller:
    """A caller of endpoints, with one pool for the whole test."""

    pool: Pool
    reactor: SelectReactor

    def check(self, endpoint: Endpoint) -> Report:
        """Try an endpoint as `assistant check` does."""
        report: Report = self._turn(
            lambda: check_endpoint(endpoint, self.pool, reactor=self.reactor)
        )
        return report

    def ask(
        self, endpoint: Endpoint, words: str | Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Reply:
        """Ask once, as an assistant does: with retries, a deadline and a breaker."""
        messages = [user_message(words)] if isinstance(words, str) else words
        client = self.pool.client(endpoint)
        reply: Reply = self._turn(lambda: client.chat_completion(messages, tools))
        return reply

    def _turn(self, begin: Callable[[], Deferred[Any]]) -> Any:
        return blockingCallFromThread(self.reactor, begin)


@pytest.fixture
def caller(running_reactor: SelectReactor, tmp_path: Path) -> Iterator[Caller]:
    pool = Pool(PoolConfig(tmp_path, deadline_seconds=60.0), reactor=running_reactor)
    yield Caller(pool, running_reactor)
    blockingCallFromThread(running_reactor, pool.close)


Find = Callable[[Door], Endpoint]


@pytest.fixture
def endpoint_of(request: pytest.FixtureRequest) -> Find:
    """Start the program of a door, and return its endpoint."""

    def find(door: Door) -> Endpoint:
        root: str = request.getfixturevalue(door.program)
        return Endpoint("custom", door.model, f"{root}/v1", door.key)

    return find
