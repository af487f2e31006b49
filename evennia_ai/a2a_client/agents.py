"""Remote agents on the reactor's side: their cards, pins, circuit breakers and status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from typing_extensions import TypedDict

from evennia_ai.a2a_client.cards import RemoteCard
from evennia_ai.a2a_client.client import Client
from evennia_ai.a2a_client.protocol import (
    OVER,
    AgentMessage,
    AgentRefusedError,
    NoEntryError,
    RemoteStanding,
)
from evennia_ai.core.settings.remote import Remote
from evennia_ai.core.text.cleaning import one_line, quote
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import ToolError
from evennia_ai.mcp.pins import HeldTool, Pins
from evennia_ai.mcp.servers import Bridge
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerConfig, CircuitBreakerRegistry

# A card that was fetched less than this many seconds ago is not fetched again before a task.
CARD_SECONDS = 60.0
FAILURES, FAILURE_WINDOW_SECONDS = 3, 600.0
PREFIX = "a2a:"
MOST_PROBLEM, KEY_CHARS, MOST_TOLD = 200, 32, 160
HELD = (
    "{name} is not asked: its card has changed since it was allowed; your staff have to look at it "
    "first"
)
UNREACHABLE = "it cannot be reached: {why}"


class RemoteStatus(TypedDict):
    """The state of one agent as plain data."""

    name: str
    where: str
    state: str
    problem: str
    breaker: str
    assistants: list[str]
    tasks_allowed: int  # in a day; 0: there is no cap


class RemoteSpecialist:
    """One remote agent.

    Args:
        as_deferred: runs a coroutine on the asyncio lane.
        log: writes a line to the game's log.
        pins: stores its card as it was allowed.

    Attributes:
        held: its card, if it changed and has to be allowed first; else empty.
    """

    def __init__(
        self,
        remote: Remote,
        *,
        as_deferred: Bridge,
        reactor: Reactor,
        breaker: CircuitBreaker,
        log: Callable[[str], None],
        pins: Pins,
    ) -> None:
        self.remote, self.breaker = remote, breaker
        self.held: tuple[HeldTool, ...] = ()
        self._as_deferred, self._reactor = as_deferred, reactor
        self._log, self._pins = log, pins
        self._client = Client(remote)
        self._card: RemoteCard | None = None
        self._known_at: float | None = None
        self._problem = ""

    @property
    def name(self) -> str:
        """The name by which assistants know it."""
        return self.remote.name

    def start(self) -> None:
        """Fetch its card in the background."""
        # `ready` has logged the error, and the status shows it.
        Deferred.fromCoroutine(self.ready()).addErrback(lambda _: None)

    async def ready(self) -> RemoteCard:
        """Return its current card, if that is the one that was allowed.

        Raises:
            ToolError: its card has to be allowed first.
            ConnectionError: it cannot be reached, or has no usable card.
        """
        now = self._reactor.seconds()
        # The reactor's clock is the wall clock: after it was set back, the card counts as old.
        is_known = self._known_at is not None and 0 <= now - self._known_at < CARD_SECONDS
        if not is_known or self._card is None:
            try:
                self._take_card(await self._as_deferred(self._client.card(), self._reactor))
            except ConnectionError as error:
                self._complain(str(error))
                raise ConnectionError(UNREACHABLE.format(why=error)) from None
            self._known_at = now
        if self._card is None or self.held:
            raise ToolError(HELD.format(name=self.name))
        return self._card

    def send(
        self, card: RemoteCard, message: AgentMessage, seconds: float
    ) -> Deferred[RemoteStanding]:
        """Send a message; fails with the errors of `Client.send`.

        Cancelling the Deferred ends only the wait. If the agent began a task meanwhile, it is
        cancelled there once the agent's answer has told its id.
        """
        # A separate Deferred: cancelling the request itself would lose the task's id, which only
        # its answer tells.
        answered: Deferred[RemoteStanding] = Deferred(lambda _: None)

        def settle(outcome: RemoteStanding | Failure) -> None:
            if not answered.called:
                answered.callback(outcome)
            elif isinstance(outcome, RemoteStanding) and outcome.task and outcome.state not in OVER:
                self.cancel(outcome.task)

        self._as_deferred(self._client.send(card, message, seconds), self._reactor).addBoth(settle)
        return answered

    def get(self, card: RemoteCard, task: str) -> Deferred[RemoteStanding]:
        """Fetch the state of a task; fails with the errors of `Client.get`."""
        return self._as_deferred(self._client.get(card, task), self._reactor)

    def cancel(self, task: str) -> Deferred[bool]:
        """Cancel a task; fires with True if the request reached the agent, whatever it answered."""

        def complain(failure: Failure) -> bool:
            why = one_line(self.remote.without_token(failure.getErrorMessage()), MOST_PROBLEM)
            self._say(f"a task could not be called off: {why}")
            return False

        return Deferred.fromCoroutine(self._cancel(task)).addErrback(complain)

    async def _cancel(self, task: str) -> bool:
        card = await self.ready()
        try:
            await self._as_deferred(self._client.cancel(card, task), self._reactor)
        except NoEntryError:
            raise  # it is an AgentRefusedError too, but the agent did not look at the request
        except AgentRefusedError:
            pass  # the task is over, or cannot be cancelled: the agent knows all the same
        return True

    # ---- its card --------------------------------------------------------------------------

    @property
    def _pin_key(self) -> str:
        """The pin's key, a digest of the card's URL: naming another URL allows the card there."""
        return sha256(self.remote.card_url.encode()).hexdigest()[:KEY_CHARS]

    def _take_card(self, card: RemoteCard) -> None:
        # The first card that is seen was allowed by naming its URL in the settings.
        server = PREFIX + self.name.casefold()
        before = self._pins.read(server).get(self._pin_key)
        if before is None:
            self._pins.save(server, {self._pin_key: card.pin}, "")
        is_held = before is not None and before != card.pin
        held_tools = (HeldTool(self.name, before, card.pin),) if is_held else ()
        # Logged once for each change, and not each time that the card is fetched.
        if held_tools and held_tools != self.held:
            self._say(
                "held back: its card has changed since it was allowed; see: assistant tools held"
            )
        self.held, self._card, self._problem = held_tools, card, ""

    def allow(self, tools: Iterable[HeldTool], by: str) -> None:
        """Allow the card that was held, as a person has read it.

        Args:
            by: the name of that person.
        """
        (tool,) = tools
        self._pins.save(PREFIX + self.name.casefold(), {self._pin_key: tool.now}, by)
        # Fetched again before it is used: it may have changed once more since it was read.
        self.held, self._known_at = (), None

    # ---- shown -----------------------------------------------------------------------------

    def status(self) -> RemoteStatus:
        """Describe its state as plain data, without the token."""
        state = "held" if self.held else "ready" if self._card is not None else "not known yet"
        return {
            "name": self.name,
            "where": self.remote.where,
            "state": "unreachable" if self._problem else state,
            "problem": self._problem,
            "breaker": self.breaker.state.value,
            "assistants": list(self.remote.config.assistants),
            "tasks_allowed": self.remote.config.tasks_per_day,
        }

    def describe(self) -> str:
        """A line for a model: its name, and a quote from its card."""
        # A stranger wrote the card; a card that is held may hold instructions for the model.
        card = None if self.held else self._card
        text = f"{self.name}, an agent outside the game"
        if card is None:
            return text
        words = quote(one_line(f"{card.name}: {card.description}", MOST_TOLD))
        return f"{text}, which says of itself: {words}"

    def _complain(self, problem: str) -> None:
        problem = one_line(self.remote.without_token(problem), MOST_PROBLEM)
        if problem != self._problem:
            self._say(problem)
        self._problem = problem

    def _say(self, text: str) -> None:
        self._log(f"[assistant] remote specialist {self.name}: {text}")


def _breaker_of(remote: Remote) -> CircuitBreakerConfig:
    return CircuitBreakerConfig(
        failure_threshold=FAILURES,
        success_threshold=1,
        timeout_seconds=remote.config.pause_seconds,
        window_seconds=FAILURE_WINDOW_SECONDS,
        # Every error counts; by default a ValueError or a KeyError would not.
        excluded_exceptions=(),
    )


class RemoteSpecialists:
    """All remote agents that the settings name; none is contacted before an assistant runs."""

    def __init__(
        self,
        remotes: Iterable[Remote],
        *,
        as_deferred: Bridge,
        reactor: Reactor,
        breakers: CircuitBreakerRegistry,
        log: Callable[[str], None],
        pins: Pins,
    ) -> None:
        self._known = {
            remote.name.casefold(): RemoteSpecialist(
                remote,
                as_deferred=as_deferred,
                reactor=reactor,
                breaker=breakers.get_or_create(f"{PREFIX}{remote.name}", _breaker_of(remote)),
                log=log,
                pins=pins,
            )
            for remote in remotes
        }

    def start(self) -> None:
        """Fetch all cards in the background: the game does not wait for them."""
        for each in self._known.values():
            each.start()

    def find(self, name: str) -> RemoteSpecialist | None:
        """Find an agent by name, whichever assistants may ask it."""
        return self._known.get(name.strip().casefold())

    def of(self, assistant: str) -> list[RemoteSpecialist]:
        """The agents that an assistant may ask, sorted by name."""
        specialists = (each for each in self._known.values() if each.remote.serves(assistant))
        return sorted(specialists, key=lambda each: each.name.casefold())

    def held(self) -> Mapping[str, tuple[HeldTool, ...]]:
        """The cards that have to be allowed before they are used, by breaker name."""
        return {f"{PREFIX}{each.name}": each.held for each in self._known.values() if each.held}

    def status(self) -> list[RemoteStatus]:
        """The state of every agent."""
        return [each.status() for each in self._known.values()]
