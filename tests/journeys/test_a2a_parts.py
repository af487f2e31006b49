"""What goes with words between a peer and an assistant: data, files, links, and words alone."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from a2a.types import Message, SendMessageConfiguration, SendMessageRequest, StreamResponse, Task
from google.protobuf.json_format import MessageToDict

from tests.fakes.handle import FakeModel
from tests.journeys.a2a_client import (
    BINDINGS,
    Peer,
    game_settings,
    message,
    owner,
    port,
    report,
    rested,
    state_of,
    stranger,
)
from tests.journeys.game import Game
from tests.journeys.hook_receiver import receiving
from tests.journeys.staging import quiet_log

__all__ = ("game_settings", "owner", "port", "quiet_log", "rested", "stranger")
pytestmark = pytest.mark.usefixtures("quiet_log", "rested")
UNSUPPORTED = -32005
TALK = {"style": "plain", "content": "Good evening. What may I look up for you?"}


def attach(tool: str, **arguments: Any) -> dict[str, Any]:
    """A model's behaviour: it attaches something, however long that is."""
    return {"calls": [{"tool": tool, "arguments": arguments}], "ignores_limit": True}


def send(peer: Peer, said: Message, binding: str = "JSONRPC", **wanted: Any) -> StreamResponse:
    """The answer to one message: a task, or words."""
    request = SendMessageRequest(message=said, configuration=SendMessageConfiguration(**wanted))

    async def use(client: Any) -> StreamResponse:
        return [answer async for answer in client.send_message(request)][-1]

    found: StreamResponse = peer.do(use, binding)
    return found


def made_of(task: Task) -> list[dict[str, Any]]:
    """The first part of each thing that a task made."""
    return [dict(MessageToDict(each.parts[0])) for each in task.artifacts]


def seen_by(model: FakeModel) -> str:
    """All that the model was shown with its last call."""
    return json.dumps(model.read_calls()[-1]["body"]["messages"], ensure_ascii=False)


@pytest.mark.parametrize("binding", BINDINGS)
def test_mere_words_are_a_message(stranger: Peer, model: FakeModel, binding: str) -> None:
    """Where nothing was done there is no task to follow; what it cost is kept all the same."""
    model.queue(TALK)
    said = send(stranger, message("Good evening!"), binding)
    assert "message" == said.WhichOneof("payload")
    assert TALK["content"] == said.message.parts[0].text
    assert said.message.context_id
    assert not said.message.task_id
    number = dict(MessageToDict(said.message.metadata))["task"]
    assert "COMPLETED" == state_of(stranger.get(number))


def test_mere_words_end_a_stream_alone(stranger: Peer, model: FakeModel) -> None:
    """A stream has one message then; where it takes longer, the task first, as ever."""
    model.queue(TALK)
    (said,) = stranger.stream("Good evening!")
    assert TALK["content"] == said.message.parts[0].text
    model.queue({**TALK, "delay_seconds": 3.0})
    told = stranger.stream("And how are you?")
    kinds = [each.WhichOneof("payload") for each in told]
    assert ["task", "artifact_update", "status_update"] == kinds


def test_where_a_task_is_told_of_it_stays_one(stranger: Peer, model: FakeModel) -> None:
    """A report, words after something was done, and what nobody waits for are tasks."""
    model.queue(report("It is there."))
    assert "task" == send(stranger, message("Where is it?")).WhichOneof("payload")
    model.queue({"calls": [{"tool": "write_note", "arguments": {"text": "asked"}}]}, TALK)
    assert "task" == send(stranger, message("And now?")).WhichOneof("payload")
    model.queue(TALK)
    found = send(stranger, message("Hello?"), return_immediately=True)
    assert "task" == found.WhichOneof("payload")


