"""Executions that several callers share: one runs, all get its outcome, each may leave."""

import gc
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, DeferredList, gatherResults, succeed
from twisted.logger import globalLogPublisher

from evennia_ai.core.turn.toolspec import ToolResult
from evennia_ai.resilience import ToolResultCache
from evennia_ai.resilience.caching import is_success
from tests.resilience.manual_clock import ManualClock

GOOD: dict[str, Any] = {"success": True, "rooms": [1]}
BAD: dict[str, Any] = {"success": False, "error": "no such room"}


class Tool:
    """A tool that waits until a test lets it answer.

    Attributes:
        running: the Deferreds of its executions, the oldest first.
        cancelled: the number of cancelled ones.
    """

    def __init__(self) -> None:
        self.running: list[Deferred[Any]] = []
        self.cancelled = 0

    def __call__(self) -> Deferred[Any]:
        self.running.append(Deferred(self._count))
        return self.running[-1]

    def _count(self, deferred: Deferred[Any]) -> None:
        self.cancelled += 1


def ask(cache: ToolResultCache, tool: Tool, **options: Any) -> tuple[Deferred[Any], list[Any]]:
    """Ask for the same key as everybody; the list will hold the outcome."""
    outcomes: list[Any] = []
    asked = cache.get_or_run("key", tool, **options)
    asked.addBoth(outcomes.append)
    return asked, outcomes


@pytest.mark.parametrize(
    ("expected", "result"),
    [
        (True, {"success": True}),
        (True, {"success": 1}),
        (False, {"success": False}),
        (False, {}),
        (True, ToolResult(True, "")),
        (False, ToolResult(False, "")),
        (False, "a text"),
        (False, None),
    ],
    ids=str,
)
def test_success(expected: bool, result: Any) -> None:
    """A result is a success only when it says so itself."""
    assert expected is is_success(result)


def test_a_function_is_run_once(cache: ToolResultCache, clock: ManualClock) -> None:
    runs: list[int] = []

    def look() -> dict[str, Any]:
        runs.append(1)
        return dict(GOOD)

    for _ in range(3):
        assert GOOD == cache.get_or_run("key", look, scope="session", ttl=5)
    assert {"tick": 0, "session": 1} == cache.get_stats()["entries_by_scope"]
    clock.now += 5
    cache.get_or_run("key", look)
    assert ([1, 1], 1) == (runs, cache.get_stats()["entries_by_scope"]["tick"])


def test_failures_are_not_kept(cache: ToolResultCache) -> None:
    runs = [BAD, GOOD]
    assert [BAD, GOOD] == [cache.get_or_run("key", lambda: runs.pop(0)) for _ in range(2)]
    assert [] == runs


def test_errors_are_not_kept(cache: ToolResultCache) -> None:
    with pytest.raises(ZeroDivisionError):
        cache.get_or_run("key", lambda: 1 / 0)
    assert GOOD == cache.get_or_run("key", lambda: GOOD)


def test_concurrent_calls_share_one_execution(cache: ToolResultCache) -> None:
    tool = Tool()
    asked = [ask(cache, tool) for _ in range(3)]
    assert [[], [], []] == [outcomes for _, outcomes in asked]
    tool.running[0].callback(GOOD)
    for _, (outcome,) in asked:
        assert {"success": True, "rooms": [1]} == outcome
        outcome["rooms"].append(2)
    assert (1, [1]) == (len(tool.running), cache.get("key")["rooms"])


def test_an_answer_at_once(cache: ToolResultCache) -> None:
    """A Deferred that has fired already works like one that fires later."""
    outcomes: list[Any] = []
    cache.get_or_run("key", lambda: succeed(GOOD)).addCallback(outcomes.append)
    assert ([GOOD], GOOD) == (outcomes, cache.get_or_run("key", Tool()))


def test_different_calls_share_nothing(cache: ToolResultCache) -> None:
    tool = Tool()
    cache.get_or_run("a", tool)
    cache.get_or_run("b", tool)
    assert 2 == len(tool.running)


def test_time_begins_when_the_result_is_there(cache: ToolResultCache, clock: ManualClock) -> None:
    tool = Tool()
    ask(cache, tool, scope="session", ttl=5)
    clock.now += 60
    tool.running[0].callback(GOOD)
    cache.clear_tick()
    clock.now += 4
    assert GOOD == cache.get("key")
    clock.now += 1
    assert cache.get("key") is None


def test_cancelling_one_leaves_the_others(cache: ToolResultCache) -> None:
    tool = Tool()
    (first, gone), (_, stayed) = ask(cache, tool), ask(cache, tool)
    first.cancel()
    assert [CancelledError] == [failure.type for failure in gone]
    assert (0, []) == (tool.cancelled, stayed)
    tool.running[0].callback(GOOD)
    assert [GOOD] == stayed
    assert GOOD == cache.get("key")


def test_cancelling_all_cancels_the_execution(cache: ToolResultCache) -> None:
    tool = Tool()
    asked = [ask(cache, tool)[0] for _ in range(2)]
    for each in asked:
        each.cancel()
    assert 1 == tool.cancelled
    _, outcomes = ask(cache, tool)
    tool.running[1].callback(GOOD)
    assert [GOOD] == outcomes


