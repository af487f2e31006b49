"""Stops, locks, hushing and limits in a running game."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import UNHURRIED, Game
from tests.journeys.lines import say_of, whisper_of
from tests.journeys.staging import find_trouble, measure_log, read_new_log, run

HEARING = {**UNHURRIED["EVENNIA_AI_HEARING_CONFIG"], "pending_per_player": 1000}
RETURNED = 'Ada stops short. "I have to break off here. Ask me again another time."'
RECEIPT = r"Ada does not seem to hear you\."
MANY = 100
ENDS_SECONDS = 30.0


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """Settings without rate limits; many messages may wait, and a breaker reopens in a second."""
    return {
        "EVENNIA_AI_HEARING_CONFIG": HEARING,
        "EVENNIA_AI_BREAKER_CONFIG": {"timeout_seconds": 1.0},
    }


@pytest.fixture(autouse=True)
def rested(game: Game) -> Iterator[None]:
    """Ada may act, has met nobody and has no request; the test leaves no traceback."""
    with game.log_in_admin() as owner:
        run(
            owner,
            "from evennia_ai.runtime import services\nservices.pool().breakers.reset_all()\n"
            "operations.reset_history(ada)\nada.work.senders.people.clear()\n"
            "ada.db.max_pending_events = 1000\nada.obj.locks.add('ai_control:perm(Builder)')",
        )
    start = measure_log(game)
    yield
    assert [] == find_trouble(read_new_log(game, start))


def does(tool: str, **arguments: Any) -> dict[str, Any]:
    """An answer of the scripted model that makes one call."""
    return {"calls": [{"tool": tool, "arguments": arguments}]}


BY_ADMIN = '"by": "admin", "via": "game"'


def expect_audited(game: Game, start: int, line: str) -> None:
    """Check that the server's log got an audit line since `start`."""
    assert f"[AI_AUDIT] {line}" in read_new_log(game, start)


def test_b11_a_stop_while_the_model_hangs_and_a_hundred_wait(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """The call is closed, nothing is done afterwards, and each asker is told exactly once."""
    people = {name: enter(name) for name in ("Tom", "Mira", "Edda", "Wil")}
    model.behave(kind="hang", **does("whisper", target="Tom", message="Too late."))
    people["Tom"].send("whisper ada = the first")
    model.wait_for_calls(1)
    for number in range(MANY):
        list(people.values())[number % len(people)].send(f"whisper ada = {number}")
    for number, player in zip(range(MANY - 4, MANY), people.values(), strict=True):
        player.expect(rf'You whisper to Ada, "{number}"')
    start = measure_log(game)
    text = admin.ask("assistant emergency stop ada", r"Ada is stopped\. .*")[0]
    (call,) = model.wait_for_calls(1, closed=1)
    assert (True, False) == (call["is_abandoned"], call["is_answered"])
    assert "One call in flight was dropped" in text
    assert f"{MANY + 1} waiting messages were returned to Tom, Mira, Edda and Wil" in text
    model.release()
    for player in people.values():
        player.expect(re.escape(RETURNED))
        player.ask("whisper ada = are you there?", RECEIPT)
        player.ask("look", "The Reading Room")
        assert 1 == player.count(RETURNED)
        assert "Ada whispers" not in player.transcript
    assert 1 == model.count_calls()
    expect_audited(game, start, f'EmergencyStopTriggered Ada {{{BY_ADMIN}, "cause": "stopped"')
    model.reset()
    admin.ask("assistant emergency clear ada", "Ada: Emergency stop cleared")
    people["Mira"].ask("whisper ada = and now?", whisper_of("and now?"))
    assert 1 == model.count_calls()


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(Game.reload, id="reload"),
        pytest.param(Game.restart, id="restart"),
        pytest.param(Game.crash, id="kill -9"),
    ],
)
def test_b10_a_stop_outlasts_the_process(
    game: Game, enter: Enter, admin: Player, model: FakeModel, again: Callable[[Game], None]
) -> None:
    """The call in flight is not resumed, and nobody is answered until the stop is cleared."""
    model.behave(kind="hang")
    enter("Tom").send("whisper ada = before")
    model.wait_for_calls(1)
    admin.ask("assistant emergency stop", r"Ada is stopped\.")
    again(game)
    model.reset()
    tom = enter("Tom")
    tom.ask("whisper ada = after", RECEIPT)
    with game.log_in_admin() as owner:
        owner.ask(
            "assistant",
            r"Ada has been stopped since .*: stopped by admin\. To let it go on: .* clear Ada",
        )
        assert 0 == model.count_calls()
        owner.ask("assistant emergency clear ada", "Ada: Emergency stop cleared")
    tom.ask("whisper ada = and now?", whisper_of("and now?"))
    assert 1 == model.count_calls()
    assert RETURNED not in tom.transcript


def test_b8_a_stop_of_one_is_none_of_the_others(
    enter: Enter, admin: Player, model: FakeModel
) -> None:
    tom = enter("Tom")
    admin.ask("assistant emergency stop ada", r"Ada is stopped\.")
    tom.ask("page brass = hello", "Brass pages: ")
    admin.ask("assistant emergency stop all", "One assistant is stopped")
    admin.ask("assistant emergency stop all", "None of them was running")
    tom.ask("page brass = hello?", "Brass does not seem to hear you")
    assert 1 == model.count_calls()
    for name in ("ada", "brass"):
        admin.ask(f"assistant emergency clear {name}", "Emergency stop cleared")


def test_hushed_she_is_quiet_here_and_hears_a_whisper(
    game: Game, enter: Enter, model: FakeModel
) -> None:
    """The room sees it; it drops an answer aloud that is in flight, and survives a reload."""
    tom, mira = enter("Tom"), enter("Mira")
    model.queue({"kind": "hang"})
    tom.send("say @ada hello")
    model.wait_for_calls(1)
    tom.ask("hush ada", r"Ada nods and is quiet here for ten minutes\.")
    mira.expect(r"Ada nods and is quiet here for ten minutes\.")
    assert model.wait_for_calls(1, closed=1)[0]["is_abandoned"]
    mira.ask("say @ada hello", r"Ada keeps a finger on closed lips\.")
    game.reload()
    mira.ask("whisper ada = psst", whisper_of("psst"), ENDS_SECONDS)
    mira.ask("say @ada and aloud?", "You say")
    mira.ask("whisper ada = still?", whisper_of("still?"))
    assert 3 == model.count_calls()
    assert "Ada says" not in tom.transcript + mira.transcript
    mira.ask("unhush ada", r"Ada looks up, free to speak here again\.")
    tom.ask("say @ada hello again", say_of("hello again"))
