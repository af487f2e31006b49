"""What all responses share, for the OpenAPI schema: pieces of shapes, and the body of problems."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.serializers import CharField, DictField, IntegerField, JSONField, ListField

from evennia_ai.api.problems import CODES


class Shape(serializers.Serializer):  # type: ignore[misc]
    """A mapping with these keys, and perhaps more."""


def anything(**options: Any) -> JSONField:
    """Anything at all."""
    return JSONField(**options)


def maybe_text(**options: Any) -> CharField:
    """A text or null."""
    return CharField(allow_null=True, **options)


def maybe_count(**options: Any) -> IntegerField:
    """A number or null."""
    return IntegerField(allow_null=True, **options)


def mappings(**options: Any) -> ListField:
    """Mappings of anything."""
    return ListField(child=DictField(child=anything()), **options)


class Fault(Shape):
    """What is wrong."""

    code = serializers.ChoiceField(choices=sorted(set(CODES.values())), help_text="For programs.")
    message = CharField(help_text="A sentence for people.")
    fields = DictField(
        child=ListField(child=CharField()),
        required=False,
        help_text="What is wrong with each field, where fields are.",
    )


class Problem(Shape):
    """The body of everything that goes wrong."""

    error = Fault()


class Done(Shape):
    """What was done."""

    message = CharField(help_text="A sentence for people.")
