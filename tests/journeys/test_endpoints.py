"""A game whose assistants have models behind the LiteLLM proxy, by three protocols."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoints.conftest import aimock, litellm, new_folder
from tests.endpoints.doors import MASTER_KEY, MODELS
from tests.journeys.clients import Enter, Player
from tests.journeys.game import UNHURRIED, Game
from tests.journeys.staging import quiet_log, run

__all__ = ("aimock", "litellm", "new_folder", "quiet_log")


@pytest.fixture(scope="module")
def game(template: Path, litellm: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Game]:
    """The Lantern Library, asking the proxy as an owner would set it: address, key and model."""
    with Game.copy(template, tmp_path_factory.mktemp("proxy") / "game") as game:
        game.ask_model_at(f"{litellm}/v1", "gpt")
        game.env["OPENAI_API_KEY"] = MASTER_KEY
        game.settings |= UNHURRIED
        game.start()
        yield game


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.usefixtures("quiet_log")
def test_a_player_is_answered_after_a_tool(enter: Enter, admin: Player, model: str) -> None:
    run(admin, f"ada.db.llm_model = {model!r}")
    tom = enter(f"Tom{model}")
    tom.ask("whisper ada = please look around", 'Ada whispers: "I see tables."', 60)


@pytest.mark.parametrize("model", MODELS)
def test_check_says_that_all_is_well(admin: Player, model: str) -> None:
    run(admin, f"ada.db.llm_model = {model!r}")
    match = admin.ask("assistant check ada", r"context.*read, in", 60)
    assert "work (native)" in admin.transcript, match
