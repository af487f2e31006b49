"""From what a tool gives back to what the model reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any

from evennia_ai.core.turn.toolspec import Fault, ToolResult

MOST_CHARACTERS = 4_000


def bounded(text: str) -> str:
    """Text of a length that leaves room for others: a tool may give a whole book."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… (the first {MOST_CHARACTERS:,} of {len(text):,} characters)"


def _plain(value: object) -> Any:
    """A plain form for JSON: containers, such as Evennia's own, as such; all else by its name."""
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, (Sequence, Set)) and not isinstance(value, (str, bytes)):
        return list(value)
    return str(value)


def _as_text(value: object) -> str:
    if value is None:
        return "done"
    if not isinstance(value, (dict, list, tuple, int, float)):
        value = _plain(value)
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _only(rest: Mapping[str, object], *names: str) -> Any:
    """The first of these members that is there, else all of them."""
    return next((rest[name] for name in names if rest.get(name)), rest or None)


def as_result(value: object) -> ToolResult:
    """The result of a call: text as it is, data as JSON; what says it has failed has failed.

    Args:
        value: text, plain data, None, a result, or a mapping with "success" and more.
    """
    if isinstance(value, ToolResult):
        return value
    if not isinstance(value, Mapping) or "success" not in value:
        return ToolResult(True, bounded(_as_text(value)))
    rest = {name: item for name, item in value.items() if name != "success"}
    if value["success"]:
        told = rest["result"] if rest.keys() == {"result"} else rest or None
        return ToolResult(True, bounded(_as_text(told)))
    reason = _only(rest, "error", "message")
    text = "it did not work" if reason is None else _as_text(reason)
    return ToolResult(False, bounded(text), Fault.FAILED)
