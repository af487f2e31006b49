"""Tools for a model: schemas and JSON text, made of each spec once, for a spec never changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from evennia_ai.core.turn.toolspec import ToolSpec

LONGEST_ARGUMENT = 300
MOST_ITEMS = 20
DEEPEST = 30
MOST_KEPT = 1000
Source = TypeVar("Source")
Made = TypeVar("Made")

_HOLD_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions")
_HOLD_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ARE_SCHEMAS = ("items", "additionalProperties")
_SAY_THE_END = ("enum", "const", "format", "pattern", "maxLength")


class Kept(Generic[Source, Made]):
    """A cache of what a function makes of each spec, or of anything else that never changes.

    Specs can be neither hashed nor referred to weakly, so they go by identity; keeping the source
    itself beside it makes sure that no other one ever gets the same id.
    """

    def __init__(self, make: Callable[[Source], Made]) -> None:
        self._make = make
        self.kept: dict[int, tuple[Source, Made]] = {}

    def __call__(self, source: Source) -> Made:
        """The result for a source; the same object every time, not to be changed."""
        if id(source) not in self.kept:
            self.kept[id(source)] = (source, self._make(source))
            if len(self.kept) > MOST_KEPT:
                del self.kept[next(iter(self.kept))]
        return self.kept[id(source)][1]


def bounded(schema: object, depth: int = 0) -> Any:
    """A JSON schema with an end to every text and list: a small model may not find one by itself.

    Any schema can be given; what it says itself of lengths is kept.
    """
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return schema
    made = dict(schema)
    for key in made:
        held = made[key]
        if key in _HOLD_SCHEMAS_BY_NAME and isinstance(held, Mapping):
            made[key] = {name: bounded(each, depth + 1) for name, each in held.items()}
        elif key in _HOLD_SCHEMAS and isinstance(held, list):
            made[key] = [bounded(each, depth + 1) for each in held]
        elif key in _ARE_SCHEMAS:
            made[key] = bounded(held, depth + 1)
    return {**_limits(schema), **made}


def _limits(schema: Mapping[str, Any]) -> dict[str, int]:
    """Bounds for the open parts of a schema that do not clash with the rest of it."""
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    limits: dict[str, int] = {}
    if "string" in kinds and not any(key in schema for key in _SAY_THE_END):
        limits |= {"minLength": 1, "maxLength": LONGEST_ARGUMENT + _least(schema, "minLength")}
    if "array" in kinds and "maxItems" not in schema:
        limits["maxItems"] = MOST_ITEMS + _least(schema, "minItems")
    return limits


def _least(schema: Mapping[str, Any], key: str) -> int:
    value = schema.get(key)
    return value if isinstance(value, int) and value > 0 else 0


def _choice(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"tool": {"const": spec.name}, "parameters": bounded(spec.parameters)},
        "required": ["tool", "parameters"],
        "additionalProperties": False,
    }


as_function = Kept(ToolSpec.as_function)
as_choice = Kept(_choice)


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
tool_text: Kept[Mapping[str, Any], str] = Kept(_JSON.encode)


def encode(body: Mapping[str, Any]) -> bytes:
    """A request body as JSON.

    Raises:
        TypeError, ValueError: something in it cannot be written as JSON.
    """
    rest = _JSON.encode({key: value for key, value in body.items() if key != "tools"})
    if not body.get("tools"):
        return rest.encode()
    tools = ",".join(map(tool_text, body["tools"]))
    comma = "," if len(rest) > 2 else ""
    return f'{rest[:-1]}{comma}"tools":[{tools}]}}'.encode()
