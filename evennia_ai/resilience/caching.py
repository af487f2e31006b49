"""The cache of tool results: bounded, in memory, for one tick or one session.

    key = get_cache_key("inspect_location", room_id=12)
    result = yield cache.get_or_run(key, look, scope="tick", ttl=60.0)

A mutable value is copied when it is stored and for each caller, so no caller can change a cached
value. Expired entries are removed when they are looked up, by eviction, or by `prune_expired`; no
call sweeps the cache. Caches are used in one thread only, the reactor's.
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
    """A cached value.

    Attributes:
        kept: the cache's own object; `take` gives a copy.
        is_frozen: True if it is immutable and needs no copy.
        usable_from: start of its use on the cache's clock; ends it if the clock was set back.
        usable_until: end of its use on the cache's clock; both are infinite without a `ttl`.
    """

    kept: Any
    is_frozen: bool
    scope: str
    usable_from: float
    usable_until: float

    def take(self) -> Any:
        """The value, or a copy of it if it is mutable."""
        return self.kept if self.is_frozen else own_copy(self.kept)

    def is_usable(self, now: float) -> bool:
        """True until it expires."""
        return self.usable_from <= now < self.usable_until


def is_success(result: object) -> bool:
    """True if a tool's result, a mapping or an object with `success`, reports success."""
    if isinstance(result, Mapping):
        return bool(result.get("success"))
    return bool(getattr(result, "success", False))


def check(scope: str, ttl: float | None) -> None:
    """Validate a scope and a time to live.

    Raises:
        ValueError: the scope is unknown, or `ttl` is not above 0.
    """
    if scope not in SCOPES:
        raise ValueError(f"scope must be 'tick' or 'session', not {scope!r}")
    if ttl is not None and not ttl > 0:
        raise ValueError(f"ttl must be above 0 seconds or None, not {ttl!r}")


class ToolResultCache:
    """An LRU cache of results by key.

    Args:
        max_entries: the most results kept.
        clock: monotonic seconds.
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
        # Scopes that may have entries. Every tick clears its scope, mostly without any to clear.
        self._scopes: set[str] = set()
        # Bound methods, because every lookup calls these two.
        self._find = self._entries.get
        self._touch = self._entries.move_to_end
        self._flights: dict[Hashable, Flight] = {}
        self._hits = self._misses = 0

    def get(self, key: Hashable, scope: str | None = None) -> Any:
        """The value of a key, or None if it is missing or has expired.

        Args:
            scope: only a value of this scope; None: of any.
        """
        entry = self._find(key)
        if entry is None or (scope is not None and entry.scope != scope):
            self._misses += 1
            return None
        # `is_usable` inlined to spare a call on the hot path.
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
        """Store a value. None only removes the present one, as `get` returns None for a miss.

        Args:
            key: see `get_cache_key`.
            value: str, numbers, bytes, frozen dataclasses; lists, tuples, sets and dicts of these.
            scope: "tick" keeps it until `clear_tick`, "session" until `clear_session`.
            ttl: seconds until it expires; None: never.

        Raises:
            TypeError: the value is of another type.
            ValueError: the scope is unknown, or `ttl` is not above 0.
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
    ) -> Any:
        """The cached value of a key, or the result of the function, which is cached if successful.

        Callers that ask while the function's Deferred is running share it. It is cancelled when
        all of them have cancelled. A failure reaches all of them and is not cached; neither is a
        result that arrives after its scope was cleared.

        Returns:
            The value, or a Deferred of it if the function returned a Deferred.

        Raises:
            TypeError: the function returned a value that cannot be cached, or a bare coroutine.
            ValueError: the scope is unknown, or `ttl` is not above 0.
        """
        check(scope, ttl)
        value = self.get(key)
        if value is not None:
            return value
        if key in self._flights:
            return self._flights[key].join()
        outcome = function()
        if is_deferred(outcome):
            return self._share(key, outcome, scope, ttl)
        refuse_coroutine(outcome)
        if is_success(outcome):
            self.set(key, outcome, scope, ttl)
        return outcome

    def clear_tick(self) -> None:
        """Remove all values of scope "tick", at the end of a tick."""
        self._clear(TICK)

    def clear_session(self) -> None:
        """Remove all values of scope "session", at a change of mode."""
        self._clear(SESSION)

    def clear_all(self) -> None:
        """Remove everything, but keep the counts of hits and misses."""
        self._clear(TICK)
        self._clear(SESSION)

    def prune_expired(self) -> int:
        """Remove expired values; return their number."""
        now = self._clock()
        expired = [key for key, entry in self._entries.items() if not entry.is_usable(now)]
        for key in expired:
            del self._entries[key]
        return len(expired)

    def get_stats(self) -> dict[str, Any]:
        """Figures for status pages; expired values count until they are removed."""
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
        cached = value if needs_no_copy else own_copy(value)
        if ttl is None:
            return CacheEntry(cached, needs_no_copy, scope, -math.inf, math.inf)
        now = self._clock()
        return CacheEntry(cached, needs_no_copy, scope, now, now + ttl)

    def _share(self, key: Hashable, outcome: DeferredLike, scope: str, ttl: float | None) -> Any:
        def end(flight: Flight) -> bool:
            # After its scope was cleared, another flight may have taken its place.
            is_current = self._flights.get(key) is flight
            if is_current:
                del self._flights[key]
            return is_current

        def land(value: object) -> None:
            is_current = end(flight)
            # Made even if it is not cached: callers get copies of it, and a value that cannot be
            # copied is an error for them.
            entry = self._make_entry(value, scope, ttl)
            if is_current and is_success(value):
                self._keep(key, entry)
            flight.land(entry.take)

        def crash(failure: object) -> None:
            end(flight)
            flight.crash(failure)

        flight = self._flights[key] = Flight(outcome, scope, end)
        # Before the callbacks, which run at once if the Deferred has already fired.
        waiter = flight.join()
        # Chained, so that an error raised by `land` reaches the callers too.
        outcome.addCallback(land).addErrback(crash)
        return waiter

    def _keep(self, key: Hashable, entry: CacheEntry) -> None:
        entries = self._entries
        # Removed first: overwriting a key keeps its old position, and it would be evicted too soon.
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
        # Callers of running calls still get the result, but later callers must not join them: it
        # may be older than the clearing.
        for key in [key for key, flight in self._flights.items() if flight.scope == scope]:
            del self._flights[key]
