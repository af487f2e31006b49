"""Tool specs as JSON schemas and JSON text, made once for each spec and cached."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.errors import ConfigurationError

# Characters of a text argument and items of a list, where the schema itself sets no limit.
LONGEST_ARGUMENT = 300
MOST_ITEMS = 20
# Nesting of a schema; what lies deeper is sent as it is.
DEEPEST = 30
# Entries of each cache.
MOST_KEPT = 1000
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
Source = TypeVar("Source")
Made = TypeVar("Made")

# JSON Schema keywords by the kind of their value: a mapping of schemas, a list of them, or one.
_SCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SUBSCHEMAS = ("items", "additionalProperties")
# Keywords that bound a string already, or that a maximum length might contradict.
_STRING_BOUNDS = ("enum", "const", "format", "pattern", "maxLength")
# Keywords that may allow properties beside those of "properties".
_MORE_PROPERTIES = ("$ref", "allOf", "anyOf", "oneOf", "patternProperties")


class IdentityCache(Generic[Source, Made]):
    """A cache of a function's results for immutable arguments, keyed by identity.

    Specs can be neither hashed nor weakly referenced. Each entry keeps its argument alive, so that
    no other object can get the same id.
    """

    def __init__(self, make: Callable[[Source], Made]) -> None:
        self._make = make
        self.kept: dict[int, tuple[Source, Made]] = {}

    def __call__(self, source: Source) -> Made:
        """The result for a source; always the same object, which must not be modified."""
        known = self.kept.get(id(source))
        if known is None:
            known = self.kept[id(source)] = (source, self._make(source))
            # Oldest first, as dicts keep their order of insertion.
            if len(self.kept) > MOST_KEPT:
                del self.kept[next(iter(self.kept))]
        return known[1]


def bounded(schema: object, depth: int = 0) -> Any:
    """A JSON schema in which every string and list has a maximum length.

    A small model may otherwise generate one without end. Limits that the schema has are kept.
    """
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return schema
    result = dict(schema)
    for key in result:
        value = result[key]
        if key in _SCHEMA_MAPS and isinstance(value, Mapping):
            result[key] = {name: bounded(each, depth + 1) for name, each in value.items()}
        elif key in _SCHEMA_LISTS and isinstance(value, list):
            result[key] = [bounded(each, depth + 1) for each in value]
        elif key in _SUBSCHEMAS:
            result[key] = bounded(value, depth + 1)
    return {**_limits(schema), **result}


def _limits(schema: Mapping[str, object]) -> dict[str, int]:
    """Limits for an unbounded string or list that do not contradict the rest of the schema."""
    # "type" may be a list, such as ["string", "null"].
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    limits: dict[str, int] = {}
    if "string" in kinds and not any(key in schema for key in _STRING_BOUNDS):
        limits |= {"minLength": 1, "maxLength": LONGEST_ARGUMENT + _least(schema, "minLength")}
    if "array" in kinds and "maxItems" not in schema:
        limits["maxItems"] = MOST_ITEMS + _least(schema, "minItems")
    return limits


def _least(schema: Mapping[str, object], key: str) -> int:
    value = schema.get(key)
    return value if isinstance(value, int) and value > 0 else 0


def _choice(spec: ToolSpec) -> dict[str, Any]:
    parameters = spec.parameters
    # Where a schema leaves it open, a small model makes up arguments, some without end.
    if not any(key in parameters for key in _MORE_PROPERTIES):
        parameters = {"additionalProperties": False, **parameters}
    return {
        "type": "object",
        "properties": {"tool": {"const": spec.name}, "parameters": bounded(parameters)},
        "required": ["tool", "parameters"],
        "additionalProperties": False,
    }


def offered(
    tools: Iterable[ToolSpec | Mapping[str, object]],
    extra: Mapping[str, object],
    *,
    is_native: bool,
) -> tuple[Sequence[ToolSpec], Mapping[str, Any]]:
    """The tools of a call, and the further members of its body.

    In "json" mode there is no `tool_choice`; only the tools that it allows are offered instead.

    Raises:
        ConfigurationError: a tool or the choice cannot be read.
    """
    specs, choice = specs_of(tools), extra.get("tool_choice")
    if "tool_choice" not in extra or (is_native and specs and choice):
        return specs, extra
    rest = {key: value for key, value in extra.items() if key != "tool_choice"}
    return (chosen(specs, choice) if choice and specs else specs), rest


def specs_of(tools: Iterable[ToolSpec | Mapping[str, object]]) -> list[ToolSpec]:
    """Tools as specs; mappings in the form of the chat completions API are converted.

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
    """The tools that a `tool_choice` of the chat completions API allows.

    "none" allows none, a function only that one, "auto" and "required" all.

    Raises:
        ConfigurationError: it is none of these, or names an unknown tool.
    """
    if choice in ("auto", "required"):
        return specs
    if choice == "none":
        return ()
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if matching := [spec for spec in specs if spec.name == name]:
        return matching
    known = ", ".join(spec.name for spec in specs) or "none"
    raise ConfigurationError(
        f"tool_choice is {reprlib.repr(choice)}; it must be 'auto', 'none', 'required', or"
        f' {{"type": "function", "function": {{"name": ...}}}} with one of: {known}'
    )


as_choice = IdentityCache(_choice)


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
tool_text: IdentityCache[Mapping[str, Any], str] = IdentityCache(_JSON.encode)


def encode(body: Mapping[str, Any]) -> bytes:
    """A request body as JSON.

    Raises:
        TypeError, ValueError: a value cannot be written as JSON.
    """
    # Tools are the largest part and the same in every request, so their text comes from a cache
    # and is spliced into the object.
    rest = _JSON.encode({key: value for key, value in body.items() if key != "tools"})
    if not body.get("tools"):
        return rest.encode()
    tools = ",".join(map(tool_text, body["tools"]))
    comma = "," if len(rest) > 2 else ""
    return f'{rest[:-1]}{comma}"tools":[{tools}]}}'.encode()
