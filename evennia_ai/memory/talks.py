"""Working memory: the talk that is going on with somebody. It lives in memory and ends by itself.

What is worth more than that is in the journal; this says whom an assistant is in the middle of
talking with, since when, and how much.
"""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.core.memory.profiles import MEETING_SECONDS
from evennia_ai.runtime.assistant import Assistant

# A profile says to the minute when somebody was met last.
MET_SECONDS = 60.0


@dataclass(slots=True)
class Talk:
    """One talk with one person.

    Attributes:
        began_at, last_at: seconds on the assistant's clock.
        turns: how often the person was answered in it.
        words: what they said last.
        met_at: when their profile was last told of it; 0: not yet.
    """

    began_at: float
    last_at: float
    turns: int = 0
    words: str = ""
    met_at: float = 0.0


def going_on(script: Assistant, person: str) -> Talk | None:
    """The talk with a person; None where they said nothing for a quarter of an hour."""
    talk: Talk | None = script.work.talks.get(person)
    if talk is None or script.clock.seconds() - talk.last_at >= MEETING_SECONDS:
        return None
    return talk


def is_just_met(script: Assistant, person: str) -> bool:
    """True where the profile of somebody says, to the minute, that they are being talked with."""
    talk = going_on(script, person)
    return talk is not None and 0 <= script.clock.seconds() - talk.met_at < MET_SECONDS


def note(script: Assistant, person: str, at: float | None = None, words: str = "") -> None:
    """A turn with a person has ended; talks that are over leave.

    Args:
        at: when, on the assistant's clock; None: now.
        words: what the person said.
    """
    work, ended = script.work, script.clock.seconds() if at is None else at
    talk = going_on(script, person) or Talk(ended, ended)
    work.talks = {name: old for name, old in work.talks.items() if going_on(script, name)}
    met_at = talk.met_at if is_just_met(script, person) else ended
    work.talks[person] = Talk(talk.began_at, ended, talk.turns + 1, words, met_at)
    work.has_news = True
    if work.unsorted is not None:
        work.unsorted += 1
