"""Two games with a database each and one ledger, as real processes on a real PostgreSQL."""

import time
from typing import Any

from tests.ledger.conftest import Games, Worker

CALL_TOKENS, PLAYERS = 10, 20
LANTERN, HARBOUR = "lantern", "harbour"
NO_CAPS: dict[str, Any] = {
    **{scope: {"tokens_per_day": 0, "calls_per_minute": 0} for scope in ("assistant", "player")},
    "calls_in_flight": 0,
}


def capped(**caps: int) -> dict[str, Any]:
    """Return a budget with caps on the tokens of a day, by scope, and no other."""
    given = {scope: {"tokens_per_day": cap, "calls_per_minute": 0} for scope, cap in caps.items()}
    return {"game": {"tokens_per_day": 0, "calls_per_minute": 0}, **NO_CAPS, **given}


def start_playing(
    games: Games, caps: dict[str, Any], config: dict[str, Any] | None = None, **options: Any
) -> list[Worker]:
    """Start both games, with twenty players each, at the same moment."""
    settings = {"players": PLAYERS, "most": 10**6, "seconds": 60, "caps": caps, **options}
    workers = [games.start(game, "play", config, **settings) for game in (LANTERN, HARBOUR)]
    for worker in workers:
        worker.get_ready()
    for worker in workers:
        worker.go()
    for worker in workers:
        assert {"begun": True} == worker.told()
    return workers


def last_answers(workers: list[Worker]) -> list[dict[str, Any]]:
    """Return the last answer of each worker, skipping reports of an absent ledger."""
    answers = [
        next(each for each in iter(worker.told, None) if "passed" in each) for worker in workers
    ]
    for worker in workers:
        worker.end()
    return answers


def test_two_games_never_pass_the_cap_of_both(games: Games) -> None:
    """Players race for the last room: all of it is used, and no more."""
    room = 150
    answers = last_answers(start_playing(games, capped(all_games=room * CALL_TOKENS + 5)))
    assert room == sum(each["passed"] for each in answers)
    ledger = games.ask("shared")
    used = ledger["used"]
    assert room * CALL_TOKENS == used["/all_games/"] == ledger["sum"]
    assert used["/all_games/"] == used[f"{LANTERN}/game/"] + used[f"{HARBOUR}/game/"]
    assert (0, 0) == (ledger["held"], ledger["open"])


def test_a_games_own_cap_is_its_own_and_so_are_its_players(games: Games) -> None:
    """Player #5 of one game is another person than #5 of the other."""
    room = 40
    answers = last_answers(start_playing(games, capped(game=room * CALL_TOKENS + 5)))
    assert [room, room] == [each["passed"] for each in answers]
    used = games.ask("shared")["used"]
    assert 2 * room * CALL_TOKENS == used["/all_games/"]
    for game, passed in ((LANTERN, room), (HARBOUR, room)):
        mine = {key: each for key, each in used.items() if key.startswith(f"{game}/player/*#")}
        assert passed * CALL_TOKENS == sum(mine.values())
        assert passed * CALL_TOKENS == used[f"{game}/assistant/ada"]


def test_a_ledger_that_is_cut_off_is_told_in_words_and_nothing_is_lost(games: Games) -> None:
    """During the outage no call is made; ends of calls are written once after it."""
    room = 400
    workers = start_playing(games, capped(all_games=room * CALL_TOKENS + 5), pause=0.02)
    time.sleep(0.5)
    games.cut_off()
    assert [{"away": True}] * 2 == [worker.told() for worker in workers]
    games.let_in()
    answers = last_answers(workers)
    assert "cannot be reached" in answers[0]["words"]
    assert "no model call is made before it answers" in answers[0]["words"]
    ledger = games.ask("shared")
    # A reservation under way at the cut may stay held until its process is known to have ended.
    assert ledger["used"]["/all_games/"] + ledger["held"] <= room * CALL_TOKENS + 5
    assert sum(each["passed"] for each in answers) * CALL_TOKENS == ledger["sum"]
    assert ledger["sum"] == ledger["used"]["/all_games/"]


def test_within_what_was_set_aside_a_game_goes_on_without_the_ledger(games: Games) -> None:
    """Calls draw on the reserve, never exceed it, and are written after the outage."""
    config = {"reserve_tokens": 10 * CALL_TOKENS, "retry_seconds": 0.2}
    options = {"is_one_process": True, "players": 2, "most": 60, "pause": 0.05}
    workers = start_playing(games, capped(all_games=10_000), config, **options)
    time.sleep(0.5)
    games.cut_off()
    assert [{"away": True}] * 2 == [worker.told() for worker in workers], "never used up"
    games.let_in()
    answers = last_answers(workers)
    ledger = games.ask("shared")
    assert sum(each["passed"] for each in answers) * CALL_TOKENS == ledger["sum"]
    assert ledger["sum"] == ledger["used"]["/all_games/"]
    assert (0, 0) == (ledger["held"], ledger["open"])
