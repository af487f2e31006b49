"""An external agent gives an assistant of a running game tasks, by the official A2A client."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest
from a2a.types import Message, SendMessageConfiguration, SendMessageRequest, StreamResponse, Task
from google.protobuf.json_format import MessageToDict

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
from tests.journeys.hook_receiver import receiving
from tests.journeys.staging import quiet_log, run
from tests.journeys.web import PAGE, assert_page_may_ask

__all__ = ("game_settings", "owner", "port", "quiet_log", "rested", "stranger")
pytestmark = pytest.mark.usefixtures("quiet_log", "rested")
NO_TASK = "0b7e4c1a-0000-4000-8000-000000000000"
UNSUPPORTED = -32005
TALK = {"style": "plain", "content": "Good evening. What may I look up for you?"}


def attach(tool: str, **arguments: Any) -> dict[str, Any]:
    """A model's behaviour: it attaches something, without a limit of length."""
    return {"calls": [{"tool": tool, "arguments": arguments}], "ignores_limit": True}


def send(peer: Peer, said: Message, binding: str = "JSONRPC", **wanted: Any) -> StreamResponse:
    request = SendMessageRequest(message=said, configuration=SendMessageConfiguration(**wanted))

    async def use(client: Any) -> StreamResponse:
        return [answer async for answer in client.send_message(request)][-1]

    return peer.do(use, binding)


def made_of(task: Task) -> list[dict[str, Any]]:
    return [dict(MessageToDict(each.parts[0])) for each in task.artifacts]


def seen_by(model: FakeModel) -> str:
    """The messages of the model's last call, as JSON."""
    return json.dumps(model.read_calls()[-1]["body"]["messages"], ensure_ascii=False)


@contextmanager
def listening(peer: Peer, path: str, body: Any = None, **headers: str) -> Iterator[HTTPResponse]:
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
    """The ids of a stream's events."""
    return [int(number) for number in re.findall(r"^id: (\d+)", text, re.MULTILINE)]


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_task_is_given_and_answered(stranger: Peer, model: FakeModel, binding: str) -> None:
    model.queue(report("In the north wing."))
    task = stranger.send(message("Where is the atlas?"), binding)
    assert ("COMPLETED", "In the north wing.") == (state_of(task), answer_of(task))
    assert ["Where is the atlas?"] == [part.text for part in task.history[0].parts]
    assert task == stranger.get(task.id, binding)
    assert task.id in [each.id for each in stranger.tasks(context_id=task.context_id)]


def test_a_card_says_how_to_ask(stranger: Peer, model: FakeModel) -> None:
    """The card is public, with or without a slash, and can be cached by its ETag."""
    card = stranger.raw("GET", "/.well-known/agent-card.json", Authorization="")
    content = card.told
    assert ("Ada", stranger.url) == (content["name"], content["supportedInterfaces"][0]["url"])
    assert "|" not in content["description"]
    assert {"ask", "look"} <= {skill["id"] for skill in content["skills"]}
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
    """The lock `peer` of an assistant's body decides, and a refusal quotes it."""
    with game.log_in_admin() as admin:
        run(admin, "ada.obj.locks.add('peer:perm(Admin)')")
        assert "its lock 'peer:perm(Admin)'" in stranger.refusal(message("And now?"))
        run(admin, "ada.obj.locks.remove('peer')")
        make_account(admin, "Reader", "lantern-oak-52")
    reader = Peer(port, token_of(game, "Reader", "lantern-oak-52", "read"))
    assert "read-only" in reader.refusal(message("And now?"))
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
    error = stranger.raw("POST", body=body).told["error"]
    assert code == error["code"]
    assert error["message"]


def test_a1_a_newer_method_needs_its_version(stranger: Peer) -> None:
    """A request without a version speaks protocol 0.3, which has no such method."""
    error = stranger.call("ListTasks", A2A_Version="")["error"]
    assert -32009 == error["code"]


