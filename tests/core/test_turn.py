"""The tray."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn import Turn, Usage
from tests.core.samples import make_event

COUNTS = st.builds(Usage, st.integers(0, 10**9), st.integers(0, 10**9))


@given(COUNTS, COUNTS)
def test_usage_adds_up(one: Usage, other: Usage) -> None:
    """The sum of two calls has the tokens of both, of each kind and in all."""
    total = one + other
    assert one.prompt_tokens + other.prompt_tokens == total.prompt_tokens
    assert one.total_tokens + other.total_tokens == total.total_tokens


def test_turns_share_nothing() -> None:
    """What is added to one turn is not seen in the next."""
    first, second = Turn(0, make_event()), Turn(0, make_event())
    first.said.append({"role": "user", "content": "hello"})
    first.history.append({"role": "user", "content": "hello"})
    assert ([], []) == (second.said, second.history)
    assert Usage(0, 0) == second.usage
