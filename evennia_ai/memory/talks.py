"""Working memory: the talk that is going on with somebody. It lives in memory and ends by itself.

What is worth more than that is in the journal; this says whom an assistant is in the middle of
talking with, since when, and how much.
"""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.core.memory.profiles import MEETING_SECONDS
from evennia_ai.runtime.assistant import Assistant


@dataclass(slots=True)
class Talk:
    """One talk with one person.

    Attributes:
        began_at, last_at: seconds on the assistant's clock.
        turns: how often the person was answered in it.
        words: what they said last.
    """

    began_at: float
    last_at: float
    turns: int = 0
    words: str = ""


def going_on(script: Assistant, person: str) -> Talk | None:
    """The talk with a person; None where they said nothing for a quarter of an hour."""
    talk: Talk | None = script.work.talks.get(person)
    if talk is None or script.clock.seconds() - talk.last_at >= MEETING_SECONDS:
        return None
    return talk


def note(script: Assistant, person: str, at: float | None = None, words: str = "") -> None:
    """A turn with a person has ended; talks that are over leave.

    Args:
        at: when, on the assistant's clock; None: now.
        words: what the person said.
    """
    work, ended = script.work, script.clock.seconds() if at is None else at
    talk = going_on(script, person) or Talk(ended, ended)
    work.talks = {name: old for name, old in work.talks.items() if going_on(script, name)}
    work.talks[person] = Talk(talk.began_at, ended, talk.turns + 1, words)
    work.has_news = True
    if work.unsorted is not None:
        work.unsorted += 1
