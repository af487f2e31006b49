"""Arguments of a tool, from its schema to words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "array": "list",
    "object": "mapping, as JSON",
}


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    """The types that a schema allows."""
    given = schema.get("type", ())
    kinds = {given} if isinstance(given, str) else set(given)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        kinds |= _kinds(choice)
    return kinds


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
    kinds = sorted(TYPES.get(kind, kind) for kind in _kinds(schema) if kind != "null")
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
