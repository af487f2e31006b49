"""Working memory: the talks that are going on, by person.

They are only in memory and expire; what was said is in the journal.
"""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.core.memory.profiles import MEETING_SECONDS
from evennia_ai.runtime.assistant import Assistant

# Within a talk the profile is updated once in this time, which saves a query per turn.
MET_SECONDS = 60.0


@dataclass(slots=True)
class Talk:
    """A talk with one person.

    Attributes:
        began_at, last_at: seconds of the assistant's clock.
        is_private: whether that was for the assistant alone.
        met_at: time of the last update of their profile; 0 if there was none.
    """

    began_at: float
    last_at: float
    turns: int = 0
    words: str = ""
    met_at: float = 0.0
    is_private: bool = False


def going_on(script: Assistant, person: str) -> Talk | None:
    """The talk with a person; None after a quarter of an hour of silence."""
    talk: Talk | None = script.work.talks.get(person)
    if talk is None or script.clock.seconds() - talk.last_at >= MEETING_SECONDS:
        return None
    return talk


def is_just_met(script: Assistant, person: str) -> bool:
    """True if the person's profile was updated within the last minute of this talk."""
    talk = going_on(script, person)
    return talk is not None and 0 <= script.clock.seconds() - talk.met_at < MET_SECONDS


def note(
    script: Assistant,
    person: str,
    at: float | None = None,
    words: str = "",
    *,
    is_private: bool = False,
    is_remembered: bool = True,
) -> None:
    """Note the end of a turn with a person, and remove talks that are over.

    Args:
        at: time of the assistant's clock; None: now.
        is_private: whether that was for the assistant alone.
    """
    work, ended_at = script.work, script.clock.seconds() if at is None else at
    talk = going_on(script, person) or Talk(ended_at, ended_at)
    work.talks = {name: old for name, old in work.talks.items() if going_on(script, name)}
    is_met = not is_remembered or is_just_met(script, person)
    met_at = talk.met_at if is_met else ended_at
    work.talks[person] = Talk(talk.began_at, ended_at, talk.turns + 1, words, met_at, is_private)
    if not is_remembered:
        return
    work.has_news = True
    if work.unsorted is not None:
        work.unsorted += 1
