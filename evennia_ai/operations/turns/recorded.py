"""A recorded turn as its reader may see it: each step with its tokens, duration and words.

The words of a turn with private parts are masked as a whole for a reader who may not know them,
since a prompt quotes people in places that cannot be told apart. Only the head of a prompt is
shown, which is the same for everybody unless a game's own text in it changes from turn to turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from typing_extensions import TypedDict

from evennia_ai.core.hearing.audience import Held, masked
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.executions import outcome_of
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.engine.recording import RecordedCall, RecordedTurn, Step, ToolUse
from evennia_ai.memory.consent import prompt_has_unstorable_words
from evennia_ai.operations.result import note, one_of
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import as_shown, iso
from evennia_ai.operations.turns.explaining import row_of
from evennia_ai.operations.turns.traces import UNWANTED, HeardRow
from evennia_ai.runtime.assistant import Assistant

GOES_ON, WAITS, WENT_ON, BROKE_OFF = "goes on", "waits for a person", "went on", "broke off"
# Names for the rest of a prompt, which is not made of named blocks.
TALK, TOOLS = "the talk and its own steps", "descriptions of tools"
# Names of exceptions that end a turn without a fault.
_BROKE_OFF = {
    "CancelledError": "it was stopped",
    "StaleEpochError": "it was stopped",
    "NobodyListensError": "whoever asked had left",
    "UnableError": "its body could not act",
    "GeneratorExit": "the game ended",
}


class Block(TypedDict):
    """A named part of a prompt."""

    name: str
    tokens: int
    text: Annotated[str, note('"" of the talk and of tools, which stand among the messages.')]


class Sent(TypedDict):
    """A message that was sent to a model."""

    role: str
    text: str


class Asked(TypedDict):
    """A tool call that a model made, its arguments as JSON."""

    name: str
    arguments: str


class RecordedStep(TypedDict):
    """A model call or a tool call of a turn."""

    kind: Annotated[str, one_of(("model", "tool"))]
    name: Annotated[str, note("Name of the model that answered, or of the tool.")]
    begin: Annotated[float, note("Seconds from the start of the turn to this step.")]
    seconds: Annotated[float, note("Seconds it took, or has taken so far.")]
    state: Annotated[str, one_of(("runs", "worked", "failed"))]
    is_cut: Annotated[bool, note("True if its texts were too long to store in full.")]
    prompt_tokens: int
    completion_tokens: int
    cost_nano: Annotated[int, note("Cost in nano-dollars (10^-9 US dollars).")]
    is_priced: Annotated[bool, note("True if a price is configured.")]
    blocks: list[Block]
    messages: list[Sent]
    tools: Annotated[list[str], note("Names of the tools that the model was offered.")]
    thoughts: Annotated[str, note("Text that the model wrote beside its tool calls.")]
    calls: Annotated[list[Asked], note("Tool calls that the model asked for.")]
    arguments: Annotated[str, note("Arguments of a tool, as JSON.")]
    result: Annotated[
        str, note("The model's text, the tool's result, or the reason for a failure.")
    ]
    fault: Annotated[str, note("Kind of error of a tool that failed.")]


class Recorded(TypedDict):
    """A turn that is over or going on."""

    tick: Annotated[int, note("Number of the turn, counted for each assistant.")]
    heard: Annotated[list[HeardRow], note("Messages that the turn answers.")]
    at: str
    shown_at: Annotated[str, note("Time at which it began, in the game's time zone.")]
    seconds: Annotated[float, note("Seconds it took, or has taken so far.")]
    is_over: bool
    state: Annotated[
        str, note("`answered`, `silent`, `failed`, or what a running turn is waiting for.")
    ]
    why: Annotated[str, note("Why it ended, in words.")]
    limits: Annotated[list[str], note("Limits that the turn reached.")]
    model: Annotated[str, note("Model as `provider/name`.")]
    prompt_tokens: int
    completion_tokens: int
    cost_nano: Annotated[int, note("Cost in nano-dollars (10^-9 US dollars).")]
    unpriced_calls: Annotated[int, note("Model calls without a configured price.")]
    is_private: Annotated[bool, note("True if not everybody may know of it.")]
    is_masked: Annotated[bool, note("True if its texts are masked for the caller.")]
    steps: list[RecordedStep]


class _Words:
    # Decides once per turn and reader if its words are shown, masked, or not stored at all.

    def __init__(
        self, script: Assistant, record: RecordedTurn, look: PrivateView, *, is_tried: bool
    ) -> None:
        turn = record.turn
        alone = map(person_audience, turn.asides.values())
        self.held: Held = turn.kept_audiences.union(alone, *(each.held for each in turn.events))
        self.is_unkept = not is_tried and prompt_has_unstorable_words(script, turn)
        # All are asked, without a short circuit, since `may_see` counts what was revealed.
        answers = [look.may_see(audience) for audience in sorted(self.held)]
        self.is_shown = all(answers) and not self.is_unkept

    def of(self, text: str) -> str:
        """A text as the reader may see it."""
        if self.is_shown or not text:
            return text
        return UNWANTED if self.is_unkept else masked(text)


def seen(
    script: Assistant, record: RecordedTurn, look: PrivateView, *, is_tried: bool = False
) -> Recorded:
    """Convert a recorded turn into what the reader may see.

    Args:
        is_tried: it is a dry run, whose words are the reader's own and are not stored.
    """
    words, turn = _Words(script, record, look, is_tried=is_tried), record.turn
    now = script.clock.seconds()
    state, why = _end(script, record)
    limits = [*turn.grants, turn.stopped_by, record.limit]
    return {
        "tick": turn.tick,
        "heard": [_heard(script, event, words, look) for event in turn.events],
        "at": iso(record.began),
        "shown_at": as_shown(record.began),
        "seconds": (now if record.ended is None else record.ended) - record.began,
        "is_over": record.ended is not None,
        "state": state,
        "why": why,
        "limits": list(dict.fromkeys(filter(None, map(str, limits)))),
        "model": turn.model,
        "prompt_tokens": turn.spent.usage.prompt_tokens,
        "completion_tokens": turn.spent.usage.completion_tokens,
        "cost_nano": turn.spent.nano,
        "unpriced_calls": turn.spent.unpriced,
        "is_private": bool(words.held),
        "is_masked": not words.is_shown,
        "steps": [_step(step, record, words, now) for step in record.steps],
    }


def _end(script: Assistant, record: RecordedTurn) -> tuple[str, str]:
    if record.ended is None:
        return (WAITS if record.turn.scope in script.work.aside else GOES_ON), ""
    if record.stop is None:
        name = record.broke_off
        return BROKE_OFF, _BROKE_OFF.get(name, f"something in the game failed: {name}")
    ring = script.work.recorded
    # Newest first: a later recording of the same scope means that the turn went on.
    later = ring.newest()
    if any(each.turn.scope == record.turn.scope for each in later[: later.index(record)]):
        return WENT_ON, "it goes on with the next beat"
    stop = record.stop
    return outcome_of(stop), "; ".join(filter(None, (stop.reason.text, stop.detail)))


def _heard(script: Assistant, event: Event, words: _Words, look: PrivateView) -> HeardRow:
    record = script.work.decisions.find(event.number) if event.number else None
    # The time is compared too: a crash may have used a number twice.
    if record is not None and record.at == event.at:
        return row_of(record, is_staff=True, look=look)
    return {
        "number": event.number,
        "at": iso(event.at),
        "at_seconds": event.at,
        "sender": one_line(event.sender_name, 40),
        "source": event.source,
        "place": event.place,
        "text": words.of(event.body),
        "marks": [],
        "known_by": "",
        "rule": event.rule,
        "rule_name": "",
        "outcome": "trigger",
        "trust": event.trust,
        "trust_because": "",
        "steps": [],
    }


def _step(step: Step, record: RecordedTurn, words: _Words, now: float) -> RecordedStep:
    if isinstance(step, RecordedCall):
        fields = _model_call(step, record, words)
    else:
        fields = _tool_call(step, words)
    values: Any = {
        **_DEFAULTS,
        **fields,
        "begin": max(0.0, step.began - record.began),
        "seconds": max(0.0, now - step.began) if step.seconds is None else step.seconds,
        "is_cut": step.is_cut,
    }
    if step.seconds is None:
        values["state"] = "runs"
    row: RecordedStep = values
    return row


_DEFAULTS: Any = {
    "is_priced": True,
    **dict.fromkeys(("thoughts", "arguments", "result", "fault"), ""),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "cost_nano"), 0),
    **dict.fromkeys(("blocks", "messages", "tools", "calls"), ()),
}


def _model_call(call: RecordedCall, record: RecordedTurn, words: _Words) -> dict[str, Any]:
    reply, prompt = call.reply, call.prompt
    usage = prompt.credible(reply.usage) if reply is not None else TokenUsage(prompt.tokens)
    calls = reply.tool_calls if reply is not None else ()
    words_of_reply = reply.content if reply is not None else call.error
    return {
        "kind": "model",
        "name": (reply.model if reply is not None else "") or record.turn.model or "the model",
        "state": "worked" if reply is not None else "failed",
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_nano": call.nano,
        "is_priced": call.is_priced,
        "blocks": _blocks(call, words),
        "messages": [_sent(message, call, words) for message in call.messages],
        "tools": [spec.name for spec in call.tools],
        "thoughts": words.of(words_of_reply) if calls else "",
        "calls": [
            Asked(name=_name(each.name, call, words), arguments=_json(each.arguments, words))
            for each in calls
        ],
        "result": "" if calls else words.of(words_of_reply),
    }


def _name(name: str, call: RecordedCall, words: _Words) -> str:
    # A tool that does not exist has a name in the model's own words.
    return name if any(spec.name == name for spec in call.tools) else words.of(name)


def _tool_call(use: ToolUse, words: _Words) -> dict[str, Any]:
    return {
        "kind": "tool",
        "name": use.call.name if use.is_known else words.of(use.call.name),
        "state": "worked" if use.success else "failed",
        "arguments": _json(use.call.arguments, words),
        "result": words.of(use.text),
        "fault": use.fault.value if use.fault is not None else "",
    }


def _json(arguments: Mapping[str, object], words: _Words) -> str:
    return words.of(json.dumps(dict(arguments), ensure_ascii=False, default=str))


def _blocks(call: RecordedCall, words: _Words) -> list[Block]:
    prompt, head = call.prompt, _head(call)
    blocks: list[Block] = [
        {
            "name": name,
            "tokens": prompt.count(text),
            "text": text if text in head else words.of(text),
        }
        for name, text in prompt.blocks
        if text
    ]
    if blocks:
        rest = prompt.tokens - prompt.tool_tokens - sum(block["tokens"] for block in blocks)
        blocks.append({"name": TALK, "tokens": max(0, rest), "text": ""})
        blocks.append({"name": TOOLS, "tokens": prompt.tool_tokens, "text": ""})
    return blocks


def _head(call: RecordedCall) -> str:
    # The system message, where it is the same whoever speaks; else "".
    if not call.prompt.has_stable_head:
        return ""
    first: Mapping[str, Any] = next(iter(call.prompt.messages), {})
    return str(first["content"]) if first.get("role") == "system" else ""


def _sent(message: Message, call: RecordedCall, words: _Words) -> Sent:
    text = message.get("content") or ""
    if calls := message.get("tool_calls"):
        text = "\n".join(filter(None, (text, json.dumps(calls, ensure_ascii=False))))
    is_head = message["role"] == "system" and call.prompt.has_stable_head
    return {"role": str(message["role"]), "text": str(text) if is_head else words.of(str(text))}
