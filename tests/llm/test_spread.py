"""One model at several addresses: its share of calls, limits and failures at each."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Clock, deferLater
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.core.settings.services import BreakerConfig
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    CircuitOpenError,
    ContextLengthError,
    LimitReachedError,
    ModelConnectionError,
    ModelReplyError,
    ModelStatusError,
    ModelTimeoutError,
    NoFreeSlotError,
)
from evennia_ai.llm.endpoints import Endpoint, Replica
from evennia_ai.llm.fallback import with_transport
from evennia_ai.llm.pool import Pool, PoolConfig
from evennia_ai.llm.scripted import ScriptedModel
from evennia_ai.llm.spread import LONGEST_REST, is_worth_another_address
from evennia_ai.llm.transport import Transport
from tests.fakes.handle import FakeModel
from tests.llm.client_bench import FINE, HELLO

# One failed call opens a breaker, and a probe is due after one second.
QUICK = BreakerConfig(
    attempts=2, failure_threshold=1, failure_rate=0.0, least_calls=1, timeout_seconds=1.0
)


class Counting:
    """A payer that counts the attempts begun and those that came to nothing."""

    def __init__(self) -> None:
        self.begun = self.spoilt = 0

    def begin(self, model: str) -> int:
        self.begun += 1
        return 1000

    def sent(self, answer: Deferred[bytes]) -> None:
        """Not counted."""

    def spoil(self, error: BaseException) -> None:
        self.spoilt += 1


def model_at(*replicas: Replica) -> Endpoint:
    return Endpoint("custom", "m", replicas[0].base_url, replicas=replicas)


# ---- over HTTP -----------------------------------------------------------------------------------


@pytest.fixture
def models() -> Iterator[Callable[[int], list[FakeModel]]]:
    """A function that starts as many fake servers as asked for."""
    with ExitStack() as stack:
        yield lambda count: [stack.enter_context(FakeModel.in_thread()) for _ in range(count)]


@pytest.fixture
def pool_of(tmp_path: Path, running_reactor: SelectReactor) -> Iterator[Callable[..., Pool]]:
    """A function that makes pools over a running reactor."""
    pools: list[Pool] = []

    def make(deadline_seconds: float = 20.0, **options: Any) -> Pool:
        config = PoolConfig(tmp_path, deadline_seconds=deadline_seconds, breaker=QUICK, **options)
        pools.append(Pool(config, reactor=running_reactor))
        return pools[-1]

    yield make
    for each in pools:
        blockingCallFromThread(running_reactor, each.close)


def many(reactor: SelectReactor, pool: Pool, endpoint: Endpoint, count: int) -> list[Reply]:
    """The replies to `count` calls made at once."""
    client = pool.client(endpoint)

    def begin() -> Deferred[list[Reply]]:
        return gatherResults([client.chat_completion(HELLO) for _ in range(count)])

    replies: list[Reply] = blockingCallFromThread(reactor, begin)
    return replies


def test_calls_are_spread_by_weight(
    models: Any, pool_of: Any, running_reactor: SelectReactor
) -> None:
    """Of 400 calls, half of them made at once, about 300 and 100 arrive at weights of 3 and 1."""
    heavy, light = models(2)
    endpoint = model_at(Replica(heavy.base_url, weight=3.0), Replica(light.base_url))
    pool = pool_of(max_calls_in_flight=40)
    for each in (heavy, light):  # equally fast under any load
        each.behave(delay_seconds=0.05)
    assert 200 == len(many(running_reactor, pool, endpoint, 200))
    together = heavy.count_calls()
    for each in (heavy, light):
        each.behave()
    for _ in range(200):
        many(running_reactor, pool, endpoint, 1)
    assert 400 == heavy.count_calls() + light.count_calls()
    assert 147 <= heavy.count_calls() - together <= 153
    assert 130 <= together <= 170


def test_something_else_carries_the_requests_to_each(
    models: Any, pool_of: Any, running_reactor: SelectReactor
) -> None:
    """Workers send requests by other transports; the pool's own client stays as it is."""
    endpoint = model_at(*(Replica(each.base_url) for each in models(2)))
    pool, carried = pool_of(), []

    class Carrier:
        def __init__(self, place: Transport) -> None:
            self.place = place

        def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
            carried.append(self.place)
            return self.place.post(body)

    own = pool.client(endpoint)
    other = with_transport(own, Carrier)
    for client in (other, other, own, own):
        blockingCallFromThread(running_reactor, client.chat_completion, HELLO)
    assert 2 == len(carried) == len(set(map(id, carried)))


