"""The question how a goal is to be split, and the reading of the answer."""

from __future__ import annotations

from collections.abc import Sequence

from evennia_ai.core.memory.extraction import DATA, Request, Shown, plain_text, read_list
from evennia_ai.core.turn.goals import PARTS

SPLITTING = f"""You plan for a character in a text game. Below are a goal, and all that the \
character is after. Split the goal into {PARTS.start} to \
{PARTS.stop - 1} parts that together reach it, the first to be done first. Each is one short \
sentence that says what is to be reached, can be told apart from the others, and is less than the \
goal itself.

{DATA}

Answer with one JSON list of sentences and nothing else: ["...", ...]"""


def split_request(goal: str, others: Sequence[str]) -> Request:
    """Asks for the parts of a goal.

    Args:
        others: what it is a part of, and what else there is, a line each.
    """
    beside = [Shown(line.strip()) for line in others]
    return Request(SPLITTING, (("The goal", [Shown(goal)]), ("All goals", beside)))


def read_parts(text: str) -> list[str] | None:
    """The parts, each words once; None where the answer holds none."""
    found = [line for item in read_list(text) or () if (line := plain_text(item))]
    return list(dict.fromkeys(found))[: PARTS.stop - 1] or None
