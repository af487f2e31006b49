"""All readers of text from a model, a tool's server or a player, and the worst input for them.

The game calls the same functions; tests and a benchmark use this table.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from evennia_ai.core.hearing import calling
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.memory import excerpts, extraction, forgetting, importance, journal, portraits
from evennia_ai.core.safety import audit_events, guidelines, persona
from evennia_ai.core.text import characters, reading
from evennia_ai.core.text import cleaning as text
from evennia_ai.core.turn import compaction, pattern, projects, speech, tokens
from evennia_ai.llm import complaints, replies
from evennia_ai.llm.transport import LARGEST_REPLY_BYTES
from evennia_ai.mcp import listing

Parser = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Shape:
    """A text of any length: a beginning, a repeated part, and an end."""

    unit: str
    head: str = ""
    tail: str = ""

    def text(self, length: int) -> str:
        """Return the shape with that many characters, or a few more."""
        room = max(0, length - len(self.head) - len(self.tail))
        return self.head + self.unit * (room // len(self.unit) + 1) + self.tail


_UNITS: Mapping[str, tuple[str, ...]] = {
    "brackets": ("[", "]", "[]", "[],", "{", "}", "{{", "{},", "[[1],", "[x", "(", ")", "[ ", "{ "),
    "JSON": ('{"tool":1}', '{"tool":1', '{"a":', '["a"', '["', '"a",', "1,", "NaN,", "1e999,"),
    "quotes": ('"', "'", "“", "”", "«", "“a", '"«', '\\"', '!"', '."', "\\", "\\\\"),
    "blanks": ("\n", " ", "\t ", "\r", "\r\n", "\n \n", "a\n", "a  ", ", ", "\u2003", "\x00"),
    "marks": ("\u0301", "a\u0301", "\u0301\u0316", "\u0316\u0301", "\u0e47", "a\u0301\u200d"),
    "signs": ("\u200b", "a\u200b", "\u202e", "\ud800", "\U000e0041", "\U0001f469\u200d", "\u200d"),
    "letters": ("a", "A", "aA", "é", "あ", "。", "\uff11", "\U0001d165", "a ", "a.", "a. ", ". ",
                "a-"),
    "tags": ("<think>", "</think>", "<think></think>", "<think ", "</think ", "[THINK]", "[/THINK]",
             "<|channel|>", "<|start|>a<|channel|>final", "<tool_call>", "<tool_call ",
             "</tool_call>"),
    "marks of calls": ("<|tool", "<\uff5ctool▁call▁begin\uff5c>", "<\uff5cDSML", "[TOOL_CALLS]a{",
                       "a:1 {"),
    "tags of calls": ("<function=", "<function=a>", "<parameter=a>", "<parameter=a>b",
                      "<invoke name=a", "<tool_call>a", "</function>", "<arg_key>a</arg_key>"),
    "marks of dialects": ("to=functions.a", "<|start|>a<|channel|>a to=a", "assistantcommentary ",
                          "<|channel>thought", "call:a{", "<|tool_call>call:a{", "a:<escape>",
                          "<escape>", '<|"|>', "<|tools_prefix|>[", ">>>a\n", ">>>all\n", "{a:",
                          "<|recipient|>a\n", "Thought:a\n", "Action:a\n", "Action Input:", "## A:",
                          "[BEGIN FINAL RESPONSE]", "<answer>", "<start_of_turn>model"),
    "signs of templates": ("<|", "<|a", "<|a|>", "<invoke name=", "[TOOL_CALLS]", "<function>"),
    "fences": ("`", "```\n", "```a\n", "```json\n{", "``` "),
    "speech": ("Ada: ", 'Ada: "', "Ada says, ", "*", "* ", "**Ada**: ", "says ", ": "),
    "calls": ("f(", "f(a=1,", "[f()", 'f("a",', 'f(a="\\', "a.a", "a=", 'a="b", ', "print(",
              "name "),
    "names": ("Ada ", "@ada ", "@", "@@", "Ada, ", "Tom, ", "does ", "does: ",
              "it was told: Ada\n"),
    "persona": ("I saw ", "and ", "in ", "Ada is ", "Ada can ", "as an ", "you are ", "i'm ",
                "so, "),
    "secrets": ("token=", "bearer ", "sk-", "://", "://a:", "key: ", "secret "),
    "links": ("http://", "httP", "www.", "|l", "|", "$", "a@b."),
    "digits": ("9", "-", "1.", "0x"),
}  # fmt: skip
_WRAPPED = {
    "a list cut off": Shape("1,", "["),
    "a list of lists": Shape("[1],", "[", "1]"),
    "a very deep list": Shape("[", "", "]"),
    "an endless number": Shape("9", "[", "]"),
    "an endless number in a call": Shape("9", '{"tool": "say", "args": {"a": ', "}}"),
    "an endless word in a list": Shape('\\"[', '["'),
    "a call cut off": Shape("again ", '{"tool": "say", "args": {"message": "'),
    "a call in brackets": Shape(" ", "["),
    "calls, then speech": Shape('{"tool":1}', "", "Hello."),
    "a list behind brackets": Shape("[x ", "", "[1]"),
    "an answer of facts": Shape('{"fact": "a", "entries": [1]},', "[", "1]"),
    "an answer of numbers": Shape("1,", '[{"fact": "a", "entries": [', "1]}]"),
    "a portrait": Shape('"a",', '{"attributes": [', '"a"]}'),
    "code": Shape(" ", "f(a", "x"),
    "code in brackets": Shape(")", "f(a", "x"),
    "a mark, then blanks": Shape(" ", "Ada", "x"),
    "a thought that does not end": Shape("I think [", "<think>"),
    "an object of Gemma": Shape("a:<escape>a", "<|tool_call>call:a{"),
    "strings in an object": Shape('\\"', '<|tool_call>call:a{a:"'),
    "thoughts without marks": Shape("a assistantfina", "analysisA"),
    "a thought, then brackets": Shape("[", "<think>a</think>"),
}
SHAPES: dict[str, Shape] = {
    f"{kind}: {ascii(unit)[1:-1]}": Shape(unit) for kind, units in _UNITS.items() for unit in units
} | _WRAPPED


def _body(content: str) -> bytes:
    call = {"function": {"name": content[:50], "arguments": content}}
    message = {"content": content, "refusal": content, "tool_calls": [call]}
    choices = [{"message": message, "finish_reason": content[:500]}]
    body = json.dumps({"choices": choices}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    much = len(body) / LARGEST_REPLY_BYTES
    return body if much <= 1 else _body(content[: int(len(content) / much)])


def _read_reply(body: bytes, mode: str) -> object:
    try:
        return replies.parse_reply(body, mode)
    except replies.ModelReplyError as error:
        return str(error)


def _guideline(given: str) -> object:
    try:
        return guidelines.proposed((), given, given)
    except ValueError as error:
        return str(error)


def _arguments(given: str) -> object:
    try:
        return reading.plain_arguments(given)
    except reading.UnreadableError as error:
        return str(error)


def _json(given: str) -> object:
    try:
        return reading.read_json(given)
    except reading.UnreadableError as error:
        return str(error)


def _event(body: str) -> Event:
    return Event("e", "message", "say", "#7", body[:100], body, 1.0, 1, 0, 0.0)


_NAME = forgetting.PersonNames(["Ada", "Tom"])
PARSERS: dict[str, Parser] = {
    "llm.replies.parse_reply, its body": lambda t: _read_reply(
        t.encode("utf-8", "surrogatepass")[:LARGEST_REPLY_BYTES], "native"
    ),
    "llm.replies.parse_reply, its text": lambda t: _read_reply(_body(t), "json"),
    "llm.complaints.read_complaint": lambda t: complaints.is_too_long(
        400, complaints.read_complaint(t.encode("utf-8", "surrogatepass")[:LARGEST_REPLY_BYTES])
    ),
    "mcp.listing.bounded": lambda t: listing.bounded(t, listing.MOST_RESULT_CHARS),
    "core.reading.read_json": _json,
    "core.reading.plain_arguments": _arguments,
    "core.characters.few_marks": characters.few_marks,
    "core.speech.call_from_json": lambda t: speech.call_from_json(t, "c1"),
    "core.speech.spoken_call": lambda t: speech.spoken_call(t, _event("hello"), 1),
    "core.text.clean_speech": lambda t: text.clean_speech(t, speaker="Ada"),
    "core.text.cut_at_sentence": lambda t: text.cut_at_sentence(t, 700),
    "core.text.strip_control": text.strip_control,
    "core.text.without_thoughts": text.without_thoughts,
    "core.text.one_line": text.one_line,
    "core.text.quote": text.quote,
    "core.text.name_as_data": text.name_as_data,
    "core.extraction.read_scores": lambda t: extraction.read_scores(t, 5),
    "core.extraction.read_drawn": lambda t: extraction.read_derived(t, 5, 5),
    "core.extraction.plain_text": extraction.plain_text,
    "core.portraits.read_portrait": portraits.read_portrait,
    "core.extraction.read_lines": lambda t: extraction.read_lines(t, 3),
    "core.guidelines.proposed": _guideline,
    "core.assessment.read_assessment": pattern.read_assessment,
    "core.assessment.assess": lambda t: pattern.assess([_event(t)]),
    "core.compaction.clean_summary": compaction.clean_summary,
    "core.persona.about_itself": lambda t: persona.about_itself(t, ["Ada"]),
    "core.importance.heuristic": lambda t: importance.heuristic(t, "direct", [t[:50]]),
    "core.journal.believed": lambda t: journal.believed(t, [(t, 1.0)], 1.0),
    "core.excerpts.excerpt": lambda t: excerpts.excerpt(t, t, 60),
    "core.journal.cut_entry": lambda t: journal.cut_entry(t, 200),
    "core.forgetting.PersonNames.hidden": _NAME.hidden,
    "core.forgetting.PersonNames.spoke_in": _NAME.spoke_in,
    "core.forgetting.summary_without": lambda t: forgetting.summary_without(
        t[: compaction.LONGEST_SUMMARY] + " Ada", _NAME
    ),
    "core.calling.mention_of": lambda t: calling.mention_of(t, ("Ada",)),
    "core.calling.call_of": lambda t: calling.call_of(t, ("Ada",)),
    "core.calling.is_named": lambda t: calling.is_named(t, ("Ada",)),
    "core.calling.is_for_another": lambda t: calling.is_for_another(t, ("Ada",), ("Tom",)),
    "core.calling.without_address": lambda t: calling.without_address(t, ("Ada",)),
    "core.tokens.estimate": tokens.estimate,
    "core.audit_events.storable": lambda t: audit_events.storable({"text": t}),
    "core.projects.key_of": projects.key_of,
}


def of_the_game() -> dict[str, Parser]:
    """Return the readers that need the game's settings; call it after setup."""
    from types import SimpleNamespace

    from evennia_ai.core.turn.toolspec import ToolSpec
    from evennia_ai.errors import ToolError
    from evennia_ai.messages import lines, outgoing
    from evennia_ai.operations.tools.running import read_arguments
    from evennia_ai.tools.schema import arguments_problem

    properties = {"message": {"type": "string", "pattern": "^[a-z ]*[.!]*$"}}
    say = ToolSpec("say", "Say.", {"type": "object", "properties": properties})

    def speak(given: str) -> object:
        try:
            return outgoing.speech(given, "say", SimpleNamespace(key="Ada"))
        except ToolError as error:
            return str(error)

    def typed(given: str) -> object:
        try:
            return read_arguments(say, given)
        except ValueError as error:
            return str(error)

    return {
        "outbound.speech": speak,
        "outbound.literal": outgoing.literal,
        "lines.cut_speech": lambda t: lines.cut_speech(t, "Ada"),
        "operations.tools.running.read_arguments": typed,
        "tools.schema.arguments_problem": lambda t: arguments_problem(say, {"message": t}),
    }


def shapes(length: int) -> Iterator[tuple[str, str]]:
    """Return each shape's name, and its text of a length."""
    for name, shape in SHAPES.items():
        yield name, shape.text(length)
