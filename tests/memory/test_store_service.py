"""The service of a store: it never blocks the reactor, nor raises while a store is down."""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Clock
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.core.memory.recollection import Recollection
from evennia_ai.core.turn.tokens import estimate
from evennia_ai.errors import LimitReachedError, MemoryStoreError
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.guarded import BREAKER, CLOSED
from evennia_ai.memory_store.hashing import HashingEmbedder
from evennia_ai.memory_store.mem0_store import Mem0Store
from evennia_ai.memory_store.port import Item, MemoryQuery
from evennia_ai.memory_store.service import MemoryService
from tests.fakes.reactor import running_reactor  # noqa: F401  (a fixture)
from tests.memory.store_support import (
    LAMP,
    SMITH,
    TOM,
    WORLD,
    DictStore,
    item,
    key,
    opened,
    outcome,
    sought,
)

THREADS, EACH = 8, 24


def inline(open_store: Callable[[], Mem0Store], clock: Any = None, **how: Any) -> MemoryService:
    """Return a service that answers at once, on a clock that stands still."""
    return MemoryService(
        how.pop("embedder", HashingEmbedder()),
        open_store,
        kind="test",
        reactor=clock or Clock(),
        is_inline=True,
        **how,
    )


def in_memory(store: DictStore | None = None) -> MemoryService:
    """Return a service of a store over a dictionary."""
    return inline(lambda: store or DictStore())


@pytest.fixture
def asked(running_reactor: SelectReactor) -> Iterator[Any]:  # noqa: F811
    """Calls a method of a threaded service, from any thread, and waits."""
    embedder = HashingEmbedder()
    service = MemoryService(embedder, DictStore, kind="embedded", reactor=running_reactor)

    def ask(name: str, *arguments: Any, **named: Any) -> Any:
        return blockingCallFromThread(running_reactor, getattr(service, name), *arguments, **named)

    ask.service = service  # type: ignore[attr-defined]
    yield ask
    ask("close")


def test_asked_and_answered() -> None:
    service = in_memory()
    assert 2 == len(outcome(service.add(1, [item(1), item(2, LAMP, TOM)])))
    assert [key(1)] == [hit.key for hit in outcome(service.search(sought(SMITH, limit=3)))]
    assert [] == outcome(service.search(MemoryQuery(1, SMITH, (), 3)))
    assert [] == outcome(service.search(sought(" ", limit=3)))
    assert outcome(service.remove(1, [key(1), "nonsense"])) is True
    assert {key(2)} == outcome(service.keys(1))
    assert outcome(service.drop(1)) is True
    assert set() == outcome(service.keys(1))
    assert outcome(service.open()) is True


def test_a_wrong_audience_is_a_mistake_of_ours() -> None:
    """A caller's error is raised, also while the store is down, and is no failure of the store."""
    service = in_memory()
    for asked_so in (
        service.search(sought(SMITH, "*")),
        service.add(1, [Item("tom", SMITH, WORLD)]),
        service.search(MemoryQuery(0, SMITH, (WORLD,), 3)),
    ):
        with pytest.raises(ValueError, match=r"is not (an audience|the key|an assistant)"):
            outcome(asked_so)
    assert "" == service.problem
    assert 0 == service.breaker.get_stats()["total_failures"]


def test_closing() -> None:
    """A closed service answers None to everything; closing twice is harmless."""
    service = in_memory()
    outcome(service.add(1, [item(1)]))
    assert service.is_open
    assert outcome(service.close()) is None
    assert outcome(service.close()) is None
    assert not service.is_open
    assert CLOSED == service.problem
    assert outcome(service.search(sought(SMITH, limit=3))) is None
    assert outcome(service.add(1, [item(2)])) is None


def test_a_status_is_plain() -> None:
    service = in_memory()
    outcome(service.search(sought(SMITH, limit=3)))
    status = service.status()
    assert "test" == status["store"]
    assert "hashing-1/384" == status["embeddings"] == service.signature
    assert {"search by words": 1} == status["counts"], "nothing is there to be compared"
    assert "closed" == status["breaker"]["state"]
    assert "memory" == service.breaker.name
    assert "" == status["problem"]
    assert "not by their meaning" in status["notice"]


class Full(DictStore):
    """A store that fails to keep vectors."""

    def store_vectors(self, collection: int, items: Any, vectors: Any) -> list[bytes]:
        raise MemoryStoreError("the server is full")


