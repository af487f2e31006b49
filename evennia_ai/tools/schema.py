"""Validation of arguments against a tool's JSON schema, with messages for the model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.reading import UnreadableError, read_json
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.tools.validator import BIGGEST_WHOLE, accepts, find_error, validator_of

# Characters: of a message, and of all texts in the arguments together.
LONGEST_PROBLEM = 300
LONGEST_TEXT = 20_000
MOST_VALUES = 1_000
MOST_DEPTH = 20
MOST_NAMED = 20

_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
# Values as in Python, which is what some models write.
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
# Looked up by exact type: bool is a subclass of int.
_PLAIN_KINDS = {str: "string", bool: "boolean", int: "integer"}
_TYPE_KEYWORDS = frozenset(("type", "title", "description", "default"))
_OBJECT_KEYWORDS = frozenset(
    ("type", "title", "description", "properties", "required", "additionalProperties")
)
# Messages for keywords, with their value.
_WANTS = {
    "const": "{}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters long",
    "maxLength": "at most {} characters long",
    "minItems": "a list of at least {}",
    "maxItems": "a list of at most {}",
    "uniqueItems": "a list without repetitions",
    "pattern": "of the form {}",
}


# ---- values ------------------------------------------------------------------------------------


def _value_problem(value: object) -> str:
    """The problem of a scalar that is not text, or ""."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a number that can be used"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= BIGGEST_WHOLE:
        return "a number in it is too large"
    if value is not None and not isinstance(value, (int, float)):
        return f"it holds a {type(value).__name__}, which is not JSON"
    return ""


def _size_problem(arguments: Mapping[str, object]) -> str:
    """The first problem with the size, depth or types of the arguments, or ""."""
    level: list[Any] = [arguments]
    count = length = depth = 0
    while level:
        count += len(level)
        below: list[Any] = []
        problem = ""
        for value in level:
            if isinstance(value, str):
                length += len(value)
            elif isinstance(value, Mapping):
                below += value
                below += value.values()
            elif isinstance(value, (list, tuple)):
                below += value
            else:
                problem = problem or _value_problem(value)
        if count + len(below) > MOST_VALUES or length > LONGEST_TEXT or depth > MOST_DEPTH:
            return "the arguments are too long or too deep; give less"
        if problem:
            return problem
        level, depth = below, depth + 1
    return ""


# ---- words -------------------------------------------------------------------------------------


def _shown(value: object) -> str:
    return one_line(json.dumps(value, ensure_ascii=False), 60)


def _listed(values: Sequence[object], between: str) -> str:
    texts = [_shown(value) for value in values[:MOST_NAMED]]
    return between.join(texts + ["…"] * (len(values) > MOST_NAMED))


def _path(error: ValidationError) -> str:
    """A path into the arguments, such as `places[2].name`."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path]
    return one_line("".join(steps).lstrip("."), 80) or "the arguments"


def _kinds(value: str | Sequence[str]) -> str:
    names = [value] if isinstance(value, str) else value
    return " or ".join(_KINDS.get(name, str(name)) for name in names)


def _expected(error: ValidationError) -> str:
    """The expected form of a value, or "" if only the library's message says it."""
    value, keyword = error.validator_value, error.validator
    if keyword == "type":
        return _kinds(value)
    if keyword == "enum":
        return _listed(value, " or ")
    if keyword in ("anyOf", "oneOf"):
        kinds = [form.get("type", "") for form in value if isinstance(form, dict)]
        return " or ".join(map(_kinds, kinds)) if kinds and all(kinds) else ""
    template = _WANTS.get(str(keyword), "")
    return template.format(_shown(value))


def _in_words(error: ValidationError) -> str:
    path, schema = _path(error), error.schema if isinstance(error.schema, dict) else {}
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return f"{path} needs {', '.join(missing)}"
    if error.validator == "additionalProperties":
        return f"{path} may only have {', '.join(schema.get('properties', {})) or 'nothing'}"
    wanted = _expected(error)
    if wanted:
        return f"{path} must be {wanted}, not {_shown(error.instance)}"
    return f"{path}: {error.message}"


# ---- the two questions -------------------------------------------------------------------------


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    known: Mapping[str, Any] = schema.get("properties", {})
    return known


