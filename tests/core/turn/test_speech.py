"""Text in place of a tool call."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.text.cleaning import clean_speech
from evennia_ai.core.turn.speech import answer_call, call_from_json, spoken_call
from evennia_ai.core.turn.toolspec import ToolCall
from tests.core.samples import ANY_TEXT, JSON_VALUES, make_event

DEEP = '{"a":' * 50_000
HELLO = {"message": "hello"}


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        pytest.param("say", HELLO, '{"tool":"say","parameters":{"message":"hello"}}', id="house"),
        pytest.param("say", HELLO, '{"tool":"say","args":{"message":"hello"}}', id="args"),
        pytest.param("say", HELLO, '{"name":"say","arguments":{"message":"hello"}}', id="name"),
        pytest.param("say", HELLO, '{"function":"say","args":{"message":"hello"}}', id="function"),
        pytest.param("say", HELLO, '{"name":"say","arguments":"{\\"message\\":\\"hello\\"}"}',
                     id="in a text"),
        pytest.param("say", HELLO, '```json\n{"tool":"say","args":{"message":"hello"}}\n```',
                     id="fenced"),
        pytest.param("say", HELLO, 'Sure! {"tool":"say","args":{"message":"hello"}} ok',
                     id="inside"),
        pytest.param("say", HELLO,
                     '<tool_call>{"name":"say","arguments":{"message":"hello"}}</tool_call>',
                     id="in a tag"),
        pytest.param("say", {"message": "Hm.\nYes."},
                     '{"tool":"say","args":{"message":"Hm.\nYes."}}', id="a bare line break"),
        pytest.param("say", HELLO, '{"action":"say","action_input":{"message":"hello"}}',
                     id="LangChain"),
        pytest.param("noop", {}, '{"tool":"noop"}', id="without arguments"),
        pytest.param("noop", {}, '{"tool":"noop","parameters":null}', id="null arguments"),
        pytest.param("noop", {}, '{"tool":"noop","parameters":""}', id="empty arguments"),
        pytest.param("say", {"message": "a <think> sign"},
                     '{"tool":"say","args":{"message":"a <think> sign"}}',
                     id="a tag inside an argument stays"),
        pytest.param("say", HELLO,
                     '<think>{"tool":"noop"}</think>{"tool":"say","args":{"message":"hello"}}',
                     id="what it decided, not what it thought of"),
    ],
)  # fmt: skip
def test_calls_told_as_json(name: str, arguments: dict[str, Any], text: str) -> None:
    assert ToolCall("c1", name, arguments) == call_from_json(text, "c1")


DEEPSEEK = (
    "<\uff5ctool▁calls▁begin\uff5c><\uff5ctool▁call▁begin\uff5c>function<\uff5ctool▁sep\uff5c>say\n```json\n"
    '{"message":"hello"}\n```<\uff5ctool▁call▁end\uff5c>'
)
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.say:0<|tool_call_argument_begin|>"
    '{"message":"hello"}<|tool_call_end|><|tool_calls_section_end|>'
)
DSML = "\uff5cDSML\uff5c"
GPT_OSS = (
    "<|channel|>analysis<|message|>Tom asks.<|end|><|start|>assistant<|channel|>commentary"
    ' to=functions.say <|constrain|>json<|message|>{"message":"hello"}<|call|>'
)
QWEN = (
    "<tool_call>\n<function=say>\n<parameter=message>\nhello\n</parameter>\n</function>\n"
    "</tool_call>"
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('[TOOL_CALLS]say{"message":"hello"}', id="Mistral"),
        pytest.param('[TOOL_CALLS]say[ARGS]{"message":"hello"}', id="Mistral, newer"),
        pytest.param(f"{DEEPSEEK}<\uff5ctool▁calls▁end\uff5c>", id="DeepSeek"),
        pytest.param(KIMI, id="Kimi"),
        pytest.param('say {"message":"hello"}', id="without marks"),
        pytest.param('tools.say: {"message":"hello"}\n', id="with a colon"),
        pytest.param('[TOOL_CALLS]say[CALL_ID]a1b2c3d4e[ARGS]{"message":"hello"}', id="with an id"),
        pytest.param('Yes. [TOOL_CALLS]say[ARGS]{"message":"hello"}', id="Mistral, after words"),
        pytest.param(f"Hm.{DEEPSEEK}{DEEPSEEK}", id="the first of two"),
        pytest.param('<function=say>{"message": "hello"}</function>', id="Llama"),
        pytest.param('Hm. <function=say>{"message": "hello"}', id="Llama, after words"),
        pytest.param('<function/say>{"message": "hello"}</function>', id="Llama, with a slash"),
        pytest.param('<function=say {"message": "hello"}></function>', id="Llama, without an end"),
        pytest.param('<function(say){"message": "hello"}</function>', id="Llama, in brackets"),
        pytest.param('<tool_call name="say">{"message": "hello"}</tool_call>', id="an attribute"),
        pytest.param(QWEN, id="Qwen"),
        pytest.param(f"I say hello.\n\n{QWEN}\n{QWEN}", id="Qwen, after words, and twice"),
        pytest.param(QWEN.removeprefix("<tool_call>\n"), id="Qwen, without its beginning"),
        pytest.param(
            "<tool_call>say\n<arg_key>message</arg_key>\n<arg_value>hello</arg_value>\n</tool_call>",
            id="GLM",
        ),
        pytest.param(
            '<minimax:tool_call>\n<invoke name="say">\n<parameter name="message">hello'
            "</parameter>\n</invoke>\n</minimax:tool_call>",
            id="MiniMax",
        ),
        pytest.param("<|python_tag|>say(message='hello')<|eom_id|>", id="Llama, as code"),
        pytest.param("[say(message='hello'), look(target=\"lamp\")]", id="Llama 4"),
        pytest.param('<|tool_call_start|>[say(message="hello")]<|tool_call_end|>', id="LFM"),
        pytest.param('```tool_code\nprint(say(message="hello"))\n```', id="Gemma"),
        pytest.param('[{"tool_name": "say", "parameters": {"message": "hello"}}]', id="Command"),
        pytest.param(GPT_OSS, id="gpt-oss"),
        pytest.param(GPT_OSS.replace("<|end|>", ""), id="gpt-oss, thoughts without an end"),
        pytest.param(GPT_OSS.replace("commentary", "analysis"), id="gpt-oss, in its thoughts"),
        pytest.param(GPT_OSS.replace("functions.", ""), id="gpt-oss, a bare name"),
        pytest.param(
            "<|start|>assistant to=functions.say<|channel|>commentary <|constrain|>json<|message|>"
            '{"message":"hello"}',
            id="gpt-oss, the name first",
        ),
        pytest.param(
            ' to=functions.say<|channel|>commentary json<|message|>{"message":"hello"}<|call|>',
            id="gpt-oss, begun in the prompt",
        ),
        pytest.param(
            'analysisTom asks. Use say.assistantcommentary to=functions.say json{"message":"hello"}'
            "assistantfinalI said hello.",
            id="gpt-oss, without its marks",
        ),
        pytest.param('commentary to=functions.say json{"message":"hello"}', id="and thoughts"),
        pytest.param(
            "<start_function_call>call:say{message:<escape>hello<escape>}<end_function_call>"
            "<start_function_response>response:say{value:<escape>Done.<escape>}",
            id="FunctionGemma",
        ),
        pytest.param(
            '<|channel>thought\nTom asks.\n<channel|><|tool_call>call:say{message:<|"|>hello<|"|>}'
            "<tool_call|>",
            id="Gemma 4",
        ),
        pytest.param('<|tool_call>call:say{"message":"hello"}<tool_call|>', id="Gemma, as JSON"),
        pytest.param(
            '<|inner_prefix|>Tom asks.<|inner_suffix|>Hm.<|tools_prefix|>[{"say": {"message":'
            ' "hello"}}, {"look": {}}]<|tools_suffix|>',
            id="Apertus",
        ),
        pytest.param('>>>say\n{"message":"hello"}', id="Functionary"),
        pytest.param('all\nHm.>>>say\n{"message":"hello"}', id="Functionary, after words"),
        pytest.param(
            '<|from|>assistant\n<|recipient|>say\n<|content|>{"message":"hello"}<|stop|>',
            id="Functionary, older",
        ),
        pytest.param('<function_calls>\nsay(message="hello")\n</function_calls>', id="Olmo"),
        pytest.param(
            f'<{DSML}function_calls>\n<{DSML}invoke name="say">\n<{DSML}parameter name="message"'
            f' string="true">hello</{DSML}parameter>\n</{DSML}invoke>\n</{DSML}function_calls>',
            id="DeepSeek, newer",
        ),
        pytest.param(
            "<longcat_tool_call>say\n<longcat_arg_key>message</longcat_arg_key>\n"
            "<longcat_arg_value>hello</longcat_arg_value>\n</longcat_tool_call>",
            id="LongCat",
        ),
        pytest.param(
            'Thought: Hm.\nAction: say\nAction Input: {"message": "hello"}\nObservation: Done.',
            id="ReAct",
        ),
        pytest.param('Action: say\nAction Input: {"message":"hello"}', id="ReAct, no thought"),
    ],
)
def test_calls_told_as_a_name_and_its_arguments(text: str) -> None:
    """Servers leave them in the text where their parser of tool calls is off."""
    assert ToolCall("c1", "say", HELLO) == call_from_json(text, "c1")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('<function=take>{"name": "lamp"}</function>', id="Llama"),
        pytest.param('[TOOL_CALLS]take[ARGS]{"name": "lamp"}', id="Mistral"),
        pytest.param(KIMI.replace("say", "take").replace('"message":"hello"', '"name": "lamp"')),
        pytest.param('take {"name": "lamp"}', id="without marks"),
        pytest.param('json {"name": "take", "arguments": {"name": "lamp"}}', id="a word before it"),
    ],
)
def test_an_argument_called_name_is_not_the_name_of_a_tool(text: str) -> None:
    assert ToolCall("c1", "take", {"name": "lamp"}) == call_from_json(text, "c1")


def test_values_in_tags_are_texts() -> None:
    """Tags name no type; the schema of the tool does, and the gate goes by it."""
    written = {"a": "3", "b": "true", "c": "None", "d": "[1]", "e": "Hi <b>"}
    tags = "".join(f"<parameter={name}>{value}</parameter>" for name, value in written.items())
    assert ToolCall("c1", "f", written) == call_from_json(f"<function=f>{tags}", "c1")


def test_values_in_code_have_the_types_of_python() -> None:
    values = {"a": 3, "b": True, "c": None, "f": 'it\'s "so"'}
    code = "f(a=3, b=True, c=None, f='it\\'s \"so\"')"
    assert ToolCall("c1", "f", values) == call_from_json(code, "c1")


def test_objects_of_gemma_have_values_of_all_types() -> None:
    written = (
        'a:<escape>b: {c}, "d"<escape>,n:-3.5,ok:true,l:[<escape>x<escape>,2],'
        'o:{k:<escape><escape>},"q":"r:s"'
    )
    values = {
        "a": 'b: {c}, "d"',
        "n": -3.5,
        "ok": True,
        "l": ["x", 2],
        "o": {"k": ""},
        "q": "r:s",
    }
    for quote, mark in (("<escape>", "<start_function_call>"), ('<|"|>', "<|tool_call>")):
        text = f"{mark}call:f{{{written.replace('<escape>', quote)}}}"
        assert ToolCall("c1", "f", values) == call_from_json(text, "c1")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        pytest.param("Hm.", f"Hm.{DEEPSEEK}<\uff5ctool▁calls▁end\uff5c>", id="DeepSeek"),
        pytest.param("Hm.", f"Hm.{DEEPSEEK}{DEEPSEEK}", id="two of them"),
        pytest.param("Hm.", f"Hm.{KIMI}", id="Kimi"),
        pytest.param("Hm.", 'Hm.[TOOL_CALLS]say{"message":"he', id="Mistral, cut off"),
        pytest.param(
            "Hm.",
            'Hm.<\uff5cDSML\uff5cfunction_calls>\n<\uff5cDSML\uff5cinvoke name="say">',
            id="DSML",
        ),
        pytest.param(
            "Hm.", "Hm.<seed:tool_call><function=say>hm</function></seed:tool_call>", id="Seed"
        ),
        pytest.param("Hm.", "Hm.\n</tool_call>", id="an end alone"),
        pytest.param("Hm.", f"<|channel|>final<|message|>Hm.{GPT_OSS}", id="gpt-oss"),
        pytest.param("", GPT_OSS.removesuffix('"}<|call|>'), id="gpt-oss, cut off"),
        pytest.param("", "analysisHm.assistantcommentary to=functions.say json{", id="no marks"),
        pytest.param("Hm.", "Hm.<start_function_call>call:say{message:<escape>h", id="Gemma"),
        pytest.param("Hm.", "Hm.<|tool_call>call:look{}<tool_call|><|tool_response>", id="Gemma 4"),
        pytest.param("Hm.", 'Hm.<|tools_prefix|>[{"say": {}}]<|tools_suffix|>', id="Apertus"),
        pytest.param("Hm.", "all\nHm.>>>say\n{", id="Functionary"),
        pytest.param("Hm.", 'Hm.\n```tool_code\nlook("lamp")\n```', id="code of Gemma"),
        pytest.param("a <| b |> c", "a <| b |> c", id="no mark"),
    ],
)
def test_none_of_them_is_said(said: str, text: str) -> None:
    assert said == clean_speech(text)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param("[1]", id="a list"),
        pytest.param("7", id="a number"),
        pytest.param("false", id="a boolean"),
        pytest.param('"hello"', id="a text"),
        pytest.param('"[1]"', id="a list in a text"),
        pytest.param('"{broken"', id="broken JSON in a text"),
    ],
)
def test_arguments_that_are_no_object(arguments: str) -> None:
    """The call cannot run, and says why."""
    problem = "the arguments of say are not a JSON object"
    call = call_from_json(f'{{"tool": "say", "parameters": {arguments}}}', "c1")
    assert ToolCall("c1", "say", {}, problem) == call


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("hello there", id="speech"),
        pytest.param("{broken", id="broken"),
        pytest.param('["tool"]', id="a list"),
        pytest.param('{"message": "hello"}', id="no name"),
        pytest.param('Look here {"message": "hello"}', id="words in front of an object"),
        pytest.param('say {"message": "hello"} and go', id="words behind it"),
        pytest.param('{"tool": ""}', id="an empty name"),
        pytest.param('{"tool": 7}', id="a number for a name"),
        pytest.param('{"n": ' + "9" * 5000 + "}", id="a number too long"),
        pytest.param(DEEP, id="an object too deep"),
        pytest.param('<think>{"tool": "noop"}', id="only thought of"),
        pytest.param("<function=say>hello</function>", id="a tag around words"),
        pytest.param('<function=say>{"message": "he', id="a tag and an object cut off"),
        pytest.param("<tool_call>Hello there.", id="words in a tag"),
        pytest.param('You wrote "<function=say></function>".', id="a tag in quotation marks"),
        pytest.param(f'You wrote "{GPT_OSS[GPT_OSS.index("<|start") :]}"', id="gpt-oss in them"),
        pytest.param('"assistantcommentary to=functions.say json{}"', id="and without its marks"),
        pytest.param('"<start_function_call>call:say{}"', id="Gemma in quotation marks"),
        pytest.param("<|channel|>analysis<|message|>Is it <function=say>{}", id="only thought"),
        pytest.param("<function=say>" + QWEN[27:] * 50, id="too long"),
    ],
)
def test_texts_that_are_no_call(text: str) -> None:
    assert None is call_from_json(text, "c1")


@given(
    ANY_TEXT
    | JSON_VALUES.map(json.dumps)
    | st.builds(
        json.dumps,
        st.fixed_dictionaries(
            {"tool": JSON_VALUES}, optional={"parameters": JSON_VALUES, "name": JSON_VALUES}
        ),
    )
)
def test_any_text_is_judged(text: str) -> None:
    call = call_from_json(text, "c1")
    assert call is None or (call.name and isinstance(call.arguments, dict))


@pytest.mark.parametrize(
    ("name", "arguments", "source"),
    [
        pytest.param("whisper", {"target": "Tom", "message": "hello"}, "whisper", id="whisper"),
        pytest.param("page", {"target": "Tom", "message": "hello"}, "page", id="page"),
        pytest.param("say", HELLO, "say", id="say"),
        pytest.param("say", HELLO, "pose", id="pose"),
        pytest.param("say", HELLO, "emit", id="emit"),
        pytest.param("channel", {"channel": "Public", "message": "hello"}, "channel", id="channel"),
    ],
)
def test_answered_as_it_came(name: str, arguments: dict[str, str], source: str) -> None:
    event = make_event(source=source, place="Public" if source == "channel" else "#2")
    call = answer_call("hello", event, "c1")
    assert (ToolCall("c1", name, arguments), True) == (call, call.is_spoken)


@pytest.mark.parametrize(
    ("calls", "content"),
    [
        pytest.param((), "", id="nothing"),
        pytest.param((), " \n", id="blanks"),
        pytest.param((), "<think>what now", id="thoughts alone"),
        pytest.param((), '{"tool": "sa', id="a call cut off"),
        pytest.param((ToolCall("call_e1_2", "look"),), '{"tool": "look"}', id="a call told"),
        pytest.param(
            (ToolCall("call_e1_2", "whisper", {"target": "Tom", "message": "Hello."}),),
            '<think>He says {"tool": "noop"}</think> "Hello."',
            id="speech",
        ),
    ],
)
def test_spoken_call(calls: tuple[ToolCall, ...], content: str) -> None:
    assert calls == spoken_call(content, make_event(), 2)


def test_what_nobody_asked_for_is_a_thought() -> None:
    """In a turn of its own, plain text is not said; a call in it is run."""
    own = make_event(kind="own", source="emit")
    thought = (ToolCall("call_e1_2", "noop", {"reason": "I should look."}),)
    assert thought == spoken_call("I should look.", own, 2)
    assert () == spoken_call("<think>hm", own, 2)
    assert "look" == spoken_call('{"tool": "look"}', own, 2)[0].name


@pytest.mark.parametrize(
    ("call", "text"),
    [
        pytest.param(("say", {"message": "Hm."}), 'say(message="Hm.")', id="code"),
        pytest.param(("look", {"target": "a"}), 'functions.look({"target": "a"})', id="an object"),
        pytest.param(("look", {"target": "a"}), '`print(api.look(target="a"))`', id="printed"),
        pytest.param(
            ("look", {}),
            '{"type": "function", "function": {"name": "look", "arguments": "{}"}}',
            id="as services write it",
        ),
        pytest.param(
            ("look", {}), '{"tool_calls": [{"function": {"name": "look"}}]}', id="a list of them"
        ),
        pytest.param(None, '{"tool_calls": []}', id="an empty list"),
        pytest.param(("look", {}), "look()", id="without arguments"),
        pytest.param(("look", {"times": 2, "far": True}), "look(times=2, far=True)", id="values"),
        pytest.param(None, "say(message=hello)", id="a word without quotation marks"),
        pytest.param(None, 'say({"message": )', id="an object cut off"),
        pytest.param(None, "say(what you like)", id="words in brackets"),
        pytest.param(None, "look({not json})", id="no object"),
        pytest.param(None, 'say(message="\\x")', id="no string of JSON"),
        pytest.param(None, 'say(message="Hm.") and so on', id="more than the call"),
        pytest.param(None, "Hello (again)", id="brackets in speech"),
    ],
)
def test_calls_that_are_written_down(call: tuple[str, Any] | None, text: str) -> None:
    """Only a text that is a call as a whole is one, and nothing is evaluated."""
    result = call_from_json(text, "c1")
    assert call == (result and (result.name, result.arguments))


def test_speech_has_an_end() -> None:
    """A model that never stops is cut at a sentence, before any tool sees it."""
    (call,) = spoken_call("It rains. " * 2000, make_event(), 1)
    assert 2000 >= len(call.arguments["message"])
    assert call.arguments["message"].endswith("It rains.")