class Unplugged(DictStore):
    """A store whose embedding model can be out of reach."""

    is_down = True

    def add(self, collection: int, items: Any) -> list[bytes]:
        self._look()
        return super().add(collection, items)

    def search(self, sought: MemoryQuery) -> Any:
        self._look()
        return super().search(sought)

    def _look(self) -> None:
        if self.is_down:
            raise MemoryStoreError("the model was unplugged")


def test_a_model_that_is_down_and_comes_back() -> None:
    """Words still find memories; after the breaker's pause the model is used again."""
    clock, store = Clock(), Unplugged()
    service = inline(lambda: store, clock)
    for number in range(1, 5):
        store.shelf.put(1, item(number, f"{SMITH} {number}"))
    for _ in range(BREAKER.failure_threshold):
        assert 3 == len(outcome(service.search(sought(SMITH, limit=3))))
    assert "unplugged" in service.problem
    assert "open" == service.status()["breaker"]["state"]
    assert outcome(service.add(1, [item(1)])) is None
    store.is_down = False
    assert outcome(service.add(1, [item(1)])) is None, "the breaker does not know yet"
    clock.advance(BREAKER.timeout_seconds + 1)
    assert outcome(service.add(1, [item(1)]))
    assert "" == service.problem
    best = outcome(service.search(sought(SMITH, limit=3)))[0]
    assert (key(1), 1.0) == (best.key, round(best.meaning, 2))


def test_nothing_is_paid_or_made_that_cannot_be_kept() -> None:
    """While the store's breaker is open, no vectors are made elsewhere either."""
    clock, batches, paid = Clock(), [], []
    embedder = HashingEmbedder()
    embedder.is_paid = True
    service = inline(Full, clock, embedder=embedder, paid=paid.append)

    async def make(items: Any) -> Any:
        batches.append(items)
        return embedder.embed_passages([each.text for each in items])

    for _ in range(BREAKER.failure_threshold):
        assert outcome(service.add_made(1, [item(1)], make)) is None
    assert "open" == service.status()["breaker"]["state"]
    assert outcome(service.add_made(1, [item(1)], make)) is None
    assert (3, 3) == (len(batches), len(paid))
    assert "is full" in service.problem
    clock.advance(BREAKER.timeout_seconds + 1)
    outcome(service.add_made(1, [item(1)], make))
    assert 4 == len(batches), "it is tried again"


