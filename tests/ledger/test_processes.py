"""Several server processes and threads on one database and one cap."""

from typing import Any

import pytest

from tests.ledger.conftest import Run, told_at_once

CALL_TOKENS = 10


def look(run: Run) -> Any:
    """Return the contents of the database."""
    return told_at_once(run("look"))


def spend(run: Run, **options: Any) -> int:
    """Let three processes of three threads each begin to spend at the same moment."""
    workers = [
        run("spend", threads=3, own_books=seed > 0, seed=seed, attempts=30, **options)
        for seed in range(3)
    ]
    for worker in workers:
        worker.get_ready()
    for worker in workers:
        worker.go()
    passed = sum(int(worker.told()["passed"]) for worker in workers)
    for worker in workers:
        worker.end()
    return passed


@pytest.mark.parametrize("room", [pytest.param(1, id="one call"), pytest.param(50, id="fifty")])
def test_l15_exactly_as_many_calls_pass_as_there_is_room_for(run: Run, room: int) -> None:
    """Nine threads in three processes race for the last room."""
    assert room == spend(run, cap=room * CALL_TOKENS + 5, mixed=False)
    ledger = look(run)
    assert (room * CALL_TOKENS, room) == (ledger["used"], ledger["calls"])
    assert (0, 0) == (ledger["held"], ledger["open"])


def test_r26_whatever_becomes_of_the_calls_the_sums_are_right(run: Run) -> None:
    """Calls are settled with less, released, or cut off."""
    cap = 600
    spend(run, cap=cap, mixed=True)
    # Use up what the last calls gave back after everybody else had stopped asking.
    last = run("spend", threads=1, own_books=True, seed=3, attempts=100, cap=cap, mixed=True)
    last.go()
    assert last.told()["passed"] < 100
    last.end()
    ledger = look(run)
    assert cap - CALL_TOKENS < ledger["used"] <= cap
    assert (ledger["sum"], ledger["sent"]) == (ledger["used"], ledger["calls"])
    assert (0, 0) == (ledger["held"], ledger["open"])


def test_l15_a_killed_process_frees_nothing_it_may_have_used(run: Run) -> None:
    """The next start counts its open call as cut off, and leaves those of living processes."""
    cap = 2 * CALL_TOKENS + 5
    killed, living, third = (run("hold", cap=cap) for _ in range(3))
    keys = []
    for worker in (killed, living):
        worker.go()
        keys.append(worker.told()["held"])
    killed.kill()
    third.go()
    assert {"held": None} == third.told()
    ledger = look(run)
    assert {keys[0]: "cut_off", keys[1]: "open"} == ledger["states"]
    assert (CALL_TOKENS, CALL_TOKENS) == (ledger["used"], ledger["held"])
    living.go()
    assert {"settled": keys[1]} == living.told()
    ledger = look(run)
    assert (CALL_TOKENS + 2, 0, 0) == (ledger["used"], ledger["held"], ledger["open"])
