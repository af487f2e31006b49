"""The breaker against a plain reference that stores its state and moves it at every step."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from twisted.internet.defer import Deferred

from evennia_ai.resilience import CircuitBreaker, CircuitBreakerConfig, CircuitOpenError
from tests.resilience.manual_clock import ManualClock

OPEN_SECONDS, WINDOW_SECONDS = 10, 20
DOWN, OURS = OSError("down"), ValueError("ours")


class Reference:
    """The expected behaviour of a breaker, without care for speed or memory."""

    def __init__(self, config: CircuitBreakerConfig) -> None:
        self.config = config
        self.now = 1000
        self.state, self.mode, self.opened_at, self.round = "closed", "automatic", 0, 0
        self.failure_times: list[int] = []
        self.probes: dict[int, int] = {}
        self.probe_successes = 0
        self.totals = {"failures": 0, "successes": 0, "rejections": 0}
        self.last_error: str | None = None

    def pass_time(self, seconds: int) -> None:
        """An open breaker becomes half open by itself."""
        self.now += seconds
        is_over = self.now >= self.opened_at + OPEN_SECONDS and self.mode != "isolated"
        if self.state == "open" and is_over:
            self.state = "half_open"

    def go(self, state: str, mode: str = "automatic") -> None:
        """Begin a new round in this state."""
        self.state, self.mode, self.opened_at, self.round = state, mode, self.now, self.round + 1
        self.probes, self.probe_successes = {}, 0
        if state == "closed":
            self.failure_times = []

    @property
    def retry_after(self) -> float | None:
        """Seconds until a call is admitted; None for now."""
        if self.mode == "isolated":
            return float("inf")
        if self.state == "open":
            return self.opened_at + OPEN_SECONDS - self.now
        ends = [at + OPEN_SECONDS for at in self.probes.values() if at + OPEN_SECONDS > self.now]
        is_full = self.state == "half_open" and len(ends) == self.config.max_probes
        return min(ends) - self.now if is_full else None

    def begin(self, call: int) -> None:
        """Admit a call; in the half open state it is a probe."""
        if self.state == "half_open":
            self.probes[call] = self.now

    def end(self, call: int | None, outcome: str) -> None:
        """End a call of this round, or note an outcome that was reported by hand."""
        if self.state == "half_open" and outcome != "failure":
            self.probes.pop(call, None)  # type: ignore[arg-type]
        if outcome == "success":
            self.succeed()
        elif outcome == "failure":
            self.fail()

    def succeed(self) -> None:
        self.totals["successes"] += 1
        self.probe_successes += self.state == "half_open"
        if self.probe_successes == self.config.success_threshold:
            self.go("closed")

    def fail(self) -> None:
        self.totals["failures"] += 1
        self.last_error = "down"
        if self.state == "half_open":
            self.go("open")
        elif self.state == "closed":
            self.failure_times.append(self.now)
            if self.mode == "automatic" and self.recent == self.config.failure_threshold:
                self.go("open")

    @property
    def recent(self) -> int:
        """Failures within the window, at most as many as the threshold."""
        recent = [at for at in self.failure_times if at >= self.now - WINDOW_SECONDS]
        return min(len(recent), self.config.failure_threshold)


class BreakerMachine(RuleBasedStateMachine):
    """Calls of all kinds in any order, while time passes and people take the breaker in hand."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.calls: dict[int, tuple[dict[str, Callable[[], Any]], int]] = {}
        self.begun = 0

    @initialize(failures=st.integers(1, 3), successes=st.integers(1, 3), probes=st.integers(1, 2))
    def build(self, failures: int, successes: int, probes: int) -> None:
        config = CircuitBreakerConfig(
            failures, successes, OPEN_SECONDS, WINDOW_SECONDS, (ValueError, KeyError), probes
        )
        self.breaker = CircuitBreaker("llm", config, clock=self.clock)
        self.reference = Reference(config)

    @rule(seconds=st.sampled_from([1, 4, 9, 10, 25]))
    def pass_time(self, seconds: int) -> None:
        self.clock.now += seconds
        self.reference.pass_time(seconds)

    def _begin(self, way: str) -> dict[str, Callable[[], Any]]:
        """Begin a call, and give its possible ends."""
        if way == "permit":
            permit = self.breaker.acquire()
            return {
                "success": permit.success,
                "failure": lambda: permit.failure(DOWN),
                "excluded": lambda: permit.failure(OURS),
                "cancelled": permit.release,
            }
        waiting: Deferred[int] = Deferred()

        async def ask() -> Any:
            return await waiting

        if way == "coroutine":
            asked: Deferred[Any] = Deferred.fromCoroutine(self.breaker.call(ask))
        else:
            asked = self.breaker.call(lambda: waiting)
        asked.addErrback(lambda failure: None)
        return {
            "success": lambda: waiting.callback(1),
            "failure": lambda: waiting.errback(DOWN),
            "excluded": lambda: waiting.errback(OURS),
            "cancelled": asked.cancel,
        }

    @rule(way=st.sampled_from(["permit", "Deferred", "coroutine"]))
    def begin(self, way: str) -> None:
        retry_after = self.reference.retry_after
        if retry_after is None:
            self.begun += 1
            self.calls[self.begun] = (self._begin(way), self.reference.round)
            self.reference.begin(self.begun)
            return
        with pytest.raises(CircuitOpenError) as rejected:
            self._begin(way)
        assert retry_after == rejected.value.retry_after
        self.reference.totals["rejections"] += 1

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), outcome=st.sampled_from(["success", "failure", "excluded", "cancelled"]))
    def end(self, data: st.DataObject, outcome: str) -> None:
        call = data.draw(st.sampled_from(sorted(self.calls)))
        ends, taken_in = self.calls.pop(call)
        ends[outcome]()
        if taken_in == self.reference.round:
            self.reference.end(call, outcome)

    @rule(outcome=st.sampled_from(["success", "failure", "excluded"]))
    def call_at_once(self, outcome: str) -> None:
        """Call a function that answers or fails at once."""

        def answer() -> int:
            if outcome == "success":
                return 1
            raise DOWN if outcome == "failure" else OURS

        if self.reference.retry_after is not None:
            return
        self.reference.begin(0)
        with (
            contextlib.nullcontext()
            if outcome == "success"
            else pytest.raises(OSError if outcome == "failure" else ValueError)
        ):
            assert 1 == self.breaker.call(answer)
        self.reference.end(0, outcome)

    @rule(outcome=st.sampled_from(["success", "failure", "excluded"]))
    def tell(self, outcome: str) -> None:
        """Report an outcome by hand."""
        if outcome == "success":
            self.breaker.record_success()
        else:
            self.breaker.record_failure(DOWN if outcome == "failure" else OURS)
        self.reference.end(None, outcome)

    @rule(act=st.sampled_from(["reset", "force_open", "isolate", "metrics_only"]))
    def take_in_hand(self, act: str) -> None:
        getattr(self.breaker, act)()
        self.reference.go("closed")
        if act in ("force_open", "isolate"):
            self.reference.go("open", "isolated" if act == "isolate" else "automatic")
        elif act == "metrics_only":
            self.reference.mode = act

    @invariant()
    def agrees(self) -> None:
        reference, retry_after = self.reference, self.reference.retry_after
        assert (reference.mode, retry_after) == (self.breaker.mode, self.breaker.retry_after)
        assert (retry_after is None) is self.breaker.is_available
        expected = {
            "name": "llm",
            "state": reference.state,
            "failures_in_window": reference.recent,
            "failure_threshold": reference.config.failure_threshold,
            "total_failures": reference.totals["failures"],
            "total_successes": reference.totals["successes"],
            "total_rejections": reference.totals["rejections"],
            "last_failure_error": reference.last_error,
            "retry_after": None if reference.mode == "isolated" else retry_after,
            "half_open_successes": reference.probe_successes,
            "success_threshold": reference.config.success_threshold,
        }
        assert expected == self.breaker.get_stats()


TestBreakerAgainstItsReference = BreakerMachine.TestCase
TestBreakerAgainstItsReference.settings = settings(stateful_step_count=30)
