"""The cache by examples: look-up, scopes, times, bound and ownership."""

from collections.abc import Callable

import pytest

from evennia_ai.core.turn.toolspec import ToolResult
from evennia_ai.resilience import ToolResultCache
from tests.resilience.manual_clock import ManualClock

# ---- keeping and finding -------------------------------------------------------------------------


def test_what_is_set_is_found(cache: ToolResultCache) -> None:
    assert cache.get("a") is None
    cache.set("a", 1)
    cache.set("a", [2], "session")
    assert [2] == cache.get("a")
    assert [None, [2]] == [cache.get("a", scope) for scope in ("tick", "session")]
    stats = cache.get_stats()
    assert {"tick": 0, "session": 1} == stats["entries_by_scope"]


def test_stats(cache: ToolResultCache) -> None:
    """The figures have the names of the specification."""
    cache.set("a", 1)
    cache.set("b", 2, scope="session", ttl=300.0)
    for key in ("a", "b", "c"):
        cache.get(key)
    expected = {
        "hits": 2,
        "misses": 1,
        "hit_rate_percent": 66.7,
        "total_entries": 2,
        "entries_by_scope": {"tick": 1, "session": 1},
    }
    assert expected == cache.get_stats()


def test_stats_of_nothing() -> None:
    """The hit rate is not divided by zero."""
    stats = ToolResultCache().get_stats()
    assert (0.0, 0) == (stats["hit_rate_percent"], stats["total_entries"])


@pytest.mark.parametrize(
    ("left", "clear"),
    [({"session": 1}, "clear_tick"), ({"tick": 1}, "clear_session"), ({}, "clear_all")],
)
def test_clearing(cache: ToolResultCache, left: dict[str, int], clear: str) -> None:
    """The end of a scope removes only its entries, and later ones are kept again."""
    for _ in range(2):
        cache.set("a", 1)
        cache.set("b", 2, "session")
        getattr(cache, clear)()
        getattr(cache, clear)()
        assert {"tick": 0, "session": 0, **left} == cache.get_stats()["entries_by_scope"]


def test_ttl_ends_exactly(cache: ToolResultCache, clock: ManualClock) -> None:
    cache.set("a", 1, ttl=5)
    clock.now += 4.999
    assert 1 == cache.get("a")
    clock.now += 0.001
    assert cache.get("a") is None
    stats = cache.get_stats()
    assert (0, 1, 1) == (stats["total_entries"], stats["hits"], stats["misses"])


def test_without_ttl_the_scope_decides(cache: ToolResultCache, clock: ManualClock) -> None:
    """An entry without a time of its own ignores the clock."""
    cache.set("a", 1)
    for seconds in (1e9, -2e9):
        clock.now += seconds
        assert 1 == cache.get("a")


def test_clock_set_back_ends_an_entry(cache: ToolResultCache, clock: ManualClock) -> None:
    """An entry that stayed would live an hour longer."""
    cache.set("a", 1, ttl=5)
    clock.now -= 3600
    assert cache.get("a") is None


def test_pruning(cache: ToolResultCache, clock: ManualClock) -> None:
    cache.set("a", 1, ttl=5)
    cache.set("b", 2, "session", ttl=9)
    cache.set("c", 3)
    assert 0 == cache.prune_expired()
    clock.now += 5
    assert (1, 0) == (cache.prune_expired(), cache.prune_expired())
    stats = cache.get_stats()
    assert (2, 0, 0) == (stats["total_entries"], stats["hits"], stats["misses"])


def test_the_least_recently_used_gives_way(cache: ToolResultCache) -> None:
    for key in "abc":
        cache.set(key, key)
    cache.get("a")
    cache.set("b", "B")
    cache.set("d", "d")
    assert ["a", "B", None, "d"] == [cache.get(key) for key in "abcd"]


def test_replacing_drops_nobody(cache: ToolResultCache) -> None:
    """Writing to an existing key takes no further place."""
    for key in "abcc":
        cache.set(key, key)
    assert ["a", "b", "c"] == [cache.get(key) for key in "abc"]


def test_none_only_forgets(cache: ToolResultCache) -> None:
    """Setting None removes the entry."""
    cache.set("a", 1)
    cache.set("a", None)
    assert 0 == cache.get_stats()["total_entries"]


def test_of_one_entry() -> None:
    cache = ToolResultCache(1)
    cache.set("a", 1)
    cache.set("b", 2)
    assert (None, 2) == (cache.get("a"), cache.get("b"))


def test_bound_by_default() -> None:
    cache = ToolResultCache()
    for number in range(1001):
        cache.set(number, number)
    assert (1000, None) == (cache.get_stats()["total_entries"], cache.get(0))


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("max_entries must be at least 1, not 0", lambda: ToolResultCache(0)),
        (
            "scope must be 'tick' or 'session', not 'day'",
            lambda: ToolResultCache().set("a", 1, "day"),
        ),
        (
            "ttl must be above 0 seconds or None, not 0",
            lambda: ToolResultCache().set("a", 1, ttl=0),
        ),
        (
            "ttl must be above 0 seconds or None, not nan",
            lambda: ToolResultCache().set("a", 1, ttl=float("nan")),
        ),
        (
            "scope must be 'tick' or 'session', not 'day'",
            lambda: ToolResultCache().get_or_run("a", dict, scope="day"),
        ),
    ],
)
def test_what_cannot_work_is_refused(message: str, make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        make()


# ---- ownership -----------------------------------------------------------------------------------


def test_callers_hands(cache: ToolResultCache) -> None:
    """Neither who set a value nor who got it can change what the cache holds."""
    mine = {"rooms": [1]}
    cache.set("a", mine)
    mine["rooms"].append(2)
    cache.get("a")["rooms"].append(3)
    assert {"rooms": [1]} == cache.get("a")


def test_frozen_values_are_not_copied(cache: ToolResultCache) -> None:
    result = ToolResult(True, "a cellar")
    cache.set("a", result)
    assert result is cache.get("a")


def test_what_cannot_be_copied_is_not_kept(cache: ToolResultCache) -> None:
    """A live object is refused, and the earlier entry stays."""
    cache.set("a", 1)
    with pytest.raises(TypeError, match=r"^a object cannot be kept"):
        cache.set("a", [object()])
    assert 1 == cache.get("a")
