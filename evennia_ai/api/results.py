"""The OpenAPI schemas of responses, generated from the types that operations return.

A result is a frozen dataclass or a TypedDict; `Annotated` notes describe its fields. A field of a
dataclass whose default is None is left out of the response if it is None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from evennia_ai.api.problems import CODES
from evennia_ai.api.rows import Row
from evennia_ai.operations.result import note, one_of

REFERENCE = "#/components/schemas/{model}"
SENTENCES = {
    "message": ("Done", "What was done.", "A sentence for people."),
    "text": ("Worded", "The other fields in words.", "For people."),
}


@dataclass(frozen=True, slots=True)
class ProblemDetail:
    """A problem: the body of an error."""

    code: Annotated[str, one_of(sorted(set(CODES.values())), "Error code for programs.")]
    message: Annotated[str, note("A sentence for people.")]
    fields: Annotated[
        dict[str, list[str]] | None, note("What is wrong with each field, if it is about fields.")
    ] = None


@dataclass(frozen=True, slots=True)
class Problem:
    """The body of everything that goes wrong."""

    error: ProblemDetail


PROBLEM = {"$ref": REFERENCE.format(model=Problem.__name__)}


class _OpenApi30(GenerateJsonSchema):
    """Generates schemas for OpenAPI 3.0, which has `nullable` instead of a null type."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> dict[str, Any]:
        """Mark a value as nullable."""
        inner = self.generate_inner(schema["schema"])
        if "type" in inner:
            return {**inner, "nullable": True}
        # In OpenAPI 3.0 `nullable` extends only a `type` beside it, not that of a reference.
        return {"anyOf": [inner, {"enum": [None], "nullable": True}]}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        """Make a field optional; one that would be null is left out instead."""
        json_schema = super().default_schema(schema)
        if "default" in json_schema and json_schema["default"] is None:
            del json_schema["default"], json_schema["nullable"]
        return json_schema

    def field_title_should_be_set(self, schema: object) -> bool:
        """Return False: a title would only repeat the field's name."""
        return False


def response_of(row: Row) -> Any:
    """The schema of a row's successful response; None if it has no body."""
    if row.result is str:
        return str
    parts = [_reference(SENTENCES[row.says][0])] if row.says else []
    parts += [_reference(row.result.__name__)] if row.result else []
    return {"allOf": parts} if len(parts) > 1 else next(iter(parts), None)


def components(rows: Iterable[Row]) -> dict[str, Any]:
    """Generate the schemas of all results, by the names of their types."""
    kinds = dict.fromkeys([Problem, *(row.result for row in rows if row.result is not str)])
    inputs: list[tuple[Any, Literal["validation"], TypeAdapter[Any]]]
    inputs = [(kind, "validation", TypeAdapter(kind)) for kind in kinds if kind is not None]
    _, definitions = TypeAdapter.json_schemas(
        inputs, ref_template=REFERENCE, schema_generator=_OpenApi30
    )
    return {**_sentences(), **definitions.get("$defs", {})}


def _sentences() -> dict[str, Any]:
    return {
        name: {
            "type": "object",
            "description": whole,
            "properties": {field: {"type": "string", "description": text}},
            "required": [field],
        }
        for field, (name, whole, text) in SENTENCES.items()
    }


def _reference(name: str) -> dict[str, str]:
    return {"$ref": REFERENCE.format(model=name)}
