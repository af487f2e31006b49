"""A model that fails now and then in a running game: almost every question is answered."""

from random import Random
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import UNHURRIED, Game
from tests.journeys.lines import FAILURE_PATTERN, whisper_of
from tests.journeys.staging import quiet_log, run

__all__ = ("quiet_log",)
PEOPLE = ("Tom", "Mira", "Wil")
EACH = 40
FEWEST_ANSWERED = 114
SHARE = 0.05
FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "status", "status": 500},
    {"kind": "status", "status": 529},
    {"kind": "status", "status": 429, "retry_after_seconds": 1},
    {"kind": "reset"},
    {"kind": "status", "status": 503},
    {"kind": "truncated"},
)


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """Settings without rate limits, with the default breakers."""
    return UNHURRIED


def faulty_calls(seed: int, count: int) -> list[dict[str, Any]]:
    """Behaviours for so many calls, of which one in twenty is a fault."""
    chance, faults = Random(seed), iter(FAULTS * count)
    return [next(faults) if chance.random() < SHARE else {} for _ in range(count)]


@pytest.mark.usefixtures("quiet_log")
def test_with_one_fault_in_twenty_calls_almost_all_are_answered(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    people = [enter(name) for name in PEOPLE]
    model.queue(*faulty_calls(6, 3 * EACH * len(PEOPLE)))
    answered = 0
    for number in range(EACH):
        for person in people:
            person.send(f"whisper ada = round {number}")
        for person in people:
            answer = whisper_of(f"round {number}")
            answered += "I heard" in person.expect(f"{answer}|{FAILURE_PATTERN}", 30)[0]
    assert answered >= FEWEST_ANSWERED
    assert model.count_calls() > EACH * len(PEOPLE), "there were faults, and other attempts"
    assert "closed" == run(
        admin,
        "from evennia_ai.runtime import services\n"
        "told = services.pool().breaker_of(services.endpoint()).state.value",
    )
    admin.ask("assistant status ada", "Ada: awake")