@pytest.mark.parametrize("binding", BINDINGS)
def test_what_is_attached_goes_with_the_report(
    stranger: Peer, model: FakeModel, binding: str
) -> None:
    """Data, a text, bytes and a link, each with its name and type, and the words at the end."""
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
    """As soon as it is there, in the order it came; the same over a restart."""
    model.queue({**attach("attach_data", name="counts", data={"lamps": 7}), "kind": "hang"})
    model.behave(**report("Seven."))
    with receiving() as receiver:
        task = stranger.ask("Count the lamps.", waits=False)
        model.wait_for_calls(1)
        stranger.hook(task.id, receiver.url)
        model.release()
        receiver.wait_for(3)
        told = [json.loads(body) for _, body in receiver.heard]
    assert ["artifactUpdate", "artifactUpdate", "statusUpdate"] == [next(iter(e)) for e in told]
    assert {"lamps": 7} == told[0]["artifactUpdate"]["artifact"]["parts"][0]["data"]
    before = stranger.get(task.id)
    game.kill_server()
    game.start()
    stranger.wait()
    assert before == stranger.get(task.id)
    assert 2 == len(before.artifacts)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"url": "http://127.0.0.1/x"}, "within a network"),
        ({"url": "http://[::1]/x"}, "within a network"),
        ({"url": "https://tom:secret@example.com/"}, "no password"),
        ({"url": "file:///etc/passwd"}, "no address"),
        ({"base64": "***"}, "no base64"),
        ({"content": "x" * 16_001}, "at most 16,000"),
        ({"content": "x", "media_type": "text"}, "no media type"),
        ({"content": "x", "name": "../passwd"}, "a name has"),
        ({"content": "x", "url": "https://example.com/"}, "give one of"),
    ],
)
def test_what_cannot_be_attached(
    stranger: Peer, model: FakeModel, arguments: dict[str, str], told: str
) -> None:
    """The model is told why, and goes on without it."""
    model.queue(attach("attach_file", **{"name": "x.txt", **arguments}))
    model.behave(**report("There is none."))
    task = stranger.ask("Send me the file.")
    assert [{"text": "There is none."}] == made_of(task)
    assert told in seen_by(model)


def test_the_same_name_takes_its_place(stranger: Peer, model: FakeModel) -> None:
    """What is attached again is there once, as it was attached last."""
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
    """In talks of the game the tools are not shown, and by hand they say why not."""
    with game.log_in_admin() as admin:
        admin.ask("aiexec Ada attach_data name=x data={}", "nobody has given one")


def test_files_of_text_are_read(stranger: Peer, model: FakeModel) -> None:
    """Text, CSV and JSON come to the model, quoted, with their names."""
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
    said = {"messageId": "files", "role": "ROLE_USER", "parts": parts}
    answer = stranger.call("SendMessage", {"message": said})
    assert "error" not in answer
    seen = seen_by(model)
    for words in ("lamps", "north,3", "text/csv", "„ä“", "exact"):
        assert words in seen


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"raw": "AAAA", "mediaType": "image/png"}, "'image/png' is not understood"),
        ({"raw": "AAAA"}, "'' is not understood"),
        ({"raw": "/////w==", "mediaType": "text/plain", "filename": "x"}, "no text in UTF-8"),
        ({"url": "https://example.com/x", "mediaType": "text/plain"}, "is not followed here"),
    ],
)
def test_other_files_are_refused(stranger: Peer, part: dict[str, str], told: str) -> None:
    """By the protocol's own error, which names the type."""
    said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "See:"}, part]}
    error = stranger.call("SendMessage", {"message": said})["error"]
    assert UNSUPPORTED == error["code"]
    assert told in error["message"]


def test_what_a_peer_takes_is_kept_to(stranger: Peer, model: FakeModel) -> None:
    """JSON in place of text, no file of a type it does not take, and no task that cannot end."""
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
    said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Sing."}]}
    config = {"acceptedOutputModes": ["audio/ogg"]}
    error = stranger.call("SendMessage", {"message": said, "configuration": config})["error"]
    assert (UNSUPPORTED, True) == (error["code"], "audio/ogg" in error["message"])


@pytest.mark.parametrize("path", ["", "/message:send"])
def test_a_body_that_is_no_json(stranger: Peer, path: str) -> None:
    """Both bindings say so by the protocol's own error."""
    refused = stranger.raw("POST", path, b"hello", Content_Type="text/plain")
    assert 415 == refused.status
    assert "application/json here, not text/plain" in refused.told["error"]["message"]
    assert (UNSUPPORTED if not path else 415) == refused.told["error"]["code"]
