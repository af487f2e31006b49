"""A slow store: deadlines, the order of requests, and late answers."""

import threading
from functools import partial
from typing import Any

import pytest
from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock

from evennia_ai.memory_store.hashing import HashingEmbedder
from evennia_ai.memory_store.mem0_store import Mem0Store
from evennia_ai.memory_store.port import ByWords, MemoryQuery
from evennia_ai.memory_store.service import MemoryService
from tests.memory.store_support import LAMP, SMITH, DictStore, outcome, sought


class Slow(DictStore):
    """A store whose search waits until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.goes_on = threading.Event()
        self.order: list[str] = []

    def search_words(self, sought: MemoryQuery) -> ByWords:
        self.begun.set()
        self.goes_on.wait(20)
        self.order.append("search")
        return super().search_words(sought)

    def keys(self, collection: int) -> set[str]:
        self.order.append("keys")
        return super().keys(collection)


class Waiting:
    """A reactor by hand: its clock is moved, and calls from threads run on demand."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.seconds = self.clock.seconds
        self.callLater = self.clock.callLater
        self._handed: list[Any] = []
        self._news = threading.Condition()

    def callFromThread(self, function: Any, *arguments: Any) -> None:  # noqa: N802  (Twisted's)
        with self._news:
            self._handed.append(partial(function, *arguments))
            self._news.notify()

    def run(self, count: int) -> None:
        """Run this many calls of threads, waiting for each."""
        for _ in range(count):
            with self._news:
                assert self._news.wait_for(lambda: self._handed, 20)
                call = self._handed.pop(0)
            call()


def slow_service() -> tuple[MemoryService, Slow, Waiting]:
    """Return an open service of a slow store, the store, and the reactor."""
    reactor, store = Waiting(), Slow()
    service = MemoryService(HashingEmbedder(), lambda: store, kind="test", reactor=reactor)
    opened_now = service.open()
    reactor.run(1)
    assert outcome(opened_now) is True
    return service, store, reactor


def test_a_store_is_opened_once_however_many_ask() -> None:
    reactor, opened_for = Waiting(), []
    service = MemoryService(
        HashingEmbedder(), lambda: opened_for.append(1) or Slow(), kind="test", reactor=reactor
    )
    first = service.open()
    service.open()
    reactor.run(1)
    assert (True, True) == (outcome(first), outcome(service.open()))
    assert ([1], {"open": 1}) == (opened_for, service.status()["counts"])


def test_a_late_answer_is_dropped() -> None:
    """The caller gets None at the deadline, and a search still in the queue is never run."""
    service, store, reactor = slow_service()
    late = service.search(sought(SMITH, limit=3))
    assert store.begun.wait(20)
    reactor.clock.advance(5.1)
    assert outcome(late) is None
    assert "did not answer within 5 s" in service.problem
    never_run = service.search(sought(SMITH, limit=3))
    reactor.clock.advance(5.1)
    assert outcome(never_run) is None
    store.goes_on.set()
    reactor.run(1)
    assert ["search"] == store.order, "what nobody waits for is not run"
    held = service.keys(1)
    reactor.run(1)
    assert set() == outcome(held)
    assert "" == service.problem
    closed = service.close()
    reactor.run(1)
    assert outcome(closed) is None


def test_a_search_goes_first() -> None:
    """A search overtakes waiting writes, but not the call under way."""
    service, store, reactor = slow_service()
    first = service.search(sought(SMITH, limit=3))
    assert store.begun.wait(20)
    asked_then = [service.keys(1), service.search(sought(LAMP, limit=3))]
    assert 2 == service.status()["waiting"]
    store.goes_on.set()
    reactor.run(3)
    assert ["search", "search", "keys"] == store.order
    assert [[], set(), []] == [outcome(each) for each in (first, *asked_then)]
    service.close()


def test_a_dropped_question_says_nothing_of_the_store() -> None:
    """A caller may cancel; that is no failure for the breaker."""
    service, store, reactor = slow_service()
    dropped = service.search(sought(SMITH, limit=3))
    assert store.begun.wait(20)
    dropped.cancel()
    with pytest.raises(CancelledError):
        outcome(dropped)
    store.goes_on.set()
    reactor.run(1)
    assert 0 == service.breaker.get_stats()["total_failures"]
    service.close()


def test_a_store_that_is_being_opened_is_not_blamed() -> None:
    """A search during opening gets None, and the breaker stays closed."""
    reactor, may_open = Waiting(), threading.Event()

    def open_slowly() -> Mem0Store:
        may_open.wait(20)
        return DictStore()

    service = MemoryService(HashingEmbedder(), open_slowly, kind="test", reactor=reactor)
    early = service.search(sought(SMITH, limit=3))
    reactor.clock.advance(5.1)
    assert outcome(early) is None
    assert 0 == service.breaker.get_stats()["total_failures"]
    may_open.set()
    reactor.run(1)
    held = service.search(sought(SMITH, limit=3))
    reactor.run(1)
    assert [] == outcome(held)
    service.close()
