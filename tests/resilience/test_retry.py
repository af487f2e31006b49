"""Retries: after which errors, how often, and after which waits."""

import math
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock, deferLater

from evennia_ai.errors import (
    CircuitOpenError,
    ModelConnectionError,
    ModelReplyError,
    ModelStatusError,
    ToolError,
)
from evennia_ai.resilience import RetryPlan
from evennia_ai.resilience.retry import (
    RetryConfig,
    backoff_seconds,
    is_retryable,
    is_retryable_text,
    read_retry_after,
    retry,
)

EXACT = RetryConfig(jitter=False)
CONFIGS = st.builds(
    RetryConfig,
    backoff_base=st.floats(0.0, 100.0),
    backoff_max=st.floats(0.0, 1000.0),
    backoff_multiplier=st.floats(1.0, 1e10),
    jitter=st.booleans(),
)
CHANCE = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("seconds", "attempt"),
    [(1.0, 1), (2.0, 2), (4.0, 3), (8.0, 4), (10.0, 5), (10.0, 5000)],
    ids=str,
)
def test_backoff_grows_to_its_longest(seconds: float, attempt: int) -> None:
    assert seconds == backoff_seconds(EXACT, attempt, random=0.3)


@pytest.mark.parametrize(
    ("seconds", "chance"),
    [
        pytest.param(2.0, 0.0, id="half at the least"),
        pytest.param(3.0, 0.5, id="in the middle"),
        pytest.param(4.0, 1.0, id="all at the most"),
    ],
)
def test_jitter_shortens(seconds: float, chance: float) -> None:
    """Chance shortens a wait to no less than its half."""
    assert seconds == backoff_seconds(RetryConfig(), 3, random=chance)


@pytest.mark.parametrize(
    ("seconds", "asked"),
    [
        pytest.param(1.0, None, id="nothing asked"),
        pytest.param(1.0, 0.5, id="less"),
        pytest.param(30.0, 30.0, id="more, even above the longest wait"),
        pytest.param(1.0, -5.0, id="nonsense"),
        pytest.param(1.0, math.nan, id="no number"),
    ],
)
def test_service_is_obeyed(seconds: float, asked: float | None) -> None:
    """The wait is never shorter than what the service asked for."""
    assert seconds == backoff_seconds(EXACT, 1, random=0.0, retry_after=asked)


@given(CONFIGS, st.integers(1, 100_000), CHANCE)
def test_backoff_bounds(config: RetryConfig, attempt: int, chance: float) -> None:
    wait = backoff_seconds(config, attempt, random=chance)
    assert 0.0 <= wait <= config.backoff_max
    assert wait >= 0.5 * min(config.backoff_max, config.backoff_base)


@given(CONFIGS, st.integers(1, 50), CHANCE)
def test_backoff_never_shrinks(config: RetryConfig, attempt: int, chance: float) -> None:
    first, second = (backoff_seconds(config, attempt + n, random=chance) for n in (0, 1))
    assert first <= second


def test_defaults() -> None:
    assert RetryConfig(4, 1.0, 10.0, 2.0, True) == RetryConfig()


def test_config_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        EXACT.max_attempts = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "least"),
    [("max_attempts", 1), ("backoff_base", 0), ("backoff_max", 0), ("backoff_multiplier", 1)],
)
def test_config_is_checked(field: str, least: int) -> None:
    changed = replace(RetryConfig(), **cast("dict[str, Any]", {field: least}))
    assert least == getattr(changed, field)
    for value in (least - 0.5, math.nan):
        with pytest.raises(ValueError, match=f"^{field} must be at least {least}, not {value}"):
            replace(RetryConfig(), **cast("dict[str, Any]", {field: value}))


