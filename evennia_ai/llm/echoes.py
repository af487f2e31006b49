"""Members that services want back beside a model's own tool calls, learned from their refusals.

A model may think before it calls a tool. Some services refuse (HTTP 400) a conversation in which
the call comes back without the thoughts, or a signature of them, that they sent beside it. These
are not kept: they are long, and other models cannot read them. A stand-in is sent instead, and only
to services that asked for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evennia_ai.core.turn.conversation import Message
from evennia_ai.errors import ModelStatusError

# DeepSeek's member of a message; not empty, as some services take that for missing.
THOUGHTS, NO_THOUGHTS = "reasoning_content", " "
# Gemini's member of a call, with the value that Google names for calls that have none.
SIGNATURE = "thought_signature"
NO_SIGNATURE = {"google": {SIGNATURE: "skip_thought_signature_validator"}}


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
        named = frozenset(name for name in (THOUGHTS, SIGNATURE) if name in str(error))
        self.wanted |= named
        return not named.issubset(sent)


def with_echoes(body: Mapping[str, Any], wanted: Collection[str]) -> Mapping[str, Any]:
    """A request body with stand-ins for the wanted members."""
    if not wanted:
        return body
    messages: Sequence[Message] = body["messages"]
    return {**body, "messages": [_with_echoes(message, wanted) for message in messages]}


def _with_echoes(message: Message, wanted: Collection[str]) -> Message:
    calls = message.get("tool_calls")
    if not calls:
        return message
    made = {**message}
    if THOUGHTS in wanted:
        made[THOUGHTS] = NO_THOUGHTS
    if SIGNATURE in wanted:  # of several calls in one reply, the first has it
        made["tool_calls"] = [{**calls[0], "extra_content": NO_SIGNATURE}, *calls[1:]]
    return made
