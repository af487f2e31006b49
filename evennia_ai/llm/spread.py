"""One model at several addresses: the least busy one is asked, and where it fails another.

Addresses are compared by calls in flight for their weight; among equals by turn, each as often as
its weight says (start-time fair queueing: Goyal and others, 1996). Each has a breaker of its own.
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

# Of its time, what a model that is full is waited for where another model stands behind it.
ROOM_SHARE = 0.25
LONGEST_CAUSE = 160
LONGEST_STORY = 800

Refusal = ModelError | CircuitOpenError


@dataclass(slots=True)
class Load:
    """The use of one address by all who ask it, in whichever lists it stands.

    Attributes:
        started: attempts so far, each of them sent.
        most_calls: that may be in flight, the fewest that a list says; 0: any number.
        rests_until: when it may be asked again, as it said itself; reactor seconds.
    """

    in_flight: int = 0
    started: int = 0
    most_calls: int = 0
    rests_until: float = 0.0


class Loads:
    """The use of every address in a process, and those who wait for room at one."""

    def __init__(self) -> None:
        self._loads: dict[str, Load] = {}
        self._waiting: list[Deferred[None]] = []

    def of(self, replica: Replica) -> Load:
        """That of an address, which takes no more calls from now on than it says here."""
        load = self._loads.setdefault(replica.base_url, Load())
        # 0 is no limit, and must not win as the lowest.
        load.most_calls = min(filter(None, (load.most_calls, replica.most_calls)), default=0)
        return load

    def wake(self) -> None:
        """Let whoever waits for room look again, the first first."""
        # Emptied first: who still finds no room lines up again on the spot.
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            # Whoever was woken before it may have ended its call.
            if not each.called:
                each.callback(None)

    async def freed(self, seconds: float, reactor: Reactor) -> None:
        """Wait until a call is over.

        Raises:
            NoFreeSlotError: none is by then.
        """
        waiting: Deferred[None] = Deferred(self._waiting_no_more)
        self._waiting.append(waiting)
        try:
            await waiting.addTimeout(seconds, reactor)
        except DeadlineError:
            raise NoFreeSlotError(
                f"no free slot at any endpoint of the model within {seconds:.3g} s"
            ) from None

    def _waiting_no_more(self, waiting: Deferred[None]) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)


class Spread:
    """The use of all addresses of a model, shared by all clients of a process.

    Args:
        shared: the use of addresses that may stand in other lists too.
    """

    def __init__(self, replicas: Sequence[Replica], shared: Loads) -> None:
        self.replicas = tuple(replicas)
        self.shared = shared
        self.loads = {each.base_url: shared.of(each) for each in replicas}
        # In how many calls of weight 1 each comes next, and the list as a whole.
        self._turns = dict.fromkeys(self.loads, 0.0)
        self._turn = 0.0

    def has_room(self, replica: Replica) -> bool:
        """True where one more call may be in flight there."""
        load = self.loads[replica.base_url]
        return not load.most_calls or load.in_flight < load.most_calls

    def order_of(self, replica: Replica, now: float) -> tuple[bool, float, float]:
        """The place of an address among those that could be asked; the lowest is asked."""
        load, step = self.loads[replica.base_url], 1 / replica.weight
        return (
            load.rests_until > now,
            load.in_flight / replica.weight,
            self._turn_of(replica) + step,
        )

    def _turn_of(self, replica: Replica) -> float:
        """Its turn; of what it missed while it was not asked, one call is made up for."""
        return max(self._turns[replica.base_url], self._turn - 1 / replica.weight)

    def begin(self, replica: Replica) -> None:
        """Count a call in, which is about to be sent."""
        self.loads[replica.base_url].in_flight += 1

    def count(self, replica: Replica) -> None:
        """Count an attempt that is sent."""
        self.loads[replica.base_url].started += 1
        turn = self._turn_of(replica)
        self._turn = max(self._turn, turn)
        self._turns[replica.base_url] = turn + 1 / replica.weight

    def end(self, replica: Replica) -> None:
        """Count a call out; whoever waits for room looks again."""
        self.loads[replica.base_url].in_flight -= 1
        self.shared.wake()


class OfFirst:
    """Several that are one model to whoever asks: what is said of it is said of the first."""

    @property
    def first(self) -> UnifiedLLMClient | OfFirst:
        """The first of them."""
        raise NotImplementedError

    @property
    def provider_name(self) -> str:
        """The provider."""
        return self.first.provider_name

    @property
    def model(self) -> str:
        """The model's name."""
        return self.first.model

    @property
    def tool_mode(self) -> str:
        """The way to call tools; each of the others is asked in its own."""
        return self.first.tool_mode

    @property
    def supports_tools(self) -> bool:
        """True where tool calls go over the API as such."""
        return self.first.supports_tools

    @property
    def circuit_breaker(self) -> CircuitBreaker:
        """Its breaker."""
        return self.first.circuit_breaker

    @property
    def rate_limit_info(self) -> RateLimitInfo | None:
        """The rate limits that its service last told."""
        return self.first.rate_limit_info