def test_a_slow_address_gets_less(models: Any, pool_of: Any, running_reactor: Any) -> None:
    slow, fast = models(2)
    slow.behave(delay_seconds=0.5)
    endpoint = model_at(Replica(slow.base_url), Replica(fast.base_url))
    many(running_reactor, pool_of(max_calls_in_flight=8), endpoint, 200)
    assert 200 == slow.count_calls() + fast.count_calls()
    assert slow.count_calls() < fast.count_calls() / 2


def test_a_hanging_address_costs_no_answer(models: Any, pool_of: Any, running_reactor: Any) -> None:
    """After half of the time the call goes on elsewhere, and later ones avoid the address."""
    hanging, fine = models(2)
    hanging.behave(kind="hang")
    endpoint = model_at(Replica(hanging.base_url), Replica(fine.base_url))
    pool = pool_of(1.0)
    (reply,) = many(running_reactor, pool, endpoint, 1)
    assert f"{fine.base_url} answered instead of {hanging.base_url}: no whole" in reply.notice
    assert 5 == len(many(running_reactor, pool, endpoint, 5))
    assert (1, 6) == (hanging.count_calls(), fine.count_calls())
    spread = pool.spread(endpoint)
    assert [0, 0] == [load.in_flight for load in spread.loads.values()]


def test_a_failing_address_is_left_alone_and_tried_again(
    models: Any, pool_of: Any, running_reactor: SelectReactor
) -> None:
    failing, fine = models(2)
    failing.behave(kind="status", status=500)
    endpoint = model_at(Replica(failing.base_url), Replica(fine.base_url))
    pool = pool_of()
    assert 20 == len(many(running_reactor, pool, endpoint, 20))
    breaker = pool.breaker_of(endpoint.at(endpoint.replicas[0]))
    assert "open" == breaker.state.value
    assert "closed" == pool.breaker_of(endpoint).state.value
    failing.reset()
    for _ in range(60):
        if breaker.state.value == "closed":
            break
        many(running_reactor, pool, endpoint, 1)
        blockingCallFromThread(running_reactor, deferLater, running_reactor, 0.1)
    assert "closed" == breaker.state.value
    before = failing.count_calls()
    many(running_reactor, pool, endpoint, 20)
    assert 5 <= failing.count_calls() - before <= 15


def test_an_address_that_is_taken_out_is_asked_no_more(
    models: Any, pool_of: Any, running_reactor: SelectReactor
) -> None:
    """This is what a reload of the settings with a shorter list does."""
    old, new = models(2)
    pool = pool_of()
    both = model_at(Replica(new.base_url), Replica(old.base_url))
    many(running_reactor, pool, both, 4)
    assert 2 == old.count_calls()
    many(running_reactor, pool, Endpoint("custom", "m", new.base_url), 10)
    assert (2, 12) == (old.count_calls(), new.count_calls())


def test_no_more_calls_at_once_than_an_address_takes(
    models: Any, pool_of: Any, running_reactor: SelectReactor
) -> None:
    small, other = models(2)
    for each in (small, other):
        each.behave(delay_seconds=0.02)
    endpoint = model_at(
        Replica(small.base_url, weight=100.0, most_calls=2), Replica(other.base_url, most_calls=3)
    )
    assert 60 == len(many(running_reactor, pool_of(), endpoint, 60))
    seen = [each.read_ledger()["in_flight_max"] for each in (small, other)]
    assert seen[0] <= 2
    assert seen[1] <= 3


