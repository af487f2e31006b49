"""Request fields, read strictly: a number is not text, and an unknown field is an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.core.validators import RegexValidator
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

MOST_NUMBER = 999_999_999
# A text has something to read in it, a name can be typed and stand in an address. These stand in
# the OpenAPI schema too, where \s and \w are not what they are in Python: there \w is ASCII only.
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
    """A mapping with none but known keys.

    Attributes:
        needed: the keys that have to be there; None: as each field says itself.
    """

    needed: tuple[str, ...] | None = None

    def get_fields(self) -> dict[str, serializers.Field]:
        """The fields, of which some have to be there."""
        fields: dict[str, serializers.Field] = super().get_fields()
        if self.needed is not None:
            for name, field in fields.items():
                field.required = name in self.needed
        return fields

    def to_internal_value(self, data: object) -> Any:
        """Read it."""
        if isinstance(data, Mapping):
            unknown = [str(name) for name in data if name not in self.fields]
            if unknown:
                known = ", ".join(self.fields) or "none"
                told = f"There is no such field here; known are: {known}."
                raise ValidationError({name: [told] for name in unknown[:10]})
        return super().to_internal_value(data)


class Nothing(StrictMapping):
    """A body or an address with nothing in it."""


class Text(serializers.CharField):
    """A text; numbers and the like are none."""

    pattern, wrong = TEXT, "This must have something to read in it."

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 2000, **options})
        pattern, told = self.pattern, self.wrong
        if self.allow_blank:
            pattern, told = ANY, "A text may have no NUL in it."
        self.validators.append(RegexValidator(pattern, told))

    def to_internal_value(self, data: object) -> str:
        """The text."""
        if not isinstance(data, str):
            raise ValidationError("This must be text.")
        return str(super().to_internal_value(data))


class LineField(Text):
    """A text on one line."""

    pattern, wrong = LINE, "This must be one line, with something to read in it."


class Person(Text):
    """A player or a being, as other answers name them."""

    pattern, wrong = PERSON, "This must be like account-3 or object-12."


class Audience(Text):
    """The audience of a piece of lore."""

    pattern = AUDIENCE
    wrong = "This must be world, a room such as room #2, or a faction such as faction Guild."


class TaskName(Text):
    """A caller's own name for a task, which can stand in an address too."""

    pattern, wrong = TASK_NAME, "This must be of the characters A-Z, a-z, 0-9 and . : _ - only."

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 64, **options})


class Name(Text):
    """A name that can stand in an address."""

    pattern, wrong = NAME, 'A name begins with a letter, is on one line, and has none of = , ; / ".'

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 60, **options})
        self.validators.append(_begin_with_a_letter)


def _begin_with_a_letter(name: str) -> None:
    # Where the pattern does not fit either, its own sentence says this too.
    if not name[:1].isalpha() and re.match(NAME, name):
        raise ValidationError("A name begins with a letter.")


class Whole(serializers.IntegerField):
    """A whole number; a text is none."""

    def to_internal_value(self, data: object) -> int:
        """The number."""
        if isinstance(data, bool) or not isinstance(data, (int, float)) or data != int(data):
            raise ValidationError("This must be a whole number.")
        return int(data)


class Number(serializers.FloatField):
    """A number; a text is none."""

    def to_internal_value(self, data: object) -> float:
        """The number."""
        if isinstance(data, bool) or not isinstance(data, (int, float)):
            raise ValidationError("This must be a number.")
        return float(data)


class Count(serializers.IntegerField):
    """A whole number in an address: digits and nothing else."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": 0, "max_value": MOST_NUMBER, **options})

    def to_internal_value(self, data: object) -> int:
        """The number."""
        if not DIGITS.fullmatch(str(data)):
            raise ValidationError(f"This must be a whole number from 0 to {MOST_NUMBER}.")
        return int(str(data))


class Flag(serializers.BooleanField):
    """true or false; a word or a number is neither."""

    def to_internal_value(self, data: object) -> bool:
        """True or False."""
        if not isinstance(data, bool):
            raise ValidationError("This must be true or false.")
        return data


class Word(serializers.ChoiceField):
    """One of some words."""

    def to_internal_value(self, data: object) -> Any:
        """The word."""
        if not isinstance(data, str) or data not in self.choices:
            raise ValidationError(f"This must be one of: {', '.join(map(str, self.choices))}.")
        return data


class Plain(serializers.DictField):
    """A mapping of anything."""

    child = serializers.JSONField()
    initial: Any = {}
    most = 100

    def to_internal_value(self, data: object) -> dict[str, Any]:
        """The mapping."""
        if not isinstance(data, dict):
            raise ValidationError("This must be a mapping of names and values.")
        if len(data) > self.most:
            raise ValidationError(f"This has more than {self.most} entries.")
        return data


def query_of(params: QueryDict, kind: type[StrictMapping]) -> dict[str, Any]:
    """The parameters in the address after `?`, as a serializer reads them.

    Raises:
        ValidationError: something stands there twice.
    """
    known = kind().fields
    read: dict[str, Any] = {}
    for name, values in params.lists():
        if isinstance(known.get(name), serializers.ListField):
            read[name] = values
        elif len(values) > 1:
            raise ValidationError({name: ["This stands in the address more than once."]})
        else:
            read[name] = values[0]
    return read
