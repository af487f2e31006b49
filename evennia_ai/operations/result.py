"""Results of operations: a sentence for people and a typed value for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Generic

from pydantic import Field
from typing_extensions import TypeVar

T = TypeVar("T", default=Any)
U = TypeVar("U")
# A signed 64-bit primary key has 19 digits, but not all of those fit; a longer number would be an
# OverflowError in the database driver.
MOST_DIGITS = 18


class ProblemKind(StrEnum):
    """Kind of a refusal, for programs; people read the message."""

    NONE = ""
    INVALID = "invalid"  # the input makes no sense
    FORBIDDEN = "forbidden"  # the caller lacks the right
    NOT_FOUND = "missing"  # there is no such thing
    CONFLICT = "conflict"  # not possible in its present state
    UNAVAILABLE = "unavailable"  # not possible now; later it may be


STATUSES: Mapping[ProblemKind, HTTPStatus] = {
    ProblemKind.NONE: HTTPStatus.OK,
    ProblemKind.INVALID: HTTPStatus.BAD_REQUEST,
    ProblemKind.FORBIDDEN: HTTPStatus.FORBIDDEN,
    ProblemKind.NOT_FOUND: HTTPStatus.NOT_FOUND,
    ProblemKind.CONFLICT: HTTPStatus.CONFLICT,
    ProblemKind.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


def nothing() -> Any:
    """The data of a result without data: an empty mapping, typed as whatever is expected."""
    return {}


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """The result of an operation.

    Attributes:
        message: a sentence for a person.
        data: the same for a program: a frozen dataclass or a TypedDict, from which the API makes
            JSON and its schema. A refusal mostly has none.
        problem: the kind of refusal; NONE where `ok`.
        errors: what is wrong with each input, by its name.
        typed: the end of the message that says which command to type next; web pages, which have
            buttons, leave it out.
    """

    ok: bool
    message: str
    data: T = field(default_factory=nothing)
    problem: ProblemKind = ProblemKind.NONE
    errors: Mapping[str, str] = field(default_factory=dict)
    typed: str = ""

    def __post_init__(self) -> None:
        # The API chooses its status code by the kind, so a refusal always has one.
        if not self.ok and not self.problem:
            object.__setattr__(self, "problem", ProblemKind.INVALID)

    @classmethod
    def invalid(cls, message: str) -> Result[Any]:
        """Refuse: the input makes no sense."""
        return Result(False, message)

    @classmethod
    def forbidden(cls, message: str) -> Result[Any]:
        """Refuse: the caller lacks the right."""
        return Result(False, message, problem=ProblemKind.FORBIDDEN)

    @classmethod
    def not_found(cls, message: str) -> Result[Any]:
        """Refuse: there is no such thing."""
        return Result(False, message, problem=ProblemKind.NOT_FOUND)

    @classmethod
    def conflict(cls, message: str) -> Result[Any]:
        """Refuse: it is not possible in the present state."""
        return Result(False, message, problem=ProblemKind.CONFLICT)

    @classmethod
    def unavailable(cls, message: str) -> Result[Any]:
        """Refuse: it is not possible now."""
        return Result(False, message, problem=ProblemKind.UNAVAILABLE)

    def as_refusal(self) -> Result[Any]:
        """The same refusal, for an operation that returns another kind of value."""
        return replace(self, ok=False, data=nothing())

    def with_data(self, data: U) -> Result[U]:
        """The same result with other data."""
        return Result(self.ok, self.message, data, self.problem, self.errors, self.typed)

    def map(self, convert: Callable[[T], U]) -> Result[U]:
        """The same result with its data converted; a refusal stays as it is."""
        return self.with_data(convert(self.data)) if self.ok else self.as_refusal()

    def after(self, words: str) -> Result[T]:
        """The same result with words put before its message; a refusal stays as it is."""
        return replace(self, message=f"{words} {self.message}") if self.ok else self

    def untyped(self) -> Result[T]:
        """The same result without the command to type."""
        if not self.typed:
            return self
        message = self.message.removesuffix(self.typed)
        return replace(self, message=f"{message.rstrip('.')}.", typed="")

    def with_typed(self, typed: str) -> Result[T]:
        """The same result with a command to type at the end of its message."""
        return replace(self, message=f"{self.message}{typed}", typed=typed)


def refuse_limit(limit: int, most: int) -> Result[Any] | None:
    """Refuse a number of entries that cannot be shown at once; None for any other."""
    if 1 <= limit <= most:
        return None
    return Result.invalid(f"{limit} cannot be shown at once; ask for 1 to {most}.")


def note(text: str) -> Any:
    """Annotate a field of a result with its description in the OpenAPI schema."""
    return Field(description=text)


def one_of(words: Iterable[str], text: str = "") -> Any:
    """Annotate a text field of a result with the words that it may hold."""
    return Field(description=text or None, json_schema_extra={"enum": [*words]})


def number_of(key: str | int, most_digits: int = MOST_DIGITS) -> int | None:
    """The primary key that a caller asks for, or None where they ask by name."""
    text = str(key)
    return int(text) if text.isdecimal() and len(text) <= most_digits else None
