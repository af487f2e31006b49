"""An agent elsewhere gives an assistant of a running game tasks, by the official A2A client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.a2a_client import (
    BINDINGS,
    WAIT_SECONDS,
    Peer,
    answer_of,
    game_settings,
    make_account,
    message,
    owner,
    port,
    report,
    rested,
    state_of,
    stranger,
    text_of,
    token_of,
)
from tests.journeys.game import Game
from tests.journeys.staging import quiet_log, run

__all__ = ("game_settings", "owner", "port", "quiet_log", "rested", "stranger")
pytestmark = pytest.mark.usefixtures("quiet_log", "rested")
NO_TASK = "0b7e4c1a-0000-4000-8000-000000000000"


@contextmanager
def listening(peer: Peer, path: str, body: Any = None, **headers: str) -> Iterator[HTTPResponse]:
    """A stream, as it comes."""
    asking = HTTPConnection("127.0.0.1", peer.port, timeout=WAIT_SECONDS)
    sent = {
        "Authorization": f"Bearer {peer.token}",
        "Content-Type": "application/json",
        "A2A-Version": "1.0",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    try:
        asking.request("POST", f"/a2a/{peer.assistant}{path}", body, sent)
        yield asking.getresponse()
    finally:
        asking.close()


def numbers_in(text: str) -> list[int]:
    """The numbers of a stream's events."""
    return [int(number) for number in re.findall(r"^id: (\d+)", text, re.MULTILINE)]


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_task_is_given_and_answered(stranger: Peer, model: FakeModel, binding: str) -> None:
    """From the card to the report, by either binding; the same task is got again and listed."""
    model.queue(report("In the north wing."))
    task = stranger.send(message("Where is the atlas?"), binding)
    assert ("COMPLETED", "In the north wing.") == (state_of(task), answer_of(task))
    assert ["Where is the atlas?"] == [part.text for part in task.history[0].parts]
    assert task == stranger.get(task.id, binding)
    assert task.id in [each.id for each in stranger.tasks(context_id=task.context_id)]


def test_a_card_says_how_to_ask(stranger: Peer, model: FakeModel) -> None:
    """Anybody may have it, with or without a slash; who has it already is told so."""
    card = stranger.raw("GET", "/.well-known/agent-card.json", Authorization="")
    told = card.told
    assert ("Ada", stranger.url) == (told["name"], told["supportedInterfaces"][0]["url"])
    assert "|" not in told["description"]
    assert {"ask", "look"} <= {skill["id"] for skill in told["skills"]}
    assert card.headers["Cache-Control"]
    assert card.headers["Last-Modified"]
    again = stranger.raw(
        "GET", "/.well-known/agent-card.json", Authorization="", If_None_Match=card.headers["ETag"]
    )
    assert 304 == again.status
    listed = stranger.raw("GET", "//a2a/", Authorization="").told
    assert ["Ada", "Brass"] == [each["name"] for each in listed["assistants"]]
    assert 404 == stranger.raw("GET", "//a2a/nobody/.well-known/agent-card.json").status
    assert "listed at" in stranger.raw("GET", "//.well-known/agent-card.json").text
    model.behave(**report("Yes."))
    for slash in ("", "/"):
        body = {"jsonrpc": "2.0", "id": 7, "method": "ListTasks", "params": {}}
        assert 7 == stranger.raw("POST", slash, body).told["id"]


def test_a_body_says_who_may_ask(game: Game, port: int, stranger: Peer, model: FakeModel) -> None:
    """The lock `peer` of an assistant's body lets some, and others are told which lock it is."""
    with game.log_in_admin() as admin:
        run(admin, "ada.obj.locks.add('peer:perm(Admin)')")
        assert "its lock 'peer:perm(Admin)'" in stranger.refusal(message("And now?"))
        run(admin, "ada.obj.locks.remove('peer')")
        make_account(admin, "Reader", "lantern-oak-52")
    reader = Peer(port, token_of(game, "Reader", "lantern-oak-52", "read"))
    assert "only read" in reader.refusal(message("And now?"))
    assert [] == reader.tasks()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        ({"id": 1, "method": "GetTask"}, -32600),
        ([1], -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "DropTables"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": NO_TASK}}, -32001),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"}, -32007),
    ],
)
def test_a1_what_is_wrong_has_its_number(stranger: Peer, body: Any, code: int) -> None:
    """Each kind of mistake has the protocol's own number, and words."""
    error = stranger.raw("POST", body=body).told["error"]
    assert code == error["code"]
    assert error["message"]


def test_a1_an_older_protocol_is_told_so(stranger: Peer) -> None:
    """Who says no version speaks 0.3, which is not spoken here."""
    error = stranger.call("ListTasks", A2A_Version="")["error"]
    assert -32009 == error["code"]


def test_a5_a_cancelled_task_stays_cancelled(stranger: Peer, model: FakeModel) -> None:
    """What is under way is dropped; neither a late answer nor a second cancel changes it."""
    model.behave(**report("Seven.", kind="hang"))
    task = stranger.ask("Count the lamps.", waits=False)
    model.wait_for_calls(1)
    assert ("CANCELED", "the peer called it off.") == (
        state_of(ended := stranger.cancel(task.id)),
        text_of(ended),
    )
    model.release()
    assert ended == stranger.get(task.id)
    assert -32002 == stranger.call("CancelTask", {"id": task.id})["error"]["code"]
    assert "is canceled; give another one" in stranger.refusal(message("Go on.", task.id))


