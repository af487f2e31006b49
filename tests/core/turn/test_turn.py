"""A turn: its usage, its events, and its place in a chain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.turn import TokenUsage, Turn
from tests.core.samples import make_event

COUNTS = st.builds(TokenUsage, st.integers(0, 10**9), st.integers(0, 10**9))


@given(COUNTS, COUNTS)
def test_usage_adds_up(one: TokenUsage, other: TokenUsage) -> None:
    total = one + other
    assert one.prompt_tokens + other.prompt_tokens == total.prompt_tokens
    assert total.prompt_tokens + total.completion_tokens == total.total_tokens


def test_turns_share_nothing() -> None:
    first, second = Turn(0, (make_event(),)), Turn(0, (make_event(),))
    first.said.append({"role": "user", "content": "hello"})
    first.history.append({"role": "user", "content": "hello"})
    assert ([], []) == (second.said, second.history)
    assert TokenUsage(0, 0) == second.usage
    assert (0, 0, 0, False) == (
        second.iterations,
        second.effects,
        second.began_at,
        second.is_private,
    )


def test_one_turn_can_be_voided_alone() -> None:
    one, other = Turn(0, ()), Turn(0, ())
    one.void()
    assert (True, False) == (one.is_called_off, other.is_called_off)
    assert one.epoch != other.epoch


def test_an_answer_goes_where_the_newest_came_from() -> None:
    burst = (make_event(id="e1"), make_event(id="e2"), make_event(id="e3", source="say"))
    assert "e3" == Turn(0, burst).event.id


@pytest.mark.parametrize(
    ("hops", "of_events"),
    [
        pytest.param(1, [0], id="a person's"),
        pytest.param(3, [2], id="an assistant's"),
        pytest.param(3, [2, 0], id="a burst of both"),
    ],
)
def test_an_answer_is_one_hop_further(hops: int, of_events: list[int]) -> None:
    """An answer counts one more than the furthest of what it answers, so that every talk ends."""
    assert hops == Turn(0, tuple(make_event(hops=each) for each in of_events)).hops
