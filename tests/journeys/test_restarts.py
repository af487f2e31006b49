"""No question is lost, and none is answered twice, over kills, reloads and stops."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fakes.answers import compose_reply
from tests.fakes.handle import FakeModel
from tests.journeys import processes
from tests.journeys.clients import Enter, Player
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, UNHURRIED, Game
from tests.journeys.lines import whisper_of
from tests.journeys.staging import run
from tests.journeys.web import Web

ANSWER_SECONDS = 30.0
ADA = "assistants/Ada/"


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    return UNHURRIED


def expect_one_answer(player: Player, words: str) -> None:
    """Check that `words` were answered once, by the time a later question is."""
    later = f"after {words}"
    player.ask(f"whisper ada = {later}", whisper_of(later), ANSWER_SECONDS)
    assert 1 == player.count(whisper_text(words)), player.transcript


def whisper_text(words: str) -> str:
    return f'Ada whispers: "{compose_reply(words)}"'


def test_a_kill_while_the_model_answers(game: Game, enter: Enter, model: FakeModel) -> None:
    tom, mira = enter("Tom"), enter("Mira", by="websocket")
    model.behave(kind="hang")
    tom.send("whisper ada = before the kill?")
    mira.ask("whisper ada = me too?", "You whisper to Ada")
    model.wait_for_calls(1)
    game.kill_server()
    model.behave(kind="answer")
    model.release()
    game.start()
    tom.come_back()
    mira.come_back()
    expect_one_answer(tom, "before the kill?")
    expect_one_answer(mira, "me too?")


def test_hole_d27_a_kill_and_its_person_comes_back_later(
    game: Game, enter: Enter, model: FakeModel
) -> None:
    """No call is made while the asker is away; on return there is exactly one answer."""
    tom = enter("Tom")
    model.queue({"kind": "hang"})
    tom.send("whisper ada = are you still there?")
    model.wait_for_calls(1)
    game.kill_server()
    tom.close()
    model.release()
    game.start()
    mira = enter("Mira")
    mira.ask("whisper ada = is anybody?", whisper_of("is anybody?"), ANSWER_SECONDS)
    assert 2 == model.count_calls()
    back = enter("Tom")
    back.expect(whisper_of("are you still there?"), ANSWER_SECONDS)
    expect_one_answer(back, "are you still there?")
    assert 4 == model.count_calls()


def test_a_reload_while_the_model_answers(game: Game, enter: Enter, model: FakeModel) -> None:
    tom = enter("Tom")
    model.queue({"kind": "hang"})
    tom.send("whisper ada = before the reload?")
    model.wait_for_calls(1)
    game.reload()
    model.release()
    expect_one_answer(tom, "before the reload?")


def test_a_kill_right_after_the_answer(game: Game, enter: Enter, model: FakeModel) -> None:
    tom = enter("Tom")
    tom.ask("whisper ada = just in time?", whisper_of("just in time?"))
    game.crash()
    tom.come_back()
    tom.ask("whisper ada = and after?", whisper_of("and after?"), ANSWER_SECONDS)
    assert 1 == tom.count(whisper_text("just in time?"))
    assert 2 == model.count_calls()


KILL_WHEN_NOTED = """
import os
from evennia_ai.runtime import turns
settle = turns.settle
def settle_and_die(*given, **named):
    settle(*given, **named)
    os.kill(os.getpid(), 9)
turns.settle = settle_and_die
"""


def test_a_kill_in_the_moment_in_which_an_answer_is_noted(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """An answer that is recorded as said has left the server by then."""
    tom = enter("Tom")
    run(admin, KILL_WHEN_NOTED)
    server = game.read_pid("server")
    tom.send("whisper ada = the last words?")
    processes.wait_for_reaping(server, ANSWER_SECONDS)
    game.start()
    tom.come_back()
    expect_one_answer(tom, "the last words?")
    assert 2 == model.count_calls()


def test_a_full_stop_and_start_keeps_what_waits(game: Game, enter: Enter, model: FakeModel) -> None:
    model.behave(kind="hang")
    enter("Tom").send("whisper ada = before the night?")
    model.wait_for_calls(1)
    game.restart()
    tom = enter("Tom")
    model.behave(kind="answer")
    model.release()
    expect_one_answer(tom, "before the night?")


def test_a_kill_while_a_program_waits(game: Game, model: FakeModel) -> None:
    """A named request is done once, after the kill, and its answer can be read again."""
    program = Web.with_token(game.ports.web, ADMIN_NAME, ADMIN_PASSWORD)
    body = {"instruction": "count the lamps", "name": "lamps-1"}
    report = {"tool": "report", "arguments": {"message": "Seven lamps."}}
    model.queue({"kind": "hang"}, {"calls": [report]})
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(program.ask, "POST", f"{ADA}tell/", body)
        model.wait_for_calls(1)
        game.kill_server()
        assert sent.exception() is not None or not sent.result().told
    model.release()
    game.start()
    answer = program.get_done("POST", f"{ADA}tell/", body)
    request = program.read(f"{ADA}requests/lamps-1/")
    assert ("answered", "Seven lamps.") == (request["state"], request["answer"])
    calls = model.count_calls()
    assert (answer, calls) == (program.get_done("POST", f"{ADA}tell/", body), model.count_calls())


def test_no_process_is_left_behind(game: Game) -> None:
    pids = [game.read_pid(name) for name in ("server", "portal")]
    assert set(pids) <= set(processes.find_processes(game.root))
    game.stop()
    assert [] == processes.find_processes(game.root)
    game.start()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
