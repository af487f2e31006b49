"""Requests to a model, and the parsing of its replies, malformed ones included."""

import json
import math
import re
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from evennia_ai.core.turn.conversation import call_message, result_message, user_message
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ModelReplyError
from evennia_ai.llm.offers import LONGEST_ARGUMENT
from evennia_ai.llm.replies import REQUESTS, new_call_id, parse_reply

SAY = ToolSpec(
    "say",
    "Say it.",
    {
        "type": "object",
        "properties": {"message": {"type": "string"}, "times": {"type": "integer"}},
        "required": ["message"],
        "additionalProperties": False,
    },
)
CALL = ToolCall("call00001", "say", {"message": "hé"})
DONE = ToolResult(True, "said")
TALK = [user_message("hello"), call_message(CALL), result_message(CALL, DONE)]


def _body(message: Any, **more: Any) -> bytes:
    return json.dumps({"choices": [{"message": message}], **more}).encode()


def _calls(*raw: Any) -> bytes:
    return _body({"content": None, "tool_calls": list(raw)})


def _numbered() -> Any:
    """A source of predictable ids: new0, new1 and so on."""
    numbers = count()
    return lambda: f"new{next(numbers)}"


def _function(arguments: Any, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "function": {"name": "say", "arguments": arguments}, **more}


# ---- requests ------------------------------------------------------------------------------------


def test_a_native_request_offers_tools_and_keeps_the_conversation_as_it_is() -> None:
    body = REQUESTS["native"](TALK, [SAY])
    assert TALK == body["messages"]
    assert [SAY.as_function] == body["tools"]
    assert "auto" == body["tool_choice"]


def test_a_native_request_without_tools_names_none() -> None:
    """Providers refuse an empty list of tools."""
    assert {"messages": TALK} == REQUESTS["native"](TALK, [])


@pytest.mark.parametrize("given", ["call_9f2c_1", "last_9f2c", "", "\ud800"])
def test_a_native_request_has_ids_that_every_service_takes(given: str) -> None:
    """A call that stands for spoken words, and its result, have the same one in each request."""
    call = replace(CALL, id=given)
    talk = [call_message(call, CALL), result_message(call, DONE), result_message(CALL, DONE)]
    (asked, *results), (again, *_) = (REQUESTS["native"](talk, [])["messages"] for _ in range(2))
    first, second = (each["id"] for each in asked["tool_calls"])
    assert re.fullmatch("[a-zA-Z0-9]{9}", first)
    assert CALL.id == second != first
    assert [first, second] == [each["tool_call_id"] for each in results]
    assert asked == again
    assert given == talk[0]["tool_calls"][0]["id"]


def test_a_json_request_holds_the_model_to_one_of_the_tools() -> None:
    body = REQUESTS["json"](TALK, [SAY])
    (choice,) = body["response_format"]["json_schema"]["schema"]["anyOf"]
    assert {"const": "say"} == choice["properties"]["tool"]
    parameters = choice["properties"]["parameters"]
    assert LONGEST_ARGUMENT == parameters["properties"]["message"]["maxLength"]
    assert {"type": "integer"} == parameters["properties"]["times"]
    assert "maxLength" not in SAY.parameters["properties"]["message"]


def test_a_json_request_tells_calls_and_results_as_text() -> None:
    messages = REQUESTS["json"](TALK, [SAY])["messages"]
    assert ["user", "assistant", "user"] == [message["role"] for message in messages]
    assert {"tool": "say", "parameters": {"message": "hé"}} == json.loads(messages[1]["content"])
    assert not any("tool_calls" in message for message in messages)


def test_a_json_request_without_tools_asks_for_no_schema() -> None:
    assert "response_format" not in REQUESTS["json"](TALK, [])


