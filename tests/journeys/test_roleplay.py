"""An assistant in a game of descriptions and masks, set up as rpsystem's documentation says."""

import re
from pathlib import Path

import pytest

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.classes import RPSYSTEM, stand_on
from tests.journeys.clients import Player
from tests.journeys.game import UNHURRIED, Game, make_bare_folder
from tests.journeys.staging import find_trouble, prompt_of, read_new_log
from tests.journeys.test_install import follow_in_game, follow_on_disk, read_install_steps

GIANT = "evennia.search_object('Edda')[0].sdesc.add('a stone giant')"
KEYS = re.compile("Quillon|Zephira")


def test_nobody_is_told_who_anybody_is(tmp_path: Path, model: FakeModel) -> None:
    """By whisper, say, emote and mask, only visible names are used, in both directions."""
    steps = read_install_steps()
    with Game.make(tmp_path / "masked", make_bare_folder) as game:
        try:
            stand_on(RPSYSTEM, game.folder / "typeclasses")
            game.settings |= UNHURRIED
            game.build_bare()
            game.ask_model_at(model.base_url, MODEL_NAME)
            for step in steps:
                follow_on_disk(game, step)
            game.start(by_launcher=True)
            with game.log_in_admin() as admin:
                for step in steps:
                    follow_in_game(admin, step)
                admin.expect("awake")
                admin.ask(f"py {GIANT}", "a stone giant")
            play(game, model)
            assert [] == find_trouble(read_new_log(game, 0))
        except AssertionError as error:
            pytest.fail(f"{error}\n{game.describe_logs()}")


def play(game: Game, model: FakeModel) -> None:
    """Two strangers talk to it; then one of them puts on a mask."""
    model.behave(style="plain", content="Hm.")
    with game.open_telnet() as tom, game.open_telnet() as mira:
        for player, name, sdesc in ((tom, "Quillon", "a tall man"), (mira, "Zephira", "a nun")):
            player.create_account(name)
            player.log_in(name)
            player.ask(f"sdesc {sdesc}", f"sdesc was set to '{sdesc}'")
        tom.ask("whisper stone giant = psst", 'A stone giant whispers "Hm."')
        assert 'a tall man whispers to you (trust 0.9): "psst"' == told(model)
        mira.ask("say stone giant, good day", 'A stone giant says, "Hm."')
        tom.expect('A nun says, "stone giant, good day"')
        assert 'a nun says to you (trust 0.7): "stone giant, good day"' == told(model)
        mira.ask("emote bows to /stone giant", "Zephira bows to a stone giant.")
        mira.ask("recog stone giant as Rocky", "You will now remember")
        mira.ask("say thank you, Rocky", 'Rocky says, "Hm."')
        assert "- a nun did:" in prompt_of(model.read_calls()[-1])
        mask(tom, mira, model)
        for player, own in ((tom, "Quillon"), (mira, "Zephira")):
            other = ({"Quillon", "Zephira"} - {own}).pop()
            assert 0 == player.count(other)
            assert 0 == player.count("Edda")
    assert not [call for call in model.read_calls() if KEYS.search(str(call["body"]))]


def mask(tom: Player, mira: Player, model: FakeModel) -> None:
    """Behind a mask he is a stranger, who is still answered."""
    tom.ask("mask a grinning wolf", "You wear a mask as")
    tom.ask("whisper stone giant = who am I?", 'A stone giant whispers "Hm."')
    asked = str(model.read_calls()[-1]["body"])
    assert "grinning wolf" in asked
    assert "psst" not in asked
    mira.ask("say Rocky, who is that?", 'Rocky says, "Hm."')
    tom.ask("assistant", "a stone giant is here, an AI")
    mira.ask("assistant", "Rocky is here, an AI")
    tom.ask("assistant mute stone giant", "a stone giant no longer hears you")


def told(model: FakeModel) -> str:
    return prompt_of(model.read_calls()[-1]).splitlines()[-1]
