"""MCP servers on the reactor's side: their tools on offer, calls and status."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred, gatherResults, succeed

from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import ToolError, ToolTimeoutError
from evennia_ai.mcp.config import ServerConfig
from evennia_ai.mcp.connection import require_sdk
from evennia_ai.mcp.listing import Listing
from evennia_ai.mcp.pins import HeldTool, Pins, sift
from evennia_ai.mcp.session import McpSession
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerRegistry

# A timeout counts against the server only if the call had at least this share of the server's time:
# near the end of a turn a call may get a second only.
FAIR_SHARE = 0.5

T = TypeVar("T")
Specs = Mapping[str, ToolSpec]
Log = Callable[[str], None]


class Bridge(Protocol):
    """Runs a coroutine on the asyncio lane; cancelling the Deferred cancels the coroutine."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], reactor: Reactor) -> Deferred[T]:
        """Start a coroutine; the Deferred fires in the reactor's thread."""


class RemoteServer:
    """One server.

    Args:
        as_deferred: runs a coroutine on the asyncio lane.
        log: writes a line to the game's log; called in the reactor's thread.
        on_change: called when the tools on offer have changed.
        pins: stores its tools as they were allowed.

    Attributes:
        listing: the tools on offer; while there is no connection, those it offered last.
        held: the tools that a person has to allow first.
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
        self._unsorted = Listing()
        self._as_deferred = as_deferred
        self._reactor = reactor
        self._log = log
        self._on_change = on_change
        self._state = "not started"
        self._problem = ""
        self._ended: Deferred[None] | None = None
        # The session runs in the asyncio thread; its callbacks must return to the reactor's.
        self._session = McpSession(
            config,
            on_listing=lambda listing: reactor.callFromThread(self.learn, listing),
            on_problem=lambda problem: reactor.callFromThread(self._complain, problem),
            log=lambda line: reactor.callFromThread(self._say, line),
        )

    def start(self) -> None:
        """Start to connect in the background."""
        if self._ended is None:
            self._state = "connecting"
            self._ended = self._as_deferred(self._session.run(), self._reactor)
            self._ended.addErrback(lambda failure: self._complain(failure.getErrorMessage()))

    def close(self) -> Deferred[None]:
        """Close it for good.

        Returns:
            Fires when its connection and its program have ended.
        """
        ended, self._state = self._ended, "closed"
        if ended is None:
            return succeed(None)
        return self._as_deferred(self._session.close(), self._reactor).addCallback(lambda _: ended)

    def call(self, tool: str, arguments: Mapping[str, object], seconds: float) -> Deferred[str]:
        """Call a tool by the server's name for it; a cancellation is sent to the server.

        Raises:
            CircuitOpenError: the server's breaker is open.
            ToolError: the tool reports an error; ToolTimeoutError: it took too long.
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
        # A tool that reports an error shows that its server works.
        except ToolError:
            permit.success()
            raise
        except Exception as error:
            permit.failure(error)
            raise
        # A cancelled call is neither a success nor a failure of the server.
        finally:
            permit.release()
        return text

    def status(self) -> dict[str, Any]:
        """Describe the server's state as plain data."""
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
        """Offer held tools from now on, as a person has read them.

        Args:
            by: the name of that person.
        """
        self._pins.save(self.config.name, {tool.name: tool.now for tool in tools}, by)
        self._offer(self._sort_by_pins(self._unsorted))

    def learn(self, listed: Listing) -> None:
        """Take the server's current list of tools; called in the reactor's thread."""
        # The list may have been on its way from the asyncio thread when this was closed.
        if self._state == "closed":
            return
        try:
            listing = self._sort_by_pins(listed)
        except Exception as error:  # without its pins, a changed tool could not be noticed
            self._complain(f"its pinned tools cannot be read: {type(error).__name__}")
            return
        is_new = listing != self.listing
        if is_new or self._state != "connected":
            self._say(f"connected, {counted(len(listing.tools), 'tools')}")
        self._state, self._problem = "connected", ""
        if is_new:
            for complaint in listing.left_out:
                self._say(f"left out {complaint}")
            self._offer(listing)

    def _offer(self, listing: Listing) -> None:
        # It stays on offer without a connection: the prompt must not change for a short crash.
        self.listing = listing
        self._on_change()

    def _sort_by_pins(self, listed: Listing) -> Listing:
        """Hold back the tools that do not match their pins, and return the others."""
        name = self.config.name
        sorted_tools = sift(self.config, listed, self._pins.read(name))
        if sorted_tools.fresh:
            self._pins.save(name, sorted_tools.fresh, "")
        for tool in sorted_tools.held:
            if tool not in self.held:
                how = "is new" if tool.before is None else "has changed since it was allowed"
                self._say(f"held back {tool.name}: it {how}; see: assistant tools held")
        self.held, self._unsorted = sorted_tools.held, listed
        return sorted_tools.offered

    def _complain(self, problem: str) -> None:
        if self._state == "closed":
            return
        if problem != self._problem:
            self._say(f"no connection: {problem}")
        self._state, self._problem = "unavailable", problem

    def _say(self, text: str) -> None:
        self._log(f"[assistant] mcp server {self.config.name}: {text}")


