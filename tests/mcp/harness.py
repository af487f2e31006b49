"""The game's side of MCP servers, with a log that can be waited on, and a watch on programs."""

from __future__ import annotations

import queue
import select
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from twisted.internet.selectreactor import SelectReactor
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.llm.bridge import as_deferred
from evennia_ai.mcp.config import read_servers
from evennia_ai.mcp.pins import Pin, Pins
from evennia_ai.mcp.servers import RemoteServers
from evennia_ai.resilience import CircuitBreakerRegistry
from tests.resilience.manual_clock import ManualClock

PROGRAM = str(Path(__file__).with_name("servers.py"))
PATIENCE_SECONDS = 30.0


def command(*arguments: str) -> list[str]:
    """The command of one of the servers in `servers.py`."""
    return [sys.executable, PROGRAM, *arguments]


class KeptPins:
    """Pins in memory, over as many starts as a test makes."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Pin]] = {}
        self.by: list[str] = []

    def read(self, server: str) -> Mapping[str, Pin]:
        return dict(self.kept.get(server, {}))

    def save(self, server: str, pins: Mapping[str, Pin], by: str) -> None:
        self.kept.setdefault(server, {}).update(pins)
        self.by.append(by)


class Remote:
    """The MCP servers of a game.

    Attributes:
        lines: the log lines that `read_log` has read.
    """

    def __init__(
        self, reactor: SelectReactor, setting: Mapping[str, Any], pins: Pins | None = None
    ) -> None:
        self.clock = ManualClock()
        self.breakers = CircuitBreakerRegistry(clock=self.clock)
        self.lines: list[str] = []
        self._reactor = reactor
        self._log: queue.Queue[str] = queue.Queue()
        self.servers = RemoteServers(
            read_servers(setting, {"TOKEN_OF_WIKI": "Bearer sesame-1234"}).values(),
            as_deferred=as_deferred,
            reactor=reactor,
            breakers=self.breakers,
            log=self._log.put,
            pins=pins or KeptPins(),
        )

    def on_reactor(self, function: Any, *arguments: Any) -> Any:
        """Call something in the reactor's thread and wait for its result."""
        return blockingCallFromThread(self._reactor, function, *arguments)

    def start(self) -> None:
        self.on_reactor(self.servers.start)

    def close(self) -> None:
        self.on_reactor(self.servers.close)

    def call(self, name: str, /, seconds: float | None = None, **arguments: Any) -> str:
        """Call a tool and wait for its answer."""
        answer: str = self.on_reactor(self.servers.call, name, arguments, seconds)
        return answer

    def begin(self, name: str, /, **arguments: Any) -> tuple[Any, queue.Queue[Any]]:
        """Call a tool without waiting; its outcome is put into the queue."""
        outcome: queue.Queue[Any] = queue.Queue()

        def start() -> Any:
            deferred = self.servers.call(name, arguments)
            deferred.addBoth(outcome.put)
            return [deferred]  # bare, it would be waited for by `on_reactor`

        return self.on_reactor(start)[0], outcome

    def read_log(self, text: str) -> str:
        """Wait for a line of the log that holds this text."""
        while True:
            try:
                line = self._log.get(timeout=PATIENCE_SECONDS)
            except queue.Empty:
                lines = "\n".join(self.lines)
                raise AssertionError(f"nothing in the log says {text!r}:\n{lines}") from None
            self.lines.append(line)
            if text in line:
                return line

    def failures(self) -> int:
        """The failures that the breaker of the server "almanac" has counted."""
        stats = self.breakers.get_or_create("mcp:almanac").get_stats()
        failures: int = stats["total_failures"]
        return failures

    def status(self) -> dict[str, Any]:
        """The status of the only server."""
        (status,) = self.on_reactor(self.servers.status)
        return status

    @classmethod
    @contextmanager
    def running(
        cls, reactor: SelectReactor, pins: Pins | None = None, /, **setting: Mapping[str, Any]
    ) -> Iterator[Remote]:
        """Start the servers, and close them on leaving the context."""
        remote = cls(reactor, setting, pins)
        remote.start()
        try:
            yield remote
        finally:
            remote.close()


class WebServer:
    """One of the servers in `servers.py`, over HTTP.

    Args:
        port: its port; 0 takes a free one.
    """

    def __init__(self, *options: str, port: int = 0) -> None:
        self._process = subprocess.Popen(
            command("almanac", *options, str(port)), stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_SECONDS)

    def __enter__(self) -> WebServer:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Lifeline:
    """Notices the end of a program that was given its port."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._held: list[socket.socket] = []
        self.port = str(self._listener.getsockname()[1])

    def wait_for_life(self) -> None:
        """Wait until a program connects."""
        self._listener.settimeout(PATIENCE_SECONDS)
        self._held.append(self._listener.accept()[0])

    def wait_for_end(self) -> None:
        """Wait until the program that connected last has ended."""
        readable, _, _ = select.select([self._held[-1]], [], [], PATIENCE_SECONDS)
        assert readable, "it lives on"
        assert self._ended(self._held[-1])

    def close(self) -> None:
        for held in (*self._held, self._listener):
            held.close()

    def _ended(self, held: socket.socket) -> bool:
        try:
            return held.recv(1) == b""
        except ConnectionResetError:
            return True
