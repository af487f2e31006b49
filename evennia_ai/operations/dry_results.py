"""What came of a turn that was only tried, as plain values for people and programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from evennia_ai.core.hearing.audience import way_of
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.text.cleaning import cut_at_sentence
from evennia_ai.core.turn.speech import ANSWERS
from evennia_ai.core.turn.tokens import count_messages
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.dry import Intent
from evennia_ai.engine.ports import Prompt
from evennia_ai.engine.recording import ModelCall, RecordedTurn, ToolUse
from evennia_ai.operations.dry_turn import DryTurn
from evennia_ai.operations.explaining import row_of
from evennia_ai.operations.revealing import Look
from evennia_ai.operations.traces import HeardRow, cost_of
from evennia_ai.tools.registry import SPECS

LONGEST_TEXT = 20_000
TALK = "history"


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that it would do, or that would be kept from it.

    Attributes:
        told: to whom or what, and all else it was given, in words.
        words: what it would say by it; "" where it says nothing.
        would: it would be done; else `how` says why not.
        how: in what other way it would be done; "": just so.
    """

    tool: str
    told: str
    words: str
    would: bool
    how: str


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the first prompt."""

    name: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class DryStep:
    """A call of the model or of a tool that only reads.

    Attributes:
        kind: "model" or "tool".
        told: what it was given: of the model its tokens.
        came: what came of it.
        seconds: how long it took.
    """

    kind: str
    name: str
    told: str
    came: str
    seconds: float
    is_failure: bool


@dataclass(frozen=True, slots=True)
class DrySide:
    """One side of a trial.

    Attributes:
        title: with what it was tried, in words.
        heard: the verdict on the message, its trust, and the steps after that.
        would_answer: the message begins a turn.
        ended: why the turn ended, in words.
        deeds: what it would say and do, in order.
        prompt_tokens, completion_tokens: of all model calls.
        cost: in words.
    """

    title: str
    heard: HeardRow
    would_answer: bool
    ended: str
    deeds: tuple[Deed, ...] = ()
    blocks: tuple[Block, ...] = ()
    steps: tuple[DryStep, ...] = ()
    model: str = ""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cost: str = ""

    @property
    def answers(self) -> tuple[Deed, ...]:
        """The deeds by which it would say something."""
        return tuple(deed for deed in self.deeds if deed.would and deed.words)


def heard_row(record: DecisionTrace) -> HeardRow:
    """The verdict on a message that whoever looks has typed."""
    return row_of(record, is_staff=True, look=Look(record.heard.person))


def side_of(title: str, record: DecisionTrace, dry: DryTurn, ended: str, seconds: float) -> DrySide:
    """One side, with all that its turn came to.

    Args:
        ended: why it broke off; "": as its loop says.
        seconds: how long it took.
    """
    turn, recorded = dry.turn, dry.record
    spent = {"cost_nano": turn.spent.nano, "unpriced_calls": turn.spent.unpriced}
    return DrySide(
        title,
        heard_row(record),
        True,
        ended or _why(dry),
        tuple(map(_deed, dry.intents)),
        tuple(_blocks(recorded)) if recorded is not None else (),
        tuple(_steps(recorded)) if recorded is not None else (),
        turn.model,
        turn.model_calls,
        turn.usage.prompt_tokens,
        turn.usage.completion_tokens,
        seconds,
        cost_of(spent),
    )


def _why(dry: DryTurn) -> str:
    stop = dry.stop
    if stop is None:
        return "it broke off"
    return f"{stop.reason.text}: {stop.detail}" if stop.detail else stop.reason.text


def _deed(intent: Intent) -> Deed:
    call = intent.call
    spec = SPECS.get(call.name)
    named = way_of(spec).words or ("message",) if spec is not None else ()
    spoken = next((name for name in named if name in call.arguments), "")
    words = str(call.arguments[spoken]) if spoken and call.name in _SPEAKING else ""
    rest = {name: value for name, value in call.arguments.items() if not words or name != spoken}
    told = ", ".join(f"{name}: {_as_text(value)}" for name, value in rest.items())
    return Deed(call.name, told, words, intent.would, intent.how)


_SPEAKING = ANSWERS | {"emote", "page", "channel"}


def _as_text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:LONGEST_TEXT]


def _blocks(recorded: RecordedTurn) -> Iterator[Block]:
    """The parts of the first prompt with their tokens, the talk and the tools among them."""
    first = next((step for step in recorded.steps if isinstance(step, ModelCall)), None)
    if first is None:
        return
    prompt = first.prompt
    for name, text in prompt.blocks:
        if text:
            yield Block(name, text[:LONGEST_TEXT], prompt.count(text))
    yield from _talk(prompt, recorded.turn)
    names = ", ".join(spec.name for spec in first.tools)
    yield Block("tools", names or "none", prompt.tool_tokens)


def _talk(prompt: Prompt, turn: Turn) -> Iterator[Block]:
    """The messages of the conversation before, as far as the prompt has room for them."""
    kept = [message for message in prompt.messages if message in turn.history]
    if kept:
        lines = (f"[{message['role']}] {message.get('content') or '...'}" for message in kept)
        told = cut_at_sentence("\n".join(lines), LONGEST_TEXT)
        yield Block(TALK, told, count_messages(kept, prompt.count))


def _steps(recorded: RecordedTurn) -> Iterator[DryStep]:
    for step in recorded.steps:
        seconds = step.seconds or 0.0
        if isinstance(step, ToolUse):
            told = _as_text(dict(step.call.arguments))
            is_failure = step.success is False
            yield DryStep("tool", step.call.name, told, step.text, seconds, is_failure)
            continue
        reply = step.reply
        used = reply.usage if reply is not None else None
        told = f"{used.prompt_tokens} + {used.completion_tokens} tokens" if used else ""
        calls = ", ".join(call.name for call in reply.tool_calls) if reply is not None else ""
        came = "; ".join(filter(None, (reply.content, calls and f"calls {calls}"))) if reply else ""
        yield DryStep("model", "", told, came or step.error, seconds, reply is None)
