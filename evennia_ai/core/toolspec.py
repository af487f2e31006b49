"""What a tool is to the model: its schema, its danger class, calls of it and their results."""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class ToolCategory(StrEnum):
    """What may follow a tool within one tick."""

    SAFE_CHAIN = "safe_chain"
    TERMINAL = "terminal"
    DANGEROUS = "dangerous"
    ASYNC_REQUIRED = "async_required"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it.

    Attributes:
        parameters: JSON schema of the arguments, an object schema without extra properties.
        timeout_seconds: after this a waiting tool is cancelled.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    category: ToolCategory = ToolCategory.SAFE_CHAIN
    timeout_seconds: float = 30.0

    def as_function(self) -> dict[str, Any]:
        """The spec in the form of the chat completions API."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for.

    Attributes:
        arguments: the parsed arguments; empty when `problem` is set.
        problem: why the call cannot be run as it is (bad JSON, say), or "".
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call: a text for the model, and whether it worked."""

    success: bool
    text: str

    def as_content(self) -> str:
        """The result as the JSON text that goes into the conversation."""
        key = "result" if self.success else "error"
        return json.dumps({"success": self.success, key: self.text}, ensure_ascii=False)


INJECTED = ("character", "turn")
_JSON_TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ARG_LINE = re.compile(r"^\s{2,}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


def _plain_type(annotation: Any) -> Any:
    """The type itself, with an optional `None` taken away."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        rest = [arm for arm in typing.get_args(annotation) if arm is not type(None)]
        return rest[0] if len(rest) == 1 else annotation
    return annotation


def _argument_texts(lines: Iterable[str]) -> dict[str, str]:
    """The texts of a Google `Args:` section; a deeper line goes on with the text above it."""
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


def _split_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """The first paragraph, and the texts of the arguments."""
    head, _, rest = inspect.cleandoc(doc).partition("\n\n")
    return " ".join(head.split()), _argument_texts(rest.splitlines())


def _types_of(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError as error:
        raise TypeError(
            f"tool {function.__name__!r}: an annotation cannot be read, {error}; "
            "import that name outside of TYPE_CHECKING, or write Any"
        ) from None


def spec_from_function(
    function: Callable[..., Any],
    *,
    category: ToolCategory = ToolCategory.SAFE_CHAIN,
    timeout_seconds: float = 30.0,
) -> ToolSpec:
    """Make a spec from a function's name, signature, annotations and Google docstring.

    The parameters `character` and `turn` are given by the game and not shown to the model.

    Raises:
        TypeError: a parameter's annotation has no JSON type or cannot be read, or the docstring is
            missing.
    """
    description, texts = _split_docstring(function.__doc__ or "")
    if not description:
        raise TypeError(f"tool {function.__name__!r} needs a docstring: the model reads it")
    hints = _types_of(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in INJECTED:
            continue
        json_type = _JSON_TYPES.get(_plain_type(hints.get(name)))
        if json_type is None:
            raise TypeError(
                f"tool {function.__name__!r}: parameter {name!r} must be annotated as one of "
                f"str, int, float, bool, not {hints.get(name)!r}"
            )
        properties[name] = {"type": json_type}
        if name in texts:
            properties[name]["description"] = texts[name]
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return ToolSpec(function.__name__, description, schema, category, timeout_seconds)


_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def _fits(value: Any, json_type: str) -> bool:
    if isinstance(value, bool):
        return json_type == "boolean"
    return isinstance(value, _PYTHON_TYPES[json_type])


def arguments_problem(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """What is wrong with these arguments, in words for the model, or ""."""
    properties = spec.parameters["properties"]
    missing = [name for name in spec.parameters["required"] if name not in arguments]
    if missing:
        return f"{spec.name} needs {', '.join(missing)}"
    for name, value in arguments.items():
        if name not in properties:
            return f"{spec.name} has no argument {name}; it takes {', '.join(properties) or 'none'}"
        if value is None and name not in spec.parameters["required"]:
            continue
        wanted = properties[name]["type"]
        if not _fits(value, wanted):
            return f"{spec.name}: {name} must be of type {wanted}, not {type(value).__name__}"
        allowed = properties[name].get("enum")
        if allowed is not None and value not in allowed:
            return f"{spec.name}: {name} must be {' or '.join(allowed)}"
    return ""
