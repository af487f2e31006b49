"""Formatting of numbers, times, check reports and tool arguments for output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia_ai.operations.models.choosing import Report
from evennia_ai.operations.tools.running import ToolRow, arms

CHECK_FAILED = "The check itself failed"


def short(number: float) -> str:
    """A short form of a number, such as 950, 41.2k or 2M."""
    for size, mark in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if abs(number) >= size:
            text = f"{number / size:.3g}"
            # `g` switches to exponents from 1,000 of the largest unit on.
            return f"{text}{mark}" if "e" not in text else f"{number / size:,.0f}{mark}"
    return f"{number:g}"


def dollars(amount: float) -> str:
    """An amount of money; whole dollars without cents."""
    return f"${amount:,.0f}" if amount == int(amount) and amount else f"${amount:,.2f}"


def span(seconds: float) -> str:
    """A duration such as 00:02:10; from one day on in days and hours."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, part = divmod(hours, 24)
    return f"{days}d {part:02}h" if days else f"{hours:02}:{minutes:02}:{rest:02}"


def report_lines(report: Report, wrong: str) -> list[str]:
    """The report of a model check as lines.

    Args:
        wrong: advice for a failed check.
    """
    found = [
        f"  {line.name:<11} {'ok' if line.ok else 'NO':<3} {line.text}" for line in report.lines
    ]
    return [report.title, *found, "An assistant can work with it." if report.ok else wrong]


def allowed(tool: ToolRow) -> str:
    """A tool's permission in words: "yes", "no", or "after yes" if a person has to approve."""
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
    """The names of a tool's arguments, with optional ones in brackets."""
    required = schema.get("required", ())
    names = [name if name in required else f"[{name}]" for name in schema.get("properties", {})]
    return ", ".join(names) or "nothing"


def explain(schema: Mapping[str, Any]) -> list[str]:
    """A tool's arguments, one line each."""
    required = schema.get("required", ())
    return [
        f"  {name:<14} {_explain_one(one, name in required)}"
        for name, one in schema.get("properties", {}).items()
    ] or ["  it takes nothing"]


def _explain_one(given: object, is_required: bool) -> str:
    # A remote server may describe an argument that can be anything by True alone.
    schema: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
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
