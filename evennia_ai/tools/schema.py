"""The check of arguments against a tool's JSON schema, in words for the model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.tools.validator import BIGGEST_WHOLE, find_error, takes_null, validator_of

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
_PLAIN_KINDS = {str: "string", bool: "boolean", int: "integer"}
_SAYS_TYPE = frozenset(("type", "title", "description", "default"))
_SAYS_TYPES = frozenset(
    ("type", "title", "description", "properties", "required", "additionalProperties")
)
# What each keyword asks for, with its value.
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
    """The fault of a value that is not text and holds no others, or "": no tool takes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a number that can be used"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= BIGGEST_WHOLE:
        return "a number in it is too large"
    if value is not None and not isinstance(value, (int, float)):
        return f"it holds a {type(value).__name__}, which is not JSON"
    return ""


def _size_problem(arguments: Mapping[str, object]) -> str:
    """The first value of the arguments that is too much or no JSON, or ""."""
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
    shown = [_shown(value) for value in values[:MOST_NAMED]]
    return between.join(shown + ["…"] * (len(values) > MOST_NAMED))


def _path(error: ValidationError) -> str:
    """A path into the arguments: `places[2].name`."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path]
    return one_line("".join(steps).lstrip("."), 80) or "the arguments"


def _kinds(value: str | Sequence[str]) -> str:
    named = [value] if isinstance(value, str) else value
    return " or ".join(_KINDS.get(name, str(name)) for name in named)


def _wanted(error: ValidationError) -> str:
    """The right form of a value, or "" where only the library knows."""
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
    wanted = _wanted(error)
    if wanted:
        return f"{path} must be {wanted}, not {_shown(error.instance)}"
    return f"{path}: {error.message}"


# ---- the two questions -------------------------------------------------------------------------


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    known: Mapping[str, Any] = schema.get("properties", {})
    return known


def _top_problem(spec: ToolSpec, schema: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """All that is missing at once; then what is too much."""
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
    """True for arguments without a problem so far, of a schema that wants their types, no more.

    False says nothing. Most calls of most tools are such, and the library takes long for them.
    """
    if not _SAYS_TYPES.issuperset(schema):
        return False
    known = _properties(schema)
    for name, value in given.items():
        own = known.get(name)
        if not isinstance(own, dict) or not _SAYS_TYPE.issuperset(own):
            return False
        if own.get("type") != _PLAIN_KINDS.get(type(value), ""):
            return False
    return True


def arguments_problem(spec: ToolSpec, arguments: Mapping[str, object]) -> str:
    """The fault of these arguments, in words for the model, or "". Never raises.

    A null for an argument that may be left out counts as left out.
    """
    validator = validator_of(spec.parameters)
    if isinstance(validator, str):
        return f"{spec.name} cannot be used, its own description is broken; do something else"
    problem = _size_problem(arguments)
    if problem:
        return f"{spec.name}: {problem}"
    try:
        given = _present(validator, arguments)
        schema = validator.schema
        problem = _top_problem(spec, schema, given)
        is_open = not problem and not _fits_plainly(schema, given)
        if is_open and (error := find_error(validator, given)):
            problem = f"{spec.name}: {_in_words(error)}"
    except Exception:
        # Such as a reference that leads nowhere, or in a circle.
        return f"{spec.name} cannot be used, its arguments cannot be checked; do something else"
    return one_line(problem, LONGEST_PROBLEM)


def fitted(spec: ToolSpec, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Arguments without a problem, as the tool is given them.

    A null that only says "left out" is left out, so that the tool's default holds; a whole number
    that was written as 3.0 is 3.
    """
    validator = validator_of(spec.parameters)
    known = _properties(validator.schema)
    return {
        name: _whole(known.get(name), value)
        for name, value in _present(validator, arguments).items()
    }


def _present(validator: Validator, arguments: Mapping[str, object]) -> dict[str, Any]:
    """The arguments without a null where the schema knows none and needs none."""
    known, required = _properties(validator.schema), validator.schema.get("required", ())
    return {
        name: value
        for name, value in arguments.items()
        if value is not None
        or name in required
        or name not in known
        or takes_null(validator, known[name])
    }


def _whole(schema: object, value: object) -> Any:
    if not isinstance(schema, dict) or isinstance(value, str):
        return value
    if isinstance(value, float) and schema.get("type") == "integer":
        return int(value)
    if isinstance(value, list):
        return [_whole(schema.get("items"), item) for item in value]
    if isinstance(value, dict):
        known, other = _properties(schema), schema.get("additionalProperties")
        return {name: _whole(known.get(name, other), item) for name, item in value.items()}
    return value
