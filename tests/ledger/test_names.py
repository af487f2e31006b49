"""Names of games in a shared ledger, with real processes and a database for each game."""

from tests.ledger.conftest import Games, Worker
from tests.ledger.test_games import CALL_TOKENS, HARBOUR, LANTERN

TAKEN = "another game has the name 'lantern' (EVENNIA_AI_LEDGER_CONFIG.game)"
COPY, NEW = "copy", "new"


def start_named(games: Games, database: str) -> Worker:
    """Start a server process whose game is named lantern, on any database."""
    worker = games.start(database, "named", {"game": LANTERN})
    assert worker.do("") == "begun"
    return worker


def test_a_second_game_with_the_same_name_is_refused(games: Games) -> None:
    """It can delete and raise nothing until its owner claims the name."""
    first, second = start_named(games, LANTERN), start_named(games, HARBOUR)
    assert ["ok"] * 3 == [first.do(step) for step in ("check", "call", "keep")]
    for step in ("call", "keep", "used", "raise", "erase", "check"):
        assert TAKEN in second.do(step), step
    assert "3 told, 1 due" == second.do("beats")
    assert "ok" == first.do("keep by a slow clock")
    assert "evennia ai_ledger --claim" in second.do("call")
    assert f"used {CALL_TOKENS}" == first.do("used")
    assert "runs: last seen " in second.do("claim")
    assert "ok" == first.do("stop")
    assert "is this game's now" in second.do("claim")
    assert "lantern: last seen" in second.do("list")
    assert "is this game's already" in second.do("claim")
    assert "ok" == second.do("call")
    assert f"used {2 * CALL_TOKENS}" == second.do("used")
    assert TAKEN in start_named(games, LANTERN).do("call")


def test_a_copy_of_a_game_is_told_of(games: Games) -> None:
    """A restored backup runs beside the game itself, and the staff of both are told."""
    first = start_named(games, LANTERN)
    assert ["ok"] * 2 == [first.do("keep") for _ in range(2)]
    games.copy(LANTERN, COPY)
    second = start_named(games, COPY)
    assert "ok" == second.do("keep")
    for worker in (first, second):
        text = worker.do("keep")
        assert "another server with this game's database, or a copy of it" in text
        assert "'lantern' in the shared ledger: last seen 20" in text
    assert ["ok"] * 2 == [first.do(step) for step in ("stop", "check")]
    assert "ok" == second.do("keep")
    assert ["ok"] * 3 == [second.do(step) for step in ("call", "erase", "keep")]
    assert "used 0" == second.do("used")
    assert "[]" == start_named(games, HARBOUR).do("games")


def test_a_game_whose_own_tables_are_old_is_told_what_to_type(games: Games) -> None:
    """Reading and Evennia's launcher register no game in the ledger."""
    old = start_named(games, NEW)
    for step in ("call", "keep", "used", "raise", "erase", "list", "claim"):
        assert old.do(step).endswith("in the game's database; type: evennia migrate"), step
    other = start_named(games, HARBOUR)
    assert ["used 0", "ok", "ok"] == [other.do(step) for step in ("used", "check", "list")]
    assert "[]" == other.do("launch")
