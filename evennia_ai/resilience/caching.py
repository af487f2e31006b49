"""The cache of tool results: bounded, in memory, kept for a tick or for a session.

    key = get_cache_key("inspect_location", room_id=12)
    result = yield cache.get_or_run(key, look, scope="tick", ttl=60.0)

What is kept is nobody else's: a value that could be changed is copied when it comes in and for
everyone who asks. Nothing is swept in the middle of a call: what is out of date goes when it is
asked for, when its turn to give way has come, or by `prune_expired`. Caches live in one thread, the
reactor's.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from evennia_ai.resilience.clock import Clock
from evennia_ai.resilience.deferreds import DeferredLike, Flight, is_deferred, refuse_coroutine
from evennia_ai.resilience.plain_values import SCALARS, get_cache_key, is_frozen, own_copy

__all__ = ["CacheEntry", "ToolResultCache", "get_cache_key", "is_success"]

MAX_ENTRIES = 1000
TICK, SESSION = SCOPES = ("tick", "session")


@dataclass(slots=True)
class CacheEntry:
    """A value as it is kept.

    Attributes:
        kept: the cache's own; `take` gives it away.
        is_frozen: whether it cannot be changed and needs no copy.
        scope: "tick" or "session".
        usable_from: on the cache's clock; a clock that was set back to before it ends its use.
        usable_until: on the cache's clock; both are infinite when its scope alone is its end.
    """

    kept: Any
    is_frozen: bool
    scope: str
    usable_from: float
    usable_until: float

    def take(self) -> Any:
        """The value, for the caller to do with as it likes."""
        return self.kept if self.is_frozen else own_copy(self.kept)

    def is_usable(self, now: float) -> bool:
        """True while its time is not over."""
        return self.usable_from <= now < self.usable_until


def is_success(result: object) -> bool:
    """True where a tool's result, a mapping or an object with `success`, says that it worked."""
    if isinstance(result, Mapping):
        return bool(result.get("success"))
    return bool(getattr(result, "success", False))


def check(scope: str, ttl: float | None) -> None:
    """Refuse what a result cannot be kept by.

    Raises:
        ValueError: there is no such scope, or the time is not above 0.
    """
    if scope not in SCOPES:
        raise ValueError(f"scope must be 'tick' or 'session', not {scope!r}")
    if ttl is not None and not ttl > 0:
        raise ValueError(f"ttl must be above 0 seconds or None, not {ttl!r}")


