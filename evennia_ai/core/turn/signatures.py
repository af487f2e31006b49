"""Tool specs from plain functions: name, signature, annotations and docstring."""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import EnumType
from typing import Any, Literal

from evennia_ai.core.turn.toolspec import ToolSpec

# Parameters that the game fills in; the model never sees them.
INJECTED = ("character", "turn")
_JSON_TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_TYPES = "str, int, float, bool, Literal, a str Enum, list or dict"
_ARG_LINE = re.compile(r"^\s{2,}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


# ---- types -------------------------------------------------------------------------------------


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function, as types.

    Raises:
        TypeError: one of them cannot be resolved.
    """
    try:
        return typing.get_type_hints(function)
    except NameError as error:
        raise TypeError(
            f"tool {function.__name__!r}: an annotation cannot be read, {error}; "
            "import that name outside of TYPE_CHECKING; of `character`, `turn` and the result "
            "Any will do"
        ) from None


def _plain_type(annotation: object) -> Any:
    """An annotation without the None of an optional."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        rest = [arm for arm in typing.get_args(annotation) if arm is not type(None)]
        return rest[0] if len(rest) == 1 else annotation
    return annotation


def _is_text_enum(annotation: object) -> bool:
    return isinstance(annotation, EnumType) and issubclass(annotation, str)


def _enum_schema(values: Iterable[object]) -> dict[str, Any] | None:
    """The schema of an enumeration, whose values must be of one JSON type."""
    members = list(values)
    kinds = {type(value) for value in members}
    kind = _JSON_TYPES.get(kinds.pop()) if len(kinds) == 1 else None
    return {"type": kind, "enum": members} if kind else None


def _container_schema(kind: object, inner: Sequence[object]) -> dict[str, Any] | None:
    """The schema of a list, or of a dict with text keys."""
    if kind is dict and inner and inner[0] is not str:
        return None
    item_schema = _schema_of(inner[-1]) if inner else {}
    if item_schema is None:
        return None
    if kind is list:
        return {"type": "array", "items": item_schema}
    return {"type": "object", "additionalProperties": item_schema}


def _schema_of(annotation: object) -> dict[str, Any] | None:
    """The JSON schema of an annotation, or None if it has none."""
    plain = _plain_type(annotation)
    kind, inner = typing.get_origin(plain) or plain, typing.get_args(plain)
    if kind is Literal:
        return _enum_schema(inner)
    if _is_text_enum(plain):
        return _enum_schema(str(member.value) for member in plain)
    if kind in (list, dict):
        return _container_schema(kind, inner)
    name = _JSON_TYPES.get(plain)
    return {"type": name} if name else None


def _as_annotated(annotation: object, value: object) -> Any:
    plain = _plain_type(annotation)
    if value is None:
        return None
    if _is_text_enum(plain):
        return plain(value)
    inner = typing.get_args(plain)
    if inner and isinstance(value, list):
        return [_as_annotated(inner[0], item) for item in value]
    if inner and isinstance(value, dict):
        return {key: _as_annotated(inner[1], item) for key, item in value.items()}
    return value


def as_annotated(hints: Mapping[str, object], arguments: Mapping[str, object]) -> dict[str, Any]:
    """Validated arguments as the function expects them: texts become members of its enums."""
    return {
        name: value if hints.get(name) in _JSON_TYPES else _as_annotated(hints.get(name), value)
        for name, value in arguments.items()
    }


# ---- texts -------------------------------------------------------------------------------------


def _argument_texts(lines: Iterable[str]) -> dict[str, str]:
    """Texts of a Google-style `Args:` section; deeper lines continue the text above them."""
    texts: dict[str, str] = {}
    inside, name, depth = False, "", 0
    for line in filter(str.strip, lines):
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            inside, name = line.strip() == "Args:", ""
        elif inside and name and indent > depth:
            texts[name] = f"{texts[name]} {line.strip()}".strip()
        elif inside and (match := _ARG_LINE.match(line)):
            name, depth = match[1], indent
            texts[name] = match[2].strip()
    return texts


# ---- the spec ----------------------------------------------------------------------------------


def _default_schema(parameter: inspect.Parameter) -> dict[str, Any]:
    """The default of an argument, if it can be written as JSON."""
    value = parameter.default
    if value is None or value is parameter.empty:
        return {}
    try:
        return {"default": json.loads(json.dumps(value, allow_nan=False))}
    except (TypeError, ValueError):
        return {}


def _parameter_schema(tool: str, parameter: inspect.Parameter, hint: object) -> dict[str, Any]:
    """The schema of one argument, without its description."""
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise TypeError(
            f"tool {tool!r}: parameter {parameter.name!r} cannot be given by its name; "
            "the model names each argument"
        )
    schema = _schema_of(hint)
    if schema is None:
        raise TypeError(
            f"tool {tool!r}: parameter {parameter.name!r} must be annotated as one of "
            f"{_TYPES}, {'and has no annotation' if hint is None else f'not {hint!r}'}"
        )
    return schema


def spec_from_function(function: Callable[..., Any], **options: Any) -> ToolSpec:
    """Build a spec from a function's name, signature, annotations and Google-style docstring.

    The parameters `character` and `turn` are filled in by the game and hidden from the model.

    Args:
        options: further fields of the spec, such as its category.

    Raises:
        TypeError: an annotation has no JSON type or cannot be resolved, the docstring is missing or
            describes another parameter, or the function is a generator.
    """
    name = function.__name__
    head, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
    description, texts = " ".join(head.split()), _argument_texts(rest.splitlines())
    if not description:
        raise TypeError(f"tool {name!r} needs a docstring: the model reads it")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"tool {name!r} yields its result; return it, for example as a list")
    hints = hints_of(function)
    known = inspect.signature(function).parameters
    parameters = [each for each in known.values() if each.name not in INJECTED]
    if stray := next((each for each in texts if each not in known), ""):
        raise TypeError(
            f"tool {name!r}: its docstring describes {stray!r} under Args, which is not one of its "
            f"parameters: {', '.join(known) or 'it has none'}"
        )
    properties = {
        each.name: _parameter_schema(name, each, hints.get(each.name))
        | ({"description": texts[each.name]} if each.name in texts else {})
        | _default_schema(each)
        for each in parameters
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": [each.name for each in parameters if each.default is each.empty],
        "additionalProperties": False,
    }
    return ToolSpec(name, description, schema, **options)
