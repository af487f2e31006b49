"""Speech without the server's marks: echoes of marked lines, and assistants that are deaf.

A game whose commands report speech with `evennia_ai.hear` usually also sends the line to everybody
present, without marks or with Evennia's: such a line is heard only once. A line that only comes
without marks tells neither who speaks nor how. It is recognized by the name of somebody present and
a word or mark of speech, and only counted, never believed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import RUN_BY_HAND
from evennia_ai.core.hearing.perception import Evidence, Heard, Source

# A command takes both ways, one right after the other.
ECHO_SECONDS = 1.0
MOST_CALLS = 20
# Characters: of longer lines and traces only the beginning is kept.
COMPARED = 1_000
UNMARKED = frozenset((Source.EMIT, Source.SYSTEM))

Call = tuple[float, Heard]


def is_same(call: Heard, other: Heard) -> bool:
    """True if a message is the one that game code reported: marked alike, or the bare line.

    Args:
        call: the message reported by game code.
    """
    if other.evidence is Evidence.CALL:
        return False  # a second report is a second message
    words = call.body[:COMPARED]
    if other.sender_id == call.sender_id and other.source is call.source:
        return other.body[:COMPARED] == words
    if other.source not in UNMARKED or other.sender_id not in ("", call.sender_id):
        return False
    is_of_sender = bool(other.sender_id) or call.sender_name.casefold() in other.body.casefold()
    return is_of_sender and words in other.body


def is_echo(calls: Iterable[Call], heard: Heard, now: float) -> bool:
    """True for a message that game code reported just before.

    Args:
        now: seconds on the clock of the calls.
    """
    return any(0 <= now - at <= ECHO_SECONDS and is_same(call, heard) for at, call in calls)


# Poses go through a command of their own, which says nothing about the game's `say`.
SPEECH = frozenset((Source.SAY, Source.WHISPER))
_SPEECH_SIGN = re.compile(
    r"[\"“”«»„]|\b(?:says?|said|asks?|whispers?|exclaims?|tells?|shouts?|mutters?|murmurs?|replies|"
    r"declares?|announces?|answers?|yells?|proclaims?)\b",
    re.IGNORECASE,
)
# Right behind the name: "Tom: hello", or with any verb, "Tom croaks: hello".
_ANNOUNCED = re.compile(r"\s*\w*\s?:\s")
# A game's own `msg` may put marks or a time before each line, as in "* Tom says".
BEFORE_NAME = re.compile(r"^[\W\d_]{0,20}\s")


class Hears(StrEnum):
    """Findings about an assistant's hearing."""

    WELL = "well"
    NOTHING = "nothing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Hearing:
    """Counts of people's lines among the traces of an assistant.

    Attributes:
        marked: lines whose marks say who speaks and how.
        bare: lines without marks that look like speech.
        newest_bare_at: in seconds since 1970; None if there is none.
        is_mended: whether the newest line of speech was marked.
    """

    marked: int = 0
    bare: int = 0
    newest_bare_at: float | None = None
    is_mended: bool = True

    @property
    def hears(self) -> Hears:
        """The finding. The newest line decides, since the game may have been fixed meanwhile."""
        if not self.marked + self.bare:
            return Hears.UNKNOWN
        return Hears.WELL if self.is_mended else Hears.NOTHING


def listened(records: Iterable[DecisionTrace], names: Collection[str]) -> Hearing:
    """Count the lines of people. Speech of other assistants says nothing about the game."""
    known = tuple(name.casefold() for name in names if name)
    marked = bare = 0
    newest_bare_at, is_mended = None, True
    for record in records:
        heard = record.heard
        if heard.from_assistant or record.verdict.name == RUN_BY_HAND:
            continue
        if heard.source in SPEECH and heard.evidence is not Evidence.NONE:
            marked += 1
        elif heard.source in UNMARKED and _is_speech(
            heard.body, (*known, heard.sender_name.casefold())
        ):
            if newest_bare_at is None:
                # Traces come newest first, so a marked line that was already seen is newer.
                newest_bare_at, is_mended = record.at, marked > 0
            bare += 1
    return Hearing(marked, bare, newest_bare_at, is_mended)


def _is_speech(line: str, names: Collection[str]) -> bool:
    """True for a bare line that begins with a name and goes on with a sign of speech."""
    line = BEFORE_NAME.sub("", f" {line}")
    folded = line.casefold()
    name = next((name for name in names if folded.startswith(name)), "")
    rest = line[len(name) :]
    return bool(name) and bool(_ANNOUNCED.match(rest) or _SPEECH_SIGN.search(rest))
