"""What a tool is to the model: its schema, its danger class, the calls made of it and their results."""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class ToolCategory(str, Enum):
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
_ARG_LINE = re.compile(r"^\s{2,}(\w+)(?:\s*\([^)]*\))?:\s*(.+)$")


def _plain_type(annotation: Any) -> Any:
    """The type itself, with an optional `None` taken away."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        rest = [arm for arm in typing.get_args(annotation) if arm is not type(None)]
        return rest[0] if len(rest) == 1 else annotation
    return annotation


def _split_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """The first paragraph, and the texts of a Google `Args:` section."""
    head, _, rest = inspect.cleandoc(doc).partition("\n\n")
    arguments: dict[str, str] = {}
    inside = False
    for line in rest.splitlines():
        if not line.startswith(" ") and line.strip():
            inside = line.strip() == "Args:"
        elif inside and (match := _ARG_LINE.match(line)):
            arguments[match[1]] = match[2].strip()
    return " ".join(head.split()), arguments


def spec_from_function(
    function: Callable[..., Any],
    *,
    category: ToolCategory = ToolCategory.SAFE_CHAIN,
    timeout_seconds: float = 30.0,
) -> ToolSpec:
    """Make a spec from a function's name, signature, annotations and Google docstring.

    The parameters `character` and `turn` are given by the game and not shown to the model.

    Raises:
        TypeError: a parameter's annotation has no JSON type, or the docstring is missing.
    """
    description, texts = _split_docstring(function.__doc__ or "")
    if not description:
        raise TypeError(f"tool {function.__name__!r} needs a docstring: the model reads it")
    hints = typing.get_type_hints(function)
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
        wanted = properties[name]["type"]
        if not _fits(value, wanted) and not (value is None and name not in spec.parameters["required"]):
            return f"{spec.name}: {name} must be of type {wanted}, not {type(value).__name__}"
    return ""
