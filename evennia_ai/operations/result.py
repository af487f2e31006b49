"""What every operation gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Problem(StrEnum):
    """What kind of thing is wrong, for programs; people read the message."""

    NONE = ""
    INVALID = "invalid"  # what was given makes no sense
    FORBIDDEN = "forbidden"  # somebody else may
    MISSING = "missing"  # there is no such thing
    CONFLICT = "conflict"  # not in the state it is in
    UNAVAILABLE = "unavailable"  # not now


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an operation.

    Attributes:
        message: a sentence for a person.
        data: the same for a program: plain data where another program may read it.
        problem: what kind of thing was wrong; of what is ok, none.
    """

    ok: bool
    message: str
    data: dict[str, Any] = field(default_factory=dict)
    problem: Problem = Problem.NONE

    def __post_init__(self) -> None:
        if not self.ok and not self.problem:
            object.__setattr__(self, "problem", Problem.INVALID)
