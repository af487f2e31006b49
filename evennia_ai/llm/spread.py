"""Load balancing of one model over several addresses, with failover.

The address with the fewest calls in flight per weight is asked; ties are broken by weighted turns
(start-time fair queueing: Goyal and others, 1996). Each address has a breaker of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    CircuitOpenError,
    ContextLengthError,
    ModelError,
    ModelStatusError,
    ModelTimeoutError,
    NoFreeSlotError,
)
from evennia_ai.llm.answer_limits import WantedTokens
from evennia_ai.llm.client import UnifiedLLMClient
from evennia_ai.llm.endpoints import Replica
from evennia_ai.llm.payments import CompletionRequest, Counted
from evennia_ai.llm.rate_limits import RateLimitInfo
from evennia_ai.llm.slots import Slot
from evennia_ai.resilience import CircuitBreaker

# Share of a model's time that a call waits for room, if there is a fallback model to try instead.
ROOM_SHARE = 0.25
# Seconds for which an address is asked last at most: a wrong Retry-After may say years.
LONGEST_REST = 3600.0
# Characters of the error text of one address, and of all together.
LONGEST_CAUSE = 160
LONGEST_STORY = 800

Refusal = ModelError | CircuitOpenError


@dataclass(slots=True)
class Load:
    """The load of one address from all clients of the process.

    Attributes:
        started: attempts sent so far.
        most_calls: limit on calls in flight, the smallest in any list with this address; 0: none.
        rests_until: end of the pause that its Retry-After asked for, in reactor seconds.
    """

    in_flight: int = 0
    started: int = 0
    most_calls: int = 0
    rests_until: float = 0.0


class Loads:
    """The loads of all addresses of a process, and the calls that wait for room."""

    def __init__(self) -> None:
        self._loads: dict[str, Load] = {}
        self._waiting: list[Deferred[None]] = []

    def of(self, replica: Replica) -> Load:
        """The load of an address; also lowers its limit to that of this replica."""
        load = self._loads.setdefault(replica.base_url, Load())
        # 0 is no limit, and must not win as the lowest.
        load.most_calls = min(filter(None, (load.most_calls, replica.most_calls)), default=0)
        return load

    def wake(self) -> None:
        """Let all calls that wait for room look again, in order."""
        # Replaced first: a call that still finds no room queues itself again while this runs.
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            # A call woken before it may have cancelled it.
            if not each.called:
                each.callback(None)

    async def freed(self, seconds: float, reactor: Reactor) -> None:
        """Wait until some call ends.

        Raises:
            NoFreeSlotError: none ends within this time.
        """
        waiting: Deferred[None] = Deferred(self._remove)
        self._waiting.append(waiting)
        try:
            await waiting.addTimeout(seconds, reactor)
        except DeadlineError:
            raise NoFreeSlotError(
                f"no free slot at any endpoint of the model within {seconds:.3g} s"
            ) from None

    def _remove(self, waiting: Deferred[None]) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)


class Spread:
    """Chooses among the addresses of a model; shared by all clients of a process.

    Args:
        shared: the loads of all addresses; the same address may be in several lists.
    """

    def __init__(self, replicas: Sequence[Replica], shared: Loads) -> None:
        self.replicas = tuple(replicas)
        self.shared = shared
        self.loads = {each.base_url: shared.of(each) for each in replicas}
        # Virtual times of start-time fair queueing: of the next call at each address, and of the
        # list as a whole. The unit is one call at an address of weight 1.
        self._turns = dict.fromkeys(self.loads, 0.0)
        self._turn = 0.0

    def has_room(self, replica: Replica) -> bool:
        """True if one more call may be in flight there."""
        load = self.loads[replica.base_url]
        return not load.most_calls or load.in_flight < load.most_calls

    def order_of(self, replica: Replica, now: float) -> tuple[bool, float, float]:
        """The sort key of an address: not resting, then least loaded, then next in turn."""
        load, step = self.loads[replica.base_url], 1 / replica.weight
        return (
            load.rests_until > now,
            load.in_flight / replica.weight,
            self._turn_of(replica) + step,
        )

    def _turn_of(self, replica: Replica) -> float:
        """The virtual time of the address's next call."""
        # An address that was not asked for a while catches up by one call only: more would be a
        # flood of calls right after an outage.
        return max(self._turns[replica.base_url], self._turn - 1 / replica.weight)

    def begin(self, replica: Replica) -> None:
        """Count a call that is about to be sent as in flight."""
        self.loads[replica.base_url].in_flight += 1

    def count(self, replica: Replica) -> None:
        """Count an attempt as sent, and move the address back in turn."""
        self.loads[replica.base_url].started += 1
        turn = self._turn_of(replica)
        self._turn = max(self._turn, turn)
        self._turns[replica.base_url] = turn + 1 / replica.weight

    def end(self, replica: Replica) -> None:
        """Count a call as ended, and wake the calls that wait for room."""
        self.loads[replica.base_url].in_flight -= 1
        self.shared.wake()