def test_fallback_models_come_after_all_addresses(
    models: Any, pool_of: Any, running_reactor: SelectReactor
) -> None:
    """Another model is a last resort, since it answers in other words."""
    one, two, spare = models(3)
    for each in (one, two):
        each.behave(kind="status", status=503)
    endpoint = model_at(Replica(one.base_url), Replica(two.base_url))
    client = pool_of().client(endpoint, fallbacks=(Endpoint("custom", "f", spare.base_url),))
    reply = blockingCallFromThread(running_reactor, client.chat_completion, HELLO)
    assert f"f via {spare.base_url}" == reply.model
    assert all(each.base_url in reply.notice for each in (one, two))
    # The first is not tried again while another is left; the last one has all attempts.
    assert (1, 2, 1) == (one.count_calls(), two.count_calls(), spare.count_calls())


# ---- scripted transports -------------------------------------------------------------------------


class Bench:
    """Addresses `a`, `b` and so on, whose answers and clock are driven by the test."""

    def __init__(self, tmp_path: Path, *answers: Any, **most_calls: int) -> None:
        self.clock = Clock()
        config = PoolConfig(tmp_path, deadline_seconds=60.0, max_calls_in_flight=4, breaker=QUICK)
        self.pool = Pool(config, reactor=self.clock)
        places = [f"http://{name}/v1" for name in "abc"[: len(answers)]]
        self.endpoint = model_at(
            *(Replica(place, most_calls=most_calls.get(place[7], 0)) for place in places)
        )
        self.transports = [ScriptedModel(*each) for each in answers]
        for one, transport in zip(self.endpoint.each, self.transports, strict=True):
            self.pool.set_transport(one, transport)
        self.payment = Counting()

    def ask(self) -> Any:
        """Ask once; the reply or failure is appended to the returned list."""
        outcomes: list[Any] = []
        asked = self.pool.client(self.endpoint).chat_completion(HELLO, payment=self.payment)
        asked.addBoth(outcomes.append)
        return asked, outcomes

    @property
    def asked(self) -> list[int]:
        """Number of calls to each address."""
        return [len(each.bodies) for each in self.transports]


# Not the one of `client_bench`: the client rewrites the text of the error that it raises.
DOWN = ModelConnectionError("nobody there")


def test_every_attempt_is_paid_for_by_itself(tmp_path: Path) -> None:
    """Each address may charge for its attempt."""
    bench = Bench(tmp_path, (ModelConnectionError("broke", was_sent=True),), (FINE,))
    _, (reply,) = bench.ask()
    assert "hi" == reply.content
    assert (2, 1) == (bench.payment.begun, bench.payment.spoilt)


@pytest.mark.parametrize(
    "error",
    [
        ModelReplyError("no completion"),
        ModelStatusError(400, "wrong"),
        ModelStatusError(403, "a filter"),
        ModelStatusError(413, "too large"),
        ContextLengthError(400, "too long"),
    ],
)
def test_what_no_address_would_mend_is_asked_once(tmp_path: Path, error: Exception) -> None:
    """An answered request is paid for, and a wrong one is wrong everywhere."""
    bench = Bench(tmp_path, (error,), (FINE,))
    _, (failure,) = bench.ask()
    assert error is failure.value
    assert [1, 0] == bench.asked


@pytest.mark.parametrize(
    "error",
    [
        DOWN,
        CircuitOpenError("x", 1.0),
        ModelTimeoutError("late"),
        *(ModelStatusError(status, "no") for status in (401, 402, 404, 408, 429, 500, 529)),
        ModelStatusError(429, "later", retry_after=30.0),
        ModelStatusError(403, "no money", is_used_up=True),
    ],
    ids=str,
)
def test_what_an_address_is_to_blame_for_goes_on(error: Any) -> None:
    assert is_worth_another_address(error)


