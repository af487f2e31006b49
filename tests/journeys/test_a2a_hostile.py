"""A hostile peer: floods, huge requests, open streams; each is refused, and the game goes on."""

import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.a2a_client import (
    Peer,
    message,
    owner,
    port,
    report,
    rested,
    settings_of,
    state_of,
    stranger,
    token_of,
)
from tests.journeys.clients import Enter
from tests.journeys.game import Game
from tests.journeys.staging import quiet_log
from tests.journeys.test_a2a import listening
from tests.journeys.web import Web

__all__ = ("owner", "port", "quiet_log", "rested", "stranger")
pytestmark = pytest.mark.usefixtures("quiet_log", "rested")
# The interval at which an open connection's token is checked again, and a moment more.
LET_IN_SECONDS = 2.5
NOBODY = "0b7e4c1a-0000-4000-8000-000000000000"
MANY, ROUNDS, STREAMS, AT_ONCE = 100, 3, 200, 4


@pytest.fixture(scope="module")
def game_settings(port: int) -> dict[str, Any]:
    return settings_of(port, tasks_per_peer=AT_ONCE, streams_per_peer=STREAMS)


def give(peer: Peer) -> str:
    """Give a task; returns its id, or the reason why there is none."""
    body = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": "Count the lamps."}]}
    config = {"returnImmediately": True}
    answer = peer.call("SendMessage", {"message": body, "configuration": config})
    if "error" in answer:
        return str(answer["error"]["message"])
    return str(answer["result"]["task"]["id"])


def test_a_hundred_tasks_at_once(enter: Enter, stranger: Peer, model: FakeModel) -> None:
    """Four tasks are taken, the others are told to wait, and the game goes on."""
    model.behave(**report("Seven.", kind="hang"))
    tom = enter("Tom")
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: give(stranger), range(ROUNDS * MANY)))
    taken = [each for each in answers if " " not in each]
    assert AT_ONCE == len(taken)
    assert {f"{AT_ONCE} of your tasks are under way with this game; wait until one is over."} == {
        each for each in answers if " " in each
    }
    tom.ask("look", "Reading Room")
    for task in taken:
        stranger.cancel(task)
    model.release()


def test_a_task_of_ten_megabytes(stranger: Peer) -> None:
    """The Content-Length alone is enough for a refusal."""
    whole = json.dumps({"text": "x" * 10_000_000}).encode()
    for path in ("", "/message:send"):
        refused = stranger.raw("POST", path, b"{}", length=len(whole))
        assert (413, True) == (refused.status, "at most 100,000 bytes" in refused.text)


def test_streams_left_open(enter: Enter, stranger: Peer, model: FakeModel) -> None:
    """Two hundred streams are held; one more is refused, and closed ones make room."""
    model.behave(**report("Seven.", kind="hang"))
    task, tom = give(stranger), enter("Tom")
    with ExitStack() as stack:
        for _ in range(STREAMS):
            stream = stack.enter_context(listening(stranger, f"/tasks/{task}:subscribe"))
            assert stream.readline().startswith(b"id: ")
        tom.ask("look", "Reading Room")
        error = stranger.call("SubscribeToTask", {"id": task})["error"]
        assert f"You may have {STREAMS} requests waiting here" in error["message"]
    end = time.monotonic() + 10
    speech = {"messageId": "n", "role": "ROLE_USER", "taskId": task, "parts": [{"text": "hm"}]}
    while "waiting here" in (
        problem := stranger.call("SendMessage", {"message": speech})["error"]["message"]
    ):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert "asks you nothing" in problem
    stranger.cancel(task)
    model.release()


def test_a_stream_ends_with_its_token(
    game: Game, port: int, stranger: Peer, model: FakeModel
) -> None:
    """A revoked token gets none of the later events, also on an open stream."""
    model.behave(**report("The north wing.", kind="hang"))
    peer = Peer(port, token_of(game, "Peer", "lantern-oak-51"))
    task = give(peer)
    with listening(peer, f"/tasks/{task}:subscribe") as stream:
        assert stream.readline().startswith(b"id: ")
        Web(game.ports.web, peer.token).get_done("DELETE", "token/")
        time.sleep(LET_IN_SECONDS)
        model.release()
        rest = stream.read().decode()
    assert "north wing" not in rest
    assert "worth nothing" in rest
    assert "COMPLETED" == state_of(stranger.get(task))


def test_ids_of_others_and_answers_sent_again(
    owner: Peer, stranger: Peer, model: FakeModel
) -> None:
    model.queue(report("Seven."))
    task = owner.ask("How many lamps?")
    assert "You have no task" in stranger.refusal(message("yes", task.id))
    assert "You have no task" in stranger.refusal(message("yes", "' OR 1=1 --"))
    assert "is over, it is completed" in owner.refusal(message("yes", task.id))
    assert "belongs to another contextId" in owner.refusal(message("yes", task.id, "another"))
    assert "COMPLETED" == state_of(owner.get(task.id))


def page_token(at: str) -> str:
    """A page token after a task that was changed at that time."""
    return base64.urlsafe_b64encode(f"{at} {NOBODY}".encode()).decode()


def test_what_makes_no_sense(stranger: Peer) -> None:
    file = {"messageId": "m", "role": "ROLE_USER", "parts": [{"raw": "AAAA"}]}
    for speech, problem in (
        (file, "A file of the type '' is not understood here"),
        ({**file, "parts": [{"text": " "}]}, "at least one word"),
        ({**file, "messageId": "m" * 65, "parts": [{"text": "x"}]}, "at most 64 characters"),
        ({**file, "contextId": "c\0", "parts": [{"text": "x"}]}, "all printable"),
        ({**file, "parts": [{"data": {"a": float("inf")}}]}, "not JSON"),
        ({**file, "parts": [{"text": "x"}], "metadata": {"a": float("nan")}}, "not JSON"),
    ):
        assert problem in stranger.call("SendMessage", {"message": speech})["error"]["message"]
    for wanted, problem in (
        ({"pageSize": 0}, "1 to 100"),
        ({"pageSize": 101}, "1 to 100"),
        ({"pageToken": "bm8="}, "none of those"),
        ({"pageToken": page_token("e")}, "none of those"),
        ({"pageToken": page_token("1e999")}, "none of those"),
        ({"historyLength": -1}, "from 0 up"),
    ):
        assert problem in stranger.call("ListTasks", wanted)["error"]["message"]