# ---- replies -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            b"<!doctype html><h1>502</h1>",
            "the answer is not JSON but begins with '<!doctype html><h1>502</h1>'",
        ),
        (b"", "the answer is empty"),
        (b" \n", "the answer is empty"),
        (b"\xff\xfe\x00", "the answer is not JSON but begins with"),
        (b"[" * 100_000, "the answer cannot be read: its 100,000 bytes hold more than"),
        (b"{}", "the answer holds no choices (it holds: nothing)"),
        (b"[]", "the answer holds no choices (it holds: list)"),
        (b"null", "the answer holds no choices (it holds: NoneType)"),
        (b'"hello"', "the answer holds no choices (it holds: str)"),
        (b'{"error": 1, "code": 2}', "the answer holds no choices (it holds: code, error)"),
        (b'{"choices": []}', "the answer's list of choices is empty"),
        (b'{"choices": {}}', "the answer's choices are no list of objects"),
        (b'{"choices": ["x"]}', "the answer's choices are no list of objects"),
        (b'{"choices": [{}]}', "the answer's first choice holds no message"),
        (b'{"choices": [{"message": "hi"}]}', "the answer's first choice holds no message"),
        (b'{"results": [{"text": "hi"}]}', "the answer holds no choices (it holds: results)"),
    ],
)
def test_what_is_no_completion_is_said_to_be_none(body: bytes, expected: str) -> None:
    with pytest.raises(ModelReplyError) as caught:
        parse_reply(body, "native")
    assert expected in str(caught.value)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("hello", "hello"),
        (None, ""),
        (7, ""),
        ({"text": "hello"}, ""),
        ([], ""),
        ([{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}], "hello"),
        ([{"type": "image_url"}, {"text": None}, "x", {"text": "hello"}], "hello"),
        ([{"type": "thinking", "text": "Hm."}, {"type": "text", "text": "hello"}], "hello"),
        ([{"type": "reasoning", "text": "Hm."}, {"type": ["x"], "text": "hello"}], "hello"),
    ],
)
def test_text_is_read_from_every_shape_of_content(content: Any, expected: str) -> None:
    assert expected == parse_reply(_body({"content": content}), "native").content


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (_function('{"message": "hi"}'), ToolCall("new0", "say", {"message": "hi"})),
        (_function({"message": "hi"}), ToolCall("new0", "say", {"message": "hi"})),
        (_function(""), ToolCall("new0", "say", {})),
        (_function(None), ToolCall("new0", "say", {})),
        (_function('"{\\"message\\": \\"hi\\"}"'), ToolCall("new0", "say", {"message": "hi"})),
        (_function('{"message": "h\ni"}'), ToolCall("new0", "say", {"message": "h\ni"})),
        (_function([]), ToolCall("new0", "say", {})),
        (_function("[]"), ToolCall("new0", "say", {})),
        (_function('"hi"'),
         ToolCall("new0", "say", problem="the arguments of say are not a JSON object")),
        (_function('{"message": "h'),
         ToolCall("new0", "say", problem="the arguments of say are not valid JSON")),
        (_function("[" * 100_000),
         ToolCall("new0", "say", problem="the arguments of say are not valid JSON")),
        (_function('["hi"]'),
         ToolCall("new0", "say", problem="the arguments of say are not a JSON object")),
        (_function("null"),
         ToolCall("new0", "say", problem="the arguments of say are not a JSON object")),
        (_function(7),
         ToolCall("new0", "say", problem="the arguments of say are not a JSON object")),
        (_function("{}", id=None), ToolCall("new0", "say", {})),
        (_function("{}", id=""), ToolCall("new0", "say", {})),
        (_function("{}", id=5), ToolCall("new0", "say", {})),
        (_function("{}", id=["c1"]), ToolCall("new0", "say", {})),
    ],
)  # fmt: skip
def test_a_call_is_read_or_says_what_is_wrong_with_it(raw: Any, expected: ToolCall) -> None:
    assert (expected,) == parse_reply(_calls(raw), "native", _numbered()).tool_calls


def test_a_call_in_the_older_form_is_read() -> None:
    """Some servers send both forms, which are one call."""
    older = {"content": None, "function_call": {"name": "say", "arguments": '{"message": "hé"}'}}
    calls = parse_reply(_body(older), "native", _numbered()).tool_calls
    assert (replace(CALL, id="new0"),) == calls
    both = {**older, "tool_calls": [_function('{"message": "hé"}')]}
    assert calls == parse_reply(_body(both), "native", _numbered()).tool_calls


