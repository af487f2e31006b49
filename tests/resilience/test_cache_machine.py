"""The cache against a plain reference: a list in the order of use, and a list of executions."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from twisted.internet.defer import CancelledError, Deferred

from evennia_ai.resilience import ToolResultCache
from tests.resilience.manual_clock import ManualClock

KEYS = st.sampled_from("abcd")
SCOPES = st.sampled_from(["tick", "session"])
TTLS = st.sampled_from([None, 1, 5, 10])


@dataclass
class Kept:
    """An entry of the reference."""

    key: str
    number: int
    scope: str
    ends_at: float


@dataclass
class Execution:
    """A run of a tool that is under way, and the outcomes of those who wait for it."""

    key: str
    scope: str
    ttl: float | None
    source: Deferred[Any]
    is_current: bool = True
    waiting: list[tuple[Deferred[Any], list[Any]]] = field(default_factory=list)


class CacheMachine(RuleBasedStateMachine):
    """Look-ups, runs that end in any order and way, cancellation, clearing and time."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.kept: list[Kept] = []
        self.executions: list[Execution] = []
        self.hits = self.misses = self.number = 0

    @initialize(bound=st.integers(1, 3))
    def build(self, bound: int) -> None:
        self.bound = bound
        self.cache = ToolResultCache(bound, clock=self.clock)

    def _result(self) -> dict[str, Any]:
        self.number += 1
        return {"success": True, "numbers": [self.number]}

    def _spoil(self, result: Any) -> int:
        """The number in a result, which is then changed, as by a careless caller."""
        number: int = result["numbers"][0]
        result["numbers"][0] = -1
        result.clear()
        return number

    def _keep(self, key: str, number: int, scope: str, ttl: float | None) -> None:
        self.kept = [entry for entry in self.kept if entry.key != key]
        ends_at = float("inf") if ttl is None else self.clock.now + ttl
        self.kept.append(Kept(key, number, scope, ends_at))
        self.kept = self.kept[-self.bound :]

    def _find(self, key: str) -> int | None:
        """The result of a look-up, which is counted, and marks an entry as used or drops it."""
        for entry in self.kept:
            if entry.key == key:
                self.kept.remove(entry)
                if self.clock.now < entry.ends_at:
                    self.kept.append(entry)
                    self.hits += 1
                    return entry.number
                break
        self.misses += 1
        return None

    @rule(seconds=st.sampled_from([1, 4, 5]))
    def pass_time(self, seconds: int) -> None:
        self.clock.now += seconds

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        value = self.cache.get(key)
        assert self._find(key) == (None if value is None else self._spoil(value))

    @rule(key=KEYS, scope=SCOPES, ttl=TTLS)
    def put(self, key: str, scope: str, ttl: float | None) -> None:
        result = self._result()
        self.cache.set(key, result, scope, ttl)
        self._keep(key, self._spoil(result), scope, ttl)

    @rule(key=KEYS, scope=SCOPES, ttl=TTLS, is_good=st.booleans())
    def run_at_once(self, key: str, scope: str, ttl: float | None, is_good: bool) -> None:
        """Ask with a function that answers at once."""
        if any(each.key == key and each.is_current for each in self.executions):
            return
        answer = {**self._result(), "success": is_good}
        result = self.cache.get_or_run(key, lambda: answer, scope=scope, ttl=ttl)
        number = self._find(key)
        if number is None:
            number = self.number
            if is_good:
                self._keep(key, number, scope, ttl)
        assert number == self._spoil(result)

    @rule(key=KEYS, scope=SCOPES, ttl=TTLS)
    def ask(self, key: str, scope: str, ttl: float | None) -> None:
        """Ask with a tool that answers later; further callers join the first."""
        begun: list[Deferred[Any]] = []

        def tool() -> Deferred[Any]:
            begun.append(Deferred())
            return begun[0]

        asked = self.cache.get_or_run(key, tool, scope=scope, ttl=ttl)
        number = self._find(key)
        if number is not None:
            assert number == self._spoil(asked)
            return
        current = [each for each in self.executions if each.key == key and each.is_current]
        assert (0 if current else 1) == len(begun)
        if not current:
            current = [Execution(key, scope, ttl, begun[0])]
            self.executions += current
        outcomes: list[Any] = []
        asked.addBoth(outcomes.append)
        current[0].waiting.append((asked, outcomes))

    def _take(self, data: st.DataObject) -> Execution:
        return self.executions[data.draw(st.integers(0, len(self.executions) - 1))]

    @precondition(lambda self: self.executions)
    @rule(data=st.data(), way=st.sampled_from(["good", "bad", "error", "strange"]))
    def answer(self, data: st.DataObject, way: str) -> None:
        """End any execution: all who wait get the same, and only a success is kept."""
        execution = self._take(data)
        self.executions.remove(execution)
        result = {**self._result(), "success": way == "good"}
        if way == "error":
            execution.source.errback(OSError("down"))
        elif way == "strange":
            execution.source.callback({"success": True, "of": object()})
        else:
            execution.source.callback(result)
        for _, (outcome,) in execution.waiting:
            if way in ("good", "bad"):
                assert self.number == self._spoil(outcome)
            else:
                assert outcome.type is (OSError if way == "error" else TypeError)
        if way == "good" and execution.is_current:
            self._keep(execution.key, self.number, execution.scope, execution.ttl)

    @precondition(lambda self: self.executions)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """Cancel one who waits; the last one cancels the execution."""
        execution = self._take(data)
        asked, outcomes = execution.waiting.pop(
            data.draw(st.integers(0, len(execution.waiting) - 1))
        )
        asked.cancel()
        assert [CancelledError] == [failure.type for failure in outcomes]
        assert execution.source.called is not bool(execution.waiting)
        if not execution.waiting:
            self.executions.remove(execution)

    @rule(clear=st.sampled_from(["clear_tick", "clear_session", "clear_all"]))
    def clear(self, clear: str) -> None:
        getattr(self.cache, clear)()
        ended = {"clear_tick": "tick", "clear_session": "session"}.get(clear)
        self.kept = [entry for entry in self.kept if ended and entry.scope != ended]
        for execution in self.executions:
            if ended is None or execution.scope == ended:
                execution.is_current = False

    @rule()
    def prune(self) -> None:
        still = [entry for entry in self.kept if self.clock.now < entry.ends_at]
        assert len(self.kept) - len(still) == self.cache.prune_expired()
        self.kept = still

    @invariant()
    def agrees(self) -> None:
        """Both have the same entries and counts, and nobody who waits has an outcome yet."""
        scopes = [entry.scope for entry in self.kept]
        stats = self.cache.get_stats()
        expected = {scope: scopes.count(scope) for scope in ("tick", "session")}
        assert expected == stats["entries_by_scope"]
        assert (self.hits, self.misses) == (stats["hits"], stats["misses"])
        assert len(self.kept) == stats["total_entries"] <= self.bound
        assert not any(outcomes for each in self.executions for _, outcomes in each.waiting)


TestCacheAgainstItsReference = CacheMachine.TestCase
TestCacheAgainstItsReference.settings = settings(stateful_step_count=30)