def test_a_busy_address_rests_as_long_as_it_asked(tmp_path: Path) -> None:
    """Meanwhile the calls go elsewhere."""
    busy = ModelStatusError(429, "later", retry_after=30.0)
    bench = Bench(tmp_path, (busy, FINE, FINE), (FINE,) * 4)
    for _ in range(3):
        _, (reply,) = bench.ask()
        assert "hi" == reply.content
    assert [1, 3] == bench.asked
    assert "closed" == bench.pool.breaker_of(bench.endpoint.each[0]).state.value
    bench.clock.advance(31)
    bench.ask()
    assert [2, 3] == bench.asked


def test_an_address_rests_for_an_hour_at_most(tmp_path: Path) -> None:
    """A Retry-After of years, as by a wrong clock, must not end its use."""
    busy = ModelStatusError(429, "later", retry_after=250_000_000_000.0)
    bench = Bench(tmp_path, (busy, FINE), (FINE,) * 2)
    bench.ask()
    bench.clock.advance(LONGEST_REST)
    bench.ask()
    assert [2, 1] == bench.asked


def test_all_left_alone_says_so_at_once(tmp_path: Path) -> None:
    """With the breakers of all addresses open, nothing is sent and nobody waits."""
    bench = Bench(tmp_path, (DOWN,) * 3, (DOWN,) * 3)
    _, outcomes = bench.ask()
    bench.clock.pump([0.5] * 6)
    assert "nobody there" in str(outcomes[0].value)
    calls = bench.asked
    breakers = [bench.pool.breaker_of(one) for one in bench.endpoint.each]
    for breaker in breakers:
        breaker.force_open()
    _, (failure,) = bench.ask()
    assert isinstance(failure.value, CircuitOpenError)
    assert calls == bench.asked


def test_who_waits_for_room_gives_up_in_time(tmp_path: Path) -> None:
    bench = Bench(tmp_path, (), a=1)
    spread = bench.pool.spread(bench.endpoint)
    spread.begin(bench.endpoint.replicas[0])
    _, waiting = bench.ask()
    third, dropped = bench.ask()
    third.cancel()
    assert dropped
    bench.clock.advance(60)
    assert isinstance(waiting[0].value, NoFreeSlotError)
    assert ([0], 1, []) == (
        bench.asked,
        spread.loads["http://a/v1"].in_flight,
        spread.shared._waiting,
    )


def test_an_address_that_comes_back_is_not_flooded(tmp_path: Path) -> None:
    """It gets its share from then on, without the calls that it missed."""
    bench = Bench(tmp_path, (FINE,) * 50, (FINE,) * 50)
    first = bench.endpoint.each[0]
    bench.pool.breaker_of(first).isolate()
    for _ in range(20):
        bench.ask()
    bench.pool.breaker_of(first).reset()
    for _ in range(10):
        bench.ask()
    assert [6, 24] == bench.asked


def test_nobody_is_asked_without_time(tmp_path: Path) -> None:
    """A call sent too late would cost money and count as a failure of its address."""
    bench = Bench(tmp_path, (), ())
    second = bench.pool.breaker_of(bench.endpoint.each[1])
    second.force_open()
    _, outcomes = bench.ask()
    bench.clock.advance(0.5)
    assert [1, 0] == bench.asked
    bench.clock.advance(59.5)  # by now a probe of the other address is due
    assert isinstance(outcomes[0].value, ModelTimeoutError)
    assert ([1, 0], 1) == (bench.asked, bench.payment.begun)
    assert "half_open" == second.state.value


def test_who_finds_no_room_elsewhere_tells_what_happened(tmp_path: Path) -> None:
    """The error of the first address is not hidden by the second one being full."""
    bench = Bench(tmp_path, (ModelStatusError(401, "wrong key"),), (), b=1)
    bench.pool.spread(bench.endpoint).begin(bench.endpoint.replicas[1])
    _, outcomes = bench.ask()
    bench.clock.advance(60)
    assert isinstance(outcomes[0].value, ModelStatusError)
    assert "http://a/v1: wrong key; m: no free slot at any" in str(outcomes[0].value)


