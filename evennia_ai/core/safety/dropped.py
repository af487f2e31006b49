"""Work that an emergency stop cut off, and the sentence that reports it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_NAMED = 5


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "Tom", "Tom and Mira"; of many the first few, and a count."""
    parts = list(names)
    # An emergency stop of the whole game may concern hundreds of people.
    if len(names) > MOST_NAMED:
        parts = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} others"]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _counted(number: int, one: str, many: str) -> str:
    if not number:
        return ""
    return f"one {one}" if number == 1 else f"{number:,} {many}"


@dataclass(frozen=True, slots=True)
class Dropped:
    """Work that an emergency stop cut off.

    Attributes:
        is_new: whether it changed anything; an assistant may have been stopped already.
        messages: waiting messages that were returned to their senders.
        names: names of these senders.
        untold: waiting messages whose senders could not be told.
    """

    is_new: bool = False
    calls: int = 0
    tools: tuple[str, ...] = ()
    questions: int = 0
    messages: int = 0
    names: tuple[str, ...] = ()
    untold: int = 0

    def __add__(self, other: Dropped) -> Dropped:
        return Dropped(
            self.is_new or other.is_new,
            self.calls + other.calls,
            self.tools + other.tools,
            self.questions + other.questions,
            self.messages + other.messages,
            tuple(dict.fromkeys(self.names + other.names)),
            self.untold + other.untold,
        )

    def describe(self) -> str:
        """All of it in one sentence, or "" if nothing was under way."""
        returned = _counted(
            self.messages, "waiting message was returned", "waiting messages were returned"
        )
        sentences = (
            _counted(self.calls, "call in flight was dropped", "calls in flight were dropped"),
            f"the work of {listed([tool.replace('_', ' ') for tool in self.tools])} was cut off"
            if self.tools
            else "",
            _counted(
                self.questions, "open question was withdrawn", "open questions were withdrawn"
            ),
            f"{returned} to {listed(self.names)}" if returned else "",
            _counted(
                self.untold,
                "waiting message could not be returned",
                "waiting messages could not be returned",
            ),
        )
        sentence = "; ".join(filter(None, sentences))
        return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""
