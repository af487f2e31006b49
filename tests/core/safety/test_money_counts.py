"""Reports of usage, shares of a cost, margins of estimates, and the price of an answer."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.inbox import joins
from evennia_ai.core.safety.budget import accounts_of, parts_of
from evennia_ai.core.safety.prices import (
    FREE,
    MOST_REPORTED,
    Price,
    answer_tokens_for,
    cost_of,
    reported,
)
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.turn.compaction import shares
from evennia_ai.core.turn.conversation import (
    OF,
    PAID_BY,
    marked,
    marked_private,
    payer_of,
    user_message,
    visible_history,
)
from evennia_ai.core.turn.tokens import Margin
from evennia_ai.core.turn.turn import TokenUsage
from tests.core.samples import make_event

TOM, MIRA = "*#3", "*#4"
SAID = user_message("hello")


@pytest.mark.parametrize(
    ("expected", "raw"),
    [
        pytest.param(TokenUsage(7, 3), {"prompt_tokens": 7, "completion_tokens": 3}, id="as told"),
        pytest.param(TokenUsage(7, 9), {"prompt_tokens": 7, "completion_tokens": -1},
                     id="negative"),
        pytest.param(TokenUsage(7, 9), {"prompt_tokens": 7, "completion_tokens": MOST_REPORTED + 1},
                     id="absurd"),
        pytest.param(TokenUsage(7, 93),
                     {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 100},
                     id="a larger total"),
        pytest.param(TokenUsage(97, 3), {"completion_tokens": 3, "total_tokens": 100},
                     id="a total alone"),
        pytest.param(TokenUsage(0, 9), "nonsense", id="no report"),
        pytest.param(TokenUsage(7, 3, 5),
                     {"prompt_tokens": 7, "completion_tokens": 3,
                      "prompt_tokens_details": {"cached_tokens": 5, "audio_tokens": 0}},
                     id="a prompt from the cache"),
        pytest.param(TokenUsage(7, 3),
                     {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": None},
                     id="no details"),
        pytest.param(TokenUsage(97, 3),
                     {"completion_tokens": 3, "total_tokens": 100,
                      "prompt_tokens_details": {"cached_tokens": 5}},
                     id="a cache of no prompt"),
        pytest.param(TokenUsage(7, 3), {"input_tokens": 7, "output_tokens": 3},
                     id="names of Anthropic"),
        pytest.param(TokenUsage(7, 3, 5),
                     {"input_tokens": 7, "output_tokens": 3,
                      "input_tokens_details": {"cached_tokens": 5}},
                     id="names of responses"),
        pytest.param(TokenUsage(97, 3, 50, 40),
                     {"input_tokens": 7, "output_tokens": 3,
                      "cache_read_input_tokens": 50, "cache_creation_input_tokens": 40},
                     id="a cache beside the prompt"),
        pytest.param(TokenUsage(47, 3, 0, 40),
                     {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10,
                      "cache_read_input_tokens": 0, "cache_creation_input_tokens": 40},
                     id="written into a cache"),
        pytest.param(TokenUsage(57, 3, 50),
                     {"prompt_tokens": 7, "completion_tokens": 3, "cache_read_input_tokens": 50,
                      "prompt_tokens_details": {"cached_tokens": 0}},
                     id="details that deny the cache"),
        pytest.param(TokenUsage(97, 3, 50, 40),
                     {"prompt_tokens": 97, "completion_tokens": 3, "total_tokens": 100,
                      "prompt_tokens_details": {"cached_tokens": 50},
                      "cache_read_input_tokens": 50, "cache_creation_input_tokens": 40},
                     id="a cache within the prompt"),
        pytest.param(TokenUsage(97, 3, 50, 40),
                     {"prompt_tokens": 97, "completion_tokens": 3, "total_tokens": 100,
                      "prompt_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 40}},
                     id="what is written is in the details"),
        pytest.param(TokenUsage(97, 3, 50, 47),
                     {"input_tokens": 97, "output_tokens": 3,
                      "input_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 400}},
                     id="more is written than there was"),
        pytest.param(TokenUsage(0, 3),
                     {"output_tokens": 3, "cache_read_input_tokens": 50},
                     id="a cache beside an unknown prompt"),
    ],
)  # fmt: skip
def test_hole_d23_a_report_is_made_credible(expected: TokenUsage, raw: Any) -> None:
    """An impossible field is replaced by our own count, the others stay."""
    assert expected == reported(raw, lambda: 9)


ANY = st.one_of(
    st.integers(), st.floats(), st.none(), st.text(), st.booleans(), st.lists(st.text())
)


@given(
    st.dictionaries(st.sampled_from(("prompt_tokens", "completion_tokens", "total_tokens")), ANY)
)
def test_hole_d23_no_report_makes_an_answer_free(raw: dict[str, Any]) -> None:
    usage = reported(raw, lambda: 9)
    assert type(usage.prompt_tokens) is type(usage.completion_tokens) is int
    assert usage.prompt_tokens >= 0
    assert 0 < usage.completion_tokens <= 2 * MOST_REPORTED


@given(st.integers(1, 10**15), st.decimals("0.0001", "1000", places=4), st.integers(0, 100_000))
def test_hole_d22_so_many_tokens_less_make_room(nano: int, output: Decimal, prompt: int) -> None:
    """An answer that is shorter by this many tokens costs at least so much less."""
    price = Price(Decimal("0.37"), output)
    tokens = answer_tokens_for(nano, price)
    shorter = cost_of(TokenUsage(prompt, 500), price)
    assert cost_of(TokenUsage(prompt, 500 + tokens), price) - shorter >= nano


@pytest.mark.parametrize("price", [None, FREE, Price(Decimal(1), Decimal(0))])
def test_answers_that_are_free_make_no_room(price: Price | None) -> None:
    assert 0 == answer_tokens_for(5, price)


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.dictionaries(st.sampled_from((TOM, MIRA, "*#5", "")), st.floats(0, 1e6), min_size=1),
)
def test_hole_d25_parts_are_the_whole(
    fresh: int, cached: int, answer: int, given: dict[str, float]
) -> None:
    usage = TokenUsage(fresh + 2 * cached, answer, cached, cached)
    parts = parts_of(usage, given)
    assert set(given) == set(parts)
    assert usage == sum(parts.values(), TokenUsage())
    assert all(part.completion_tokens >= 0 for part in parts.values())
    for part in parts.values():
        assert 0 <= part.cached_tokens + part.written_tokens <= part.prompt_tokens
        assert part.written_tokens >= 0


def test_hole_d25_whoever_said_most_pays_most() -> None:
    """The remainder of the rounding is theirs too."""
    assert {TOM: TokenUsage(76, 8), MIRA: TokenUsage(25, 2)} == parts_of(
        TokenUsage(101, 10), {MIRA: 1, TOM: 3}
    )


def test_a_call_of_the_game_counts_to_no_assistant() -> None:
    """For example a check of the game's model."""
    assert {Scope.GAME} == {account.scope for account in accounts_of("", "", 0.0)}