def older(text: str, **more: Any) -> dict[str, Any]:
    """The parameters of `message/send` in protocol 0.3."""
    said = {"kind": "message", "messageId": text, "role": "user", **more}
    return {"message": {**said, "parts": [{"kind": "text", "text": text}]}}


def test_a_client_of_protocol_0_3_is_served(stranger: Peer, model: FakeModel) -> None:
    """It reads its address in the card, gives a task, gets it, and streams another one."""
    card = stranger.raw("GET", "/.well-known/agent-card.json", Authorization="").told
    assert (stranger.url, "JSONRPC", "0.3") == (
        card["url"],
        card["preferredTransport"],
        card["protocolVersion"],
    )
    model.queue(report("In the north wing."), report("Seven."))
    task = stranger.call("message/send", older("Where is the older atlas?"), A2A_Version="")
    (artifact,) = task["result"]["artifacts"]
    assert ("task", "completed") == (task["result"]["kind"], task["result"]["status"]["state"])
    assert {"kind": "text", "text": "In the north wing."} == artifact["parts"][0]
    wanted = {"id": task["result"]["id"]}
    assert task["result"] == stranger.call("tasks/get", wanted, A2A_Version="")["result"]
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": older("How many?")}
    lines = stranger.raw("POST", body=body, A2A_Version="").text.splitlines()
    events = [json.loads(line[5:])["result"] for line in lines if line.startswith("data:")]
    assert ["task", "artifact-update", "status-update"] == [each["kind"] for each in events]
    assert events[-1]["final"]
    assert numbers_in("\n".join(lines))
    error = stranger.call("tasks/get", {"id": NO_TASK}, A2A_Version="")["error"]
    assert -32001 == error["code"]


def test_a_client_of_protocol_0_3_has_no_more_rights(stranger: Peer) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": older("Hello?")}
    assert 401 == stranger.raw("POST", body=body, A2A_Version="", Authorization="").status
    ordered = older("Take the lamp.", metadata={"order": True})
    assert (
        "ai_control" in stranger.call("message/send", ordered, A2A_Version="")["error"]["message"]
    )