# ---- what may pass -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param(True, "Connection reset by peer", id="connection"),
        pytest.param(True, "Read TIMEOUT", id="timeout, in capitals"),
        pytest.param(True, "network is unreachable", id="network"),
        pytest.param(True, "temporary failure in name resolution", id="temporary"),
        pytest.param(True, "Rate limit reached", id="rate limit"),
        pytest.param(True, "busy, please try again", id="try again"),
        pytest.param(False, "invalid api key", id="a wrong key"),
        pytest.param(False, "", id="nothing"),
    ],
)
def test_words_of_passing_trouble(expected: bool, text: str) -> None:
    assert expected is is_retryable_text(text)
    assert expected is is_retryable(text)
    assert expected is is_retryable(ToolError(text))


@pytest.mark.parametrize(
    ("expected", "error"),
    [
        pytest.param(True, TimeoutError(), id="known by its kind"),
        pytest.param(True, ConnectionRefusedError(111, "refused"), id="known by its kind, too"),
        pytest.param(True, ModelConnectionError("nobody there"), id="it says so"),
        pytest.param(True, ModelStatusError(429, "slow down"), id="too many requests"),
        pytest.param(False, ModelStatusError(401, "connection"), id="it knows better"),
        pytest.param(False, ModelReplyError("timeout"), id="it knows better, too"),
        pytest.param(False, CircuitOpenError("connection", 5.0), id="an open breaker"),
        pytest.param(False, CancelledError("timeout"), id="nobody wants it any more"),
        pytest.param(False, ValueError("no such room"), id="a mistake"),
    ],
)
def test_errors_that_may_pass(expected: bool, error: Exception) -> None:
    """An error that knows is believed; others are judged by their kind and their words."""
    assert expected is is_retryable(error)


@pytest.mark.parametrize(
    ("seconds", "header"),
    [
        pytest.param(20.0, "20", id="seconds"),
        pytest.param(0.5, "0.5", id="half a second"),
        pytest.param(90.0, "Wed, 21 Oct 2015 07:29:30 GMT", id="a date"),
        pytest.param(90.0, "Wed, 21 Oct 2015 07:29:30 -0000", id="a date that hides its zone"),
        pytest.param(90.0, "Wed, 21 Oct 2015 09:29:30 +0200", id="a date of another zone"),
        pytest.param(0.0, "Wed, 21 Oct 2015 07:00:00 GMT", id="a date that is over"),
        pytest.param(0.0, "-5", id="less than nothing"),
        pytest.param(None, "", id="nothing"),
        pytest.param(None, "soon", id="a word"),
        pytest.param(None, "nan", id="no number"),
        pytest.param(None, "inf", id="for ever"),
        pytest.param(None, f"Wed, 21 Oct {'9' * 20} 07:28:00 GMT", id="a year beyond all"),
    ],
)
def test_retry_after_is_read(seconds: float | None, header: str) -> None:
    now = datetime(2015, 10, 21, 7, 28, tzinfo=UTC)
    assert seconds == read_retry_after(header, now)


# ---- one call and its attempts -------------------------------------------------------------------

DOWN = ModelConnectionError("nobody there")
BUSY = ModelStatusError(429, "slow down", retry_after=7.0)


def test_a_plan_counts_and_waits() -> None:
    chances = [0.0, 1.0, 0.5]
    plan = RetryPlan(
        RetryConfig(), deadline_seconds=60, clock=Clock().seconds, random=lambda: chances.pop(0)
    )
    waits = [plan.wait_after(problem) for problem in (DOWN, "timeout", DOWN, DOWN)]
    assert ([0.5, 2.0, 3.0, None], 4) == (waits, plan.attempt)


def test_a_plan_ends_with_what_will_not_pass() -> None:
    """No random number is drawn: that would raise here."""
    plan = RetryPlan(RetryConfig(), deadline_seconds=60, clock=Clock().seconds, random=list.pop)  # type: ignore[arg-type]
    assert (None, 1) == (plan.wait_after(ValueError("wrong")), plan.attempt)


@pytest.mark.parametrize(("wait", "deadline"), [(None, 7.0), (7.0, 7.1)])
def test_no_wait_beyond_the_deadline(wait: float | None, deadline: float) -> None:
    """A wait that leaves no time for another attempt is not begun."""
    plan = RetryPlan(
        RetryConfig(), deadline_seconds=deadline, clock=Clock().seconds, random=lambda: 1.0
    )
    assert wait == plan.wait_after(BUSY)


