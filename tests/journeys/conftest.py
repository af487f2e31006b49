"""Games for the journeys: one database built per test run, one game started per module."""

import fcntl
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import Game, GameFolder, make_bare_folder, make_product_folder
from tests.journeys.staging import run


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_model: needs the embedded language model installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the ends of a game's logs when a test that used it fails."""
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, Game):
                report.sections.append(("logs of the game", value.describe_logs()))
    return report


@pytest.fixture(scope="session")
def model_server() -> Iterator[FakeModel]:
    with FakeModel.in_process() as model:
        yield model


@pytest.fixture
def model(model_server: FakeModel) -> FakeModel:
    """The scripted model that the games ask, reset for each test."""
    model_server.reset()
    return model_server


def _build_once(
    factory: pytest.TempPathFactory, name: str, make: GameFolder, build: Callable[[Game], None]
) -> Path:
    """The root of a stopped game, built by the first worker that needs it."""
    shared = factory.getbasetemp()
    # Each xdist worker has a folder of its own inside the one of the run.
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    root, done = shared / name, shared / f"{name}.done"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            # Another worker's failed attempt may have left files.
            shutil.rmtree(root, ignore_errors=True)
            with Game.make(root, make) as game:
                build(game)
            done.touch()
    return root


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a stopped game with a migrated database and the world in it, to copy from."""
    return _build_once(tmp_path_factory, "template", make_product_folder, Game.build_product)


@pytest.fixture(scope="session")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a stopped game as `evennia --init` and its first start leave it, to copy from."""
    return _build_once(tmp_path_factory, "stock", make_bare_folder, Game.build_bare)


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """Settings of the module's game; a module overrides this to choose its own."""
    return {}


@pytest.fixture(scope="module")
def game(
    template: Path,
    model_server: FakeModel,
    game_settings: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Game]:
    """The Lantern Library, running, for the tests of one module."""
    model_server.reset()
    with Game.copy(template, tmp_path_factory.mktemp("journey") / "game") as game:
        game.ask_model_at(model_server.base_url, MODEL_NAME)
        game.settings |= game_settings
        game.start()
        with game.log_in_admin() as owner:
            # Summaries are model calls of their own, among those that the tests count.
            run(owner, "ada.db.compact_enabled = brass.db.compact_enabled = False")
        yield game


@pytest.fixture(scope="module")
def known_names() -> set[str]:
    """The accounts that the module's tests have made so far."""
    return set()


@pytest.fixture
def enter(game: Game, known_names: set[str]) -> Iterator[Enter]:
    """Bring players into the game: `enter("Tom")`, or `enter("Mira", by="websocket")`."""
    with ExitStack() as stack:

        def bring(name: str, by: str = "telnet") -> Player:
            player: Player = game.open_telnet() if by == "telnet" else game.open_webclient()
            stack.enter_context(player)
            if name not in known_names:
                player.create_account(name)
                known_names.add(name)
            player.log_in(name)
            return player

        yield bring


@pytest.fixture
def admin(game: Game) -> Iterator[Player]:
    with game.log_in_admin() as player:
        yield player