def test_a5_of_an_unknown_task_nothing_is_told(
    owner: Peer, stranger: Peer, model: FakeModel
) -> None:
    """One that never was and one of somebody else's are the same, by every method."""
    model.queue(report("Yes."))
    theirs = owner.ask("Is it raining?").id
    told = set()
    for number in (NO_TASK, theirs):
        for method in ("GetTask", "CancelTask", "SubscribeToTask"):
            error = stranger.call(method, {"id": number})["error"]
            told.add((error["code"], error["message"].replace(number, "-")))
        said = {"messageId": "m", "taskId": number, "role": "ROLE_USER", "parts": [{"text": "x"}]}
        error = stranger.call("SendMessage", {"message": said})["error"]
        told.add((error["code"], error["message"].replace(number, "-")))
        hook = {"taskId": number, "url": "http://127.0.0.1:1/"}
        error = stranger.call("CreateTaskPushNotificationConfig", hook)["error"]
        told.add((error["code"], error["message"].replace(number, "-")))
        assert 404 == stranger.raw("GET", f"/tasks/{number}").status
    assert {(-32001, "You have no task '-' with Ada.")} == told
    assert theirs not in [each.id for each in stranger.tasks()]


def test_a6_a_stream_tells_all_to_its_end(stranger: Peer, model: FakeModel) -> None:
    """The task first, then what it made, then its end."""
    model.queue(report("Seven."))
    told = stranger.stream("How many lamps?")
    kinds = [each.WhichOneof("payload") for each in told]
    assert ["task", "artifact_update", "status_update"] == kinds
    assert "Seven." == told[1].artifact_update.artifact.parts[0].text


def test_a6_a_stream_goes_on_where_it_broke_off(stranger: Peer, model: FakeModel) -> None:
    """Events have numbers; who comes back with the last one gets what came after, and no more."""
    model.behave(**report("Seven.", kind="hang"))
    task = stranger.ask("How many lamps?", waits=False)
    model.wait_for_calls(1)
    with listening(stranger, f"/tasks/{task.id}:subscribe") as stream:
        begin = "".join(stream.readline().decode() for _ in range(2))
    (first,) = numbers_in(begin)
    model.release()
    with listening(stranger, f"/tasks/{task.id}:subscribe", Last_Event_ID=str(first)) as stream:
        text = stream.read().decode()
    numbers = numbers_in(text)
    assert [first, *sorted(numbers[1:])] == numbers
    assert len(set(numbers)) == len(numbers) >= 3
    with listening(
        stranger, f"/tasks/{task.id}:subscribe", Last_Event_ID=str(numbers[-1])
    ) as stream:
        assert [numbers[-1]] == numbers_in(stream.read().decode())
    error = stranger.call("SubscribeToTask", {"id": task.id})["error"]
    assert (-32004, f"Task {task.id} is over; get it instead.") == (error["code"], error["message"])


def test_a6_an_idle_stream_is_heard_of(stranger: Peer, model: FakeModel) -> None:
    """Within a quarter of a minute something comes, so that nobody between takes it for dead."""
    model.behave(**report("Seven.", kind="hang"))
    task = stranger.ask("How many lamps?", waits=False)
    with listening(stranger, f"/tasks/{task.id}:subscribe") as stream:
        lines = iter(lambda: stream.readline().decode(), "")
        assert any(line.startswith(": ping") for line in lines)
    stranger.cancel(task.id)


def test_a10_without_a_token_nobody_comes_in(stranger: Peer) -> None:
    """No token, a wrong one: 401 and how to send one; a question beforehand is free."""
    for header in ("", "Bearer eai_wrong", "Basic YTpi"):
        refused = stranger.raw("POST", body={}, Authorization=header)
        assert (401, "Bearer") == (refused.status, refused.headers["WWW-Authenticate"])
        assert refused.told["error"]["message"]
    assert 401 == stranger.raw("GET", "/tasks", Authorization="").status
    assert 204 == stranger.raw("OPTIONS", Authorization="").status
    assert 403 == stranger.raw("OPTIONS", Authorization="", Origin="https://evil.example").status
    assert 421 == stranger.raw("GET", Host="evil.example").status


def test_staff_see_who_asked_and_what_it_cost(game: Game, stranger: Peer, model: FakeModel) -> None:
    """`assistant peers` has accounts, states and tokens, and not a word of what was asked."""
    model.queue(report("In the cellar."))
    task = stranger.ask("Where are the amphorae?")
    with game.log_in_admin() as admin:
        admin.ask(
            "assistant peers peer",
            r"Peer: \d+ tasks, 0 under way; [1-9][\d,]* of 0 tokens|"
            r"Peer: \d+ tasks, 0 under way; [1-9][\d,]* tokens today",
        )
        admin.expect(r"Peer asked Ada \(\d+\): completed")
        admin.ask("assistant peers nobody", "No account 'nobody' has given a task")
        assert "amphorae" not in admin.transcript
    assert 1 == len(stranger.tasks(context_id=task.context_id))


def test_who_is_forgotten_has_asked_nothing(game: Game, stranger: Peer, model: FakeModel) -> None:
    """With the person their tasks go, of that assistant."""
    model.queue(report("In the cellar."))
    task = stranger.ask("Where are the amphorae?")
    with game.log_in_admin() as admin:
        run(admin, f"operations.forget_everything(ada, '*#{account_of(game)}')")
    assert -32001 == stranger.call("GetTask", {"id": task.id})["error"]["code"]
    for table, column in (("peertask", "words"), ("peerevent", "data")):
        found = game.query(f"SELECT id FROM evennia_ai_{table} WHERE {column} LIKE '%amphorae%'")
        assert [] == found
    assert [] == stranger.tasks()


def account_of(game: Game) -> int:
    """The number of the stranger's account."""
    found = game.query("SELECT id FROM accounts_accountdb WHERE username = 'Peer'")
    return int(found[0][0])
