"""Trouble of the game's database: nobody can be answered, and staff read now and then why.

A disk that is full fails every beat of every assistant, every few seconds: a traceback for each
would fill what is left of it. The first beat that goes through ends it, and staff are told, too.
"""

from __future__ import annotations

from django.db import InterfaceError, OperationalError
from evennia.utils import logger
from twisted.python.failure import Failure

from evennia_ai.core.safety.notices import Notice
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.messages import outgoing
from evennia_ai.runtime.assistant import Assistant

# As of a database that is locked, full, or away.
ERRORS = (InterfaceError, OperationalError)
MOST_TOLD = 200
LINE = (
    "The game's database fails, and assistants can answer nobody. What was said to them waits. "
    "Look: its disk, and whatever else writes to it"
)
# While it lasts staff are told as often as this.
BETWEEN_SECONDS = 600.0
# The assistants of which a beat has failed, by number, and when staff were told last.
_FAILED: dict[int, float] = {}


def words(error: BaseException) -> str:
    """The error as staff read it."""
    return f"the game's database failed: {one_line(str(error), MOST_TOLD)}"


def broke(script: Assistant, failure: Failure) -> None:
    """Tell of a beat that broke: of the database now and then, of anything else each time."""
    if not failure.check(*ERRORS):
        logger.log_err(failure.getTraceback())
        return
    now, told = script.clock.seconds(), max(_FAILED.values(), default=None)
    is_due = told is None or now - told >= BETWEEN_SECONDS
    _FAILED[script.pk] = told if told is not None and not is_due else now
    if is_due:
        outgoing.alert_staff(Notice(LINE, f"{script.key}: {words(failure.value)}"))


def went_well(script: Assistant) -> None:
    """Note a beat that did not break; after one that did, the database works again."""
    if script.pk in _FAILED:
        start_anew()
        outgoing.alert_staff("The game's database works again.", is_over=True)


def start_anew() -> None:
    """Forget which beats have failed: it is over, or another test begins."""
    _FAILED.clear()