class ClientGroup:
    """Base of several clients that act as one; it describes itself by the first of them."""

    @property
    def first(self) -> UnifiedLLMClient | ClientGroup:
        """The first client."""
        raise NotImplementedError

    @property
    def provider_name(self) -> str:
        """The first client's provider."""
        return self.first.provider_name

    @property
    def model(self) -> str:
        """The first client's model."""
        return self.first.model

    @property
    def tool_mode(self) -> str:
        """The first client's tool mode; the others keep their own."""
        return self.first.tool_mode

    @property
    def supports_tools(self) -> bool:
        """True if the first client's endpoint has native tool calls."""
        return self.first.supports_tools

    @property
    def circuit_breaker(self) -> CircuitBreaker:
        """The first client's circuit breaker."""
        return self.first.circuit_breaker

    @property
    def rate_limit_info(self) -> RateLimitInfo | None:
        """The rate limits of the first client's service."""
        return self.first.rate_limit_info


class SpreadModel(ClientGroup):
    """A client of one model at several addresses; asks the least busy one.

    A retryable error, or one that only this address is to blame for, is followed at once by an
    attempt at another address; a wrong request, or an answer that was paid for, is not. Each
    attempt is accounted for separately. While another address remains, one gets a single attempt
    and half of the time left; the last gets all attempts and all of the time.

    Args:
        places: the addresses, and a client for each.
    """

    def __init__(
        self,
        spread: Spread,
        places: Sequence[tuple[Replica, UnifiedLLMClient]],
        *,
        reactor: Reactor,
    ) -> None:
        self._spread = spread
        self._places = tuple(places)
        self._reactor = reactor

    @property
    def first(self) -> UnifiedLLMClient:
        """The client of the first address."""
        return self._places[0][1]

    def with_clients(self, made: Callable[[UnifiedLLMClient], UnifiedLLMClient]) -> SpreadModel:
        """The same addresses, each with the client that `made` derives from its present one."""
        places = [(replica, made(client)) for replica, client in self._places]
        return SpreadModel(self._spread, places, reactor=self._reactor)

    @property
    def circuit_breaker(self) -> CircuitBreaker:
        """The breaker that lets a call through soonest, as any address may answer."""
        return soonest([client.circuit_breaker for _, client in self._places])

    @property
    def may_begin(self) -> bool:
        """True if some address has a closed breaker and room for a call."""
        return any(
            client.circuit_breaker.is_available and self._spread.has_room(replica)
            for replica, client in self._places
        )

    def wanted(self, extra: Mapping[str, object]) -> WantedTokens:
        """The answer limit of a call; all addresses serve the same model."""
        return self.first.wanted(extra)

    async def answer_within(
        self, seconds: float, asked: CompletionRequest, *, slot: Slot, is_last: bool = True
    ) -> Reply:
        """Ask for one completion at whichever address answers.

        Args:
            slot: taken once there is room, and released while there is none.
            is_last: False: there is a fallback model, so do not wait long for room.

        Raises:
            ModelError: no address answered, or one refused for a reason that holds for all.
            CircuitOpenError: all breakers are open; this is the one that closes first.
        """
        now = self._reactor.seconds()
        ends_at, room_by = now + seconds, now + seconds * (1 if is_last else ROOM_SHARE)
        refusals: list[tuple[str, Refusal]] = []
        left = list(self._places)
        while left and self._may_continue(refusals, ends_at):
            try:
                replica, client = await self._next(left, room_by, slot)
            except NoFreeSlotError as error:
                refusals.append((self.model, error))
                break
            left.remove((replica, client))
            is_last_address = not any(each.circuit_breaker.is_available for _, each in left)
            within = max(0.0, ends_at - self._reactor.seconds()) / (1 if is_last_address else 2)
            counted = Counted(asked.payment, partial(self._spread.count, replica))
            attempt = client.answer_within(
                within, replace(asked, payment=counted), is_last=is_last_address
            )
            try:
                reply = await self._in_flight(replica, attempt)
            except (ModelError, CircuitOpenError) as error:
                refusals.append((replica.base_url, error))
            else:
                return replace(reply, notice=notice_of(replica.base_url, refusals))
        raise decisive(refusals)

    def _may_continue(self, refusals: Sequence[tuple[str, Refusal]], ends_at: float) -> bool:
        if not refusals:
            return True
        # A call without time left would be charged in full and then dropped.
        return self._reactor.seconds() < ends_at and is_worth_another_address(refusals[-1][1])

    async def _in_flight(self, replica: Replica, attempt: Awaitable[Reply]) -> Reply:
        self._spread.begin(replica)
        try:
            return await attempt
        except (ModelError, CircuitOpenError) as error:
            self._note_retry_after(replica, error)
            raise
        finally:
            self._spread.end(replica)

    async def _next(
        self, left: Sequence[tuple[Replica, UnifiedLLMClient]], room_by: float, slot: Slot
    ) -> tuple[Replica, UnifiedLLMClient]:
        """The address to ask now, of those not asked yet; waits for room there, then for a slot.

        If all breakers are open, the one that closes first: asking it raises the right error.
        """
        while True:
            now = self._reactor.seconds()
            available = [each for each in left if each[1].circuit_breaker.is_available]
            if not available:
                chosen = soonest([client.circuit_breaker for _, client in left])
                return next(each for each in left if each[1].circuit_breaker is chosen)
            free = [each for each in available if self._spread.has_room(each[0])]
            if not free:
                # A call that waits for room here must not hold a slot that another model could use.
                slot.give_back()
                left_for_room = max(0.0, room_by - self._reactor.seconds())
                await self._spread.shared.freed(left_for_room, self._reactor)
            elif slot.is_taken:
                return min(free, key=lambda each: self._spread.order_of(each[0], now))
            # Chosen only on the next round: while the call waits for its slot, the loads change.
            else:
                await slot.take()

    def _note_retry_after(self, replica: Replica, error: Refusal) -> None:
        """Put an address last for as long as its Retry-After says, an hour at most."""
        if isinstance(error, ModelStatusError) and error.is_wait_told:
            rest = min(error.retry_after or 0.0, LONGEST_REST)
            self._spread.loads[replica.base_url].rests_until = self._reactor.seconds() + rest


