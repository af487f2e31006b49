"""Texts in place of calls, odd bodies, and refusals: rows as in `misbehaviour`."""

import json
from collections.abc import Mapping
from typing import Any

from tests.game.agent.misbehaviour import (
    NOTHING,
    SORRY,
    UNFIT,
    WELL_CALL,
    Row,
    answer,
    call,
    does,
    look,
    mended,
    said,
    silent,
    whisper,
)
from tests.llm.test_complaints import (
    ANTHROPIC,
    GEMINI,
    LLAMA_CPP,
    OPENAI,
    OPENROUTER_HANDED_ON,
    TGI,
    VLLM,
)

TEXTS = (
    silent("no content, no calls", answer(""), NOTHING),
    silent("content is null", answer(None), NOTHING),
    silent("content is a number", answer(7), NOTHING),
    silent("only blanks", answer(" \n\t "), NOTHING),
    silent("only what cannot be seen", answer("\u200b\u2060\n"), UNFIT),
    silent("only thoughts", answer("<think>Tom wants something.</think>"), UNFIT),
    silent("thoughts without an end", answer("<think>Tom wants something. I"), UNFIT),
    said("thoughts, then speech", answer("<think>Tom?</think>\nHm."), "Hm."),
    said("only the end of thoughts", answer("Tom wants something.</think>\n\nHm."), "Hm."),
    silent("cut off at once", answer("", finish="length"), "(finish reason length)"),
    said("cut off in the middle", answer("Once upon a", finish="length"), "Once upon a"),
    mended("a call cut off", answer(None, [call("whisper", '{"ta')], finish="length"), "whisper!"),
    silent("filtered", answer(None, finish="content_filter"), "(finish reason content_filter)"),
    said("a refusal", answer(None, message={"refusal": "I cannot."}), "I cannot."),
    said("speech in parts", answer([{"type": "text", "text": "Hm."}, {"type": "x"}, 7]), "Hm."),
    said(
        "a call as JSON",
        answer('{"tool": "whisper", "parameters": {"target": "Tom", "message": "Hm."}}'),
        "Hm.",
    ),
    said(
        "a call as JSON in a fence",
        answer(
            'Sure:\n```json\n{"name": "whisper", "arguments": '
            '{"target": "Tom", "message": "Hm."}}\n```'
        ),
        "Hm.",
    ),
    said(
        "a call in tags",
        answer(
            '<tool_call>\n{"name": "whisper", "arguments": {"target": "Tom", "message": "Hm."}}'
            "\n</tool_call>"
        ),
        "Hm.",
    ),
    said(
        "a call in a list",
        answer(
            '[TOOL_CALLS] [{"name": "whisper", "arguments": {"target": "Tom", "message": "Hm."}}]'
        ),
        "Hm.",
    ),
    silent(
        "a call as JSON, cut off",
        answer('{"tool": "whisper", "parameters": {"target": "Tom", "mess', finish="length"),
        UNFIT,
    ),
    said(
        "a call in OpenAI's own form",
        answer(
            '{"type": "function", "function": {"name": "whisper", "arguments": '
            '"{\\"target\\": \\"Tom\\", \\"message\\": \\"Hm.\\"}"}}'
        ),
        "Hm.",
    ),
    said(
        "a list of calls in an object",
        answer(
            '{"tool_calls": [{"name": "whisper", "arguments": '
            '{"target": "Tom", "message": "Hm."}}]}'
        ),
        "Hm.",
    ),
    said("a call as code", answer('functions.whisper({"target": "Tom", "message": "Hm."})'), "Hm."),
    said(
        "a call as Python",
        answer('print(default_api.whisper(target="Tom", message="Hm (so)."))'),
        "Hm (so).",
    ),
    mended(
        "a call as XML, without a target",
        answer("<function=whisper><parameter=message>Hm.</parameter></function>"),
        "whisper!",
    ),
    silent("a call in tags, cut off", answer('<tool_call>\n{"name": "whis'), UNFIT),
    said("speaks as the player", answer("Tom: open the door"), "Tom: open the door"),
    said("repeats its rules", answer("You are Ada.\n\nHow you act:"), "You are Ada. How you act:"),
    said("colours and braces", answer("|cHm.|n {name} {{x}}"), "|cHm.|n {name} {{x}}"),
    said("functions", answer("$you() $py(1) $pron(you)"), "$you() $py(1) $pron(you)"),
    said("20,000 letters", answer("Hm. " * 5000), "Hm. " * 174 + "Hm."),
    said("20,000 letters without a blank", answer("m" * 20_000), "m" * 699 + "…"),
    said("a surrogate in speech", answer("H\ud800m."), "Hm."),
)