def test_a5_a_cancelled_task_stays_cancelled(stranger: Peer, model: FakeModel) -> None:
    """Neither a late answer of the model nor a second cancel changes a cancelled task."""
    model.behave(**report("Seven.", kind="hang"))
    task = stranger.ask("Count the lamps.", waits=False)
    model.wait_for_calls(1)
    assert ("CANCELED", "the peer canceled it.") == (
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
    """A task that never existed and somebody else's get the same answer by every method."""
    model.queue(report("Yes."))
    theirs = owner.ask("Is it raining?").id
    errors = set()
    for number in (NO_TASK, theirs):
        for method in ("GetTask", "CancelTask", "SubscribeToTask"):
            error = stranger.call(method, {"id": number})["error"]
            errors.add((error["code"], error["message"].replace(number, "-")))
        speech = {"messageId": "m", "taskId": number, "role": "ROLE_USER", "parts": [{"text": "x"}]}
        error = stranger.call("SendMessage", {"message": speech})["error"]
        errors.add((error["code"], error["message"].replace(number, "-")))
        hook = {"taskId": number, "url": "http://127.0.0.1:1/"}
        error = stranger.call("CreateTaskPushNotificationConfig", hook)["error"]
        errors.add((error["code"], error["message"].replace(number, "-")))
        assert 404 == stranger.raw("GET", f"/tasks/{number}").status
    assert {(-32001, "You have no task '-' with Ada.")} == errors
    assert theirs not in [each.id for each in stranger.tasks()]


def test_a6_a_stream_tells_all_to_its_end(stranger: Peer, model: FakeModel) -> None:
    model.queue(report("Seven."))
    events = stranger.stream("How many lamps?")
    kinds = [each.WhichOneof("payload") for each in events]
    assert ["task", "artifact_update", "status_update"] == kinds
    assert "Seven." == events[1].artifact_update.artifact.parts[0].text


def test_a6_a_stream_goes_on_where_it_broke_off(stranger: Peer, model: FakeModel) -> None:
    """A client that resumes with its last event id gets the events after it, and no others."""
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
    """A ping every quarter of a minute keeps proxies from closing an idle stream."""
    model.behave(**report("Seven.", kind="hang"))
    task = stranger.ask("How many lamps?", waits=False)
    with listening(stranger, f"/tasks/{task.id}:subscribe") as stream:
        lines = iter(lambda: stream.readline().decode(), "")
        assert any(line.startswith(": ping") for line in lines)
    stranger.cancel(task.id)


def test_a10_without_a_token_nobody_comes_in(stranger: Peer) -> None:
    """A 401 says how to authenticate; a preflight request needs no token."""
    for header in ("", "Bearer eai_wrong", "Basic YTpi"):
        refused = stranger.raw("POST", body={}, Authorization=header)
        assert (401, "Bearer") == (refused.status, refused.headers["WWW-Authenticate"])
        assert refused.told["error"]["message"]
    assert 401 == stranger.raw("GET", "/tasks", Authorization="").status
    assert 204 == stranger.raw("OPTIONS", Authorization="").status
    assert 403 == stranger.raw("OPTIONS", Authorization="", Origin="https://evil.example").status
    assert 421 == stranger.raw("GET", Host="evil.example").status
    wants = {"Origin": PAGE, "Access_Control_Request_Headers": "authorization,x-trace"}
    assert_page_may_ask(stranger.raw("OPTIONS", Authorization="", **wants), "authorization,x-trace")
    assert_page_may_ask(stranger.raw("GET", "/tasks", Origin=PAGE))


def test_staff_see_who_asked_and_what_it_cost(game: Game, stranger: Peer, model: FakeModel) -> None:
    """`assistant peers` shows accounts, states and tokens, and no word of the requests."""
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
    """Forgetting a person deletes the tasks that they gave to that assistant."""
    model.queue(report("In the cellar."))
    task = stranger.ask("Where are the amphorae?")
    with game.log_in_admin() as admin:
        run(admin, f"operations.forget_everything(ada, '*#{account_of(game)}')")
    assert -32001 == stranger.call("GetTask", {"id": task.id})["error"]["code"]
    for table, column in (("peertask", "words"), ("peerevent", "data")):
        rows = game.query(f"SELECT id FROM evennia_ai_{table} WHERE {column} LIKE '%amphorae%'")
        assert [] == rows
    assert [] == stranger.tasks()


def account_of(game: Game) -> int:
    rows = game.query("SELECT id FROM accounts_accountdb WHERE username = 'Peer'")
    return int(rows[0][0])


# ---- what goes with words: data, files, links; and words alone ---------------------------------


@pytest.mark.parametrize("binding", BINDINGS)
def test_mere_words_are_a_message(stranger: Peer, model: FakeModel, binding: str) -> None:
    """A reply without any tool call is a message and no task; its cost is recorded all the same."""
    model.queue(TALK)
    reply = send(stranger, message("Good evening!"), binding)
    assert "message" == reply.WhichOneof("payload")
    assert TALK["content"] == reply.message.parts[0].text
    assert reply.message.context_id
    assert not reply.message.task_id
    number = dict(MessageToDict(reply.message.metadata))["task"]
    assert "COMPLETED" == state_of(stranger.get(number))


def test_mere_words_end_a_stream_alone(stranger: Peer, model: FakeModel) -> None:
    """A quick reply is the only event of its stream; a slow one is a task from the start."""
    model.queue(TALK)
    (event,) = stranger.stream("Good evening!")
    assert TALK["content"] == event.message.parts[0].text
    model.queue({**TALK, "delay_seconds": 3.0})
    events = stranger.stream("And how are you?")
    kinds = [each.WhichOneof("payload") for each in events]
    assert ["task", "artifact_update", "status_update"] == kinds


def test_where_a_task_is_told_of_it_stays_one(stranger: Peer, model: FakeModel) -> None:
    """A report, a reply after a tool call, and a request that is not awaited stay tasks."""
    model.queue(report("It is there."))
    assert "task" == send(stranger, message("Where is it?")).WhichOneof("payload")
    model.queue({"calls": [{"tool": "write_note", "arguments": {"text": "asked"}}]}, TALK)
    assert "task" == send(stranger, message("And now?")).WhichOneof("payload")
    model.queue(TALK)
    reply = send(stranger, message("Hello?"), return_immediately=True)
    assert "task" == reply.WhichOneof("payload")


@pytest.mark.parametrize("binding", BINDINGS)
def test_what_is_attached_goes_with_the_report(
    stranger: Peer, model: FakeModel, binding: str
) -> None:
    model.queue(
        attach("attach_data", name="counts", data={"lamps": 7, "by room": [3, 4]}),
        attach("attach_file", name="list.csv", content="room,lamps\n", media_type="text/csv"),
        attach("attach_file", name="dot.png", base64="iVBORw0K", media_type="image/png"),
        attach("attach_file", name="plan", url="https://example.com/p", media_type="text/html"),
    )
    model.behave(**report("Seven in all."))
    task = stranger.send(message("Count the lamps, and make a list."), binding)
    assert "COMPLETED" == state_of(task)
    assert [
        {"data": {"lamps": 7.0, "by room": [3.0, 4.0]}, "mediaType": "application/json"},
        {
            "raw": base64.b64encode(b"room,lamps\n").decode(),
            "filename": "list.csv",
            "mediaType": "text/csv",
        },
        {"raw": "iVBORw0K", "filename": "dot.png", "mediaType": "image/png"},
        {"url": "https://example.com/p", "filename": "plan", "mediaType": "text/html"},
        {"text": "Seven in all."},
    ] == made_of(task)
    assert task == stranger.get(task.id, binding)
    listed = stranger.tasks(context_id=task.context_id, include_artifacts=True)
    assert [task.artifacts] == [each.artifacts for each in listed]
    assert not stranger.tasks(context_id=task.context_id)[0].artifacts


def test_what_is_attached_is_streamed_and_told_and_kept(
    game: Game, stranger: Peer, model: FakeModel
) -> None:
    """An attachment is sent at once, in order, and survives a kill of the server."""
    model.queue({**attach("attach_data", name="counts", data={"lamps": 7}), "kind": "hang"})
    model.behave(**report("Seven."))
    with receiving() as receiver:
        task = stranger.ask("Count the lamps.", waits=False)
        model.wait_for_calls(1)
        stranger.hook(task.id, receiver.url)
        model.release()
        receiver.wait_for(3)
        updates = [json.loads(body) for _, body in receiver.heard]
    assert ["artifactUpdate", "artifactUpdate", "statusUpdate"] == [next(iter(e)) for e in updates]
    assert {"lamps": 7} == updates[0]["artifactUpdate"]["artifact"]["parts"][0]["data"]
    before = stranger.get(task.id)
    game.crash()
    stranger.wait()
    assert before == stranger.get(task.id)
    assert 2 == len(before.artifacts)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"url": "http://127.0.0.1/x"}, "within a network"),
        ({"url": "http://[::1]/x"}, "within a network"),
        ({"url": "https://tom:secret@example.com/"}, "no password"),
        ({"url": "file:///etc/passwd"}, "not an address"),
        ({"base64": "***"}, "not base64"),
        ({"content": "x" * 16_001}, "at most 16,000"),
        ({"content": "x", "media_type": "text"}, "not a media type"),
        ({"content": "x", "name": "../passwd"}, "a name has"),
        ({"content": "x", "url": "https://example.com/"}, "give one of"),
    ],
)
def test_what_cannot_be_attached(
    stranger: Peer, model: FakeModel, arguments: dict[str, str], told: str
) -> None:
    """The model reads the reason, and goes on without the attachment."""
    model.queue(attach("attach_file", **{"name": "x.txt", **arguments}))
    model.behave(**report("There is none."))
    task = stranger.ask("Send me the file.")
    assert [{"text": "There is none."}] == made_of(task)
    assert told in seen_by(model)


