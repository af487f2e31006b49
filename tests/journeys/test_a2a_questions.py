"""Questions of an assistant to a peer, and their answers, also after a kill of the server."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.a2a_client import (
    Peer,
    answer_of,
    game_settings,
    message,
    owner,
    port,
    question_of,
    report,
    rested,
    state_of,
    stranger,
    text_of,
)
from tests.journeys.game import Game
from tests.journeys.staging import quiet_log, run

__all__ = ("game_settings", "owner", "port", "quiet_log", "rested", "stranger")
pytestmark = pytest.mark.usefixtures("quiet_log", "rested")
KIND = "safety.limit.max_iterations"
LATE_SECONDS = 30.0


def steps(model: FakeModel, count: int, then: dict[str, Any]) -> None:
    """Let the model take so many steps, and then behave differently."""
    notes = (
        {"calls": [{"tool": "write_note", "arguments": {"text": f"step {number}"}}]}
        for number in range(count)
    )
    model.queue(*notes)
    model.behave(**then)


def ask_to_the_limit(peer: Peer, model: FakeModel, then: dict[str, Any]) -> Any:
    steps(model, 5, then)
    task = peer.ask("Look it all up.")
    assert "INPUT_REQUIRED" == state_of(task), task
    return task


def wait_for(peer: Peer, task: str, state: str) -> Any:
    end = time.monotonic() + LATE_SECONDS
    while state_of(latest := peer.get(task)) != state:
        assert time.monotonic() < end, latest
        time.sleep(0.1)
    return latest


def test_a2_a_limit_asks_the_peer(owner: Peer, model: FakeModel) -> None:
    """The task holds the question, the reason and the choices, also when it is got again."""
    task = ask_to_the_limit(owner, model, report("All of it."))
    asked = question_of(task)
    assert KIND == asked["kind"]
    assert "I have used my 5 steps" in asked["prompt"]
    assert asked["prompt"] in text_of(task)
    assert ["yes", "no"] == [choice["id"] for choice in asked["choices"]]
    assert {"question", "detail"} <= set(asked)
    assert asked == question_of(owner.get(task.id))
    assert task.history[-1].parts == task.status.message.parts
    owner.cancel(task.id)


def test_a2_a_stream_tells_the_question_and_what_follows(owner: Peer, model: FakeModel) -> None:
    steps(model, 5, report("All of it."))
    with ThreadPoolExecutor(1) as pool:
        streaming = pool.submit(owner.stream, "Look it all up.")
        end = time.monotonic() + LATE_SECONDS
        while not (open_ones := owner.tasks(status="TASK_STATE_INPUT_REQUIRED")):
            assert time.monotonic() < end
        owner.answer(open_ones[0].id, "yes")
        events = streaming.result()
    states = [each.status_update.status for each in events if each.HasField("status_update")]
    assert [6, 2, 3] == [status.state for status in states]
    assert 2 == len(states[0].message.parts)


def test_a3_a_yes_lets_it_go_on(owner: Peer, model: FakeModel) -> None:
    task = ask_to_the_limit(owner, model, report("All of it."))
    ended = owner.answer(task.id, "yes")
    assert ("COMPLETED", "All of it.") == (state_of(ended), answer_of(ended))
    assert 6 == model.count_calls()


def test_a3_a_no_ends_it_as_in_the_game(owner: Peer, stranger: Peer, model: FakeModel) -> None:
    """A no, and a peer without the right to decide, end it with the limit's name."""
    task = ask_to_the_limit(owner, model, {"content": "I found the first half."})
    refused = owner.answer(task.id, "no")
    steps(model, 5, {"content": "I found the first half."})
    unasked = stranger.ask("Look it all up.")
    for ended in (refused, unasked):
        assert "FAILED" == state_of(ended)
        assert "limit max_iterations; so far: I found the first half." in text_of(ended)


