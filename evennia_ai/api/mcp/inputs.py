"""Arguments of a tool: the path parameters, query and body of a REST row in one mapping."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

from rest_framework import serializers
from rest_framework.fields import Field

from evennia_ai.api.endpoints import PATHS
from evennia_ai.api.fields import Flag, StrictMapping, Text, Whole
from evennia_ai.api.rows import Row

# Path parameters that have a more telling name as arguments.
ARGUMENT_NAMES = {"key": "assistant", "name": "breaker", "memory": "lore"}
WHOLE_BODY = "changes"  # the argument for a body that is a free mapping
REVEAL = "reveal"


class RequestParts(NamedTuple):
    """Arguments, by their place in a REST request."""

    path: dict[str, Any]
    query: dict[str, Any]
    body: dict[str, Any]


def input_of(row: Row) -> type[StrictMapping]:
    """Make the serializer of all input of a row.

    Raises:
        TypeError: two of its parts have a field of the same name.
    """
    parts = [
        {ARGUMENT_NAMES.get(name, name): _in_path(name) for name in row.names},
        _fields_of(row.query),
        _fields_of(row.body),
    ]
    fields: dict[str, Field] = {}
    for part in parts:
        if fields.keys() & part.keys():
            raise TypeError(f"{row.route.path} takes {fields.keys() & part.keys()} twice")
        fields |= part
    return type("Arguments", (_Arguments,), {"wanted": fields})


def split_arguments(row: Row, given: Mapping[str, Any]) -> RequestParts:
    """Split validated arguments into the parts that the row's operation expects."""
    path = {name: given[ARGUMENT_NAMES.get(name, name)] for name in row.names}
    query_fields = _fields_of(row.query)
    query = {name: given[name] for name in query_fields if name in given}
    # A boolean for models; in REST, a word in the query string.
    if REVEAL in query:
        query[REVEAL] = "true" if query[REVEAL] else "false"
    if row.body is not None and not issubclass(row.body, StrictMapping):
        return RequestParts(path, query, dict(given[WHOLE_BODY]))
    body = {name: given[name] for name in _fields_of(row.body) if name in given}
    return RequestParts(path, query, body)


def schema_of(kind: type[StrictMapping]) -> dict[str, Any]:
    """Make the JSON schema of a serializer's input."""
    fields = kind().fields
    return {
        "type": "object",
        "properties": {name: _schema(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


class _Arguments(StrictMapping):
    """The base of serializers that are made of rows.

    Attributes:
        wanted: the fields by name.
    """

    wanted: Mapping[str, Field] = {}

    def get_fields(self) -> dict[str, Field]:
        """Copy the fields: DRF binds them to the serializer."""
        fields = {}
        for name, field in self.wanted.items():
            # DRF's `deepcopy` builds the field anew from its arguments, without later changes.
            fields[name] = copy.deepcopy(field)
            fields[name].required = field.required
        return fields


def _fields_of(kind: type[Field] | None) -> dict[str, Field]:
    if kind is None:
        return {}
    if not issubclass(kind, StrictMapping):
        description = getattr(kind, "described", {}).get("description", "")
        return {WHOLE_BODY: kind(description, required=True)}
    fields = dict(kind().fields)
    if REVEAL in fields:
        fields[REVEAL] = Flag(fields[REVEAL].help_text)
    return fields


def _in_path(name: str) -> Field:
    schema, description = PATHS[name]
    if name == "memory":
        description = "The `key` that list_lore shows."
    if schema["type"] == "integer":
        bounds = {"min_value": schema["minimum"], "max_value": schema["maximum"]}
        return Whole(description, required=True, **bounds)
    return Text(description, max_length=200, required=True)


def _schema(field: Field) -> dict[str, Any]:
    description = {"description": str(field.help_text)} if field.help_text else {}
    return {**_shape(field), **description}


def _shape(field: Field) -> dict[str, Any]:
    if isinstance(field, serializers.ChoiceField):
        return {"type": "string", "enum": list(field.choices)}
    if isinstance(field, serializers.BooleanField):
        return {"type": "boolean"}
    if isinstance(field, serializers.ListField):
        return {"type": "array", "items": _schema(field.child), "maxItems": field.max_length}
    if isinstance(field, serializers.DictField):
        return {"type": "object"}
    if isinstance(field, (serializers.IntegerField, serializers.FloatField)):
        kind = "integer" if isinstance(field, serializers.IntegerField) else "number"
        bounds = {"minimum": field.min_value, "maximum": field.max_value}
        return {"type": kind, **{name: n for name, n in bounds.items() if n is not None}}
    return {"type": "string", "maxLength": field.max_length}