def test_a_call_counts_to_all_games_that_share_a_ledger() -> None:
    own = accounts_of("Ada", TOM, 0.0)
    shared = accounts_of("Ada", TOM, 0.0, is_shared=True)
    assert own == shared[-len(own) :]
    assert {Scope.ALL_GAMES} == {account.scope for account in shared[: -len(own)]}
    assert len(own) // 3 == len(shared) - len(own)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (TOM, {**SAID, PAID_BY: TOM, "of": MIRA}),
        (MIRA, {**SAID, "of": MIRA}),
        (MIRA, marked_private([SAID], MIRA)[0]),
        ("", SAID),
    ],
)
def test_hole_d25_a_message_knows_who_paid(expected: str, message: dict[str, Any]) -> None:
    """The message's person pays, unless another person began the chain."""
    assert expected == payer_of(message)


def test_hole_d25_the_payer_is_marked_where_it_is_another() -> None:
    """The model is not shown the mark."""
    (paid,) = marked(marked([SAID], OF, "#9"), PAID_BY, TOM)
    assert TOM == paid[PAID_BY]
    assert [SAID] == visible_history([paid], "#9")
    assert [SAID] == marked([SAID], PAID_BY, "")


def test_hole_d25_talk_is_shared_by_its_tokens() -> None:
    """Messages of nobody are shared by all."""
    toms, miras = marked([SAID], OF, TOM)[0], marked([SAID], OF, MIRA)[0]
    portions = shares([toms, toms, SAID, miras], len)
    assert {TOM, MIRA} == set(portions)
    assert portions[TOM] == 2 * portions[MIRA]
    assert {""} == set(shares([SAID], len))
    assert {} == shares([], len)


@pytest.mark.parametrize(
    ("factor", "notes"),
    [
        pytest.param(1.0, [], id="nothing is known"),
        pytest.param(1.0, [(100, 60)], id="shorter"),
        pytest.param(3.0, [(100, 300), (100, 120)], id="the most of them"),
        pytest.param(10.0, [(100, 5_000)], id="bounded"),
        pytest.param(1.0, [(10, 300), (100, 0)], id="too little is known"),
        pytest.param(1.2, [(100, 300), *[(100, 120)] * Margin.REPLIES], id="it is forgotten"),
    ],
)
def test_hole_d22_longer_prompts_are_learned(factor: float, notes: list[tuple[int, int]]) -> None:
    """Estimates that were too low raise the reservation for later prompts."""
    margin = Margin()
    for estimated, real in notes:
        margin.note(estimated, real)
    assert math.isclose(factor, margin.factor)


def test_hole_d25_chains_of_two_people_are_answered_apart() -> None:
    """The same assistant speaks in both chains."""
    first, second, third = (make_event(chain=chain).as_stored() for chain in ("a", "b", "a"))
    assert not joins(first, second)
    assert joins(first, third)
