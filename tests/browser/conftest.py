"""A game, a browser and a player in it, for the tests of one module.

Without a browser the tests are skipped, and pytest's summary says why; on CI that is an error,
because `.ci/run` installs one.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.cases import LISTENER
from tests.browser.devtools import Browser
from tests.browser.equipment import Equipment, find_equipment
from tests.browser.tab import Tab
from tests.browser.webclient import BrowserPlayer
from tests.journeys.conftest import admin as admin
from tests.journeys.conftest import enter as enter
from tests.journeys.conftest import game as game
from tests.journeys.conftest import known_names as known_names
from tests.journeys.conftest import model as model
from tests.journeys.conftest import model_server as model_server
from tests.journeys.conftest import pytest_runtest_makereport as pytest_runtest_makereport
from tests.journeys.conftest import template as template
from tests.journeys.game import UNHURRIED, Game
from tests.journeys.staging import run

OpenTab = Callable[[], Tab]


def demand(equipment: Equipment, is_ci: bool) -> Equipment:
    """Return complete equipment; skip the test without it, or fail on CI."""
    if equipment.lacks and is_ci:
        pytest.fail(equipment.lacks, pytrace=False)
    if equipment.lacks:
        pytest.skip(equipment.lacks)
    return equipment


@pytest.fixture(scope="session")
def equipment() -> Equipment:
    return demand(find_equipment(), is_ci=os.environ.get("CI", "").casefold() in ("1", "true"))


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """Settings without rate limits: many questions within seconds are answered one by one."""
    return UNHURRIED


@pytest.fixture(scope="module")
def browser(equipment: Equipment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser with a fresh profile."""
    with Browser.launch(equipment.browser, tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def open_tab(browser: Browser, equipment: Equipment) -> OpenTab:
    """Open an empty tab with cookies of its own."""
    return lambda: Tab(browser, equipment)


@pytest.fixture(scope="module")
def listener(browser: Browser, equipment: Equipment, game: Game) -> Iterator[BrowserPlayer]:
    """Mira, who stands beside Ada and reads in her browser."""
    with game.log_in_admin() as owner:
        # A whisper may be answered in every way, and at any length, however full her context is.
        # Answers are not stripped of Markdown, so that it reaches the page as well.
        free = "ada.db.private_words = 'free'; ada.db.llm_max_tokens = 2000"
        free += "; ada.db.plain_speech = False"
        run(owner, f"channel('Public').connect(ada.obj); {free}")
    with BrowserPlayer(Tab(browser, equipment), game.ports.web) as player:
        player.expect(r"\bconnect\b")
        player.create_account(LISTENER)
        player.log_in(LISTENER)
        yield player


@pytest.fixture
def mira(listener: BrowserPlayer) -> Iterator[BrowserPlayer]:
    """Mira, on whose page nothing but messages may appear until the test ends."""
    listener.tab.take_incidents()
    yield listener
    assert [] == listener.tab.take_incidents()
