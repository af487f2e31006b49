"""Tools that steer the turn itself."""

from __future__ import annotations

from typing import Any

from evennia_ai.tools.registry import tool


@tool(category="safe_chain")
def noop(character: Any, reason: str | None = None) -> str:
    """Do nothing and stay silent, because nothing needs an answer.

    Args:
        reason: why nothing is done.
    """
    return reason or "nothing done"