@pytest.mark.parametrize(
    "name",
    [
        *("functions.say", "functions.say:0", "say<|channel|>commentary", " say "),
        *("default_api.say", "default_api:say"),
    ],
)
def test_the_name_of_a_tool_is_read_without_marks(name: str) -> None:
    (call,) = parse_reply(
        _calls({"function": {"name": name, "arguments": "{}"}}), "native"
    ).tool_calls
    assert "say" == call.name


@pytest.mark.parametrize("raw", ["say", None, {}, {"function": "say"}, {"function": {"name": 3}}])
def test_what_names_no_tool_is_no_call(raw: Any) -> None:
    (call,) = parse_reply(_calls(raw, _function("{}")), "native").tool_calls
    assert "say" == call.name


@pytest.mark.parametrize(
    "given", [["a", "b"], ["a", "a"], ["", None], ["x" * 65, "functions.say:0"]]
)
def test_ids_are_what_every_service_takes(given: list[Any]) -> None:
    """The next request repeats these ids: a double, long or odd one would make it fail."""
    calls = _calls(*(_function("{}", id=each) for each in given))
    read = parse_reply(calls, "native", _numbered()).tool_calls
    assert ["new0", "new1"] == [call.id for call in read]


@pytest.mark.parametrize("mode", ["native", "json"])
def test_ids_differ_between_replies(mode: str) -> None:
    """A counter would repeat ids after a restart."""
    text = _body({"content": '{"tool": "say", "parameters": {}}'})
    body = text if mode == "json" else _calls(_function("{}", id=""))
    assert 100 == len({parse_reply(body, mode).tool_calls[0].id for _ in range(100)})


def test_a_new_id_is_one_that_every_service_takes() -> None:
    """The strictest service accepts nine letters and digits."""
    assert re.fullmatch("[a-zA-Z0-9]{9}", new_call_id())


def test_five_hundred_calls_are_five_hundred() -> None:
    calls = parse_reply(_calls(*[_function("{}")] * 500), "native").tool_calls
    assert 500 == len({call.id for call in calls})


@pytest.mark.parametrize("calls", [None, {}, "say", 3])
def test_calls_that_are_no_list_are_none(calls: Any) -> None:
    reply = parse_reply(_body({"content": "hi", "tool_calls": calls}), "native")
    assert ((), "hi") == (reply.tool_calls, reply.content)


ANSWER = "It is in the north wing."
COUNTED = 7  # tokens of ANSWER, by the package's own count


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param({"prompt_tokens": 7, "completion_tokens": 3}, TokenUsage(7, 3), id="credible"),
        pytest.param({"prompt_tokens": 7.0, "completion_tokens": 3.5}, TokenUsage(7, 4),
                     id="fractions"),
        pytest.param({"prompt_tokens": 200}, TokenUsage(200, COUNTED), id="no completion"),
        *(
            pytest.param(
                {"prompt_tokens": 200, "completion_tokens": value},
                TokenUsage(200, COUNTED),
                id=str(value),
            )
            for value in (0, -1e6, 1e12, 10**12, "5000", None, math.nan, math.inf, True, [5], {})
        ),
        *(
            pytest.param(
                {"prompt_tokens": value, "completion_tokens": 3},
                TokenUsage(0, 3),
                id=f"prompt {value}",
            )
            for value in (-1e6, 1e12, "200", None, math.nan, False)
        ),
        pytest.param({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 900},
                     TokenUsage(7, 893), id="thoughts in the total alone"),
        pytest.param({"prompt_tokens": 7, "completion_tokens": -1, "total_tokens": 900},
                     TokenUsage(7, 893), id="only the total is credible"),
        pytest.param({"prompt_tokens": None, "completion_tokens": 3, "total_tokens": 900},
                     TokenUsage(897, 3), id="no prompt, but a total"),
        *(
            pytest.param(
                {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": value},
                TokenUsage(7, 3),
                id=f"total {value}",
            )
            for value in (5, -900, 1e12, "900", None, math.nan)
        ),
        pytest.param(None, TokenUsage(0, COUNTED), id="none"),
        pytest.param([7, 3], TokenUsage(0, COUNTED), id="a list"),
    ],
)  # fmt: skip
def test_hole_d23_usage_that_cannot_be_is_counted_by_ourselves(
    usage: Any, expected: TokenUsage
) -> None:
    """Implausible numbers are replaced by an own count; a larger total is believed."""
    body = _body({"content": ANSWER}, usage=usage)
    assert expected == parse_reply(body, "native").usage


