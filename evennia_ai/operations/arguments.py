"""From what a person types to the arguments of a tool, as its schema wants them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from evennia_ai.core.turn.toolspec import ToolSpec

_YES, _NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")
_QUOTES = ('"', "'")
_NAME = re.compile(r"([A-Za-z_]\w*)\s*=")


def read_arguments(spec: ToolSpec, text: str) -> dict[str, Any]:
    """Read arguments in one of three forms; whether they fit is not checked here.

    A JSON object; `name=value` pairs, each value up to the next name of an argument; or the bare
    value of the one argument that the tool needs.

    Raises:
        ValueError: it is none of them; the text says what would be right.
    """
    text = text.strip()
    known = spec.parameters.get("properties", {})
    if not text:
        return {}
    if text.startswith("{"):
        return _object(text)
    found = _pairs(text, known)
    if not found:
        found = {_only(spec, known, text): text}
    return {name: _coerced(known[name], _unquoted(value)) for name, value in found.items()}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"that is no JSON object: {error}") from None
    return dict(value)


def _pairs(text: str, known: Mapping[str, Any]) -> dict[str, str]:
    """The `name=value` pairs of a text that begins with one; else nothing."""
    first = _NAME.match(text)
    if first is None:
        return {}
    if first[1] not in known:
        raise ValueError(f"it has no argument {first[1]}; it takes {', '.join(known) or 'none'}")
    names = "|".join(map(re.escape, known))
    marks = list(re.finditer(rf"(?:^|(?<=[\s,;]))({names})\s*=", text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {
        mark[1]: text[mark.end() : end].strip().rstrip(",;").strip()
        for mark, end in zip(marks, ends, strict=True)
    }


def _only(spec: ToolSpec, known: Mapping[str, Any], text: str) -> str:
    """The argument that a bare value is for.

    Raises:
        ValueError: it might be for several, or for none.
    """
    required = [str(name) for name in spec.parameters.get("required", ())]
    wanted = required or list(known)
    if len(wanted) == 1:
        return wanted[0]
    if not wanted:
        raise ValueError(f"it takes no arguments, so {text[:40]!r} is too much")
    form = " ".join(f"{name}=..." for name in wanted)
    raise ValueError(f"say which value is which: {form}")


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] in _QUOTES and value[-1] == value[0]
    return value[1:-1] if is_quoted else value


def _coerced(schema: Any, value: str) -> Any:
    """A typed value as its schema wants it; what cannot be made so stays text."""
    for kind in _kinds(schema):
        made = _as_kind(kind, schema, value)
        if made is not None:
            return made[0]
    return value


def _kinds(schema: Any) -> list[str]:
    """The types that a schema allows, text last: anything can be read as that."""
    if not isinstance(schema, Mapping):
        return []
    forms = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    kinds: list[str] = []
    for form in forms:
        named = form.get("type", ()) if isinstance(form, Mapping) else ()
        kinds += [named] if isinstance(named, str) else named
    return sorted(kinds, key=lambda kind: kind == "string")


def _as_kind(kind: str, schema: Mapping[str, Any], value: str) -> tuple[Any] | None:
    """The value as one type, in a tuple; None where it is none of that."""
    if kind == "string":
        return (value,)
    if kind == "boolean":
        word = value.casefold()
        return (word in _YES,) if word in _YES + _NO else None
    if kind == "null":
        return (None,) if value.casefold() in ("none", "null") else None
    if kind == "array" and not value.startswith("["):
        items = schema.get("items", {})
        return ([_coerced(items, item.strip()) for item in value.split(",")],)
    return _from_json(kind, value)


def _from_json(kind: str, value: str) -> tuple[Any] | None:
    try:
        made = json.loads(value)
    except (ValueError, RecursionError):
        return None
    types: dict[str, Any] = {
        "integer": (int, float),
        "number": (int, float),
        "array": list,
        "object": dict,
    }
    is_right = isinstance(made, types.get(kind, ())) and not isinstance(made, bool)
    return (made,) if is_right else None
