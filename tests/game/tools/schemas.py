"""Schemas for tests of arguments."""

from typing import Any

from evennia_ai.core.turn.toolspec import ToolSpec
from tests.core.samples import make_spec

SPEC = make_spec(
    "ring",
    {"bell": "string", "times": "integer", "loudness": "number", "far": "boolean"},
    required=("bell",),
)


def taking(**properties: Any) -> ToolSpec:
    """A tool that requires arguments of these schemas and takes no others."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return ToolSpec("ring", "To ring.", schema)


def remote(schema: Any) -> ToolSpec:
    """A tool with a schema of another server."""
    return ToolSpec("ring", "To ring.", schema)


def circle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value