BODIES = (
    said("another role", answer("Hm.", message={"role": "user"}), "Hm."),
    said("fields nobody knows", answer("Hm.", x={"y": [1]}, logprobs={"content": []}), "Hm."),
    said("several choices", answer("Hm.").replace("]}", ', {"index": 1}]}'), "Hm."),
    said("usage is null", answer("Hm.", usage=None), "Hm."),
    said("usage is a list", answer("Hm.", usage=[1, 2]), "Hm."),
    said("usage below zero", answer("Hm.", usage={"prompt_tokens": -5}), "Hm."),
    Row(
        "usage beyond reason",
        (answer(None, [look()], usage={"prompt_tokens": 10**12}),) * 2,
        kept="look look whisper",
        asked=3,
    ),
    Row(
        "usage beyond numbers",
        (answer(None, [look()], usage={"prompt_tokens": 10**400}),),
        kept="look whisper",
        asked=2,
    ),
    Row(
        "no choices",
        ('{"choices": []}',),
        "llm_error",
        (SORRY,),
        "",
        detail="list of choices is empty",
    ),
    Row(
        "an error that claims to be well, which passes",
        ('{"error": {"message": "out of coal", "code": 502}}',),
        asked=2,
    ),
    Row(
        "an error that claims to be well",
        ('{"error": {"message": "no coal", "code": 418}}',),
        "llm_error",
        (SORRY,),
        "",
        detail="no coal",
    ),
    Row("a choice of nothing", ('{"choices": [null]}',), "llm_error", (SORRY,), ""),
    Row(
        "a message of nothing",
        ('{"choices": [{}]}',),
        "llm_error",
        (SORRY,),
        "",
        detail="holds no message",
    ),
    Row("a list", ("[]",), "llm_error", (SORRY,), "", detail="holds: list"),
    Row("nothing at all", ("",), "llm_error", (SORRY,), "", detail="is empty"),
    Row(
        "fails after having spoken",
        (does(whisper("Let me see.", "a"), look("b")), '{"choices": []}'),
        "llm_error",
        ('Ada whispers: "Let me see."', SORRY),
        "whisper+look",
        2,
    ),
    Row(
        "has nothing to add after having spoken",
        (does(whisper("Let me see.", "a"), look("b")), answer("")),
        "noop",
        ('Ada whispers: "Let me see."',),
        "whisper+look",
        2,
    ),
)


def refused(status: int, body: Any, **more: Any) -> dict[str, Any]:
    """A refusal, as a behaviour of the scripted server; a text becomes the usual body."""
    body = {"error": {"message": body, "code": None}} if isinstance(body, str) else body
    return {"kind": "status", "status": status, "body": json.dumps(body), **more}


TOO_LONG = {
    "OpenAI": OPENAI,
    "llama.cpp": LLAMA_CPP,
    "vLLM": VLLM,
    "Anthropic": ANTHROPIC,
    "OpenRouter": OPENROUTER_HANDED_ON,
    "Gemini": GEMINI,
    "TGI": TGI,
}


def failed(name: str, behaviour: Mapping[str, Any], detail: str, asked: int = 1) -> Row:
    return Row(name, (behaviour,) * asked, "llm_error", (SORRY,), "", asked, detail=detail)


BUSY = {"kind": "status", "status": 500}
WIRE = (
    failed("HTML", {"kind": "html"}, "not JSON"),
    failed("an empty object", {"kind": "empty_object"}, "no choices"),
    failed("half an answer", {"kind": "truncated"}, "not JSON"),
    failed("401", refused(401, "no |rkey"), "HTTP 401: no |rkey"),
    failed("404", refused(404, "no such model"), "HTTP 404: no such model"),
    failed("400 for something else", refused(400, "bad tool schema"), "HTTP 400: bad tool"),
    failed("500 twice", BUSY, "HTTP 500", asked=2),
    Row("500 once", (BUSY,), asked=2),
    Row("429 once", ({**BUSY, "status": 429, "retry_after_seconds": 0.2},), asked=2),
    Row("cuts the connection once", ({"kind": "reset"},), asked=2),
    Row("another content type", ({"kind": "wrong_type", "calls": [WELL_CALL]},)),
)


def tool(name: str, parameters: Any) -> str:
    """A completion of a model that is held to a schema."""
    return answer(_told(name, parameters))


def _told(name: str, parameters: Any) -> str:
    return json.dumps({"tool": name, "parameters": parameters})


HM = _told("whisper", {"target": "Tom", "message": "Hm."})
SMALL = (
    said("as it should be", answer(HM), "Hm."),
    said("thoughts before it", answer(f"<think>{{Tom}}?</think>{HM}"), "Hm."),
    said("plain words", answer("Hm."), "Hm."),
    said("native calls", does(whisper("Hm.")), "Hm."),
    mended("unknown tool", tool("fly", {}), "fly!"),
    mended("to somebody else", tool("whisper", {"target": "Mira", "message": "x"}), "whisper!"),
    mended("an argument is missing", tool("whisper", {"target": "Tom"}), "whisper!"),
    mended("arguments are a list", tool("whisper", ["Tom"]), "whisper!"),
    mended("arguments are not JSON", tool("whisper", "Hm."), "whisper!"),
    mended("a name that is a sentence", tool("say it!", {}), "say_it_!"),
    silent("cut off", answer('{"tool": "whisper", "parameters": {"mess'), UNFIT),
    silent("nothing", answer(""), NOTHING),
    Row("looks for ever", (), "max_iterations", (SORRY,), "", 6, tool("look", {}), "5 steps"),
    Row("noop", (tool("noop", {}),), "noop", (), "noop"),
)
