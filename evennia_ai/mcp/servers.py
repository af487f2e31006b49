"""The servers as the game holds them, on the reactor's side: tools on offer, calls, status."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred, gatherResults, succeed

from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import ToolError, ToolTimeoutError
from evennia_ai.mcp.config import ServerConfig
from evennia_ai.mcp.connection import require_sdk
from evennia_ai.mcp.listing import Listing
from evennia_ai.mcp.pins import HeldTool, Pins, sift
from evennia_ai.mcp.session import McpSession
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerRegistry

# With less of its time than this a call that is given up says nothing of its server.
FAIR_SHARE = 0.5

T = TypeVar("T")
Specs = Mapping[str, ToolSpec]
Log = Callable[[str], None]


class Bridge(Protocol):
    """Runs a coroutine on the asyncio lane; cancelling the Deferred cancels it."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], reactor: Reactor) -> Deferred[T]:
        """Start it; its outcome comes back in the reactor's thread."""


class RemoteServer:
    """One server.

    Args:
        as_deferred: the way to the asyncio lane.
        log: takes lines for the game's log, in the reactor's thread.
        on_change: told when what it offers has changed.
        pins: where its tools are kept as they were allowed.

    Attributes:
        listing: what it offers; what it offered last, while there is no connection.
        held: the tools that it has and that wait until somebody allows them.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        as_deferred: Bridge,
        reactor: Reactor,
        breaker: CircuitBreaker,
        log: Log,
        on_change: Callable[[], None],
        pins: Pins,
    ) -> None:
        self.config = config
        self.breaker = breaker
        self.listing = Listing()
        self.held: tuple[HeldTool, ...] = ()
        self._pins = pins
        self._told = Listing()
        self._as_deferred = as_deferred
        self._reactor = reactor
        self._log = log
        self._on_change = on_change
        self._state = "not started"
        self._problem = ""
        self._ended: Deferred[None] | None = None
        self._session = McpSession(
            config,
            on_listing=lambda listing: reactor.callFromThread(self.learn, listing),
            on_problem=lambda problem: reactor.callFromThread(self._complain, problem),
            log=lambda line: reactor.callFromThread(self._say, line),
        )

    def start(self) -> None:
        """Begin to connect, in the background."""
        if self._ended is None:
            self._state = "connecting"
            self._ended = self._as_deferred(self._session.run(), self._reactor)
            self._ended.addErrback(lambda failure: self._complain(failure.getErrorMessage()))

    def close(self) -> Deferred[None]:
        """End it for good.

        Returns:
            Fires when its connection and its program have ended.
        """
        ended, self._state = self._ended, "closed"
        if ended is None:
            return succeed(None)
        return self._as_deferred(self._session.close(), self._reactor).addCallback(lambda _: ended)

    def call(self, tool: str, arguments: Mapping[str, object], seconds: float) -> Deferred[str]:
        """Call a tool by its own name. Cancelling the Deferred tells the server.

        Raises:
            CircuitOpenError: the server is not being asked now.
            ToolError: the tool says that it could not; ToolTimeoutError: it took too long.
            ConnectionError: the server cannot be reached, or failed.
        """
        return Deferred.fromCoroutine(self._call(tool, arguments, seconds))

    async def _call(self, tool: str, arguments: Mapping[str, object], seconds: float) -> str:
        if seconds <= 0:
            raise ToolTimeoutError(f"{tool} was not begun: there is no time left for it")
        permit = self.breaker.acquire()
        try:
            text: str = await self._as_deferred(
                self._session.call(tool, dict(arguments), seconds), self._reactor
            )
            permit.success()
        except ToolTimeoutError as error:
            if seconds >= FAIR_SHARE * self.config.timeout_seconds:
                permit.failure(error)
            raise
        # A tool that says no shows that its server works.
        except ToolError:
            permit.success()
            raise
        except Exception as error:
            permit.failure(error)
            raise
        finally:
            permit.release()
        return text

    def status(self) -> dict[str, Any]:
        """The state in plain values."""
        return {
            "name": self.config.name,
            "what": self.config.describe(),
            "state": self._state,
            "problem": self._problem,
            "tools": len(self.listing.tools),
            "left_out": self.listing.left_out,
            "held": [tool.name for tool in self.held],
            "breaker": self.breaker.state.value,
        }

    def allow(self, tools: Iterable[HeldTool], by: str) -> None:
        """Offer tools from now on as they are now, which somebody has looked at.

        Args:
            by: who.
        """
        self._pins.keep(self.config.name, {tool.name: tool.now for tool in tools}, by)
        self._offer(self._sift(self._told))

    def learn(self, told: Listing) -> None:
        """Take what it tells of its tools now; in the reactor's thread."""
        # It was on its way from the other thread when this one was told to end.
        if self._state == "closed":
            return
        try:
            listing = self._sift(told)
        except Exception as error:  # without its pins nothing of it is offered anew
            self._complain(f"its pinned tools cannot be read: {type(error).__name__}")
            return
        is_new = listing != self.listing
        if is_new or self._state != "connected":
            self._say(f"connected, {len(listing.tools)} tools")
        self._state, self._problem = "connected", ""
        if is_new:
            for complaint in listing.left_out:
                self._say(f"left out {complaint}")
            self._offer(listing)

    def _offer(self, listing: Listing) -> None:
        """Have this on offer from now on, whether there is a connection or not."""
        self.listing = listing
        self._on_change()

    def _sift(self, told: Listing) -> Listing:
        """Whatever of its tools may be offered; the others are held."""
        name = self.config.name
        found = sift(self.config, told, self._pins.read(name))
        if found.fresh:
            self._pins.keep(name, found.fresh, "")
        for tool in found.held:
            if tool not in self.held:
                how = "is new" if tool.before is None else "is not as it was allowed"
                self._say(f"held back {tool.name}: it {how}; see: assistant tools held")
        self.held, self._told = found.held, told
        return found.offered

    def _complain(self, problem: str) -> None:
        if self._state == "closed":
            return
        if problem != self._problem:
            self._say(f"no connection: {problem}")
        self._state, self._problem = "unavailable", problem

    def _say(self, text: str) -> None:
        self._log(f"[assistant] mcp server {self.config.name}: {text}")


