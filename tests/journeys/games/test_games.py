"""Other people's games get an assistant by README's steps, and are as before without it."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.game import UNHURRIED, Game, make_bare_folder
from tests.journeys.games.steps import STEPS
from tests.journeys.games.table import (
    Outcomes,
    all_kinds,
    as_cell,
    expected,
    read_record,
    write_down,
)
from tests.journeys.games.visit import Kind, Visit
from tests.profiles import IS_THOROUGH

IS_WRITING = "EVENNIA_AI_WRITE_TABLES" in os.environ
PLAYED = [kind for kind in all_kinds() if kind.is_quick or IS_THOROUGH]
by_name = pytest.mark.parametrize("kind", PLAYED, ids=lambda kind: kind.name)


Found = Callable[[Kind, ExitStack], Game]


@pytest.fixture
def found(tmp_path: Path, request: pytest.FixtureRequest) -> Found:
    """Make the game of a kind, with its database made and its first start done."""

    def make(kind: Kind, stack: ExitStack) -> Game:
        root = tmp_path / "theirs"
        if kind.found is None:
            game = stack.enter_context(Game.copy(request.getfixturevalue("stock"), root))
            game.settings |= {**UNHURRIED, **kind.settings}
            return game
        game = stack.enter_context(Game.make(root, make_bare_folder))
        game.settings |= {**UNHURRIED, **kind.settings}
        kind.found(game, stack)
        game.build_bare()
        return game

    return make


@by_name
def test_a_game_of_other_people(kind: Kind, found: Found, model: FakeModel) -> None:
    """Each step has the recorded outcome, and none leaves a traceback in the log."""
    with ExitStack() as stack:
        game = found(kind, stack)
        try:
            kind.furnish(game)
            game.ask_model_at(model.base_url, MODEL_NAME)
            game.start(by_launcher=True)
            outcomes = play(Visit(kind, game, model, stack))
        except AssertionError as error:
            pytest.fail(f"{error}\n{game.describe_logs()}")
    if IS_WRITING:
        write_down(kind.name, outcomes)
    assert (expected(kind.name) or outcomes) == outcomes


def play(visit: Visit) -> Outcomes:
    """Take every step in order; an error names its step."""
    outcomes: Outcomes = {}
    assert [] == visit.find_trouble()
    for name, step in STEPS.items():
        try:
            outcomes[name] = step(visit)
            assert [] == visit.find_trouble()
        except AssertionError as error:
            raise AssertionError(f"{visit.kind.name}, {name}: {error}") from error
    return outcomes


@pytest.mark.parametrize("name", read_record())
def test_what_is_written_down_is_whole(name: str) -> None:
    assert name in [kind.name for kind in all_kinds()]
    assert list(STEPS) == list(expected(name) or ())


def test_games_have_names_of_their_own() -> None:
    names = [kind.name for kind in all_kinds()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("outcomes", "cell"),
    [({"5": "yes", "6": "yes"}, "yes"), ({"5": "yes", "6": "no"}, "5: yes; 6: no"), ({}, "")],
)
def test_a_cell_says_where_it_differs(outcomes: Outcomes, cell: str) -> None:
    assert cell == as_cell(outcomes)
