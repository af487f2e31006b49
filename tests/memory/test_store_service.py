"""The service of a store: it never blocks the reactor, and never raises because a store is down."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Clock
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.errors import LimitReachedError, MemoryStoreError
from evennia_ai.memory.hashing import HashingEmbedder
from evennia_ai.memory.port import Hit, Item, MemoryStore
from evennia_ai.memory.service import BREAKER, CLOSED, PORTION, MemoryService
from evennia_ai.memory.volatile import VolatileStore
from tests.fakes.reactor import running_reactor  # noqa: F401  (a fixture)
from tests.memory.store_support import (
    LAMP,
    SMITH,
    TOM,
    WORLD,
    embedded,
    item,
    key,
    opened,
    outcome,
)

THREADS, EACH = 8, 24


def inline(open_store: Callable[[], MemoryStore], clock: Any = None, **how: Any) -> MemoryService:
    """A service that answers at once, by a clock that stands still."""
    return MemoryService(
        how.pop("embedder", HashingEmbedder()),
        open_store,
        kind="test",
        reactor=clock or Clock(),
        is_inline=True,
        **how,
    )


def volatile() -> MemoryService:
    """A service of a store in memory."""
    return inline(partial(VolatileStore, HashingEmbedder()))


@pytest.fixture
def asked(running_reactor: SelectReactor, tmp_path: Path) -> Iterator[Any]:  # noqa: F811
    """Calls a method of a threaded service of the embedded store, from any thread, and waits."""
    embedder = HashingEmbedder()
    service = MemoryService(
        embedder, partial(embedded, tmp_path), kind="embedded", reactor=running_reactor
    )

    def ask(name: str, *arguments: Any, **named: Any) -> Any:
        return blockingCallFromThread(running_reactor, getattr(service, name), *arguments, **named)

    ask.service = service  # type: ignore[attr-defined]
    yield ask
    ask("close")


def test_asked_and_answered() -> None:
    """What is put in is found, told of, taken out and dropped; each is done before it returns."""
    service = volatile()
    assert outcome(service.add(1, [item(1), item(2, LAMP, TOM)])) is True
    assert [key(1)] == [hit.key for hit in outcome(service.search(1, SMITH, [WORLD], limit=3))]
    assert [] == outcome(service.search(1, SMITH, [], limit=3))
    assert [] == outcome(service.search(1, " ", [WORLD], limit=3))
    assert [] == outcome(service.neighbours(1, key(1), [WORLD], limit=3))
    assert [] == outcome(service.neighbours(1, "nonsense", [WORLD], limit=3))
    assert outcome(service.remove(1, [key(1), "nonsense"])) is True
    assert {key(2)} == outcome(service.keys(1))
    assert outcome(service.drop(1)) is True
    assert set() == outcome(service.keys(1))
    assert outcome(service.open()) is True


def test_a_wrong_audience_is_a_mistake_of_ours() -> None:
    """What is no audience fails, also where the store is down; it says nothing of the store."""
    service = volatile()
    for asked_so in (
        service.search(1, SMITH, ["*"], limit=3),
        service.neighbours(1, key(1), ["AND"], limit=3),
        service.add(1, [Item("tom", SMITH, WORLD)]),
        service.search(0, SMITH, [WORLD], limit=3),
    ):
        with pytest.raises(ValueError, match="no "):
            outcome(asked_so)
    assert "" == service.problem
    assert 0 == service.breaker.get_stats()["total_failures"]


def test_closing() -> None:
    """A closed service answers everything with None, and says why; closing twice is once."""
    service = volatile()
    outcome(service.add(1, [item(1)]))
    assert service.is_open
    assert outcome(service.close()) is None
    assert outcome(service.close()) is None
    assert not service.is_open
    assert CLOSED == service.problem
    assert outcome(service.search(1, SMITH, [WORLD], limit=3)) is None
    assert outcome(service.add(1, [item(2)])) is False


def test_a_status_is_plain() -> None:
    """The status holds plain values: what, which model, whether it works, and how often asked."""
    service = volatile()
    outcome(service.search(1, SMITH, [WORLD], limit=3))
    status = service.status()
    assert "test" == status["store"]
    assert "hashing-1/384" == status["embeddings"] == service.signature
    assert {"search": 1} == status["counts"]
    assert "closed" == status["breaker"]["state"]
    assert "memory" == service.breaker.name
    assert "" == status["problem"]
    assert "not by their meaning" in status["notice"]


def test_a_store_that_is_down_and_comes_back(tmp_path: Path) -> None:
    """A store that cannot be opened gives None and a reason, is left alone, and used again."""
    clock = Clock()
    holder = embedded(tmp_path)
    service = inline(partial(embedded, tmp_path), clock)
    for _ in range(BREAKER.failure_threshold):
        assert outcome(service.search(1, SMITH, [WORLD], limit=3)) is None
    assert "open in another process" in service.problem
    assert "open" == service.status()["breaker"]["state"]
    assert outcome(service.add(1, [item(1)])) is False
    holder.close()
    assert outcome(service.add(1, [item(1)])) is False, "the breaker does not know yet"
    clock.advance(BREAKER.timeout_seconds + 1)
    assert outcome(service.add(1, [item(1)])) is True
    assert "" == service.problem
    assert [Hit(key(1), 1.0)] == [
        Hit(hit.key, round(hit.similarity, 3))
        for hit in outcome(service.search(1, SMITH, [WORLD], limit=3))
    ]
    outcome(service.close())


@pytest.mark.parametrize(
    ("kind", "scheme", "named"),
    [
        ("qdrant", "http://127.0.0.1:{}", "the Qdrant server at 127.0.0.1:{}"),
        ("pgvector", "postgresql://game:hunter2@127.0.0.1:{}/game", "server at 127.0.0.1:{}"),
    ],
)
def test_a_server_that_is_down(tmp_path: Path, kind: str, scheme: str, named: str) -> None:
    """A server where nobody answers gives None, and a sentence without a password."""
    if kind == "pgvector":
        pytest.importorskip("psycopg_pool", reason="psycopg is not installed: NOT tested here")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        service = inline(partial(opened, kind, tmp_path, scheme.format(port)))
        assert outcome(service.search(1, SMITH, [WORLD], limit=3)) is None
        assert named.format(port) in service.problem
        assert "cannot be used" in service.problem
        assert "hunter2" not in service.problem
        outcome(service.close())


def test_nothing_is_paid_for_what_costs_nothing() -> None:
    """Only a model that charges is paid, before it is asked, and not when a limit forbids it."""
    paid: list[int] = []

    class Charging(HashingEmbedder):
        is_paid = True

    def pay(tokens: int) -> None:
        paid.append(tokens)
        if sum(paid) > 100:
            raise LimitReachedError("tokens", used=100, cap=100, amount=1, scope="day")

    free = inline(partial(VolatileStore, HashingEmbedder()), paid=pay)
    assert outcome(free.add(1, [item(1)])) is True
    assert [] == paid
    service = inline(partial(VolatileStore, Charging()), embedder=Charging(), paid=pay)
    assert outcome(service.add(1, [item(1), item(2, LAMP)])) is True
    assert [len(SMITH) // 4 + 1 + len(LAMP) // 4 + 1] == paid
    assert outcome(service.search(1, "x" * 400, [WORLD], limit=3)) is None
    assert "limit tokens" in service.problem
    assert 0 == service.breaker.get_stats()["total_failures"]
    assert outcome(service.keys(1)) == {key(1), key(2)}, "what costs nothing goes on"
    assert "" == service.problem


def test_a_bug_in_a_store_is_no_excuse(caplog: pytest.LogCaptureFixture) -> None:
    """An error that nobody foresaw is told of and counted, and the game goes on."""

    class Broken(VolatileStore):
        def keys(self, collection: int) -> set[str]:
            raise IndexError("oh")

    service = inline(partial(Broken, HashingEmbedder()))
    assert outcome(service.keys(1)) is None
    assert "met a bug (IndexError)" in service.problem
    assert "oh" in caplog.text
    assert 1 == service.breaker.get_stats()["total_failures"]


def test_eight_threads_lose_nothing(asked: Any) -> None:
    """Threads that add, look, and take out at the same time lose nothing and fail nowhere."""
    problems: list[Any] = []

    def hammer(thread: int) -> None:
        for number in range(EACH):
            mine = thread * 1000 + number
            told = asked("add", 1, [item(mine, f"{SMITH} {thread} {number}")])
            hits = asked("search", 1, SMITH, [WORLD], limit=5)
            if number % 6 == 5:
                told = told and asked("remove", 1, [key(mine - 1)])
            if told is not True or not hits:
                problems.append((thread, number, told, hits))

    threads = [threading.Thread(target=hammer, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [] == problems
    wanted = {
        key(thread * 1000 + number)
        for thread in range(THREADS)
        for number in range(EACH)
        if number % 6 != 4
    }
    assert wanted == asked("keys", 1)
    assert 0 == asked.service.breaker.get_stats()["total_failures"]


def test_a_reload_through_the_service(running_reactor: SelectReactor, tmp_path: Path) -> None:  # noqa: F811
    """Closing writes everything; the next service of the same folder has it, long lists too."""
    for round_number in range(2):
        service = MemoryService(
            HashingEmbedder(), partial(embedded, tmp_path), kind="embedded", reactor=running_reactor
        )
        many = [item(number) for number in range(PORTION * 3)]
        if not round_number:
            assert blockingCallFromThread(running_reactor, service.add, 1, many) is True
        assert len(many) == len(blockingCallFromThread(running_reactor, service.keys, 1))
        blockingCallFromThread(running_reactor, service.close)


def test_a_failing_store_is_closed_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    """A store that fails while it is closed keeps nobody from stopping the game."""

    class Stuck(VolatileStore):
        def close(self) -> None:
            raise MemoryStoreError("the disk is gone")

    service = inline(partial(Stuck, HashingEmbedder()))
    outcome(service.open())
    assert outcome(service.close()) is None
    assert "the disk is gone" in caplog.text
