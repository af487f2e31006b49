"""A whisper answered by the embedded language model itself: no key, no network, no script."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.game import Game
from tests.journeys.lines import FAILURE

STATE_DIR = "server/.local_model"
# Fetching 491 MB and loading it, on a slow line and a busy machine.
MODEL_SECONDS = 600.0
REPLY_SECONDS = 120.0
PASSED_ON = ("EVENNIA_AI_LOCAL_MODEL", "EVENNIA_AI_CACHE_DIR")

pytestmark = [
    pytest.mark.real_model,
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None,
        reason="THE REAL MODEL IS NOT TESTED: xllamacpp is missing, install evennia-ai[local]",
    ),
]


@pytest.fixture(scope="module")
def real_game(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Game]:
    """The Lantern Library with the embedded model in place of the scripted one."""
    with Game.copy(template, tmp_path_factory.mktemp("real") / "game") as game:
        game.env |= {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        local = ("-m", "evennia_ai.llm.local")
        game.run_python(*local, "start", "--state-dir", STATE_DIR, timeout_seconds=MODEL_SECONDS)
        try:
            game.start()
            yield game
        finally:
            game.run_python(*local, "stop", "--state-dir", STATE_DIR)


def test_a_whisper_is_answered_by_the_real_model(real_game: Game) -> None:
    """Ada, thinking for herself, whispers an answer back."""
    with real_game.open_telnet() as tom:
        tom.create_account("Tom")
        tom.log_in("Tom")
        tom.send("whisper ada = Where are the books about storms?")
        said = tom.expect(r'Ada whispers: "(.+)"', REPLY_SECONDS)[1]
        assert len(said.split()) >= 2
        assert FAILURE not in tom.transcript