def _top_problem(spec: ToolSpec, schema: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """All missing arguments together, or else the first unknown one, or ""."""
    missing = [str(name) for name in schema.get("required", ()) if name not in given]
    if missing:
        return f"{spec.name} needs {', '.join(missing)}"
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    known = _properties(schema)
    extra = next((name for name in given if name not in known), None) if is_closed else None
    if extra is None:
        return ""
    takes = ", ".join(known) or "none"
    return f"{spec.name} has no argument {one_line(str(extra), 40)}; it takes {takes}"


def _fits_plainly(schema: Mapping[str, object], given: Mapping[str, object]) -> bool:
    """True if a schema only declares plain types and all arguments have them.

    False means nothing. This spares most calls the library's slow validation.
    """
    if not _OBJECT_KEYWORDS.issuperset(schema):
        return False
    known = _properties(schema)
    for name, value in given.items():
        own = known.get(name)
        if not isinstance(own, dict) or not _TYPE_KEYWORDS.issuperset(own):
            return False
        if own.get("type") != _PLAIN_KINDS.get(type(value), ""):
            return False
    return True


def arguments_problem(spec: ToolSpec, arguments: Mapping[str, object]) -> str:
    """The problem of the arguments, in words for the model, or "". Never raises.

    A null for an optional argument counts as left out, and a text as the JSON in it where the
    schema takes no text.
    """
    validator = validator_of(spec.parameters)
    if isinstance(validator, str):
        return f"{spec.name} cannot be used, its own description is broken; do something else"
    problem = _size_problem(arguments)
    if problem:
        return f"{spec.name}: {problem}"
    try:
        values = _as_meant(validator, arguments)
        if values != arguments and (problem := _size_problem(values)):
            return f"{spec.name}: {problem}"
        schema = validator.schema
        problem = _top_problem(spec, schema, values)
        is_open = not problem and not _fits_plainly(schema, values)
        if is_open and (error := find_error(validator, values)):
            problem = f"{spec.name}: {_in_words(error)}"
    except Exception:
        # Such as a reference that cannot be resolved, or is circular.
        return f"{spec.name} cannot be used, its arguments cannot be checked; do something else"
    return one_line(problem, LONGEST_PROBLEM)


def defaults_problem(schema: Mapping[str, Any]) -> str:
    """The problem of a default that its own argument would not allow, or ""."""
    defaults = {
        name: own["default"]
        for name, own in _properties(schema).items()
        if isinstance(own, dict) and own.get("default") is not None
    }
    error = defaults and find_error(validator_of({**schema, "required": []}), defaults)
    return f"the default of {_in_words(error)}" if error else ""


def fitted(spec: ToolSpec, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Convert valid arguments for the tool.

    Nulls that mean "left out" are removed, so that the tool's defaults apply; texts become the JSON
    in them where the schema takes no text, and integers written as 3.0 become 3.
    """
    validator = validator_of(spec.parameters)
    known = _properties(validator.schema)
    return {
        name: _integers(known.get(name), value)
        for name, value in _as_meant(validator, arguments).items()
    }


def _as_meant(validator: Validator, arguments: Mapping[str, object]) -> dict[str, Any]:
    """The arguments, typed, without nulls for optional ones whose schema does not allow null."""
    known, required = _properties(validator.schema), validator.schema.get("required", ())
    return {
        name: _typed(validator, known.get(name), value) if isinstance(value, str) else value
        for name, value in arguments.items()
        if value is not None
        or name in required
        or name not in known
        or accepts(validator, known[name], None)
    }


def _typed(validator: Validator, schema: object, text: str) -> Any:
    """The JSON in a text if only that fits the schema, else the text.

    Models put lists into texts, and tags around a value do not tell its type.
    """
    if not isinstance(schema, dict) or schema.get("type") == "string":
        return text
    try:
        value = read_json(_CONSTANTS.get(text.strip(), text))
    except UnreadableError:
        return text
    is_text = accepts(validator, schema, text) or not accepts(validator, schema, value)
    return text if is_text else value


def _integers(schema: object, value: object) -> Any:
    if not isinstance(schema, dict) or isinstance(value, str):
        return value
    if isinstance(value, float) and schema.get("type") == "integer":
        return int(value)
    if isinstance(value, list):
        return [_integers(schema.get("items"), item) for item in value]
    if isinstance(value, dict):
        known, other = _properties(schema), schema.get("additionalProperties")
        return {name: _integers(known.get(name, other), item) for name, item in value.items()}
    return value