def test_a4_answers_are_understood_or_asked_for_again(owner: Peer, model: FakeModel) -> None:
    """The `choice_id` wins over the words; anything else leaves the question open."""
    task = ask_to_the_limit(owner, model, report("All of it."))
    wrong = owner.refusal(message("perhaps", task.id))
    assert (
        "is still open: 'perhaps' is not an answer. Answer with one of: yes (y), no (n)." in wrong
    )
    assert "INPUT_REQUIRED" == state_of(owner.get(task.id))
    other = owner.refusal(message("yes", task.id, question=999_999))
    assert "Question 999999 is already answered or was never asked" in other
    ended = owner.answer(task.id, "no", choice_id="YES")
    assert "COMPLETED" == state_of(ended)


def test_a4_a_second_answer_comes_too_late(owner: Peer, model: FakeModel) -> None:
    """A second answer is told of the first; the same message never counts twice."""
    steps(model, 10, report("All of it."))
    task = owner.ask("Look it all up.")
    reply = message("yes", task.id)
    again = owner.send(reply)
    assert "INPUT_REQUIRED" == state_of(again)
    assert "was already answered; a new one needs an id of its own" in owner.refusal(reply)
    model.behave(**report("All of it.", kind="hang"))
    going = owner.answer(task.id, "yes", waits=False)
    assert "WORKING" == state_of(going)
    refusal = owner.refusal(message("yes", task.id, choice_id="yes"))
    assert "is already answered: admin answered yes" in refusal
    owner.cancel(task.id)
    model.release()
    assert "is already answered" in owner.refusal(message("", task.id, choice_id="yes"))


@pytest.mark.parametrize("is_killed_working", [False, True])
def test_a8_a_kill_while_it_asks(
    game: Game, owner: Peer, model: FakeModel, is_killed_working: bool
) -> None:
    """After a kill the question is still open, and its answer completes the task."""
    task = ask_to_the_limit(owner, model, report("All of it."))
    game.kill_server()
    steps(model, 5, report("All of it."))
    game.start()
    owner.wait()
    later = owner.get(task.id)
    assert question_of(task) == question_of(wait_for(owner, task.id, "INPUT_REQUIRED"))
    assert later.history[0] == task.history[0]
    if is_killed_working:
        model.behave(**report("All of it.", kind="hang"))
        owner.answer(task.id, "yes", waits=False)
        game.kill_server()
        model.behave(**report("All of it."))
        model.release()
        game.start()
        owner.wait()
        end = time.monotonic() + LATE_SECONDS
        while (state := state_of(owner.get(task.id))) == "WORKING":
            assert time.monotonic() < end
        if state == "INPUT_REQUIRED":  # the limit was reached again
            owner.answer(task.id, "yes")
        assert state_of(owner.get(task.id)) in ("COMPLETED", "FAILED")
        return
    ended = owner.answer(task.id, "yes")
    assert ("COMPLETED", "All of it.") == (state_of(ended), answer_of(ended))


def test_a8_what_nobody_takes_up_again_has_failed(
    game: Game, owner: Peer, model: FakeModel
) -> None:
    """A task whose request is lost fails with a reason instead of working for ever."""
    model.behave(**report("All of it.", kind="hang"))
    task = owner.ask("Count the lamps.", waits=False)
    model.wait_for_calls(1)
    with game.log_in_admin() as admin:
        run(admin, "from evennia_ai.models import PendingTask\nPendingTask.objects.all().delete()")
    ended = wait_for(owner, task.id, "FAILED")
    assert "the game does not know this task any more" in text_of(ended)
    model.release()


