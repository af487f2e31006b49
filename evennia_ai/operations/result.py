"""What every operation gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an operation.

    Attributes:
        message: a sentence for a person.
        data: the same for a program.
    """

    ok: bool
    message: str
    data: dict[str, Any] = field(default_factory=dict)