def test_hole_d23_calls_and_thoughts_are_counted_as_well() -> None:
    """This is the count where a service reports no usage."""
    thoughts = {"content": ANSWER, "reasoning_content": ANSWER, "reasoning": ANSWER}
    assert TokenUsage(0, 3 * COUNTED) == parse_reply(_body(thoughts), "native").usage
    called = parse_reply(_calls(_function('{"message": "hi"}')), "native").usage
    assert 10 < called.completion_tokens < 60


def test_hole_d23_an_answer_of_no_use_may_have_cost() -> None:
    """Usage that is reported without a usable choice still reaches whoever pays."""
    for body, expected in (
        (
            b'{"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 9}}',
            TokenUsage(7, 9),
        ),
        (b'{"choices": [{}], "usage": {"prompt_tokens": 7}}', TokenUsage(7, 0)),
        (b'{"choices": []}', None),
        (b"[]", None),
    ):
        with pytest.raises(ModelReplyError) as caught:
            parse_reply(body, "native")
        assert expected == caught.value.usage


@pytest.mark.parametrize("key", ["parameters", "args", "arguments"])
def test_in_json_mode_the_text_is_the_call(key: str) -> None:
    content = json.dumps({"tool": "say", key: {"message": "hi"}})
    (call,) = parse_reply(_body({"content": content}), "json").tool_calls
    assert ("say", {"message": "hi"}) == (call.name, call.arguments)


def test_in_json_mode_plain_text_stays_text() -> None:
    reply = parse_reply(_body({"content": "Good evening."}), "json")
    assert ((), "Good evening.") == (reply.tool_calls, reply.content)


def test_in_json_mode_a_native_call_is_taken_too() -> None:
    (call,) = parse_reply(_calls(_function('{"message": "hi"}')), "json").tool_calls
    assert "say" == call.name


@pytest.mark.parametrize(("given", "expected"), [("stop", "stop"), (None, ""), (3, "3")])
def test_the_finish_reason_is_text(given: Any, expected: str) -> None:
    body = json.dumps({"choices": [{"message": {}, "finish_reason": given}]}).encode()
    assert expected == parse_reply(body, "native").finish_reason


@pytest.mark.parametrize(
    ("expected", "message", "finish"),
    [
        pytest.param(
            ("I cannot say that.", "refusal"),
            {"content": None, "refusal": "I cannot say that."},
            "stop",
            id="a refusal in its own place",
        ),
        pytest.param(
            ("No.", "refusal"), {"content": "No.", "refusal": "I cannot."}, "stop", id="and a text"
        ),
        pytest.param(("Hi.", "stop"), {"content": "Hi.", "refusal": None}, "stop", id="none"),
        pytest.param(("Hi.", "stop"), {"content": "Hi.", "refusal": ""}, "stop", id="empty"),
        pytest.param(("Hi.", "stop"), {"content": "Hi.", "refusal": 5}, "stop", id="nonsense"),
        pytest.param(
            ("", "content_filter"), {"content": None}, "content_filter", id="filtered away"
        ),
        pytest.param(
            ("Hm", "content_filter"), {"content": "Hm"}, "content_filter", id="filtered midway"
        ),
    ],
)
def test_a_refusal_is_told_apart(
    expected: tuple[str, str], message: dict[str, Any], finish: str
) -> None:
    body = json.dumps({"choices": [{"message": message, "finish_reason": finish}]}).encode()
    reply = parse_reply(body, "native")
    assert expected == (reply.content, reply.finish_reason)
