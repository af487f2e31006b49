"""Results of operations, a sentence and a typed value; and numbers by which rows are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic

from pydantic import Field
from typing_extensions import TypeVar

T = TypeVar("T", default=Any)
U = TypeVar("U")
# What a database takes for the number of a row.
MOST_DIGITS = 18


class ProblemKind(StrEnum):
    """The kind of thing that is wrong, for programs; people read the message."""

    NONE = ""
    INVALID = "invalid"  # what was given makes no sense
    FORBIDDEN = "forbidden"  # somebody else may
    MISSING = "missing"  # there is no such thing
    CONFLICT = "conflict"  # not in the state it is in
    UNAVAILABLE = "unavailable"  # not now


def nothing() -> Any:
    """The value of what gives none: an empty mapping, as whatever type is expected."""
    return {}


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """The result of an operation.

    Attributes:
        message: a sentence for a person.
        data: the same for a program: a frozen dataclass or a TypedDict, of which the API makes JSON
            and its schema. Where it is not ok there is mostly nothing.
        problem: what kind of thing was wrong; of what is ok, none.
        errors: what is wrong with each thing that was given, by its name.
        typed: the end of the message that says which command to type next; pages, which have
            buttons, leave it out.
    """

    ok: bool
    message: str
    data: T = field(default_factory=nothing)
    problem: ProblemKind = ProblemKind.NONE
    errors: Mapping[str, str] = field(default_factory=dict)
    typed: str = ""

    def __post_init__(self) -> None:
        if not self.ok and not self.problem:
            object.__setattr__(self, "problem", ProblemKind.INVALID)

    @classmethod
    def invalid(cls, told: str) -> Result[Any]:
        """A refusal: what was given makes no sense."""
        return Result(False, told)

    @classmethod
    def forbidden(cls, told: str) -> Result[Any]:
        """A refusal: somebody else may."""
        return Result(False, told, problem=ProblemKind.FORBIDDEN)

    @classmethod
    def missing(cls, told: str) -> Result[Any]:
        """A refusal: there is no such thing."""
        return Result(False, told, problem=ProblemKind.MISSING)

    @classmethod
    def conflict(cls, told: str) -> Result[Any]:
        """A refusal: it is not in the state for that."""
        return Result(False, told, problem=ProblemKind.CONFLICT)

    @classmethod
    def unavailable(cls, told: str) -> Result[Any]:
        """A refusal: not now."""
        return Result(False, told, problem=ProblemKind.UNAVAILABLE)

    def as_refusal(self) -> Result[Any]:
        """The same refusal, of an operation that gives another kind of value."""
        return replace(self, ok=False, data=nothing())

    def holding(self, data: U) -> Result[U]:
        """The same with another value."""
        return Result(self.ok, self.message, data, self.problem, self.errors, self.typed)

    def handing_on(self, made: Callable[[T], U]) -> Result[U]:
        """The same with a value that is made of this one's; a refusal as it is."""
        return self.holding(made(self.data)) if self.ok else self.as_refusal()

    def after(self, told: str) -> Result[T]:
        """The same with words before its own; a refusal as it is."""
        return replace(self, message=f"{told} {self.message}") if self.ok else self

    def untyped(self) -> Result[T]:
        """The same without the command to type."""
        if not self.typed:
            return self
        told = self.message.removesuffix(self.typed)
        return replace(self, message=f"{told.rstrip('.')}.", typed="")

    def with_typed(self, typed: str) -> Result[T]:
        """The same with a command to type at the end."""
        return replace(self, message=f"{self.message}{typed}", typed=typed)


def note(text: str) -> Any:
    """Says in a result's annotation what a field is for; the OpenAPI schema tells it."""
    return Field(description=text)


def one_of(words: Iterable[str], text: str = "") -> Any:
    """The same of a text that is always one of some words."""
    return Field(description=text or None, json_schema_extra={"enum": [*words]})


def number_of(key: str | int, most_digits: int = MOST_DIGITS) -> int | None:
    """The number that a row is asked for by, None where it is asked for by its key."""
    text = str(key)
    return int(text) if text.isdecimal() and len(text) <= most_digits else None
