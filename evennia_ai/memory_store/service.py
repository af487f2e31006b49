"""The store of memories as the game asks it: never blocking, never raising because it is down.

    sought = MemoryQuery(script.pk, "who owes gold?", audiences, limit=8)
    found = yield services.memory().search(sought)
    if found is None:  # could not look; [] means: looked, and found nothing

The thread, the deadlines and the breaker are those of `guarded`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.python.failure import Failure

from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import (
    CircuitOpenError,
    ConfigurationError,
    LimitReachedError,
    MemoryStoreError,
)
from evennia_ai.memory_store.checks import (
    checked_audiences,
    checked_collection,
    checked_items,
    is_key,
)
from evennia_ai.memory_store.embedding import Embedder, Likeness
from evennia_ai.memory_store.guarded import CLOSED, SEARCH_SECONDS, WRITE_SECONDS, GuardedStore
from evennia_ai.memory_store.port import ByWords, Hit, Item, MemoryQuery, MemoryStore
from evennia_ai.memory_store.worker import LOG

T = TypeVar("T")
Paid = Callable[[int], None]
Make = Callable[[Sequence[Item]], Awaitable[Sequence[Any]]]
LIKENESS_SECONDS = 3.0
# Between two portions of a long list a search gets its turn.
PORTION = 16
CHARS_PER_TOKEN = 4
SERVERS = ("qdrant", "pgvector")


class MemoryService(GuardedStore):
    """All that the game asks of the store of memories.

    Attributes:
        signature, least_similarity, notice: as of the store.
        paid: told of the tokens before each request to an embedding model that is charged for; it
            may raise LimitReachedError. Called in the reactor thread.
    """

    def __init__(
        self,
        embedder: Embedder,
        open_store: Callable[[], MemoryStore],
        *,
        kind: str,
        reactor: Reactor,
        is_inline: bool = False,
        paid: Paid | None = None,
    ) -> None:
        """Make a service; nothing is opened yet.

        Args:
            open_store: opens the store; blocks, and raises MemoryStoreError.
            kind: what the store is called in the settings.
            is_inline: no thread, no deadlines: what is asked is answered before the call returns.
        """
        super().__init__(open_store, reactor, is_inline=is_inline)
        self.signature = embedder.signature
        self.least_similarity = embedder.least_similarity
        self.notice = embedder.notice
        self.paid = paid
        self._embedder = embedder
        self._likeness = Likeness(embedder)
        self._kind = kind
        self._is_prepared = False

    @property
    def sends(self) -> bool:
        """True where queries leave this machine's game: to a model, or to a server."""
        return self._embedder.is_paid or self._kind in SERVERS

    def add(self, collection: int, items: Sequence[Item]) -> Deferred[list[bytes] | None]:
        """Make vectors of memories that are in the table: a portion of them at most.

        Returns:
            The vectors as the table is to keep them, [] where it need not; None: not made.
        """
        try:
            wanted = checked_items(items)
            checked_collection(collection)
        except ValueError:
            return fail()
        return Deferred.fromCoroutine(self._add(collection, wanted, self.paid))

    async def _add(
        self, collection: int, items: Sequence[Item], paid: Paid | None
    ) -> list[bytes] | None:
        if not await self._prepared():
            return None
        kept: list[bytes] | None = await self._ask(
            "add",
            WRITE_SECONDS,
            lambda store: store.add(collection, items),
            partial(self._pay, _tokens(item.text for item in items), paid),
        )
        return kept

    def add_made(
        self, collection: int, items: Sequence[Item], make: Make
    ) -> Deferred[list[bytes] | None]:
        """Keep vectors that something else makes of memories; paid for and returned as by `add`.

        Args:
            make: makes them; it may raise MemoryStoreError, and this fails with what it raises.
        """
        try:
            wanted = checked_items(items)
            checked_collection(collection)
        except ValueError:
            return fail()
        return Deferred.fromCoroutine(self._add_made(collection, wanted, make, self.paid))

    async def _add_made(
        self, collection: int, items: Sequence[Item], make: Make, paid: Paid | None
    ) -> list[bytes] | None:
        if self.absence or not await self._prepared():
            return None
        try:
            self.breaker.acquire().release()  # nothing is made that cannot be kept
            self._pay(_tokens(item.text for item in items), paid)
        except (CircuitOpenError, LimitReachedError) as error:
            self._last_error = self._last_error or str(error)
            return None
        vectors = await make(items)
        kept: list[bytes] | None = await self._ask(
            "keep", WRITE_SECONDS, lambda store: store.keep(collection, items, vectors)
        )
        return kept

    def search(self, sought: MemoryQuery) -> Deferred[list[Hit] | None]:
        """Those that fit a text best. None: could not look; []: looked, and found nothing.

        Words are looked for first. A vector of the text is made only where more may be found than
        is wanted; where none can be had, what words find is the answer.

        Fails with ValueError where an audience is none.
        """
        try:
            checked_audiences(sought.audiences)
            checked_collection(sought.collection)
        except ValueError:
            return fail()
        if not sought.audiences or not sought.text.strip() or sought.limit < 1:
            return succeed([])
        return Deferred.fromCoroutine(self._search(sought, self.paid))

    async def _search(self, sought: MemoryQuery, paid: Paid | None) -> list[Hit] | None:
        found = await self._by_words(sought)
        if found is None or found.is_all:
            return None if found is None else found.hits
        if not await self._prepared():
            return found.hits
        try:
            hits = await self._ask(
                "search",
                SEARCH_SECONDS,
                lambda store: store.search(sought),
                partial(self._pay, _tokens([sought.text]), paid),
            )
        except ConfigurationError as error:
            LOG.warning("nothing is paid for the vector of a question: %s", error)
            hits = None
        return found.hits if hits is None else hits

    async def _prepared(self) -> bool:
        """True where a vector that is paid for can be of use."""
        if self._embedder.is_paid and not self._is_prepared:
            if not await self._told("prepare", lambda store: store.prepare()):
                return False
            self._is_prepared = True
        return True

    async def _by_words(self, sought: MemoryQuery) -> ByWords | None:
        """Hits by words alone. The embedding model has no part in it, nor its breaker."""
        if self.absence:
            return None
        self._counts["search by words"] += 1
        asked = self._thread.ask(
            lambda: self._opened().search_words(sought), SEARCH_SECONDS, is_urgent=True
        )
        try:
            found: ByWords = await asked
        except CancelledError:
            raise
        except Exception:
            self._table_error = str(self._failure_of(Failure()))
            return None
        self._table_error = ""
        return found

    def likeness(
        self, queries: Sequence[str], texts: Sequence[str], questions: Sequence[str] = ()
    ) -> Deferred[list[dict[str, float]] | None]:
        """The likeness of each query to each of some short texts, 0 to 1; without a store.

        Args:
            questions: more texts, which ask as the queries do; the same text is in one of both.

        Returns:
            For each query the similarities by text. None: nothing that knows meaning can be asked
            here and for nothing.
        """
        is_closed = self.absence == CLOSED
        if is_closed or self._embedder.is_paid or not self._embedder.knows_meaning:
            return succeed(None)
        job = partial(self._likeness.of, tuple(queries), tuple(texts), tuple(questions))
        done = self._thread.ask(job, LIKENESS_SECONDS, is_urgent=True)
        return done.addErrback(_unlike)

    def remove(self, collection: int, keys: Iterable[str]) -> Deferred[bool]:
        """Take vectors out. Returns whether none of them is in it any more."""
        wanted = [key for key in keys if is_key(key)]
        jobs = [partial(_remove, collection, part) for part in _portions(wanted)]
        return Deferred.fromCoroutine(self._each("remove", jobs))

    def keys(self, collection: int) -> Deferred[set[str] | None]:
        """The contents of a collection. None: could not look."""
        return self._ask("keys", WRITE_SECONDS, lambda store: store.keys(collection))

    def drop(self, collection: int) -> Deferred[bool]:
        """Remove a collection, whatever embedding model made it."""
        return self._told("drop", lambda store: store.drop(collection))

    def status(self) -> dict[str, Any]:
        """Plain figures for people."""
        return {
            "store": self._kind,
            "embeddings": self.signature,
            "is_open": self.is_open,
            "problem": self.problem,
            "notice": self.notice,
            "waiting": self._thread.waiting,
            "counts": dict(self._counts),
            "breaker": self.breaker.get_stats(),
        }

    async def _each(self, name: str, jobs: Sequence[Callable[..., object]]) -> bool:
        for job in jobs:
            if not await self._told(name, job):
                return False
        return True

    def _shut(self) -> None:
        super()._shut()
        self._embedder.close()

    def _pay(self, tokens: int, paid: Paid | None) -> None:
        if paid is not None and tokens and self._embedder.is_paid:
            paid(tokens)


def _unlike(failure: Failure) -> None:
    """Nothing is known of likeness where its model is too slow or cannot be loaded."""
    failure.trap(MemoryStoreError)
    LOG.warning("texts could not be compared by meaning: %s", failure.value)


def _remove(collection: int, keys: Sequence[str], store: MemoryStore) -> None:
    store.remove(collection, keys)


def _portions(wanted: Sequence[T]) -> list[Sequence[T]]:
    return [wanted[first : first + PORTION] for first in range(0, len(wanted), PORTION)]


def _tokens(texts: Iterable[str]) -> int:
    return sum(len(text) // CHARS_PER_TOKEN + 1 for text in texts)
