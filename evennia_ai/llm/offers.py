"""Tools for a model: schemas and JSON text, made of each spec once, for a spec never changes."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from evennia_ai.core.turn.toolspec import ToolSpec

LONGEST_ARGUMENT = 300
MOST_ITEMS = 20
DEEPEST = 30
MOST_KEPT = 1000

_HOLD_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions")
_HOLD_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ARE_SCHEMAS = ("items", "additionalProperties")
_SAY_THE_END = ("enum", "const", "format", "pattern", "maxLength")


class Kept:
    """A cache of what a function makes of each spec.

    Specs can be neither hashed nor referred to weakly, so they go by identity; keeping the spec
    itself beside it makes sure that no other one ever gets the same.
    """

    def __init__(self, make: Callable[[ToolSpec], dict[str, Any]]) -> None:
        self._make = make
        self._kept: dict[int, tuple[ToolSpec, dict[str, Any]]] = {}

    def __call__(self, spec: ToolSpec) -> dict[str, Any]:
        """The result for a spec; the same object every time, not to be changed."""
        if id(spec) not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[id(spec)] = (spec, self._make(spec))
        return self._kept[id(spec)][1]


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
_kept: OrderedDict[int, tuple[Any, str]] = OrderedDict()


def encode(body: Mapping[str, Any]) -> bytes:
    """A request body as JSON.

    Raises:
        TypeError, ValueError: something in it cannot be written as JSON.
    """
    rest = _JSON.encode({key: value for key, value in body.items() if key != "tools"})
    if not body.get("tools"):
        return rest.encode()
    tools = ",".join(map(_tool_text, body["tools"]))
    comma = "," if len(rest) > 2 else ""
    return f'{rest[:-1]}{comma}"tools":[{tools}]}}'.encode()


def _tool_text(tool: Mapping[str, Any]) -> str:
    """A tool's JSON; the same object is not written twice, and is held so that its id stays its."""
    kept = _kept.get(id(tool))
    if kept is None:
        kept = _kept[id(tool)] = (tool, _JSON.encode(tool))
        if len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return kept[1]
