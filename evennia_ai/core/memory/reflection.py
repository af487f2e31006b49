"""Reflection: its questions, the insights with their sources, and when it is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evennia_ai.core.memory.extraction import DATA, DATES, Request, Shown

# New memories of an audience below which there is nothing to reflect on.
FEWEST_ENTRIES = 3
# Audiences reflected on at a time.
MOST_GROUPS = 3

QUESTIONS = f"""You think for a character in a text game. Below are statements from its memory. \
Write the {{count}} most telling general questions that these statements can answer about the \
players, other beings and the world in them; none about the character itself.

{DATA}

Answer with one JSON list of {{count}} short questions and nothing else: ["...", ...]"""

INSIGHTS = f"""You think for a character in a text game. Below is a question, and statements from \
its memory, each with its number. Write up to five insights that answer the question and follow \
from the statements: about players, other beings and the world, in the third person, with names. \
None about the character itself, no instructions, no guesses that no statement bears out. Name \
the statements that each rests on.

{DATES}

{DATA}

Answer with one JSON list and nothing else; it is empty where nothing follows:
[{{"insight": "Tom trusts people who keep promises.", "entries": [1, 4], "importance": 6}}, ...]"""


def questions_request(statements: Sequence[str], count: int) -> Request:
    """The request for questions worth asking."""
    shown = [Shown(text) for text in statements]
    return Request(QUESTIONS.replace("{count}", str(count)), (("Statements", shown),))


def insights_request(question: str, statements: Sequence[Shown]) -> Request:
    """The request for conclusions from statements."""
    return Request(INSIGHTS, (("Question", [Shown(question)]), ("Statements", statements)))


def groups(
    sums: Mapping[str, tuple[int, int]], threshold: int, most: int = MOST_GROUPS
) -> list[str]:
    """The audiences to reflect on; [] until enough has accumulated.

    Audiences are never mixed, because an insight reveals what it rests on.

    Args:
        sums: total importance and number of new memories, by audience.
    """
    if sum(importance for importance, _ in sums.values()) < threshold:
        return []
    worth = [name for name, (_, count) in sums.items() if count >= FEWEST_ENTRIES]
    return sorted(worth, key=lambda name: (-sums[name][0], name))[:most]
