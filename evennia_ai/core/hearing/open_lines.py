"""The choice among several assistants that hear an open line which calls nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evennia_ai.errors import ConfigurationError

# So long after it last spoke with somebody an assistant comes first with their next line.
TALK_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Offer:
    """An assistant that would answer a line.

    Attributes:
        is_talking: the line goes on with a talk that it has with the speaker there.
        ago_seconds: since its last turn for the speaker; infinite: it never had one.
        chosen: the number of the last line that it was chosen for; the lower, the longer ago.
    """

    is_talking: bool
    ago_seconds: float
    chosen: int

    @property
    def rank(self) -> tuple[bool, float, int]:
        """Lowest first: who is in a talk with the speaker, who spoke last with them, whose turn."""
        spoke_of_late = self.ago_seconds < TALK_SECONDS
        return not self.is_talking, self.ago_seconds if spoke_of_late else TALK_SECONDS, self.chosen


def read_most(where: str, value: Any) -> int:
    """The most assistants that answer such a line; 0: all that would.

    Raises:
        ConfigurationError: it is no whole number from 0 up; the message begins with `where`.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ConfigurationError(
        f"{where} is {value!r}; it must be a whole number from 0 up, 0 for all that hear a line"
    )