def test_the_same_name_takes_its_place(stranger: Peer, model: FakeModel) -> None:
    model.queue(
        attach("attach_file", name="a.txt", content="first"),
        attach("attach_file", name="b.txt", content="other"),
        attach("attach_file", name="a.txt", content="second"),
    )
    model.behave(**report("Here they are."))
    task = stranger.ask("Send me all.")
    assert ["a.txt", "b.txt", "answer"] == [each.name for each in task.artifacts]
    assert b"second" == task.artifacts[0].parts[0].raw


def test_nobody_else_has_a_use_for_it(game: Game, model: FakeModel) -> None:
    """Outside a task, attaching is refused with the reason."""
    with game.log_in_admin() as admin:
        admin.ask("aiexec Ada attach_data name=x data={}", "nobody has given one")


def test_files_of_text_are_read(stranger: Peer, model: FakeModel) -> None:
    """Text, CSV and JSON reach the model, quoted, with their names."""
    parts = [
        {"text": "How many lamps?"},
        {
            "raw": base64.b64encode("north,3\nsouth,4\n„ä“".encode()).decode(),
            "filename": 'lamps".csv',
            "mediaType": "text/csv; charset=utf-8",
        },
        {"data": {"exact": True}},
        {"raw": base64.b64encode(b'{"a": 1}').decode(), "mediaType": "application/json"},
    ]
    model.queue(report("Seven."))
    speech = {"messageId": "files", "role": "ROLE_USER", "parts": parts}
    answer = stranger.call("SendMessage", {"message": speech})
    assert "error" not in answer
    seen = seen_by(model)
    for words in ("lamps", "north,3", "text/csv", "„ä“", "exact"):
        assert words in seen


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"raw": "AAAA", "mediaType": "image/png"}, "'image/png' is not understood"),
        ({"raw": "AAAA"}, "'' is not understood"),
        ({"raw": "/////w==", "mediaType": "text/plain", "filename": "x"}, "not text in UTF-8"),
        ({"url": "https://example.com/x", "mediaType": "text/plain"}, "is not followed here"),
    ],
)
def test_other_files_are_refused(stranger: Peer, part: dict[str, str], told: str) -> None:
    speech = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "See:"}, part]}
    error = stranger.call("SendMessage", {"message": speech})["error"]
    assert UNSUPPORTED == error["code"]
    assert told in error["message"]


