"""Staff operate assistants out of character: by telnet, by webclient, and after a crash."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, UNHURRIED, Game
from tests.journeys.lines import whisper_of
from tests.journeys.staging import quiet_log, run

__all__ = ("quiet_log",)
pytestmark = pytest.mark.usefixtures("quiet_log")

ASK_FIRST = {"tick_event": {"dangerous_requires_confirm": True}}
# Typed lines, and patterns in their answers.
WORDS = {
    "assistant": "Ada",
    "assistant status ada": "Ada",
    "assistant why ada": "Before that:",
    "assistant budget ada": "Ada",
    "assistant budget game": "The whole game",
    "aiaudit ada": "entries, the newest first",
    "assistant questions": r"\d+ +Ada asks",
    "history ada": "Ada",
}


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    return UNHURRIED


def by_telnet(game: Game) -> Player:
    return game.open_telnet()


def by_webclient(game: Game) -> Player:
    return game.open_webclient()


@pytest.fixture(autouse=True, scope="module")
def asks_first(game: Game) -> None:
    """Ada asks staff before she does anything dangerous."""
    with game.log_in_admin() as owner:
        run(owner, f"ada.db.context_configs = {ASK_FIRST!r}\nada.db.confirm_by = 'staff'")


def want_something(tom: Player, model: FakeModel) -> None:
    """Let Ada want something dangerous, for which she asks staff."""
    wanted = {"tool": "get", "arguments": {"item": "lamp"}}
    answer = {"tool": "whisper", "arguments": {"target": "Tom", "message": "I have to ask."}}
    model.queue({"calls": [wanted]}, {"calls": [answer]})
    tom.ask("whisper ada = take the lamp", 'Ada whispers: "I have to ask')


@pytest.mark.parametrize("connect", [by_telnet, by_webclient])
def test_each_command_without_a_character(
    game: Game, enter: Enter, model: FakeModel, connect: Callable[[Game], Player]
) -> None:
    tom = enter("Tom")
    with connect(game) as owner:
        owner.log_in(ADMIN_NAME, ADMIN_PASSWORD)
        want_something(tom, model)
        owner.ask("ooc", "You go OOC")
        for line, reply in WORDS.items():
            owner.ask(line, reply)
        number = owner.ask("assistant questions", r"(\d+) +Ada asks")[1]
        owner.ask(f"assistant answer {number} no", "no")
        owner.ask("assistant emergency stop ada", r"Ada is stopped\.")
        tom.ask("whisper ada = are you there?", r"Ada does not seem to hear you\.")
        owner.ask("assistant emergency clear ada", "Ada: Emergency stop cleared")
        tom.ask("whisper ada = and now?", whisper_of("and now?"))
        owner.ask("assistant emergency stop ada", r"Ada is stopped\.")
        owner.ask("/history reset ada", "Ada")
        tom.ask("whisper ada = and after that?", whisper_of("and after that?"))
        assert "is not available" not in owner.transcript


def test_after_a_kill_the_first_line_counts(game: Game, enter: Enter) -> None:
    """The first command after a kill works, on an old connection and on a new one."""
    tom = enter("Tom")
    with game.log_in_admin() as owner:
        owner.ask("assistant emergency stop ada", r"Ada is stopped\.")
        game.crash()
        owner.ask("assistant emergency clear ada", "Ada: Emergency stop cleared")
        owner.ask("assistant emergency stop ada", r"Ada is stopped\.")
    game.crash()
    with game.open_telnet() as owner:
        owner.send(f"connect {ADMIN_NAME} {ADMIN_PASSWORD}")
        owner.ask("assistant emergency clear ada", "Ada: Emergency stop cleared")
    tom.come_back()
    tom.ask("whisper ada = here again?", whisper_of("here again?"))


def test_a_player_without_a_character_may_no_more_than_with_one(game: Game, enter: Enter) -> None:
    mira = enter("Mira")
    mira.ask("ooc", "You go OOC")
    mira.ask("assistant emergency stop ada", "You may not")
    mira.ask("aiaudit ada", "is not available")
    mira.ask("assistant", "No assistant is here")
