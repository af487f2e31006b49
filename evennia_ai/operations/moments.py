"""Times as people type them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from evennia_ai.core.text.cleaning import one_line

TIMES = "2026-11-21, 2026-11-21 17:00, or 2 hours ago; without a zone it is UTC"
_AGO = re.compile(r"(\d{1,6}) (second|minute|hour|day|week)s? ago", re.ASCII)
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII
)


def moment_of(text: str, now: datetime) -> datetime:
    """A time as somebody typed it: ISO 8601, or so long ago.

    Raises:
        ValueError: it is none, or not over yet; the message is for people.
    """
    words, shown = " ".join(text.split()), repr(one_line(text, 40))
    try:
        moment = _read_moment(words, now)
    except (ValueError, OverflowError):
        raise ValueError(f"{shown} is no time; a time is like {TIMES}.") from None
    if moment > now:
        raise ValueError(f"{shown} is not over yet: it is {now:%Y-%m-%d %H:%M} UTC.")
    return moment


def _read_moment(words: str, now: datetime) -> datetime:
    if ago := _AGO.fullmatch(words.casefold()):
        return now - timedelta(**{f"{ago[2]}s": int(ago[1])})
    if not _ISO.fullmatch(words.upper()):
        raise ValueError(words)
    moment = datetime.fromisoformat(words.upper())
    # The first and the last day of all have no place in every zone.
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