def test_what_a_peer_takes_is_kept_to(stranger: Peer, model: FakeModel) -> None:
    """A peer that accepts only JSON gets JSON; one that accepts nothing of ours is refused."""
    model.queue(
        attach("attach_file", name="x.csv", content="a,b", media_type="text/csv"),
        attach("attach_data", name="counts", data={"lamps": 7}),
    )
    model.behave(**report("Seven."))
    wanted = {"accepted_output_modes": ["application/json"]}
    task = send(stranger, message("How many lamps?"), **wanted).task
    assert [{"lamps": 7.0}, {"answer": "Seven."}] == [each["data"] for each in made_of(task)]
    seen = seen_by(model)
    assert "They take no plain text, but: application/json." in seen
    assert "take only application/json, and this is text/csv" in seen
    speech = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Sing."}]}
    config = {"acceptedOutputModes": ["audio/ogg"]}
    error = stranger.call("SendMessage", {"message": speech, "configuration": config})["error"]
    assert (UNSUPPORTED, True) == (error["code"], "audio/ogg" in error["message"])


@pytest.mark.parametrize("path", ["", "/message:send"])
def test_a_body_that_is_no_json(stranger: Peer, path: str) -> None:
    refused = stranger.raw("POST", path, b"hello", Content_Type="text/plain")
    assert 415 == refused.status
    assert "application/json here, not text/plain" in refused.told["error"]["message"]
    assert (UNSUPPORTED if not path else 415) == refused.told["error"]["code"]
