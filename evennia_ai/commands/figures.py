"""Figures, times, findings of a check and arguments of tools, as lines show them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from evennia_ai.operations.models.choosing import Report
from evennia_ai.operations.tools.running import ToolRow, arms

CHECK_FAILED = "The check itself failed"


def short(number: float) -> str:
    """A number in few characters: 950, 41.2k, 2M."""
    for size, mark in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if abs(number) >= size:
            text = f"{number / size:.3g}"
            return f"{text}{mark}" if "e" not in text else f"{number / size:,.0f}{mark}"
    return f"{number:g}"


def dollars(amount: float) -> str:
    """Money; whole dollars without cents."""
    return f"${amount:,.0f}" if amount == int(amount) and amount else f"${amount:,.2f}"


def span(seconds: float) -> str:
    """A span of time as a clock shows it, 00:02:10; from a day on in days and hours."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, part = divmod(hours, 24)
    return f"{days}d {part:02}h" if days else f"{hours:02}:{minutes:02}:{rest:02}"


def shown_time(at: object) -> str:
    """A point in time as staff read it, from what an operation gives."""
    return f"{at:%Y-%m-%d %H:%M:%S}" if isinstance(at, datetime) else str(at)[:19].replace("T", " ")


def report_lines(report: Report, wrong: str) -> list[str]:
    """The findings of a check of a model, and what they mean.

    Args:
        wrong: what is to be done where something is not well.
    """
    found = [
        f"  {line.name:<11} {'ok' if line.ok else 'NO':<3} {line.text}" for line in report.lines
    ]
    return [report.title, *found, "An assistant can work with it." if report.ok else wrong]


def allowed(tool: ToolRow) -> str:
    """A word or two on whether a tool may be used: "after yes" where a person is asked first."""
    if not tool["is_allowed"]:
        return "no"
    return "after yes" if tool["needs_yes"] else "yes"


TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "array": "list",
    "object": "mapping, as JSON",
}


def takes(schema: Mapping[str, Any]) -> str:
    """The arguments of a tool, in a few words: the optional ones in brackets."""
    required = schema.get("required", ())
    names = [name if name in required else f"[{name}]" for name in schema.get("properties", {})]
    return ", ".join(names) or "nothing"


def explain(schema: Mapping[str, Any]) -> list[str]:
    """The arguments of a tool, a line each."""
    required = schema.get("required", ())
    return [
        f"  {name:<14} {_explain_one(one, name in required)}"
        for name, one in schema.get("properties", {}).items()
    ] or ["  it takes nothing"]


def _explain_one(schema: Mapping[str, Any], is_required: bool) -> str:
    allowed_types = {arm["type"] for arm in arms(schema)} - {"null"}
    kinds = sorted(TYPES.get(kind, kind) for kind in allowed_types)
    parts = [" or ".join(kinds) or "anything"]
    if "enum" in schema:
        parts.append(f"one of {', '.join(map(str, schema['enum']))}")
    parts += [
        f"{word} {schema[key]}"
        for key, word in (("minimum", "at least"), ("maximum", "at most"), ("default", "usually"))
        if key in schema
    ]
    needed = "" if is_required else " (may be left out)"
    text = schema.get("description", "")
    return ", ".join(parts) + needed + (f": {text}" if text else "")
