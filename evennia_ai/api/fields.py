"""Fields of requests, validated strictly: numbers are not text, and unknown fields are errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.core.validators import RegexValidator
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

# Nine digits: they fit the 32-bit integers of a database.
MOST_NUMBER = 999_999_999
# A text has at least one visible character; a name can be typed in commands and used in URLs. The
# patterns are in the OpenAPI schema too, whose dialect is JavaScript's: characters that only one of
# both counts as \s are listed, and \w, which is ASCII only there, is not used.
BLANK = r"\s\x1c-\x1f\x85\ufeff"
TEXT = rf"^[^\x00]*[^{BLANK}\x00][^\x00]*$"
LINE = rf"^[^\x00-\x1f\x7f]*[^{BLANK}\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"
ANY = r"^[^\x00]*$"
NAME = rf'^[^{BLANK}\d_=,;/"\x00-\x1f\x7f][^=,;/"\x00-\x1f\x7f]*$'
PERSON = "^(account|object)-[0-9]{1,9}$"
AUDIENCE = rf"^(world|room #[0-9]{{1,9}}|faction [^{BLANK}\x00-\x1f\x7f][^\x00-\x1f\x7f]{{0,59}})$"
TASK_NAME = "^[A-Za-z0-9.:_-]+$"
DIGITS = re.compile(r"[0-9]{1,9}", re.ASCII)


class StrictMapping(serializers.Serializer):
    """A serializer that refuses unknown keys.

    Attributes:
        needed: the required keys; None leaves it to the fields.
    """

    needed: tuple[str, ...] | None = None

    def get_fields(self) -> dict[str, serializers.Field]:
        """Return the fields, with `needed` applied."""
        fields: dict[str, serializers.Field] = super().get_fields()
        if self.needed is not None:
            for name, field in fields.items():
                field.required = name in self.needed
        return fields

    def to_internal_value(self, data: object) -> Any:
        """Validate a mapping."""
        if not isinstance(data, Mapping):
            raise ValidationError("This must be an object.")
        # DRF ignores unknown keys, so that a misspelt field would silently have no effect.
        unknown = [str(name) for name in data if name not in self.fields]
        if unknown:
            known = ", ".join(self.fields) or "none"
            message = f"There is no such field here; known are: {known}."
            raise ValidationError({name: [message] for name in unknown[:10]})
        return super().to_internal_value(data)


class Nothing(StrictMapping):
    """A body or a query without any fields."""


class RequestField(serializers.Field):
    """A field that is optional unless `required=True`, with its description as first argument.

    Attributes:
        usual: options of the kind, unless others are given.
    """

    usual: Mapping[str, Any] = {}

    def __init__(self, help_text: str = "", **options: Any) -> None:
        options = {"help_text": help_text, "required": False, **self.usual, **options}
        super().__init__(**options)


class Text(RequestField, serializers.CharField):
    """A text; unlike DRF's field it does not accept numbers."""

    pattern, wrong = TEXT, "This must contain visible text."
    usual: Mapping[str, Any] = {"max_length": 2000}

    def __init__(self, help_text: str = "", **options: Any) -> None:
        super().__init__(help_text, **options)
        pattern, message = self.pattern, self.wrong
        if self.allow_blank:
            pattern, message = ANY, "A text must not contain NUL characters."
        self.validators.append(RegexValidator(pattern, message))

    def to_internal_value(self, data: object) -> str:
        """Validate a text."""
        if not isinstance(data, str):
            raise ValidationError("This must be text.")
        return str(super().to_internal_value(data))


class LineField(Text):
    """A text of one line."""

    pattern, wrong = LINE, "This must be one line of visible text."


class Person(Text):
    """A player or another being, by the name that the API uses for it."""

    pattern, wrong = PERSON, "This must be like account-3 or object-12."


class Audience(Text):
    """The audience of a piece of lore."""

    pattern = AUDIENCE
    wrong = "This must be world, a room such as room #2, or a faction such as faction Guild."


class TaskName(Text):
    """A caller's own name for a task, which can be used in a URL."""

    pattern, wrong = TASK_NAME, "Only the characters A-Z, a-z, 0-9 and . : _ - are allowed."
    usual = {"max_length": 64}


class Name(Text):
    """A name that can be used in a URL."""

    pattern, wrong = NAME, 'A name begins with a letter, is one line, and has none of = , ; / ".'
    usual = {"max_length": 60}

    def __init__(self, help_text: str = "", **options: Any) -> None:
        super().__init__(help_text, **options)
        self.validators.append(_begin_with_a_letter)


def _begin_with_a_letter(name: str) -> None:
    # Only if the pattern matches: otherwise its own error says this too.
    if not name[:1].isalpha() and re.match(NAME, name):
        raise ValidationError("A name begins with a letter.")


class Whole(RequestField, serializers.IntegerField):
    """A whole number; unlike DRF's field it does not accept text."""

    def to_internal_value(self, data: object) -> int:
        """Validate a number."""
        # JSON does not tell 5.0 from 5; a bool is an int in Python.
        if isinstance(data, bool) or not isinstance(data, (int, float)) or data != int(data):
            raise ValidationError("This must be a whole number.")
        return int(data)


class Number(RequestField, serializers.FloatField):
    """A number; unlike DRF's field it does not accept text."""

    def to_internal_value(self, data: object) -> float:
        """Validate a number."""
        if isinstance(data, bool) or not isinstance(data, (int, float)):
            raise ValidationError("This must be a number.")
        return float(data)


class Count(RequestField, serializers.IntegerField):
    """A whole number in a URL: only digits."""

    usual = {"min_value": 0, "max_value": MOST_NUMBER}

    def to_internal_value(self, data: object) -> int:
        """Validate digits."""
        # `int` would accept " 5", "+5", "5_0" and the digits of other scripts.
        if not DIGITS.fullmatch(str(data)):
            bounds = f"{self.min_value} to {self.max_value}"
            raise ValidationError(f"This must be a whole number from {bounds}.")
        return int(str(data))


class Flag(RequestField, serializers.BooleanField):
    """true or false; unlike DRF's field it does not accept words or numbers."""

    def to_internal_value(self, data: object) -> bool:
        """Validate a boolean."""
        if not isinstance(data, bool):
            raise ValidationError("This must be true or false.")
        return data


class Word(RequestField, serializers.ChoiceField):
    """One of a set of words."""

    def to_internal_value(self, data: object) -> Any:
        """Validate a word."""
        if not isinstance(data, str) or data not in self.choices:
            raise ValidationError(f"This must be one of: {', '.join(map(str, self.choices))}.")
        return data


class Plain(RequestField, serializers.DictField):
    """A mapping of any values."""

    child = serializers.JSONField()
    initial: Any = {}
    most = 100

    def to_internal_value(self, data: object) -> dict[str, Any]:
        """Validate a mapping."""
        if not isinstance(data, dict):
            raise ValidationError("This must be a mapping of names and values.")
        if len(data) > self.most:
            raise ValidationError(f"This has more than {self.most} entries.")
        return data


class Many(RequestField, serializers.ListField):
    """A list of values of one kind, its `child`."""


def query_of(params: QueryDict, kind: type[StrictMapping]) -> dict[str, Any]:
    """Read the parameters of the query string.

    Raises:
        ValidationError: a parameter that is not a list occurs twice.
    """
    known = kind().fields
    query: dict[str, Any] = {}
    for name, values in params.lists():
        if isinstance(known.get(name), Many):
            query[name] = values
        elif len(values) > 1:
            raise ValidationError({name: ["This parameter occurs more than once."]})
        else:
            query[name] = values[0]
    return query
