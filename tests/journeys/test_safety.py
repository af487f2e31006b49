"""Stops, locks, hushing and limits in a running game."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import UNHURRIED, Game
from tests.journeys.lines import FAILURE_PATTERN, say_of, whisper_of
from tests.journeys.staging import find_trouble, measure_log, read_new_log, run

HEARING = {**UNHURRIED["EVENNIA_AI_HEARING_CONFIG"], "pending_per_player": 1000}
RETURNED = 'Ada stops short. "I have to break off here. Ask me again another time."'
RECEIPT = r"Ada does not seem to hear you\."
ASKED = r'Ada asks \(question (\d+), about a limit\): "{}.*"'
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


def restart(game: Game) -> None:
    game.stop()
    game.start()


def crash(game: Game) -> None:
    """Kill the server process, as a power cut would, and start it again."""
    game.kill_server()
    game.start()


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
    told = admin.ask("assistant emergency stop ada", r"Ada is stopped\. .*")[0]
    (call,) = model.wait_for_calls(1, closed=1)
    assert (True, False) == (call["is_abandoned"], call["is_answered"])
    assert "One model call in flight was dropped" in told
    assert f"{MANY + 1} waiting messages were returned to Tom, Mira, Edda and Wil" in told
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
        pytest.param(restart, id="restart"),
        pytest.param(crash, id="kill -9"),
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


def test_b9_five_failures_lock_her_until_somebody_who_may_unlocks_her(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """The lock survives a restart; a Builder without the right is refused and audited."""
    tom = enter("Tom")
    model.behave(content=" ")
    run(admin, "ada.db.safety_config = {'cooling': {'mode': 'lock'}}")
    for number in range(5):
        tom.ask(f"whisper ada = {number}", FAILURE_PATTERN)
    admin.expect(r"Ada has locked itself: too many ticks in a row failed\.")
    assert 5 == model.count_calls()
    run(admin, "character('Tom').account.permissions.add('Builder')")
    run(admin, "ada.obj.locks.add('ai_control:perm(Admin)')")
    restart(game)
    model.reset()
    tom = enter("Tom")
    tom.ask("whisper ada = hello?", RECEIPT)
    start = measure_log(game)
    tom.ask("assistant emergency clear ada", r"You may not control Ada: .*ai_control:perm\(Admin\)")
    refused = 'control_refused Ada {"by": "Tom", "via": "game", "act": "emergency clear"}'
    expect_audited(game, start, refused)
    tom.ask("whisper ada = hello?", "You whisper")
    assert 0 == model.count_calls()
    with game.log_in_admin() as owner:
        owner.ask("assistant status ada", r"Ada: locked consecutive errors")
        owner.ask("assistant emergency clear ada", "Ada: Emergency stop cleared")
        run(owner, "ada.db.safety_config = {}")
        run(owner, "character('Tom').account.permissions.remove('Builder')")
    tom.ask("whisper ada = and now?", whisper_of("and now?"))
    expect_audited(
        game, start, f'EmergencyStopCleared Ada {{{BY_ADMIN}, "cause": "consecutive_errors"'
    )


@pytest.mark.parametrize("status", [401, 429, 529])
def test_a_service_in_trouble_locks_nobody(
    game: Game, enter: Enter, admin: Player, model: FakeModel, status: int
) -> None:
    """The service is retried now and then; once it answers, so does she."""
    tom = enter("Tom")
    model.behave(kind="status", status=status)
    for number in range(12):
        tom.ask(f"whisper ada = {number}", FAILURE_PATTERN)
    admin.expect(rf"Nothing is locked; [\s\S]*its model does not answer: .*HTTP {status}")
    admin.ask("assistant status ada", "Ada: resting until its model answers")
    assert 1 == admin.count("Further problems of this kind go only to the log")
    model.reset()
    answer, number = whisper_of("well again?"), 0
    while "I heard" not in tom.ask("whisper ada = well again?", f"{answer}|{FAILURE_PATTERN}")[0]:
        number += 1
        assert number < 100, "the model answers, and she does not"
        tom.watch(0.1)
    admin.expect(r"Ada: its model answers again\.")
    admin.ask("assistant status ada", "Ada: awake")


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


def test_to_hush_is_a_right_that_can_be_taken(enter: Enter, admin: Player) -> None:
    run(admin, "ada.obj.locks.add('hush:perm(Admin)')")
    enter("Tom").ask("hush ada", "You may not decide when Ada speaks")
    admin.ask("hush ada 1", "Ada nods and is quiet here for a minute")
    admin.ask("hush ada off", "Ada looks up")
    run(admin, "ada.obj.locks.remove('hush')")


def take_steps(model: FakeModel, count: int) -> None:
    """Let the model take so many steps, and then answer with words."""
    model.queue(*(does("write_note", text=f"step {number}") for number in range(count)))
    model.behave(content="I found the first half.")


def test_l1_a_yes_at_a_limit_grants_exactly_what_was_asked(
    enter: Enter, admin: Player, model: FakeModel
) -> None:
    """Five steps, a yes, five more, a no, and a last word."""
    tom = enter("Tom")
    take_steps(model, 10)
    tom.send("whisper ada = look it all up")
    asked = admin.expect(ASKED.format("I have used my 5 steps on Tom's request. May I have 5"))
    assert 5 == model.count_calls()
    admin.ask("assistant questions", rf"{asked[1]} +Ada asks about a limit")
    tom.ask(f"assistant answer {asked[1]} yes", "were not asked question")
    admin.send(f"assistant answer {asked[1]} yes")
    asked = admin.expect(ASKED.format("I have used my 10 steps"))
    assert 10 == model.count_calls()
    admin.send(f"assistant answer {asked[1]} No")
    tom.expect(r'Ada whispers: "I found the first half\."')
    last = model.read_calls()[-1]["body"]
    assert (11, False) == (model.count_calls(), "tools" in last)
    assert last["messages"][0]["content"].startswith("You have to stop here")
    admin.ask("assistant why ada full", r"then +limit: max_iterations, 10 of 10 .*user_refused")


def test_l1_with_nobody_to_ask_she_says_at_once_how_far_she_came(
    game: Game, enter: Enter, model: FakeModel
) -> None:
    """With no staff online she does not wait for an answer."""
    tom = enter("Tom")
    take_steps(model, 5)
    start = measure_log(game)
    tom.ask("whisper ada = look it up", r'Ada whispers: "I found the first half\."')
    assert 6 == model.count_calls()
    expect_audited(game, start, "limit_denied Ada")
    assert '"reason": "no_operator"' in read_new_log(game, start)


def test_b12_a_stop_while_a_question_is_open(enter: Enter, admin: Player, model: FakeModel) -> None:
    """The question is withdrawn, a yes comes too late, and no further step is taken."""
    tom = enter("Tom")
    take_steps(model, 10)
    tom.send("whisper ada = look it all up")
    asked = admin.expect(ASKED.format("I have used my 5 steps"))
    admin.ask("assistant emergency stop ada", "(?i)open question was withdrawn")
    tom.expect(re.escape(RETURNED))
    admin.ask(f"assistant answer {asked[1]} yes", f"No question {asked[1]} is open")
    admin.ask("assistant questions", "There are no questions for you")
    assert 5 == model.count_calls()
