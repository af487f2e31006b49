"""Tools for a model: schemas and JSON text, made of each spec once, for a spec never changes."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.errors import ConfigurationError

LONGEST_ARGUMENT = 300
MOST_ITEMS = 20
DEEPEST = 30
MOST_KEPT = 1000
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
Source = TypeVar("Source")
Made = TypeVar("Made")

_HOLD_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions")
_HOLD_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ARE_SCHEMAS = ("items", "additionalProperties")
_SAY_THE_END = ("enum", "const", "format", "pattern", "maxLength")


class IdentityCache(Generic[Source, Made]):
    """A cache of what a function makes of each spec, or of anything else that never changes.

    Specs can be neither hashed nor referred to weakly, so they go by identity; keeping the source
    itself beside it makes sure that no other one ever gets the same id.
    """

    def __init__(self, make: Callable[[Source], Made]) -> None:
        self._make = make
        self.kept: dict[int, tuple[Source, Made]] = {}

    def __call__(self, source: Source) -> Made:
        """The result for a source; the same object every time, not to be changed."""
        known = self.kept.get(id(source))
        if known is None:
            known = self.kept[id(source)] = (source, self._make(source))
            if len(self.kept) > MOST_KEPT:
                del self.kept[next(iter(self.kept))]
        return known[1]


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


def _limits(schema: Mapping[str, object]) -> dict[str, int]:
    """Bounds for the open parts of a schema that do not clash with the rest of it."""
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    limits: dict[str, int] = {}
    if "string" in kinds and not any(key in schema for key in _SAY_THE_END):
        limits |= {"minLength": 1, "maxLength": LONGEST_ARGUMENT + _least(schema, "minLength")}
    if "array" in kinds and "maxItems" not in schema:
        limits["maxItems"] = MOST_ITEMS + _least(schema, "minItems")
    return limits


def _least(schema: Mapping[str, object], key: str) -> int:
    value = schema.get(key)
    return value if isinstance(value, int) and value > 0 else 0


def _choice(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"tool": {"const": spec.name}, "parameters": bounded(spec.parameters)},
        "required": ["tool", "parameters"],
        "additionalProperties": False,
    }


def offered(
    tools: Iterable[ToolSpec | Mapping[str, object]],
    extra: Mapping[str, object],
    *,
    is_native: bool,
) -> tuple[Sequence[ToolSpec], Mapping[str, Any]]:
    """The tools of a call, and the other members of its body.

    A model that is held to a JSON schema knows no `tool_choice`: it is offered what that leaves.

    Raises:
        ConfigurationError: a tool or the choice cannot be read.
    """
    specs, choice = specs_of(tools), extra.get("tool_choice")
    if "tool_choice" not in extra or (is_native and specs and choice):
        return specs, extra
    rest = {key: value for key, value in extra.items() if key != "tool_choice"}
    return (chosen(specs, choice) if choice and specs else specs), rest


def specs_of(tools: Iterable[ToolSpec | Mapping[str, object]]) -> list[ToolSpec]:
    """Tools as specs, those too that are written in the form of the chat completions API.

    Raises:
        ConfigurationError: one of them is neither; the text says which.
    """
    return [
        tool if isinstance(tool, ToolSpec) else _read(tool, place)
        for place, tool in enumerate(tools)
    ]


def _read(tool: object, place: int) -> ToolSpec:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    function = function if isinstance(function, Mapping) else {}
    name, text = function.get("name"), function.get("description", "")
    parameters = function.get("parameters", NO_PARAMETERS)
    if not name or not isinstance(name, str) or not isinstance(parameters, Mapping):
        raise ConfigurationError(
            f"tools[{place}] is {reprlib.repr(tool)}; it must be a ToolSpec, or like"
            ' {"type": "function", "function": {"name": "look", "parameters": {...}}}'
        )
    return ToolSpec(name, str(text), dict(parameters))


def chosen(specs: Sequence[ToolSpec], choice: object) -> Sequence[ToolSpec]:
    """The tools that a `tool_choice` of the chat completions API leaves.

    "none" leaves none and a function that one; "auto" and "required" leave all.

    Raises:
        ConfigurationError: it is none of these, or names a tool that is not there.
    """
    if choice in ("auto", "required"):
        return specs
    if choice == "none":
        return ()
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if left := [spec for spec in specs if spec.name == name]:
        return left
    known = ", ".join(spec.name for spec in specs) or "none"
    raise ConfigurationError(
        f"tool_choice is {reprlib.repr(choice)}; it must be 'auto', 'none', 'required', or"
        f' {{"type": "function", "function": {{"name": ...}}}} with one of: {known}'
    )


as_function = IdentityCache(ToolSpec.as_function)
as_choice = IdentityCache(_choice)


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
tool_text: IdentityCache[Mapping[str, Any], str] = IdentityCache(_JSON.encode)


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