def is_worth_another_address(error: Refusal) -> bool:
    """True if another address may answer what this one did not.

    Not for an unreadable answer, which was paid for, nor for a request that is itself wrong.
    """
    if isinstance(error, ModelStatusError):
        return not error.is_refusal
    return isinstance(error, (CircuitOpenError, ModelTimeoutError)) or error.retryable


def soonest(breakers: Sequence[CircuitBreaker]) -> CircuitBreaker:
    """The breaker that lets a call through now, or else first."""
    return min(breakers, key=lambda each: each.retry_after or 0.0)


def summary_of(refusals: Sequence[tuple[str, Refusal]]) -> str:
    """The errors of several models or addresses, in one line."""
    causes = (f"{name}: {one_line(str(error), LONGEST_CAUSE)}" for name, error in refusals)
    return one_line("; ".join(causes), LONGEST_STORY)


def notice_of(name: str, refusals: Sequence[tuple[str, Refusal]]) -> str:
    """The sentence on why the first choice did not answer; "" if it did."""
    return f"{name} answered instead of {summary_of(refusals)}" if refusals else ""


def decisive(refusals: Sequence[tuple[str, Refusal]]) -> Refusal:
    """The error to raise when all models or addresses failed; its text then lists all errors.

    It is the first choice's, or the next one's if that was not asked (breaker open, or full). If
    none was asked, it is that of the breaker that closes first.
    """
    (_, first), *others = refusals
    if not others:
        return first
    # A prompt that is too long for a fallback may fit the first model. Raising this error would
    # make the caller shorten a conversation that need not be shortened.
    failures = [first, *(e for _, e in others if not isinstance(e, ContextLengthError))]
    errors = [error for error in failures if isinstance(error, ModelError)]
    of_asked = (error for error in errors if not isinstance(error, NoFreeSlotError))
    chosen = next(of_asked, errors[0] if errors else None)
    if chosen is None:
        breakers = [error for _, error in refusals if isinstance(error, CircuitOpenError)]
        return min(breakers, key=lambda error: error.retry_after)
    # Type and attributes of the error stay as they are, since callers decide by them.
    chosen.args = (summary_of(refusals),)
    return chosen
