"""The asynchronous API of the memory store. It never blocks, and does not raise when it is down.

    query = MemoryQuery(script.pk, "who owes gold?", audiences, limit=8)
    found = yield services.memory().search(query)
    if found is None:  # the search failed; [] means: it found nothing

The worker thread, deadlines and circuit breaker are in `guarded`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.python.failure import Failure

from evennia_ai.core.turn.tokens import estimate
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import ConfigurationError, MemoryStoreError
from evennia_ai.memory_store.checks import (
    checked_audiences,
    checked_collection,
    checked_items,
    is_key,
)
from evennia_ai.memory_store.embedding import Embedder, Likeness
from evennia_ai.memory_store.guarded import (
    CLOSED,
    NOT_NOW,
    SEARCH_SECONDS,
    WRITE_SECONDS,
    GuardedStore,
)
from evennia_ai.memory_store.port import ByWords, Hit, Item, MemoryQuery
from evennia_ai.memory_store.worker import LOG

if TYPE_CHECKING:
    from evennia_ai.memory_store.mem0_store import Mem0Store

T = TypeVar("T")
Paid = Callable[[int], None]
Make = Callable[[Sequence[Item]], Awaitable[Sequence[Any]]]
LIKENESS_SECONDS = 3.0
# Long deletions run in batches, so that a search waits for one batch and not for all of them.
PORTION = 16
SERVERS = ("qdrant", "pgvector")


class MemoryService(GuardedStore):
    """The memory store as the game uses it.

    Attributes:
        model: see `Embedder`.
        signature, least_similarity, notice: see `Mem0Store`.
        paid: called with the number of tokens before each request to a paid embedding model, in
            the reactor thread; it may raise LimitReachedError or NoFreeSlotError.
    """

    def __init__(
        self,
        embedder: Embedder,
        open_store: Callable[[], Mem0Store],
        *,
        kind: str,
        reactor: Reactor,
        is_inline: bool = False,
        paid: Paid | None = None,
    ) -> None:
        """Create the service without opening the store.

        Args:
            open_store: opens the store; blocks, and raises MemoryStoreError.
            is_inline: run jobs in the caller's thread, without deadlines; for tests.
        """
        super().__init__(open_store, reactor, is_inline=is_inline)
        self.model = embedder.model
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
        """True if queries are sent to an embeddings API or a vector server."""
        return self._embedder.is_paid or self._kind in SERVERS

    def add(self, collection: int, items: Sequence[Item]) -> Deferred[list[bytes] | None]:
        """Embed one batch of memories that are in the table.

        Returns:
            The vectors for the table, [] if a server keeps them, None if embedding failed.
        """
        return Deferred.fromCoroutine(self._add(collection, items, self.paid))

    async def _add(
        self, collection: int, items: Sequence[Item], paid: Paid | None
    ) -> list[bytes] | None:
        valid_items = checked_items(items)
        checked_collection(collection)
        if not await self._ensure_prepared():
            return None
        encoded: list[bytes] | None = await self._run_job(
            "add",
            WRITE_SECONDS,
            lambda store: store.add(collection, valid_items),
            partial(self._pay, _tokens(item.text for item in valid_items), paid),
        )
        return encoded

    def add_made(
        self, collection: int, items: Sequence[Item], make: Make
    ) -> Deferred[list[bytes] | None]:
        """Store vectors that `make` computes, such as a worker. Pays and returns like `add`.

        Args:
            make: computes the vectors; what it raises is passed on to the caller.
        """
        return Deferred.fromCoroutine(self._add_made(collection, items, make, self.paid))

    async def _add_made(
        self, collection: int, items: Sequence[Item], make: Make, paid: Paid | None
    ) -> list[bytes] | None:
        valid_items = checked_items(items)
        checked_collection(collection)
        if self.absence or not await self._ensure_prepared():
            return None
        try:
            # Only a check: vectors that the store would refuse need not be computed or paid for.
            self.breaker.acquire().release()
            self._pay(_tokens(item.text for item in valid_items), paid)
        except NOT_NOW as error:
            self._last_error = self._last_error or str(error)
            return None
        vectors = await make(valid_items)
        encoded: list[bytes] | None = await self._run_job(
            "keep",
            WRITE_SECONDS,
            lambda store: store.store_vectors(collection, valid_items, vectors),
        )
        return encoded

    def search(self, query: MemoryQuery) -> Deferred[list[Hit] | None]:
        """Search by meaning and words. None: the search failed; []: nothing was found.

        Words are searched first. The query is embedded only if more memories are searchable than
        wanted; if embedding fails, the hits by words are the result.

        Fails with ValueError if an audience is malformed.
        """
        return Deferred.fromCoroutine(self._search(query, self.paid))

    async def _search(self, query: MemoryQuery, paid: Paid | None) -> list[Hit] | None:
        checked_audiences(query.audiences)
        checked_collection(query.collection)
        if not query.audiences or not query.text.strip() or query.limit < 1:
            return []
        by_words = await self._search_words(query)
        if by_words is None or by_words.is_all:
            return None if by_words is None else by_words.hits
        if not await self._ensure_prepared():
            return by_words.hits
        try:
            hits = await self._run_job(
                "search",
                SEARCH_SECONDS,
                lambda store: store.search(query),
                partial(self._pay, _tokens([query.text]), paid),
            )
        except ConfigurationError as error:
            # Costs are capped and the model's price is unknown; hits by words cost nothing.
            LOG.warning("nothing is paid for the vector of a question: %s", error)
            hits = None
        return by_words.hits if hits is None else hits

    async def _ensure_prepared(self) -> bool:
        """Load semantic search before the first paid embedding. Returns False if that fails."""
        if self._embedder.is_paid and not self._is_prepared:
            if not await self._run_command("prepare", lambda store: store.prepare()):
                return False
            self._is_prepared = True
        return True

    async def _search_words(self, query: MemoryQuery) -> ByWords | None:
        """Search by words only."""
        if self.absence:
            return None
        self._counts["search by words"] += 1
        # Not through the breaker: this needs no embedding model, and works while that is down.
        search = self._thread.ask(
            lambda: self._open_once().search_words(query), SEARCH_SECONDS, is_urgent=True
        )
        try:
            by_words: ByWords = await search
        except CancelledError:
            raise
        except Exception:
            self._table_error = str(self._as_store_error(Failure()))
            return None
        self._table_error = ""
        return by_words

    def likeness(
        self, queries: Sequence[str], texts: Sequence[str], questions: Sequence[str] = ()
    ) -> Deferred[list[dict[str, float]] | None]:
        """Semantic similarity of each query to each short text, 0 to 1, without using the store.

        Args:
            questions: further texts that are questions; no text may be in both lists.

        Returns:
            For each query, the similarity by text. None if there is no free local model that
            knows meaning.
        """
        is_closed = self.absence == CLOSED
        if is_closed or self._embedder.is_paid or not self._embedder.knows_meaning:
            return succeed(None)
        job = partial(self._likeness.of, tuple(queries), tuple(texts), tuple(questions))
        done = self._thread.ask(job, LIKENESS_SECONDS, is_urgent=True)
        return done.addErrback(_no_likeness)

    def remove(self, collection: int, keys: Iterable[str]) -> Deferred[bool]:
        """Delete vectors. Returns whether all of them are gone."""
        return Deferred.fromCoroutine(self._remove(collection, list(filter(is_key, keys))))

    async def _remove(self, collection: int, keys: Sequence[str]) -> bool:
        for first in range(0, len(keys), PORTION):
            part = keys[first : first + PORTION]
            if not await self._run_command("remove", partial(_remove, collection, part)):
                return False
        return True

    def keys(self, collection: int) -> Deferred[set[str] | None]:
        """Keys of the memories that have a vector, or None if that failed."""
        return self._run_job("keys", WRITE_SECONDS, lambda store: store.keys(collection))

    def drop(self, collection: int) -> Deferred[bool]:
        """Delete a collection, whatever embedding model made it."""
        return self._run_command("drop", lambda store: store.drop(collection))

    def status(self) -> dict[str, Any]:
        """Status and counters, as shown to the game's owner."""
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

    def _close_store(self) -> None:
        super()._close_store()
        self._embedder.close()

    def _pay(self, tokens: int, paid: Paid | None) -> None:
        if paid is not None and tokens and self._embedder.is_paid:
            paid(tokens)


def _no_likeness(failure: Failure) -> None:
    """Turn a model that is slow or cannot be loaded into None: the caller has a fallback."""
    failure.trap(MemoryStoreError)
    LOG.warning("texts could not be compared by meaning: %s", failure.value)


def _remove(collection: int, keys: Sequence[str], store: Mem0Store) -> None:
    store.remove(collection, keys)


def _tokens(texts: Iterable[str]) -> int:
    return sum(map(estimate, texts))
