"""Push notifications of tasks: receivers that answer, fail, hang, and redirect."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.a2a_client import (
    Peer,
    owner,
    port,
    report,
    rested,
    settings_of,
    state_of,
    stranger,
)
from tests.journeys.game import Game
from tests.journeys.hook_receiver import is_signed, receiving
from tests.journeys.staging import quiet_log

__all__ = ("owner", "port", "quiet_log", "rested", "stranger")
pytestmark = pytest.mark.usefixtures("quiet_log", "rested")
TOKEN = "shown-to-whom-it-concerns"


@pytest.fixture(scope="module")
def game_settings(port: int) -> dict[str, Any]:
    """Settings that allow receivers on this machine, with short time-outs and pauses."""
    return settings_of(
        port, hook_networks=["127.0.0.1/32"], hook_seconds=1.0, hook_pause_seconds=2.0
    )


def sending(text: str, task: str = "", hook: dict[str, Any] | None = None) -> dict[str, Any]:
    """Parameters of `SendMessage` with a push address, whose end is not waited for."""
    speech = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
    config = {"returnImmediately": True, "taskPushNotificationConfig": hook}
    return {"message": {**speech, "taskId": task}, "configuration": config}


def begin(peer: Peer, model: FakeModel) -> str:
    """Begin a task that works until the model is released."""
    model.behave(**report("Seven.", kind="hang"))
    return peer.ask("How many lamps?", waits=False).id


def test_a7_an_address_is_told_to_the_end(stranger: Peer, model: FakeModel) -> None:
    """Artifact and end come in order, each signed with the token that the peer gave."""
    with receiving() as receiver:
        task = begin(stranger, model)
        stranger.hook(task, receiver.url, TOKEN)
        model.release()
        receiver.wait_for(2)
    assert ["COMPLETED"] == receiver.states
    assert all(is_signed(heard, TOKEN) for heard in receiver.heard)
    assert not any(is_signed(heard, "another") for heard in receiver.heard)
    assert {TOKEN} == {headers["x-a2a-notification-token"] for headers, _ in receiver.heard}


def test_a7_a_question_and_a_cancel_are_told(owner: Peer, model: FakeModel) -> None:
    notes = [
        {"calls": [{"tool": "write_note", "arguments": {"text": f"step {number}"}}]}
        for number in range(5)
    ]
    model.queue({"kind": "hang", **notes[0]}, *notes[1:])
    task = owner.ask("Look it all up.", waits=False).id
    model.wait_for_calls(1)
    with receiving() as receiver:
        owner.hook(task, receiver.url)
        model.release()
        receiver.wait_for(1)
        owner.cancel(task)
        receiver.wait_for(2)
    assert ["INPUT_REQUIRED", "CANCELED"] == receiver.states
    asked = json.loads(receiver.heard[0][1])["statusUpdate"]["status"]["message"]["parts"][1][
        "data"
    ]
    assert "safety.limit.max_iterations" == asked["kind"]
    assert ["yes", "no"] == [choice["id"] for choice in asked["choices"]]


@pytest.mark.parametrize("status", [500, 429, 0])
def test_a7_one_that_fails_is_told_later(stranger: Peer, model: FakeModel, status: int) -> None:
    """An error of the receiver, or no answer, is retried, and no event is left out."""
    with receiving(status=status) as receiver:
        task = begin(stranger, model)
        stranger.hook(task, receiver.url)
        model.release()
        receiver.wait_for(2)
        receiver.status = 204
        receiver.release()
        receiver.wait_for_end()
    numbers = [headers["x-evennia-ai-event"] for headers, _ in receiver.heard]
    assert 2 == len(set(numbers))
    assert numbers == sorted(numbers, key=int)


def test_a7_after_three_failures_it_rests_and_is_probed(stranger: Peer, model: FakeModel) -> None:
    """A receiver that recovers gets all that it missed."""
    with receiving(status=503) as receiver:
        task = begin(stranger, model)
        stranger.hook(task, receiver.url)
        model.release()
        receiver.wait_for(4)
        receiver.status = 204
        receiver.wait_for(6)
    assert ["COMPLETED"] == receiver.states[-1:]


def test_a7_what_it_does_not_want_is_not_sent_again(stranger: Peer, model: FakeModel) -> None:
    """A 4xx drops that one event; the next one is sent all the same."""
    with receiving(status=404) as receiver:
        task = begin(stranger, model)
        stranger.hook(task, receiver.url)
        model.release()
        receiver.wait_for(2)
    numbers = [headers["x-evennia-ai-event"] for headers, _ in receiver.heard]
    assert len(set(numbers)) == len(numbers)


def test_a7_nothing_is_sent_to_where_an_answer_points(
    game: Game, stranger: Peer, model: FakeModel
) -> None:
    with receiving() as inner, receiving(status=307) as receiver:
        receiver.location = inner.url
        task = begin(stranger, model)
        stranger.hook(task, receiver.url)
        model.release()
        receiver.wait_for(2)
        assert [] == inner.heard
    problems = game.query(f"SELECT problem FROM evennia_ai_peerhook WHERE task = '{task}'")
    assert "nothing is sent to where it points" in problems[0][0]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://127.0.0.2:80/", "is in a private network"),
        ("http://[::1]/", "is in a private network"),
        ("http://10.1.2.3/", "is in a private network"),
        ("http://169.254.169.254/latest/", "is in a private network"),
        ("http://[::ffff:10.0.0.1]/", "is in a private network"),
        ("http://0x0a.1/", "is in a private network"),
        ("file:///etc/passwd", "is not an address that can be used"),
        ("http://user:word@example.org/", "has no user and no password"),
    ],
)
def test_a7_an_address_within_is_refused(
    stranger: Peer, model: FakeModel, url: str, told: str
) -> None:
    task = begin(stranger, model)
    params = {"taskId": task, "url": url}
    error = stranger.call("CreateTaskPushNotificationConfig", params)["error"]
    assert (-32602, True) == (error["code"], told in error["message"])
    stranger.cancel(task)
    model.release()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"id": "a b"}, "has a name of at most 64"),
        ({"authentication": {"scheme": "x" * 65}}, "scheme of an address has at most 64"),
        ({"token": "a\0b"}, "token of an address"),
    ],
)
def test_a7_an_address_that_is_refused_begins_no_task(
    game: Game, stranger: Peer, model: FakeModel, more: dict[str, Any], told: str
) -> None:
    """A mistake in the push address costs no model call."""
    model.behave(**report("Seven."))
    asked = model.count_calls()
    before = game.query("SELECT count(*) FROM evennia_ai_pendingtask")
    config = {"url": "http://127.0.0.1:9/", **more}
    answer = stranger.call("SendMessage", sending("How many lamps?", hook=config))
    assert (-32602, True) == (answer["error"]["code"], told in answer["error"]["message"])
    assert before == game.query("SELECT count(*) FROM evennia_ai_pendingtask")
    assert asked == model.count_calls()


def test_a7_an_address_that_comes_with_an_answer(owner: Peer, model: FakeModel) -> None:
    notes = [
        {"calls": [{"tool": "write_note", "arguments": {"text": f"step {number}"}}]}
        for number in range(5)
    ]
    model.queue(*notes)
    task = owner.ask("Look it all up.")
    assert "INPUT_REQUIRED" == state_of(task)
    model.behave(**report("Seven."))
    with receiving() as receiver:
        params = sending("no", task.id, {"url": receiver.url, "id": "mine"})
        assert "result" in owner.call("SendMessage", params)
        receiver.wait_for(1)
        page = owner.call("ListTaskPushNotificationConfigs", {"taskId": task.id})["result"]
    assert ["mine"] == [each["id"] for each in page["configs"]]


def test_a7_a_message_that_is_sent_again_is_told_once(stranger: Peer, model: FakeModel) -> None:
    """A repeated message is the same task, with the same push address."""
    model.behave(**report("Seven.", kind="hang"))
    with receiving() as receiver:
        params = sending("How many lamps?", hook={"url": receiver.url})
        numbers = {stranger.call("SendMessage", params)["result"]["task"]["id"] for _ in range(3)}
        (task,) = numbers
        model.release()
        receiver.wait_for_end()
        page = stranger.call("ListTaskPushNotificationConfigs", {"taskId": task})["result"]
    assert 1 == len(page["configs"])
    events = [headers["x-evennia-ai-event"] for headers, _ in receiver.heard]
    assert len(set(events)) == len(events)


def test_a7_a_restart_loses_nothing(game: Game, stranger: Peer, model: FakeModel) -> None:
    """An event that could not be delivered before a kill is delivered after it."""
    with receiving(status=503) as receiver:
        task = begin(stranger, model)
        stranger.hook(task, receiver.url)
        model.release()
        receiver.wait_for(1)
        game.kill_server()
        failed, receiver.status = len(receiver.heard), 204
        game.start()
        stranger.wait()
        receiver.wait_for(failed + 2)
    assert "COMPLETED" == receiver.states[-1]
