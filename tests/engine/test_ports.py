"""What the engine asks of the world."""

from __future__ import annotations

import dataclasses

import pytest

from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.engine.ports import Reply


def test_an_empty_reply() -> None:
    """A reply is empty until something is in it."""
    reply = Reply()
    assert ("", (), TokenUsage(0, 0), "") == (
        reply.content,
        reply.tool_calls,
        reply.usage,
        reply.finish_reason,
    )


def test_a_reply_is_a_value() -> None:
    """Nobody changes what the model answered."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Reply().content = "changed"  # type: ignore[misc]
