"""Outages of a shared ledger at bad moments: nothing is released twice, no cap is passed."""

from typing import Any

import pytest

from tests.ledger.conftest import Games, told_at_once
from tests.ledger.test_games import CALL_TOKENS, HARBOUR, LANTERN

ASIDE = {"reserve_tokens": 1000, "retry_seconds": 0}


def answer_to(games: Games, act: str, config: dict[str, Any] | None = None, **options: Any) -> Any:
    """Return the answer of a process of the lantern."""
    return told_at_once(
        games.start(LANTERN, act, {"retry_seconds": 0, **(config or {})}, **options)
    )


def test_what_nobody_heard_is_given_back_as_it_was_held(games: Games) -> None:
    """A call was made smaller to fit, and its commit was not heard of."""
    answer = answer_to(games, "lose")
    assert {"used": 2 * CALL_TOKENS, "held": CALL_TOKENS, "open": 1} == _sums(answer)
    assert 1000 - 2 * CALL_TOKENS == answer["fitted"]


def test_nothing_is_drawn_from_a_reserve_that_may_have_ended(games: Games) -> None:
    """The ledger must first tell the fate of the transaction that released it."""
    answer = answer_to(games, "doubt", ASIDE)
    assert ["none", "none"] == answer["drawn"]
    assert {"used": 3 * CALL_TOKENS, "held": CALL_TOKENS, "open": 1} == _sums(answer)


def test_a_stop_lets_a_reserve_go_once(games: Games) -> None:
    """Used or not, the reserve is released once, and others' holds stay."""
    expected = {"used": 3 * CALL_TOKENS, "held": CALL_TOKENS, "open": 1}
    assert expected == answer_to(games, "stop", ASIDE)


@pytest.mark.parametrize("by_others", [False, True])
def test_a_reserve_of_days_ago_is_let_go_once(games: Games, by_others: bool) -> None:
    """Others may already have booked it as a call that was cut off."""
    expected = {"used": 2 * CALL_TOKENS, "held": CALL_TOKENS, "open": 1}
    assert expected == answer_to(games, "silent", ASIDE, by_others=by_others)


def test_ends_that_wait_have_one_timer(games: Games) -> None:
    answer = answer_to(games, "wait")
    assert {"used": CALL_TOKENS, "held": 0, "open": 0} == _sums(answer)
    assert [1, 0] == answer["timers"]


def test_reading_leaves_a_ledger_alone_that_did_not_answer(games: Games) -> None:
    """Readers get an error at once instead of waiting for the next try."""
    worker = games.start(LANTERN, "read", {"retry_seconds": 600})
    worker.go()
    first, second, third = worker.told()["read"]
    assert "cannot be reached" in first
    assert first == second
    assert not third
    games.cut_off()
    games.let_in()
    worker.go()
    assert {"read": ""} == worker.told()
    worker.end()


def test_a_game_that_is_erased_leaves_nothing_held(games: Games) -> None:
    """The sum of all games keeps its use; its open call counts there as cut off."""
    other = games.start(HARBOUR, "hold", cap=10_000)
    other.go()
    assert other.told()["held"]
    answer = answer_to(games, "erase", ASIDE)
    assert {"used": 2 * CALL_TOKENS, "held": CALL_TOKENS, "open": 1} == _sums(answer)
    assert [0, 0] == answer["mine"]


def test_a_days_reserve_is_there_when_the_day_begins(games: Games) -> None:
    """It is released with its day, also for idle games, moved clocks, and little room."""
    answer = answer_to(games, "days", ASIDE)
    over = {"used": 3 * CALL_TOKENS, "held": 0, "open": 0}
    assert [over] * 4 == [_sums(each) for each in answer.values()]
    assert [1000, 2000, 1000] == answer["_midnight"]["held_at"]
    assert [CALL_TOKENS, 2 * CALL_TOKENS] == answer["_midnight"]["used_on"]
    assert [2000, 1000, 2000, 1000, 1000, 1000, 0] == answer["_idle"]["held_at"]
    assert ([2000], 0) == (answer["_near"]["held_at"], answer["_near"]["warned"])
    assert [1000, 1000, 1000] == answer["_narrow"]["held_at"]


def test_a_kill_before_midnight_spends_no_reserve_of_the_next_day(games: Games) -> None:
    """Nobody can have drawn on it before its day began; after that all of it counts."""
    used = 0
    for is_before, more in ((True, 1000), (False, 2000)):
        killed = games.start(LANTERN, "aside", ASIDE)
        killed.go()
        assert {"held": 2000} == killed.told()
        killed.kill()
        used += more
        answer = answer_to(games, "after", ASIDE, is_before=is_before)
        assert {"used": used, "held": 0, "open": 0} == _sums(answer)


def test_a_reserve_of_nothing_is_none(games: Games) -> None:
    """The first process has set aside all that there was."""
    assert {"reserves": 1, "refused": 2} == answer_to(games, "crowd", ASIDE)


def _sums(found: dict[str, Any]) -> dict[str, int]:
    return {name: found[name] for name in ("used", "held", "open")}