class RemoteServers:
    """All servers of a game, and what they offer together.

    Attributes:
        are_any: there is at least one; none is added later.
    """

    def __init__(
        self,
        configs: Iterable[ServerConfig],
        *,
        as_deferred: Bridge,
        reactor: Reactor,
        breakers: CircuitBreakerRegistry,
        log: Log,
        pins: Pins,
    ) -> None:
        """Make them; `start` connects.

        Raises:
            ConfigurationError: there is a server, but no SDK to speak to it.
        """
        configs = tuple(configs)
        if configs:
            require_sdk()
        self._servers = {
            config.name: RemoteServer(
                config,
                as_deferred=as_deferred,
                reactor=reactor,
                breaker=breakers.get_or_create(f"mcp:{config.name}"),
                log=log,
                on_change=self._forget,
                pins=pins,
            )
            for config in configs
        }
        self.are_any = bool(self._servers)
        self._specs: Specs | None = None
        self._merged: tuple[Specs, Specs] | None = None

    def start(self) -> None:
        """Begin to connect to each, in the background: the game does not wait for them."""
        for server in self._servers.values():
            server.start()

    def close(self) -> Deferred[Any]:
        """End them all; fires when the last has ended."""
        return gatherResults([server.close() for server in self._servers.values()])

    def specs(self) -> Specs:
        """The tools of all servers, by the names the model knows."""
        if self._specs is None:
            self._specs = {
                name: tool.spec
                for server in self._servers.values()
                for name, tool in server.listing.tools.items()
            }
        return self._specs

    def beside(self, own: Specs) -> Specs:
        """Tools of the game and of the servers together; of one name, the game's.

        The same mapping as long as neither changes: it is asked for at every step of a turn.
        """
        remote = self.specs()
        if not remote:
            return own
        if self._merged is None or self._merged[0] is not own:
            self._merged = (own, {**own, **{n: s for n, s in remote.items() if n not in own}})
        return self._merged[1]

    def call(
        self, name: str, arguments: Mapping[str, object], seconds: float | None = None
    ) -> Deferred[str]:
        """Call a tool by the name the model knows.

        Args:
            name: a key of `specs()`.
            seconds: how long it may take, where that is less than its server's time.

        Raises:
            KeyError: there is no such tool.
            Exception: as `RemoteServer.call`.
        """
        server = self._servers[name.partition("__")[0]]
        tool = server.listing.tools[name]
        limit = server.config.timeout_seconds
        return server.call(tool.name, arguments, limit if seconds is None else min(limit, seconds))

    def origin(self, name: str) -> tuple[str, str] | None:
        """The server that offers a tool, and what that calls it; None where none does."""
        server = self._servers.get(name.partition("__")[0])
        tool = server.listing.tools.get(name) if server is not None else None
        return (server.config.name, tool.name) if server is not None and tool is not None else None

    def held(self) -> Mapping[str, tuple[HeldTool, ...]]:
        """The tools that wait until somebody allows them, by server; only servers with some."""
        return {name: server.held for name, server in self._servers.items() if server.held}

    def allow(self, server: str, tools: Iterable[HeldTool], by: str) -> None:
        """Offer held tools of a server from now on, as somebody has looked at them.

        Raises:
            KeyError: there is no such server.
        """
        self._servers[server].allow(tools, by)

    def status(self) -> list[dict[str, Any]]:
        """The state of each server."""
        return [server.status() for server in self._servers.values()]

    def _forget(self) -> None:
        self._specs = self._merged = None
