"""JSON schemas of settings: described in words, and used to parse typed text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaValue

FLAG_WORDS = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
# Commas that separate items, not those within the brackets of a lock string.
_COMMAS = re.compile(r",(?![^()]*\))")
_TYPE_NAMES = {
    "boolean": "yes or no",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "a mapping",
}
_ANYTHING: JsonSchemaValue = {}


@cache
def schema_of(group: type[BaseModel]) -> JsonSchemaValue:
    """The JSON schema of a group, with the schemas of nested groups inlined.

    Values that may be None are marked `nullable`, as in OpenAPI 3.0; `note` adds what else is
    valid.
    """
    whole = group.model_json_schema()
    schema: JsonSchemaValue = _inlined(whole, whole.get("$defs", {}))
    return schema


def _inlined(node: object, defs: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(each, defs) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = {**defs[node["$ref"].rpartition("/")[2]], **node}
    inlined = {
        key: _inlined(value, defs)
        for key, value in node.items()
        # The title only repeats the name. A setting called "title" would be a mapping here, and
        # stays.
        if key not in ("$ref", "$defs") and not (key == "title" and isinstance(value, str))
    }
    # pydantic writes `X | None` as anyOf.
    arms = [arm for arm in inlined.get("anyOf", ()) if arm != {"type": "null"}]
    if len(arms) == 1:
        del inlined["anyOf"]
        return {**arms[0], **inlined, "nullable": True}
    return inlined


# ---- parts of a schema -------------------------------------------------------------------------


def kind_of(schema: JsonSchemaValue) -> str:
    """The JSON type of a schema, or `enum`, or `fixed` if read-only; "" for any value."""
    if schema.get("readOnly"):
        return "fixed"
    return "enum" if "enum" in schema else str(schema.get("type", ""))


def known_keys(schema: JsonSchemaValue) -> Mapping[str, JsonSchemaValue]:
    """The keys of a mapping with a fixed set of keys."""
    keys: Mapping[str, JsonSchemaValue] = schema.get("properties", {})
    return keys


def is_numbered(schema: JsonSchemaValue) -> bool:
    """True for a mapping whose keys are whole numbers."""
    return "patternProperties" in schema


def item_of(schema: JsonSchemaValue) -> JsonSchemaValue | None:
    """The schema of the values of a mapping with arbitrary keys; None if its keys are fixed."""
    if is_numbered(schema):
        return next(iter(schema["patternProperties"].values()), None)
    item = schema.get("additionalProperties", False)
    return _ANYTHING if item is True else item or None


def schema_at(schema: JsonSchemaValue, key: object) -> JsonSchemaValue:
    """The schema of the value at a key."""
    return known_keys(schema).get(str(key)) or item_of(schema) or _ANYTHING


# ---- in words ----------------------------------------------------------------------------------


def wanted(schema: JsonSchemaValue) -> str:
    """A description of the values that a setting accepts."""
    text = _in_words(schema) + (", or none" if schema.get("nullable") else "")
    example = _example(schema)
    return f"{text}, such as {example}" if example else text


def _in_words(schema: JsonSchemaValue) -> str:
    kind = kind_of(schema)
    if kind == "enum":
        return f"one of {', '.join(schema['enum'])}"
    if kind in ("integer", "number"):
        return f"{_TYPE_NAMES[kind]} {_range(schema)}".strip()
    if kind == "array" and "items" in schema:
        return f"a list of {_plural(schema['items'])}"
    return _TYPE_NAMES.get(kind, kind or "a value")


def _plural(item: JsonSchemaValue) -> str:
    if kind_of(item) == "array":
        return f"lists of {item['minItems']} {_plural(item['items'])}"
    return _TYPE_NAMES.get(kind_of(item), "a value").removeprefix("a ") + "s"


def _range(schema: JsonSchemaValue) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        return f"above {schema['exclusiveMinimum']:g}"
    if least is None:
        return ""
    return f"from {least:g} up" if most is None else f"from {least:g} to {most:.12g}"


def _example(schema: JsonSchemaValue) -> str:
    """The schema's example, or the first known key with its default, if that is plain."""
    if schema.get("examples"):
        return str(schema["examples"][0])
    name, first = next(iter(known_keys(schema).items()), ("", _ANYTHING))
    default = first.get("default")
    return f"{{{name!r}: {default!r}}}" if isinstance(default, (bool, int, float)) else ""


def wanted_in_code(schema: JsonSchemaValue) -> str:
    """A description of the accepted values for someone who writes a settings file."""
    if kind_of(schema) == "boolean":
        return "True or False"
    if known_keys(schema):
        text, example = f"a mapping of {', '.join(known_keys(schema))}", _example(schema)
        return f"{text}, such as {example}" if example else text
    return f"{wanted(schema)}, {schema['note']}" if "note" in schema else wanted(schema)


# ---- typed text --------------------------------------------------------------------------------


def parse(schema: JsonSchemaValue, text: str) -> Any:
    """The value meant by a typed text; text that fits none is returned, to be rejected later."""
    word = text.strip()
    match kind_of(schema):
        case "boolean":
            return _as_flag(word)
        case "integer" | "number":
            return _as_number(word)
        case "enum":
            return next((each for each in schema["enum"] if each == word.casefold()), word)
        case "object":
            return _parse_literal(word)
        case "array":
            written = _parse_literal(word)
            return _as_list(schema, word) if written is word else written
        case "":
            written = _parse_literal(word)
            return _as_plain(word) if written is word else written
    return word


def _as_flag(word: str) -> bool | str:
    return FLAG_WORDS.get(word.casefold(), word)


def _as_number(word: str) -> float | str:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _as_plain(word: str) -> bool | float | str:
    flag = _as_flag(word)
    return flag if isinstance(flag, bool) else _as_number(word)


def _as_list(schema: JsonSchemaValue, word: str) -> list[Any]:
    if word.startswith('"') and isinstance(quoted := _parse_literal(f"[{word}]"), list):
        return quoted
    parts = (part.strip() for part in _COMMAS.split(word))
    return [parse(schema.get("items", _ANYTHING), part) for part in parts if part]


def _parse_literal(word: str) -> Any:
    """A list or mapping written as JSON or Python; the text itself if it is neither."""
    if word == "null":
        return None
    if word[:1] not in ("[", "{"):
        return word
    readers: tuple[Callable[[str], Any], ...] = (json.loads, ast.literal_eval)
    for reader in readers:
        try:
            return reader(word)
        # literal_eval raises MemoryError and RecursionError on deeply nested input.
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return word


def with_ids(schema: JsonSchemaValue, value: object) -> Any:
    """A plain value with integer keys where the schema wants them: JSON has only text keys."""
    if not isinstance(value, Mapping):
        return value
    below = {key: with_ids(schema_at(schema, key), item) for key, item in value.items()}
    return {_as_id(key): item for key, item in below.items()} if is_numbered(schema) else below


def _as_id(key: object) -> Any:
    if isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) <= 9:
        return int(key)
    return key