class RemoteServers:
    """All servers of a game, and the tools they offer together.

    Attributes:
        are_any: there is at least one server; none is added later.
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
        """Create the servers; `start` connects them.

        Raises:
            ConfigurationError: a server is configured, but the SDK is not installed.
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
                on_change=self._clear_cache,
                pins=pins,
            )
            for config in configs
        }
        self.are_any = bool(self._servers)
        self._specs: Specs | None = None
        self._merged: tuple[Specs, Specs] | None = None

    def start(self) -> None:
        """Start to connect to all servers in the background: the game does not wait for them."""
        for server in self._servers.values():
            server.start()

    def close(self) -> Deferred[Any]:
        """Close all servers; fires when the last has ended."""
        return gatherResults([server.close() for server in self._servers.values()])

    def specs(self) -> Specs:
        """The tools of all servers, by the names that the model knows."""
        if self._specs is None:
            self._specs = {
                name: tool.spec
                for server in self._servers.values()
                for name, tool in server.listing.tools.items()
            }
        return self._specs

    def merged_with(self, own: Specs) -> Specs:
        """Merge the game's tools with those of the servers; the game's win over the same name.

        The merged mapping is cached, since it is needed at every step of a turn.
        """
        remote = self.specs()
        if not remote:
            return own
        # Compared by identity, which costs nothing.
        if self._merged is None or self._merged[0] is not own:
            self._merged = (own, {**own, **{n: s for n, s in remote.items() if n not in own}})
        return self._merged[1]

    def call(
        self, name: str, arguments: Mapping[str, object], seconds: float | None = None
    ) -> Deferred[str]:
        """Call a tool by the name that the model knows.

        Args:
            name: a key of `specs()`.
            seconds: a time limit, if that is less than the server's.

        Raises:
            KeyError: there is no such tool.
            Exception: as `RemoteServer.call`.
        """
        server = self._servers[name.partition("__")[0]]
        tool = server.listing.tools[name]
        limit = server.config.timeout_seconds
        return server.call(tool.name, arguments, limit if seconds is None else min(limit, seconds))

    def origin(self, name: str) -> tuple[str, str] | None:
        """Find the server that offers a tool, and its name for it; None if no server does."""
        server = self._servers.get(name.partition("__")[0])
        tool = server.listing.tools.get(name) if server is not None else None
        return (server.config.name, tool.name) if server is not None and tool is not None else None

    def held(self) -> Mapping[str, tuple[HeldTool, ...]]:
        """The tools that are held back, by server; servers without any are left out."""
        return {name: server.held for name, server in self._servers.items() if server.held}

    def allow(self, server: str, tools: Iterable[HeldTool], by: str) -> None:
        """Offer held tools of a server from now on, as a person has read them.

        Raises:
            KeyError: there is no such server.
        """
        self._servers[server].allow(tools, by)

    def status(self) -> list[dict[str, Any]]:
        """The state of every server."""
        return [server.status() for server in self._servers.values()]

    def _clear_cache(self) -> None:
        self._specs = self._merged = None