def test_an_answer_to_a_cancelled_execution_is_nobodys(cache: ToolResultCache) -> None:
    """An execution that answers when it is cancelled leaves nothing behind."""
    stubborn: Deferred[Any] = Deferred(lambda deferred: deferred.callback(GOOD))
    asked = cache.get_or_run("key", lambda: stubborn)
    asked.addErrback(lambda failure: None)
    asked.cancel()
    assert cache.get("key") is None


def test_who_has_the_result_may_cancel_another(cache: ToolResultCache) -> None:
    """A caller may cancel another even while the result is being given out."""
    tool = Tool()
    first = cache.get_or_run("key", tool)
    second, outcomes = ask(cache, tool)
    _, last = ask(cache, tool)
    first.addCallback(lambda result: second.cancel())
    tool.running[0].callback(GOOD)
    assert ([CancelledError], [GOOD]) == ([failure.type for failure in outcomes], last)


def test_who_has_the_result_may_ask_again(cache: ToolResultCache) -> None:
    """A success is in the cache by then; after a failure a new execution begins."""
    tool, calls = Tool(), []
    cache.get_or_run("key", tool).addCallback(lambda r: calls.append(cache.get_or_run("key", tool)))
    tool.running[0].callback(GOOD)
    assert [GOOD] == calls
    cache.clear_all()
    cache.get_or_run("key", tool).addErrback(lambda f: calls.append(cache.get_or_run("key", tool)))
    tool.running[1].errback(OSError("down"))
    assert (3, False) == (len(tool.running), calls[1].called)


def test_failure_reaches_all(cache: ToolResultCache) -> None:
    tool = Tool()
    down = OSError("down")
    asked = [ask(cache, tool) for _ in range(2)]
    tool.running[0].errback(down)
    assert [down, down] == [failure.value for _, (failure,) in asked]
    asked = [ask(cache, tool) for _ in range(2)]
    tool.running[1].callback(BAD)
    assert [BAD, BAD] == [outcome for _, (outcome,) in asked]
    assert cache.get("key") is None


def test_no_failure_is_left_unheard(cache: ToolResultCache) -> None:
    """Twisted would log a failure that nobody handles."""
    complaints: list[Any] = []
    globalLogPublisher.addObserver(complaints.append)
    try:
        tool = Tool()
        ask(cache, tool)
        tool.running.pop().errback(OSError("down"))
        asked, _ = ask(cache, tool)
        asked.cancel()
        tool.running.clear()
        gc.collect()
    finally:
        globalLogPublisher.removeObserver(complaints.append)
    assert [] == complaints


def test_a_result_that_cannot_be_kept_fails_for_all(cache: ToolResultCache) -> None:
    """A cacheable tool that answers with a live object is wrong, and every caller learns so."""
    tool = Tool()
    asked = [ask(cache, tool) for _ in range(2)]
    tool.running[0].callback({"success": True, "room": object()})
    assert [TypeError, TypeError] == [failure.type for _, (failure,) in asked]


@pytest.mark.parametrize(("clear", "scope"), [("clear_tick", "tick"), ("clear_session", "session")])
def test_a_result_from_before_clearing_is_not_kept(
    cache: ToolResultCache, clear: str, scope: str
) -> None:
    """The result reaches those who wait for it, but nobody after them."""
    tool = Tool()
    _, early = ask(cache, tool, scope=scope)
    getattr(cache, clear)()
    _, late = ask(cache, tool, scope=scope)
    tool.running[0].callback({**GOOD, "rooms": ["old"]})
    assert ([["old"]], []) == ([outcome["rooms"] for outcome in early], late)
    tool.running[1].callback(GOOD)
    assert ([GOOD], GOOD) == (late, cache.get("key"))


def test_clearing_one_scope_leaves_the_other_running(cache: ToolResultCache) -> None:
    """An execution for the session goes on over the end of a tick."""
    tool = Tool()
    ask(cache, tool, scope="session")
    cache.clear_tick()
    ask(cache, tool, scope="session")
    assert 1 == len(tool.running)


def test_leaving_a_cleared_execution(cache: ToolResultCache) -> None:
    tool = Tool()
    early, _ = ask(cache, tool)
    cache.clear_tick()
    ask(cache, tool)
    early.cancel()
    ask(cache, tool)
    assert (2, 1) == (len(tool.running), tool.cancelled)


def test_special_deferreds(cache: ToolResultCache) -> None:
    """A Deferred whose class has a constructor of its own is shared like any other."""
    source: Deferred[Any] = Deferred()
    asked = cache.get_or_run("key", lambda: gatherResults([source]).addCallback(lambda _: GOOD))
    assert (Deferred, DeferredList) == (type(asked), type(gatherResults([])))
    source.callback(1)
    assert GOOD == cache.get("key")


def test_coroutines_are_refused(cache: ToolResultCache) -> None:
    """A bare coroutine cannot be shared; the error says what can."""

    async def look() -> dict[str, Any]:
        return GOOD

    with pytest.raises(TypeError, match=r"^a coroutine .* give Deferred\.fromCoroutine"):
        cache.get_or_run("key", look)
