"""Members that services want back beside a model's own tool calls, learned from their refusals.

A model may think before it calls a tool. Some services refuse (HTTP 400) a conversation in which
the call comes back without the thoughts, or a signature of them, that they sent beside it. They are
kept within the turn and sent back to that model only; calls of other turns and models, which have
none, get a stand-in. Services that did not ask get neither.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evennia_ai.core.text.cleaning import sendable
from evennia_ai.core.turn.conversation import BESIDE, TOKENS, Message
from evennia_ai.core.turn.tokens import estimate
from evennia_ai.errors import ModelStatusError

# DeepSeek's member of a message; not empty, as some services take that for missing.
THOUGHTS, NO_THOUGHTS = "reasoning_content", " "
# Gemini's member of a call, with the value that Google names for calls that have none.
SIGNATURE, NO_SIGNATURE = "thought_signature", "skip_thought_signature_validator"


@dataclass(slots=True)
class Echoes:
    """The members that one model at one endpoint wants back.

    Attributes:
        wanted: THOUGHTS, SIGNATURE, both, or none until a request was refused.
    """

    wanted: frozenset[str] = frozenset()

    def after(self, error: ModelStatusError, sent: Collection[str]) -> bool:
        """Learn from a refused request; True if repeating it may help.

        Args:
            sent: what was wanted when the request was sent.
        """
        # Only these two statuses are about the content of the request.
        if error.status not in (400, 422):
            return False
        names = frozenset(name for name in (THOUGHTS, SIGNATURE) if name in str(error))
        self.wanted |= names
        return not names.issubset(sent)


def beside_calls(message: Mapping[str, Any], wanted: Collection[str]) -> dict[str, Any]:
    """The wanted members of a message of a model, and their size; empty if it has none."""
    calls, values = message["tool_calls"], {}
    if THOUGHTS in wanted:
        values[THOUGHTS] = message.get(THOUGHTS)
    if SIGNATURE in wanted:  # of several calls in one reply, the first has it
        extra = calls[0].get("extra_content") if isinstance(calls[0], dict) else None
        google = extra.get("google") if isinstance(extra, dict) else None
        values[SIGNATURE] = google.get(SIGNATURE) if isinstance(google, dict) else None
    texts = {name: text for name, text in values.items() if isinstance(text, str) and text}
    sendable_texts: dict[str, Any] = {name: sendable(text) for name, text in texts.items()}
    return (
        {**sendable_texts, TOKENS: sum(map(estimate, sendable_texts.values()))}
        if sendable_texts
        else {}
    )


def with_kept(messages: Sequence[Message], model: str, wanted: Collection[str]) -> list[Message]:
    """The messages with the wanted members that a model sent, where they were kept."""
    return [_with_kept(each, model, wanted) if BESIDE in each else each for each in messages]


def _with_kept(message: Message, model: str, wanted: Collection[str]) -> Message:
    echoes, result = message[BESIDE].get(model, {}), {**message}
    if THOUGHTS in wanted and THOUGHTS in echoes:
        result[THOUGHTS] = echoes[THOUGHTS]
    if SIGNATURE in wanted and SIGNATURE in echoes:
        result["tool_calls"] = _signed(message["tool_calls"], echoes[SIGNATURE])
    return result


def _signed(calls: Sequence[Mapping[str, Any]], signature: str) -> list[Mapping[str, Any]]:
    """Calls of one reply, the first of them with the signature unless it has one."""
    return [{"extra_content": {"google": {SIGNATURE: signature}}, **calls[0]}, *calls[1:]]


def with_echoes(body: Mapping[str, Any], wanted: Collection[str]) -> Mapping[str, Any]:
    """A request body with stand-ins for the wanted members that it has not."""
    messages: Sequence[Message] = body["messages"]
    return {**body, "messages": [_with_echoes(message, wanted) for message in messages]}


def _with_echoes(message: Message, wanted: Collection[str]) -> Message:
    calls = message.get("tool_calls")
    if not calls:
        return message
    result = {**message}
    if THOUGHTS in wanted:
        result.setdefault(THOUGHTS, NO_THOUGHTS)
    if SIGNATURE in wanted:
        result["tool_calls"] = _signed(calls, NO_SIGNATURE)
    return result
