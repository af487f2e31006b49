"""Deafness of an assistant to people where it stands, judged by what it has heard so far.

A line of speech that comes without marks of the server says neither who speaks nor how; it is
known by a name of somebody who was there and a word or a mark of speech, and counted, not believed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.echoes import UNMARKED
from evennia_ai.core.hearing.perception import Evidence, Source

SPEECH = frozenset((Source.SAY, Source.WHISPER, Source.POSE))
_SPEAKS = re.compile(
    r"[\"“”«»„]|\b(?:says?|said|asks?|whispers?|exclaims?|tells?|shouts?|mutters?|murmurs?|replies)\b",
    re.IGNORECASE,
)


class Hears(StrEnum):
    """Three findings about its hearing."""

    WELL = "well"
    NOTHING = "nothing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Hearing:
    """Counts of people's lines among the messages that an assistant keeps.

    Attributes:
        marked: lines that said who speaks and how.
        bare: lines that look like speech and did not.
        newest_bare_at: seconds since the epoch; None for none.
        is_mended: whether the newest line of speech said it.
    """

    marked: int = 0
    bare: int = 0
    newest_bare_at: float | None = None
    is_mended: bool = True

    @property
    def hears(self) -> Hears:
        """The finding: the newest line counts, since the game may have been changed."""
        if not self.marked + self.bare:
            return Hears.UNKNOWN
        return Hears.WELL if self.is_mended else Hears.NOTHING


def listened(records: Iterable[DecisionTrace], names: Collection[str]) -> Hearing:
    """Count what was heard of people; what other assistants said tells nothing of the game.

    Args:
        records: what was heard, the newest first.
        names: of people who may have spoken.
    """
    known = tuple(name.casefold() for name in names if name)
    marked = bare = 0
    newest_bare_at, is_mended = None, True
    for record in records:
        heard = record.heard
        if heard.from_assistant:
            continue
        if heard.source in SPEECH and heard.evidence is not Evidence.NONE:
            marked += 1
        elif heard.source in UNMARKED and _is_speech(heard.body, known):
            if newest_bare_at is None:
                newest_bare_at, is_mended = record.at, marked > 0
            bare += 1
    return Hearing(marked, bare, newest_bare_at, is_mended)


def _is_speech(line: str, names: Collection[str]) -> bool:
    """True for a bare line that begins with a name and tells what its bearer says."""
    told = line.strip().casefold()
    name = next((name for name in names if told.startswith(name)), "")
    return bool(name) and _SPEAKS.search(line, len(name)) is not None
