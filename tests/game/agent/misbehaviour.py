"""Ways in which a model misbehaves, as rows: its answers, and the expected outcome."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SORRY = (
    "Ada looks away for a moment. "
    '"Forgive me, my thoughts won\'t settle. Try me again in a minute."'
)
WORN = (
    'Ada turns away, worn out. "That got us nowhere. Give me a minute, then ask for something '
    'else."'
)
Calls = list[dict[str, Any]]


def call(name: Any, arguments: Any = None, call_id: Any = "call_1") -> dict[str, Any]:
    """One native tool call; a mapping of arguments becomes JSON text, anything else stays."""
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments)
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def whisper(message: str, call_id: Any = "call_1", target: str = "Tom") -> dict[str, Any]:
    return call("whisper", {"target": target, "message": message}, call_id)


def look(call_id: Any = "call_1", **arguments: str) -> dict[str, Any]:
    return call("look", arguments, call_id)


def answer(content: Any = None, calls: Calls | None = None, **more: Any) -> str:
    """A completion as JSON text; `more` holds further members, or `finish` and `message`."""
    finish, message = more.pop("finish", "stop"), more.pop("message", {})
    message = {"role": "assistant", "content": content, **message}
    if calls is not None:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return json.dumps({"choices": [choice], **more})


def does(*calls: dict[str, Any]) -> str:
    return answer(None, list(calls), finish="tool_calls")


WELL_CALL = {"tool": "whisper", "arguments": {"target": "Tom", "message": "All is well."}}
WELL = does(whisper("All is well."))
HEARD = ('Ada whispers: "All is well."',)


@dataclass(frozen=True)
class Row:
    """One way to misbehave, after Tom whispered.

    Attributes:
        answers: bodies of the first replies, or behaviours of the scripted server.
        then: the body of all later replies.
        ends: the stop reason.
        heard: the lines that Tom hears from Ada.
        kept: the calls of the stored turn; "+" joins those of one reply, "!" marks a failed one;
            "" when nothing is stored.
        asked: the number of model calls.
        detail: a part of the cause that staff read.
    """

    name: str
    answers: tuple[str | Mapping[str, Any], ...]
    ends: str = "terminal_tool"
    heard: tuple[str, ...] = HEARD
    kept: str = "whisper"
    asked: int = 1
    then: str = WELL
    detail: str = ""


def mended(name: str, bad: str, kept: str) -> Row:
    """A reply that cannot be run; told what is wrong, the model does better."""
    return Row(name, (bad,), kept=f"{kept} whisper", asked=2)


def for_ever(name: str, bad: str, detail: str) -> Row:
    """The same wrong reply each time: the fourth ends the turn, and nothing of it is stored."""
    return Row(name, (), "max_iterations", (WORN,), "", 4, bad, detail)


def said(name: str, reply: str, words: str, kept: str = "whisper") -> Row:
    """An odd reply that still counts as an answer."""
    return Row(name, (reply,), heard=(f'Ada whispers: "{words}"',), kept=kept)


def silent(name: str, reply: str, detail: str) -> Row:
    """An empty reply: the player is told, and nothing is stored."""
    return Row(name, (reply,), "parse_error", (SORRY,), "", 1, detail=detail)


NOTHING = "neither text nor a tool call"
UNFIT = "holds nothing that can be said"
MANY = [look(f"call_{n}") for n in range(500)]
DEEP = '{"target": ' + "[" * 900 + "]" * 900 + "}"

CALLS = (
    mended("unknown tool", does(call("fly")), "fly!"),
    for_ever(
        "unknown tool for ever",
        does(call("fly")),
        "a tool that does not exist failed 4 times with the same arguments",
    ),
    said(
        "name in another case",
        does(call("WHISPER", {"target": "Tom", "message": "Good evening."})),
        "Good evening.",
    ),
    mended("name with blanks around it", does(call(" look ", {})), "look"),
    mended("a name that is a sentence", does(call("say hello to Tom!", {})), "say_hello_to_Tom_!"),
    mended("a name of 300 letters", does(call("x" * 300, {})), "x" * 64 + "!"),
    mended("an empty name", does(call("", {})), "_!"),
    Row("name is not text", (answer(None, [call(7, {})]),), "parse_error", (SORRY,), "", 1),
    mended("bad JSON", does(call("whisper", '{"target": ')), "whisper!"),
    for_ever(
        "bad JSON for ever",
        does(call("whisper", '{"target": ')),
        "whisper failed 4 times with the same arguments",
    ),
    said(
        "words beside bad JSON",
        answer("Good evening.", [call("whisper", '{"target": ')]),
        "Good evening.",
    ),
    mended("arguments are a list", does(call("whisper", '["Tom", "Hello."]')), "whisper!"),
    mended("arguments are a number", does(call("whisper", "7")), "whisper!"),
    mended("arguments are null", does(call("whisper", "null")), "whisper!"),
    mended("arguments are not text", does(call("whisper", [1])), "whisper!"),
    mended("arguments are missing", does(call("whisper")), "whisper!"),
    mended("JSON in a string", does(call("whisper", json.dumps('{"target": "Tom"}'))), "whisper!"),
    mended("a number that is none", does(call("look", '{"target": NaN}')), "look!"),
    mended("a number without end", does(call("look", '{"target": 1e999}')), "look!"),
    mended("nine hundred lists in a list", does(call("look", DEEP)), "look!"),
    mended("an argument is missing", does(call("whisper", {"target": "Tom"})), "whisper!"),
    mended("one too many", does(call("look", {"at": "Tom", "x": 1})), "look!"),
    mended("a wrong type", does(call("whisper", {"target": 7, "message": "x"})), "whisper!"),
    mended(
        "no such choice",
        does(call("inspect_location", {"detail_level": "all"})),
        "inspect_location!",
    ),
    mended("a lone surrogate", does(call("whisper", '{"\\ud800": "\\udfff"}')), "whisper!"),
    Row("500 calls in one reply", (does(*MANY),), kept="look+look+look+look whisper", asked=2),
    said("calls of two kinds", does(look("a"), whisper("Hm.", "b")), "Hm.", "look+whisper"),
    said(
        "the same twice", does(whisper("Hm.", "a"), whisper("Hm.", "b")), "Hm.", "whisper+whisper"
    ),
    Row(
        "two different whispers",
        (does(whisper("One.", "a"), whisper("Two.", "b")),),
        heard=('Ada whispers: "One."', 'Ada whispers: "Two."'),
        kept="whisper+whisper",
    ),
    Row(
        "speech after what failed",
        (does(look("a", target="the moon"), whisper("I see it.", "b")),),
        kept="look!+whisper! whisper",
        asked=2,
    ),
    Row(
        "speech after a dangerous act",
        (does(call("get", {"item": "lamp"}, "a"), whisper("I have it.", "b")),),
        "dangerous_tool",
        ("Ada picks up a lamp.",),
        "get+whisper!",
    ),
    Row(
        "a dangerous act after speech",
        (does(whisper("I take it.", "a"), call("get", {"item": "lamp"}, "b")),),
        "dangerous_tool",
        ('Ada whispers: "I take it."', "Ada picks up a lamp."),
        "whisper+get",
    ),
    Row(
        "looks for ever",
        (),
        "max_iterations",
        (SORRY,),
        "",
        6,
        does(look()),
        "limit max_iterations reached: 5 steps a tick",
    ),
    for_ever(
        "whispers to nobody for ever",
        does(whisper("Hm.", target="Zoe")),
        "whisper failed 4 times with the same arguments",
    ),
    Row("noop", (does(call("noop", {})),), "noop", (), "noop"),
    Row("noop with text", (answer("Hm.", [call("noop", {})]),), "noop", (), "noop"),
    Row(
        "noop and a whisper",
        (does(call("noop", {}, "a"), whisper("Hm.", "b")),),
        "noop",
        (),
        "noop+whisper!",
    ),
    Row(
        "a whisper and noop",
        (does(whisper("Hm.", "a"), call("noop", {}, "b")),),
        "noop",
        ('Ada whispers: "Hm."',),
        "whisper+noop",
    ),
    said("ids that are the same", does(look("a"), whisper("Hm.", "a")), "Hm.", "look+whisper"),
    said("no ids", does(look(None), whisper("Hm.", "")), "Hm.", "look+whisper"),
    said("an id of 500 letters", does(whisper("Hm.", "x" * 500)), "Hm."),
    said("an id with blanks", does(whisper("Hm.", "call 1 \n")), "Hm."),
    said("ids that are numbers", does(look(1), whisper("Hm.", 2)), "Hm.", "look+whisper"),
    Row("calls are no list", (answer("Hm.", call("look")),), heard=('Ada whispers: "Hm."',)),  # type: ignore[arg-type]
    said("among calls something else", does(None, 7, whisper("Hm.")), "Hm."),  # type: ignore[arg-type]
)