class ToolResultCache:
    """Results by key; when it is full, the least recently used gives way.

    Args:
        max_entries: how many results are kept at most.
        clock: seconds, monotonic.
    """

    __slots__ = (
        "_clock",
        "_entries",
        "_find",
        "_flights",
        "_hits",
        "_max_entries",
        "_misses",
        "_scopes",
        "_touch",
    )

    def __init__(self, max_entries: int = MAX_ENTRIES, *, clock: Clock = time.monotonic) -> None:
        if not max_entries >= 1:
            raise ValueError(f"max_entries must be at least 1, not {max_entries!r}")
        self._max_entries = max_entries
        self._clock = clock
        self._entries: OrderedDict[Hashable, CacheEntry] = OrderedDict()
        # Those that may have entries: a tick that kept nothing is cleared at no cost.
        self._scopes: set[str] = set()
        # Bound once: these two stand in the way of every look-up.
        self._find = self._entries.get
        self._touch = self._entries.move_to_end
        self._flights: dict[Hashable, Flight] = {}
        self._hits = self._misses = 0

    def get(self, key: Hashable, scope: str | None = None) -> Any:
        """The value of a key, or None when there is none that may still be used.

        Args:
            scope: only one of this scope; None: of whatever scope.
        """
        entry = self._find(key)
        if entry is None or (scope is not None and entry.scope != scope):
            self._misses += 1
            return None
        # As `is_usable` has it, without the cost of calling it.
        if entry.usable_from <= self._clock() < entry.usable_until:
            self._touch(key)
            self._hits += 1
            return entry.kept if entry.is_frozen else entry.take()
        del self._entries[key]
        self._misses += 1
        return None

    def set(
        self, key: Hashable, value: object, scope: str = TICK, ttl: float | None = None
    ) -> None:
        """Keep a value in place of the one before. None stands for nothing, so it only forgets.

        Args:
            key: see `get_cache_key`.
            value: texts, numbers, bytes, frozen dataclasses; lists, tuples, sets, dicts of values.
            scope: "tick" until `clear_tick`, "session" until `clear_session`.
            ttl: seconds it may be used at most.

        Raises:
            TypeError: the value is of another kind.
            ValueError: there is no such scope, or `ttl` is not above 0.
        """
        check(scope, ttl)
        self._keep(key, self._make_entry(value, scope, ttl))

    def get_or_run(
        self,
        key: Hashable,
        function: Callable[[], object],
        *,
        scope: str = TICK,
        ttl: float | None = None,
        is_success: Callable[[Any], bool] = is_success,
    ) -> Any:
        """The value of a key, or what the function gives; that is kept when it is a success.

        Who asks while a function's Deferred is under way waits for the same one. It is cancelled
        when all who wait have cancelled. A failure reaches all of them and is not kept; neither is
        what comes after its scope was cleared.

        Returns:
            The value; when the function gave a Deferred, a Deferred of it.

        Raises:
            TypeError: the function gave something that cannot be kept, or a bare coroutine.
            ValueError: there is no such scope, or `ttl` is not above 0.
        """
        check(scope, ttl)
        value = self.get(key)
        if value is not None:
            return value
        if key in self._flights:
            return self._flights[key].join()
        outcome = function()
        if is_deferred(outcome):
            return self._share(key, outcome, scope, ttl, is_success)
        refuse_coroutine(outcome)
        if is_success(outcome):
            self.set(key, outcome, scope, ttl)
        return outcome

    def clear_tick(self) -> None:
        """Forget what was kept for the tick that ends."""
        self._clear(TICK)

    def clear_session(self) -> None:
        """Forget what was kept for the session, at a change of mode."""
        self._clear(SESSION)

    def clear_all(self) -> None:
        """Forget everything; the counts of hits and misses go on."""
        self._clear(TICK)
        self._clear(SESSION)

    def prune_expired(self) -> int:
        """Forget what is out of date, and say how many that were."""
        now = self._clock()
        expired = [key for key, entry in self._entries.items() if not entry.is_usable(now)]
        for key in expired:
            del self._entries[key]
        return len(expired)

    def get_stats(self) -> dict[str, Any]:
        """Plain figures for status pages; what is out of date counts until it is dropped."""
        lookups = self._hits + self._misses
        scopes = [entry.scope for entry in self._entries.values()]
        return {
            "hits": self._hits,
            "misses": self._misses,
            "hit_rate_percent": round(100.0 * self._hits / lookups, 1) if lookups else 0.0,
            "total_entries": len(self._entries),
            "entries_by_scope": {scope: scopes.count(scope) for scope in SCOPES},
        }

    def _make_entry(self, value: object, scope: str, ttl: float | None) -> CacheEntry:
        needs_no_copy = type(value) in SCALARS or is_frozen(value)
        kept = value if needs_no_copy else own_copy(value)
        if ttl is None:
            return CacheEntry(kept, needs_no_copy, scope, -math.inf, math.inf)
        now = self._clock()
        return CacheEntry(kept, needs_no_copy, scope, now, now + ttl)

    def _share(
        self,
        key: Hashable,
        outcome: DeferredLike,
        scope: str,
        ttl: float | None,
        is_success: Callable[[Any], bool],
    ) -> Any:
        def end(flight: Flight) -> bool:
            is_current = self._flights.get(key) is flight
            if is_current:
                del self._flights[key]
            return is_current

        def land(value: object) -> None:
            is_current = end(flight)
            # Made in any case: those who wait get copies of it, and what has none is an error.
            entry = self._make_entry(value, scope, ttl)
            if is_current and is_success(value):
                self._keep(key, entry)
            flight.land(entry.take)

        def crash(failure: object) -> None:
            end(flight)
            flight.crash(failure)

        flight = self._flights[key] = Flight(outcome, scope, end)
        # Before the callbacks, which run on the spot where the Deferred has fired already.
        waiter = flight.join()
        # In a chain, so that also what `land` raises reaches those who wait.
        outcome.addCallback(land).addErrback(crash)
        return waiter

    def _keep(self, key: Hashable, entry: CacheEntry) -> None:
        entries = self._entries
        # Out first: a key that is only written over keeps its place, and would give way too soon.
        entries.pop(key, None)
        if entry.kept is None:
            return
        entries[key] = entry
        self._scopes.add(entry.scope)
        if len(entries) > self._max_entries:
            entries.popitem(last=False)

    def _clear(self, scope: str) -> None:
        if scope in self._scopes:
            self._scopes.remove(scope)
            for key in [key for key, entry in self._entries.items() if entry.scope == scope]:
                del self._entries[key]
        # Asked of what is over now: those who wait still get it, and nobody after them.
        for key in [key for key, flight in self._flights.items() if flight.scope == scope]:
            del self._flights[key]