def test_a9_who_has_no_right_decides_nothing(owner: Peer, stranger: Peer, model: FakeModel) -> None:
    """A peer without the right answers no limit, neither its own nor another's."""
    task = ask_to_the_limit(owner, model, report("All of it."))
    assert f"You have no task '{task.id}' with Ada." in stranger.refusal(message("yes", task.id))
    number = int(question_of(task)["question"])
    model.behave(**report("All of it.", kind="hang"))
    own = stranger.ask("Look something up.", waits=False)
    refusal = stranger.refusal(message("yes", own.id, choice_id="yes", question=number))
    assert "asks you nothing" in refusal
    assert "INPUT_REQUIRED" == state_of(owner.get(task.id))
    for peer, each in ((owner, task), (stranger, own)):
        peer.cancel(each.id)
    model.release()


def test_a9_an_order_needs_the_right_and_danger_a_word(
    game: Game, owner: Peer, stranger: Peer, model: FakeModel
) -> None:
    """Only a peer that may control her can order; dangerous acts need its `choice_id`."""
    refusal = stranger.refusal(message("Dig a cellar.", order=True))
    assert "You may not control Ada" in refusal
    line = "Speak in short sentences."
    model.queue({"calls": [{"tool": "propose_guideline", "arguments": {"text": line}}]})
    model.behave(**report("It waits for your yes."))
    task = owner.ask("From now on be brief.", order=True)
    assert ("AUTH_REQUIRED", "tool.propose_guideline") == (
        state_of(task),
        question_of(task)["kind"],
    )
    assert "needs its answer as metadata: choice_id" in owner.refusal(message("yes", task.id))
    assert "AUTH_REQUIRED" == state_of(owner.get(task.id))
    ended = owner.answer(task.id, choice_id="yes")
    assert "COMPLETED" == state_of(ended)
    assert f'your guidelines are changed: + "{line}"' in answer_of(ended)
    with game.log_in_admin() as admin:
        assert "True" == run(admin, f"told = {line!r} in ada.db.guidelines")
        run(admin, "ada.attributes.remove('guidelines')")


def proposal(line: str) -> dict[str, Any]:
    """A call that needs a yes."""
    return {"tool": "propose_guideline", "arguments": {"text": line}}


def test_a9_each_of_two_calls_gets_its_answer(game: Game, owner: Peer, model: FakeModel) -> None:
    """Answering the first leaves the task open for the second; both are done."""
    names = ("first bead", "second bead")
    confirm = {"tick_event": {"dangerous_requires_confirm": True}}
    beads = "[thing for thing in here.contents + ada.obj.contents if 'bead' in thing.key]"
    with game.log_in_admin() as admin:
        run(
            admin,
            f"from evennia_ai.runtime import state\nstate.write(ada, context_configs={confirm})",
        )
        run(admin, f"for name in {names}: create_object(key=name, location=ada.obj.location)")
        model.queue(*({"calls": [{"tool": "get", "arguments": {"item": name}}]} for name in names))
        model.behave(**report("They wait for your yes."))
        task = owner.ask("Take the beads.", order=True)
        first = owner.answer(task.id, choice_id="yes")
        assert "AUTH_REQUIRED" == state_of(first)
        second = owner.answer(task.id, choice_id="yes")
        assert "COMPLETED" == state_of(second)
        assert "2" == run(admin, f"told = sum(each.location == ada.obj for each in {beads})")
        run(admin, f"[each.delete() for each in {beads}]\nada.attributes.remove('context_configs')")


def test_a9_a_second_yes_while_the_call_runs(game: Game, owner: Peer, model: FakeModel) -> None:
    """It is told of the first; the task goes on and does not end with that refusal."""
    model.queue({"calls": [proposal("Be brief.")]})
    model.behave(**report("It waits for your yes."))
    task = owner.ask("From now on be brief.", order=True)
    closed = "approvals.close_call(ada, approvals.pending(ada)[0], 'yes', me.account)"
    with game.log_in_admin() as admin:
        run(admin, f"from evennia_ai import approvals\n{closed}")
    refusal = owner.refusal(message("", task.id, choice_id="yes"))
    assert "is already answered" in refusal
    assert "AUTH_REQUIRED" == state_of(owner.get(task.id))
    owner.cancel(task.id)
