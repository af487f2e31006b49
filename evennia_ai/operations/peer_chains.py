"""Chains of assistants that came from other games: how far they may go on here."""

from __future__ import annotations

from typing import Any

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.operations.result import Result
from evennia_ai.runtime import state
from evennia_ai.tasks import remote_tasks

PASSED = (
    "This task has passed {hops} assistants already, and {name} takes part in no chain of more "
    "than {most} (max_agent_hops)."
)
CIRCLE = "{name} waits for what you do yourself, so it cannot be asked."


def no_further(script: AssistantScript, metadata: dict[str, Any]) -> Result | None:
    """None where a chain of assistants, of this game and others, may go on to this one.

    Args:
        metadata: of the message that gives the task; a stranger's word.
    """
    hops, most = remote_tasks.hops_of(metadata), state.read(script, "max_agent_hops")
    if remote_tasks.is_circle(script, metadata):
        return Result.conflict(CIRCLE.format(name=script.key))
    if 0 < most <= hops:
        audit.record("hop_limit", script, hops=hops, cap=most)
        return Result.conflict(PASSED.format(hops=hops, name=script.key, most=most))
    return None