def test_nothing_is_paid_where_mem0_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors that nothing could search are made neither here nor by workers."""
    batches, paid = [], []
    embedder = HashingEmbedder()
    embedder.is_paid = True
    store = DictStore(embedder)
    for number in range(3):
        store.shelf.put(1, item(number))
    service = inline(lambda: store, embedder=embedder, paid=paid.append)

    async def make(items: Any) -> Any:
        batches.append(items)

    monkeypatch.setitem(sys.modules, "evennia_ai.memory_store.mem0_parts", None)
    assert outcome(service.add(1, [item(1)])) is None
    assert outcome(service.add_made(1, [item(1)], make)) is None
    assert 1 == len(outcome(service.search(sought(SMITH, limit=1))) or []), "words find it"
    assert ([], []) == (batches, paid)
    assert "mem0 cannot be imported" in service.problem


def test_who_asked_pays_though_mem0_comes_later(
    running_reactor: SelectReactor,  # noqa: F811
) -> None:
    """The payer is noted with the request, and charged once mem0 is imported."""
    paid: list[tuple[str, int]] = []
    embedder = HashingEmbedder()
    embedder.is_paid = True
    service = MemoryService(
        embedder, lambda: DictStore(embedder), kind="test", reactor=running_reactor
    )

    def ask_for(who: str, number: int) -> Deferred[Any]:
        service.paid = lambda tokens: paid.append((who, tokens))
        try:
            return service.add(1, [item(number)])
        finally:
            service.paid = None

    def ask() -> Deferred[Any]:
        return gatherResults([ask_for("Ada", 1), ask_for("Brass", 2)])

    assert all(blockingCallFromThread(running_reactor, ask))
    assert [("Ada", estimate(SMITH)), ("Brass", estimate(SMITH))] == paid
    blockingCallFromThread(running_reactor, service.close)


def test_a_table_that_is_down_and_comes_back() -> None:
    """Nothing is found meanwhile, with the reason in `problem`."""
    store = DictStore()
    service = in_memory(store)
    outcome(service.add(1, [item(1)]))
    store.shelf.newest = lambda collection: 1 // 0  # type: ignore[method-assign]
    assert outcome(service.search(sought(SMITH, limit=3))) is None
    assert "ZeroDivisionError" in service.problem
    store.shelf.newest = lambda collection: 1  # type: ignore[method-assign]
    assert [key(1)] == [hit.key for hit in outcome(service.search(sought(SMITH, limit=3)))]
    assert "" == service.problem


@pytest.mark.parametrize(
    ("kind", "scheme", "named"),
    [
        ("qdrant", "http://127.0.0.1:{}", "the Qdrant server at 127.0.0.1:{}"),
        ("pgvector", "postgresql://game:hunter2@127.0.0.1:{}/game", "server at 127.0.0.1:{}"),
    ],
)
def test_a_server_that_is_down(
    table: None, tmp_path: Path, kind: str, scheme: str, named: str
) -> None:
    """Words still find memories, and the message shows no password."""
    if kind == "pgvector":
        pytest.importorskip("psycopg_pool", reason="psycopg is not installed: NOT tested here")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        service = inline(partial(opened, kind, tmp_path, scheme.format(port)))
        rows.insert(1, [Recollection(key(n), "fact", f"{SMITH} {n}", WORLD) for n in (1, 2)])
        assert 1 == len(outcome(service.search(sought(SMITH, limit=1)))), "words find it"
        assert named.format(port) in service.problem
        assert "cannot be used" in service.problem
        assert "hunter2" not in service.problem
        outcome(service.close())


def test_nothing_is_paid_for_what_costs_nothing() -> None:
    """Only a model that charges is paid, before the request, and never beyond a limit."""
    paid: list[int] = []

    class Charging(HashingEmbedder):
        is_paid = True

    def pay(tokens: int) -> None:
        paid.append(tokens)
        if sum(paid) > 100:
            raise LimitReachedError("tokens", used=100, cap=100, amount=1, scope="day")

    free = inline(DictStore, paid=pay)
    assert outcome(free.add(1, [item(1)]))
    assert [] == paid
    service = inline(lambda: DictStore(Charging()), embedder=Charging(), paid=pay)
    assert outcome(service.add(1, [item(1), item(2, LAMP)]))
    assert [estimate(SMITH) + estimate(LAMP)] == paid
    assert 2 == len(outcome(service.search(sought("smith", limit=2, fits=2)))), "words tell of all"
    assert 1 == len(paid)
    hits = outcome(service.search(sought(f"smith {'x' * 600}", limit=1)))
    assert [key(1)] == [hit.key for hit in hits], "words find what no vector is paid for"
    assert "limit tokens" in service.problem
    assert 0 == service.breaker.get_stats()["total_failures"]
    assert outcome(service.keys(1)) == {key(1), key(2)}, "what costs nothing goes on"
    assert "" == service.problem


def test_a_bug_in_a_store_is_no_excuse(caplog: pytest.LogCaptureFixture) -> None:
    """An unexpected error is logged and counted, and the game goes on."""

    class Broken(DictStore):
        def keys(self, collection: int) -> set[str]:
            raise IndexError("oh")

    service = inline(Broken)
    assert outcome(service.keys(1)) is None
    assert "met a bug (IndexError)" in service.problem
    assert "oh" in caplog.text
    assert 1 == service.breaker.get_stats()["total_failures"]


def test_eight_threads_lose_nothing(asked: Any) -> None:
    problems: list[Any] = []

    def hammer(thread: int) -> None:
        for number in range(EACH):
            mine = thread * 1000 + number
            answer = asked("add", 1, [item(mine, f"{SMITH} {thread} {number}")])
            hits = asked("search", sought(SMITH, limit=5))
            if number % 6 == 5:
                answer = answer and asked("remove", 1, [key(mine - 1)])
            if not answer or not hits:
                problems.append((thread, number, answer, hits))

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


def test_a_failing_store_is_closed_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    """A store that fails while it closes does not keep the game from stopping."""

    class Stuck(DictStore):
        def close(self) -> None:
            raise MemoryStoreError("the disk is gone")

    service = inline(Stuck)
    outcome(service.open())
    assert outcome(service.close()) is None
    assert "the disk is gone" in caplog.text
