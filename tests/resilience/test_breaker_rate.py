"""A breaker that trips by the share of failed calls as well."""

from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.resilience import CircuitBreaker
from evennia_ai.resilience.clock import SLOTS, SlidingCount
from tests.resilience.manual_clock import BREAKER_CONFIG, ManualClock

RATE = replace(BREAKER_CONFIG, failure_rate=0.5, least_calls=10)


@pytest.fixture
def breaker(clock: ManualClock) -> CircuitBreaker:
    """Trips at three failures that are half of at least ten calls within twenty seconds."""
    return CircuitBreaker("llm", RATE, clock=clock)


def play(breaker: CircuitBreaker, calls: str) -> list[str]:
    """The state after each call: "+" succeeds, "-" fails."""
    states = []
    for call in calls:
        permit = breaker.acquire()
        permit.success() if call == "+" else permit.failure(OSError("down"))
        states.append(str(breaker.state))
    return states


@pytest.mark.parametrize(
    ("state", "calls"),
    [
        pytest.param("closed", "-" * 9, id="all of too few"),
        pytest.param("open", "-" * 10, id="all of enough"),
        pytest.param("open", "+++++-----", id="half"),
        pytest.param("closed", "++++++-----", id="less than half"),
        pytest.param("closed", "-----+++++", id="a success trips nothing"),
        pytest.param("open", "-----+++++-", id="the failure after it does"),
        pytest.param("closed", "+++++++++-" * 20, id="one in ten, for ever"),
    ],
)
def test_the_share_decides(breaker: CircuitBreaker, state: str, calls: str) -> None:
    """Enough failures do not trip it unless they are the share of enough calls."""
    assert state == play(breaker, calls)[-1]


def test_few_failures_are_enough_of_no_share(clock: ManualClock) -> None:
    """Both are needed, the number and the share."""
    breaker = CircuitBreaker("llm", replace(RATE, failure_threshold=8), clock=clock)
    assert ["closed"] * 10 == play(breaker, "+++-------")
    assert ["open"] == play(breaker, "-")


def test_what_is_over_counts_no_more(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """Successes from before the window do not outweigh the failures within it."""
    play(breaker, "+" * 100)
    assert breaker.has_answered_lately
    clock.now += 20
    assert (True, False) == (breaker.has_answered, breaker.has_answered_lately)
    assert "open" == play(breaker, "-" * 10)[-1]


def test_it_begins_anew(breaker: CircuitBreaker, clock: ManualClock) -> None:
    """Earlier calls no longer count after its probes, nor after a reset."""
    play(breaker, "-" * 10)
    clock.now += 10
    play(breaker, "++")
    assert ("closed", False) == (breaker.state, breaker.has_answered_lately)
    assert ["closed"] * 9 == play(breaker, "-" * 9)
    breaker.reset()
    assert ["closed"] * 9 == play(breaker, "-" * 9)


def test_calls_through_it_count_alike(breaker: CircuitBreaker) -> None:
    """`call` and outcomes reported by hand count like calls with a permit."""
    for _ in range(5):
        breaker.call(int)
        breaker.record_success()
    assert ["closed"] * 9 == play(breaker, "-" * 9)
    assert ["open"] == play(breaker, "-")


def test_without_a_rate_nothing_is_known_of_answers(clock: ManualClock) -> None:
    """Such a breaker counts failures alone, and blames no service for the lack of answers."""
    assert CircuitBreaker("tool", BREAKER_CONFIG, clock=clock).has_answered_lately


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")], ids=str)
def test_a_share_is_from_0_to_1(rate: float) -> None:
    with pytest.raises(ValueError, match=r"^failure_rate must be from 0 to 1"):
        replace(BREAKER_CONFIG, failure_rate=rate)


@given(st.lists(st.tuples(st.floats(-5, 30), st.booleans()), max_size=60), st.floats(0, 30))
def test_the_count_is_that_of_a_list(calls: list[tuple[float, bool]], later: float) -> None:
    """The count equals that of a list of all calls, except for the slot at the window's old end."""
    count, past, now = SlidingCount(24.0), deque[tuple[float, bool]](), 100.0
    for step, is_failure in calls:
        if int((now + step) // 1.0) < int(now // 1.0):
            past.clear()  # a clock that is set back begins the count anew
        now += step
        count.add(now, is_failure=is_failure)
        past.append((now, is_failure))
    now += later
    recent = [failed for at, failed in past if now // 1.0 - at // 1.0 < SLOTS]
    assert (len(recent), sum(recent)) == count.totals(now)
