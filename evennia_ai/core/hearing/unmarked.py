"""Speech without marks of the server: echoes of a line that came with them, and deafness.

A game whose own commands say who speaks by `evennia_ai.hear` mostly sends the line to all who are
there as well, without marks or with those of Evennia: such a line is heard once. A line of speech
that comes without marks says neither who speaks nor how; it is known by a name of somebody who was
there and a word or a mark of speech, and counted, not believed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.perception import Evidence, Heard, Source

# The two ways are taken by one command, one right after the other.
ECHO_SECONDS = 1.0
MOST_CALLS = 20
UNMARKED = frozenset((Source.EMIT, Source.SYSTEM))

Call = tuple[float, Heard]


def is_same(call: Heard, other: Heard) -> bool:
    """True where another message is the one that game code told of: marked alike, or a bare line.

    Args:
        call: what game code told.
    """
    if other.evidence is Evidence.CALL:
        return False  # said again
    if other.sender_id == call.sender_id and other.source is call.source:
        return other.body == call.body
    if other.source not in UNMARKED or other.sender_id not in ("", call.sender_id):
        return False
    is_of_sender = bool(other.sender_id) or call.sender_name.casefold() in other.body.casefold()
    return is_of_sender and call.body in other.body


def is_echo(calls: Iterable[Call], heard: Heard, now: float) -> bool:
    """True for a message that game code told of just before.

    Args:
        now: seconds on the clock by which the calls were noted.
    """
    return any(0 <= now - at <= ECHO_SECONDS and is_same(call, heard) for at, call in calls)


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
                # Traces come newest first: a marked line that was met already is newer.
                newest_bare_at, is_mended = record.at, marked > 0
            bare += 1
    return Hearing(marked, bare, newest_bare_at, is_mended)


def _is_speech(line: str, names: Collection[str]) -> bool:
    """True for a bare line that begins with a name and tells what its bearer says."""
    told = line.strip().casefold()
    name = next((name for name in names if told.startswith(name)), "")
    return bool(name) and _SPEAKS.search(line, len(name)) is not None