def test_who_waits_for_room_holds_up_nobody_else(tmp_path: Path) -> None:
    bench = Bench(tmp_path, (), a=1)
    for _ in range(9):
        bench.ask()
    other, model = Endpoint("custom", "o", "http://o/v1"), ScriptedModel(FINE)
    bench.pool.set_transport(other, model)
    replies: list[Reply] = []
    bench.pool.client(other).chat_completion(HELLO).addCallback(replies.append)
    assert ["hi"] == [each.content for each in replies]
    for number in range(1, 10):
        assert [number] == bench.asked
        bench.transports[0].answer(FINE)
    assert 4 == bench.pool._slots.tokens


def test_room_is_looked_for_elsewhere_without_a_slot(tmp_path: Path) -> None:
    bench = Bench(tmp_path, (DOWN,) * 2, (), b=1)
    for _ in range(2):
        bench.ask()
    assert [1, 1] == bench.asked
    assert 3 == bench.pool._slots.tokens
    waiting, _ = bench.ask()
    waiting.cancel()
    for _ in range(2):
        bench.transports[1].answer(FINE)
    assert 4 == bench.pool._slots.tokens


def test_a_full_model_leaves_time_for_the_one_behind_it(tmp_path: Path) -> None:
    """The wait for room takes only a part of the first model's half of the time."""
    bench = Bench(tmp_path, (), a=1)
    bench.ask()
    spare, model = Endpoint("custom", "f", "http://f/v1"), ScriptedModel(FINE)
    bench.pool.set_transport(spare, model)
    replies: list[Reply] = []
    client = bench.pool.client(bench.endpoint, fallbacks=(spare,))
    client.chat_completion(HELLO).addCallback(replies.append)
    bench.clock.advance(7)
    assert [] == replies
    bench.clock.advance(0.5)
    assert "answered instead of m via http://a/v1 and 0 more: no free slot" in replies[0].notice


def test_an_address_takes_no_more_calls_for_standing_in_two_lists(tmp_path: Path) -> None:
    """The smaller of the two limits holds, and a call that waits for one list gets its turn."""
    bench = Bench(tmp_path, (), a=2)
    other = Endpoint("custom", "f", "http://a/v1", replicas=(Replica("http://a/v1", "", 1.0, 1),))
    asked, replies = bench.pool.client(other), list[Reply]()
    bench.ask()
    asked.chat_completion(HELLO).addCallback(replies.append)
    assert [1] == bench.asked
    bench.transports[0].answer(FINE)
    assert [2] == bench.asked
    bench.transports[0].answer(FINE)
    assert 1 == len(replies)
    load, same = (bench.pool.spread(each).loads["http://a/v1"] for each in (bench.endpoint, other))
    assert load is same
    assert (2, 0, 1) == (load.started, load.in_flight, load.most_calls)


def test_what_is_not_sent_is_not_counted(tmp_path: Path) -> None:
    """Neither a call that a breaker refuses nor one that nobody pays for takes a turn."""
    bench = Bench(tmp_path, (FINE,), (FINE,))
    spread = bench.pool.spread(bench.endpoint)

    class Broke(Counting):
        def begin(self, model: str) -> int:
            raise LimitReachedError("tokens", used=1, cap=1, amount=1, scope="day")

    bench.payment = Broke()
    assert isinstance(bench.ask()[1][0].value, LimitReachedError)
    bench.payment = Counting()
    for one in bench.endpoint.each:
        bench.pool.breaker_of(one).force_open()
    assert isinstance(bench.ask()[1][0].value, CircuitOpenError)
    assert [0, 0] == [load.started for load in spread.loads.values()]
    for one in bench.endpoint.each:
        bench.pool.breaker_of(one).reset()
    bench.ask()
    assert [1, 0] == bench.asked == [load.started for load in spread.loads.values()]