class Bench:
    """A retried call on a clock that a test moves.

    Attributes:
        times: the seconds that each attempt was given.
        outcomes: the result or failure of the call, once there is one.
    """

    def __init__(self, *answers: Any, deadline: float = 30.0) -> None:
        self.clock = Clock()
        self.times: list[float] = []
        self.outcomes: list[Any] = []
        self._answers = list(answers)
        self.call = Deferred.fromCoroutine(
            retry(
                self._attempt,
                RetryConfig(),
                deadline_seconds=deadline,
                sleep=lambda seconds: deferLater(self.clock, seconds),
                clock=self.clock.seconds,
                random=lambda: 1.0,
            )
        )
        self.call.addBoth(self.outcomes.append)

    async def _attempt(self, seconds_left: float) -> Any:
        self.times.append(seconds_left)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return await answer if isinstance(answer, Deferred) else answer


def test_success_at_once() -> None:
    bench = Bench("hi")
    assert (["hi"], [30.0], []) == (
        bench.outcomes,
        bench.times,
        bench.clock.getDelayedCalls(),
    )


def test_success_in_the_end() -> None:
    bench = Bench(DOWN, DOWN, DOWN, "hi")
    bench.clock.pump([0.5] * 13)
    assert ([], [30.0, 29.0, 27.0]) == (bench.outcomes, bench.times)
    bench.clock.advance(0.5)
    assert (["hi"], [30.0, 29.0, 27.0, 23.0]) == (bench.outcomes, bench.times)


def test_the_last_error_is_raised() -> None:
    last = ModelConnectionError("still nobody there")
    bench = Bench(DOWN, DOWN, DOWN, last, "never")
    bench.clock.pump([1.0] * 30)
    assert ([last], 4) == ([failure.value for failure in bench.outcomes], len(bench.times))


def test_the_service_says_when() -> None:
    bench = Bench(BUSY, "hi")
    bench.clock.advance(6.9)
    assert [] == bench.outcomes
    bench.clock.advance(0.1)
    assert ["hi"] == bench.outcomes


def test_the_deadline_covers_slow_attempts() -> None:
    """An attempt that took most of the time leaves none for a wait."""
    slow: Deferred[str] = Deferred()
    bench = Bench(DOWN, slow, "never", deadline=5.0)
    bench.clock.advance(1.0)
    bench.clock.advance(60.0)
    slow.errback(DOWN)
    assert ([DOWN], [5.0, 4.0]) == (
        [failure.value for failure in bench.outcomes],
        bench.times,
    )


def test_who_wakes_too_late_tries_no_more() -> None:
    """After a wait beyond the deadline there is no further attempt."""
    bench = Bench(DOWN, "never", deadline=5.0)
    bench.clock.advance(5.0)
    assert ([DOWN], [5.0]) == ([failure.value for failure in bench.outcomes], bench.times)


def test_no_time_left_is_none() -> None:
    """The seconds left are never negative."""
    clock = Clock()
    plan = RetryPlan(RetryConfig(), deadline_seconds=5, clock=clock.seconds, random=lambda: 1.0)
    clock.advance(6)
    assert 0.0 == plan.seconds_left


def test_cancelling_ends_a_wait() -> None:
    bench = Bench(DOWN, "never")
    bench.clock.advance(0.5)
    bench.call.cancel()
    assert [CancelledError] == [failure.type for failure in bench.outcomes]
    assert ([], 1) == (bench.clock.getDelayedCalls(), len(bench.times))


def test_cancelling_ends_an_attempt() -> None:
    waiting: Deferred[str] = Deferred()
    bench = Bench(waiting, "never")
    bench.call.cancel()
    assert [CancelledError] == [failure.type for failure in bench.outcomes]
    assert ([], 1) == (bench.clock.getDelayedCalls(), len(bench.times))
