"""The values of the engine's ports."""

import dataclasses

import pytest

from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.engine.ports import Reply


def test_an_empty_reply() -> None:
    reply = Reply()
    assert ("", (), TokenUsage(0, 0), "") == (
        reply.content,
        reply.tool_calls,
        reply.usage,
        reply.finish_reason,
    )


def test_a_reply_is_a_value() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Reply().content = "changed"  # type: ignore[misc]
