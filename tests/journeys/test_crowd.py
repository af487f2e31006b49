"""Two hundred players in one room, all talking."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player, read_session_id
from tests.journeys.game import Game
from tests.journeys.lines import say_of, whisper_of
from tests.journeys.staging import quiet_log, run

__all__ = ("quiet_log",)
pytestmark = pytest.mark.usefixtures("quiet_log", "crowd")
MANY, ADDRESSING = 200, 4
ASSEMBLE = f"""
from evennia.utils.create import create_object
for n in range({MANY}):
    create_object("world.characters.Character", key=f"Guest{{n:03}}", location=ada.obj.location)
"""
# Everybody says one line by the stock command, twenty of them every 20 ms.
ALL_TALK = f"""
from twisted.internet import reactor
def talk(n):
    words = "@ada am I heard?" if n % {MANY // ADDRESSING} == 0 else "what a crowd"
    character(f"Guest{{n:03}}").execute_cmd(f"say {{words}}")
for n in range({MANY}):
    reactor.callLater(n // 20 * 0.02, talk, n)
"""


@pytest.fixture(scope="module")
def crowd(game: Game) -> None:
    with game.log_in_admin() as owner:
        run(owner, ASSEMBLE, 60)


def test_only_those_who_address_her_are_answered(
    enter: Enter, admin: Player, model: FakeModel
) -> None:
    """All speak within seconds: the four who name her are answered, and the game goes on."""
    tom, mira = enter("Tom"), enter("Mira", by="websocket")
    run(admin, ALL_TALK)
    for _ in range(5):
        mira.ask("look brass", "Could not find")
    for _ in range(ADDRESSING):
        tom.expect(say_of("am I heard?"), 30)
    tom.ask("whisper ada = fence", whisper_of("fence"), 30)
    mira.ask("whisper ada = me too", whisper_of("me too"), 30)
    assert ADDRESSING == mira.count('Ada says, "I heard: am I heard?"')
    assert ADDRESSING + 2 == model.count_calls()
    assert 0 == tom.count("raises a hand")


def test_everybody_at_once_is_answered_or_told(
    enter: Enter, admin: Player, model: FakeModel
) -> None:
    """All two hundred name her at once: her queue stays bounded, and she recovers."""
    tom = enter("Tom")
    run(admin, ALL_TALK.replace("what a crowd", "@keeper and I?"))
    tom.ask("look brass", "Could not find")
    for _ in range(20):
        tom.expect(r'Ada says, "I heard', 30)
    tom.ask("whisper ada = fence", whisper_of("fence"), 60)
    assert "0" == run(admin, "told = len(ada.work.inbox)")
    assert MANY // 2 > model.count_calls()
    admin.ask("assistant status ada", "awake")


def test_web_pages_are_opened_while_players_come_and_go(game: Game, enter: Enter) -> None:
    """Web requests and the game do not lock each other out of the database."""
    with ThreadPoolExecutor(4) as pool:
        pages = []
        for _ in range(12):
            player = enter("Tom")
            pages += [pool.submit(read_session_id, game.ports.web, 30.0) for _ in range(8)]
            player.close()
        assert all(page.result(60) is not None for page in pages)