class SpreadModel(OfFirst):
    """Asks one model at the address that is least busy.

    What may be tried again, and what an address alone is to blame for, goes on at another address,
    at once; what is wrong with the request, or was answered and paid for, does not. Every attempt
    is paid for by itself. While there is another address, one gets a single attempt and half of the
    time that is left; the last gets all of both.

    Args:
        places: its addresses, and a client of each.
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
        """The same addresses, each with another client that is made of its own."""
        places = [(replica, made(client)) for replica, client in self._places]
        return SpreadModel(self._spread, places, reactor=self._reactor)

    @property
    def circuit_breaker(self) -> CircuitBreaker:
        """The breaker that lets a call through soonest."""
        return soonest([client.circuit_breaker for _, client in self._places])

    @property
    def may_begin(self) -> bool:
        """True where an address would be asked now: it is not left alone, and has room."""
        return any(
            client.circuit_breaker.is_available and self._spread.has_room(replica)
            for replica, client in self._places
        )

    def wanted(self, extra: Mapping[str, object]) -> WantedTokens:
        """The longest answer of a call."""
        return self.first.wanted(extra)

    async def answer_within(
        self, seconds: float, asked: CompletionRequest, *, slot: Slot, is_last: bool = True
    ) -> Reply:
        """Ask for one completion, wherever; as a client of one address does.

        Args:
            slot: taken when there is room, and not held while there is none.
            is_last: False: another model stands behind it, so that it is not waited for room long.

        Raises:
            ModelError: no address answered, or one said what each of them would.
            CircuitOpenError: all are left alone now; of the one that may be asked again first.
        """
        now = self._reactor.seconds()
        ends_at, room_by = now + seconds, now + seconds * (1 if is_last else ROOM_SHARE)
        refusals: list[tuple[str, Refusal]] = []
        left = list(self._places)
        while left and self._goes_on(refusals, ends_at):
            try:
                replica, client = await self._next(left, room_by, slot)
            except NoFreeSlotError as error:
                refusals.append((self.model, error))
                break
            left.remove((replica, client))
            alone = not any(each.circuit_breaker.is_available for _, each in left)
            within = max(0.0, ends_at - self._reactor.seconds()) / (1 if alone else 2)
            paid = Counted(asked.payment, partial(self._spread.count, replica))
            asking = client.answer_within(within, replace(asked, payment=paid), is_last=alone)
            try:
                reply = await self._counted_in(replica, asking)
            except (ModelError, CircuitOpenError) as error:
                refusals.append((replica.base_url, error))
            else:
                return replace(reply, notice=notice_of(replica.base_url, refusals))
        raise gravest(refusals)

    def _goes_on(self, refusals: Sequence[tuple[str, Refusal]], ends_at: float) -> bool:
        """True where one more may be asked; not without time, for which it would be charged."""
        if not refusals:
            return True
        return self._reactor.seconds() < ends_at and goes_on(refusals[-1][1])

    async def _counted_in(self, replica: Replica, asking: Awaitable[Reply]) -> Reply:
        """The outcome of a call, which is in flight meanwhile."""
        self._spread.begin(replica)
        try:
            return await asking
        except (ModelError, CircuitOpenError) as error:
            self._note(replica, error)
            raise
        finally:
            self._spread.end(replica)

    async def _next(
        self, left: Sequence[tuple[Replica, UnifiedLLMClient]], room_by: float, slot: Slot
    ) -> tuple[Replica, UnifiedLLMClient]:
        """The address to ask now, of those not asked yet; waits for room there, then for a slot.

        Where each of them is left alone, the one that is asked again first: it says so itself.
        """
        while True:
            now = self._reactor.seconds()
            asked = [each for each in left if each[1].circuit_breaker.is_available]
            if not asked:
                chosen = soonest([client.circuit_breaker for _, client in left])
                return next(each for each in left if each[1].circuit_breaker is chosen)
            free = [each for each in asked if self._spread.has_room(each[0])]
            if not free:
                # A call that only waits for room must not keep one for another model waiting.
                slot.give_back()
                left_for_room = max(0.0, room_by - self._reactor.seconds())
                await self._spread.shared.freed(left_for_room, self._reactor)
            elif slot.is_taken:
                return min(free, key=lambda each: self._spread.order_of(each[0], now))
            else:  # meanwhile others may have become the least busy, or full
                await slot.take()

    def _note(self, replica: Replica, error: Refusal) -> None:
        """Leave an address alone for as long as it asked for, where others can be asked."""
        if isinstance(error, ModelStatusError) and error.is_wait_told:
            until = self._reactor.seconds() + (error.retry_after or 0.0)
            self._spread.loads[replica.base_url].rests_until = until


def goes_on(error: Refusal) -> bool:
    """True where another address may answer what this one did not.

    An answer that came and cannot be read was paid for, and a request that is itself wrong is so
    everywhere.
    """
    if isinstance(error, ModelStatusError):
        return error.is_of_service
    return isinstance(error, (CircuitOpenError, ModelTimeoutError)) or error.retryable


def soonest(breakers: Sequence[CircuitBreaker]) -> CircuitBreaker:
    """The breaker that lets a call through now, else the one that does so first."""
    return min(breakers, key=lambda each: each.retry_after or 0.0)


def story_of(refusals: Sequence[tuple[str, Refusal]]) -> str:
    """The failures of several, in one line."""
    causes = (f"{name}: {one_line(str(error), LONGEST_CAUSE)}" for name, error in refusals)
    return one_line("; ".join(causes), LONGEST_STORY)


def notice_of(name: str, refusals: Sequence[tuple[str, Refusal]]) -> str:
    """The words on why not the first choice answered, "" where it did."""
    return f"{name} answered instead of {story_of(refusals)}" if refusals else ""


def gravest(refusals: Sequence[tuple[str, Refusal]]) -> Refusal:
    """Of what each model failed with, the error that says most; its text then tells of all.

    That is the first choice's, or where that was not asked (left alone, or full) the next one's. A
    prompt that is too long for another model says nothing of the first, whose history it must not
    cost. Where nobody was asked it is the breaker that lets a call through soonest.
    """
    (_, first), *others = refusals
    if not others:
        return first
    failures = [first, *(e for _, e in others if not isinstance(e, ContextLengthError))]
    errors = [error for error in failures if isinstance(error, ModelError)]
    of_asked = (error for error in errors if not isinstance(error, NoFreeSlotError))
    chosen = next(of_asked, errors[0] if errors else None)
    if chosen is None:
        breakers = [error for _, error in refusals if isinstance(error, CircuitOpenError)]
        return min(breakers, key=lambda error: error.retry_after)
    # The error keeps its kind and its marks; only its text tells of all.
    chosen.args = (story_of(refusals),)
    return chosen
