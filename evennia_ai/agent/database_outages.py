"""Failures of the game's database: nobody can be answered, and staff are told why now and then.

A full disk fails every beat of every assistant, every few seconds: a traceback for each would fill
what is left of it. The first beat that succeeds ends the outage, and staff are told that too.
"""

from __future__ import annotations

import time

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from evennia.utils import logger
from twisted.python.failure import Failure

from evennia_ai.core.safety.notices import Notice
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant

# Raised when the database is locked, full or unreachable.
ERRORS = (InterfaceError, OperationalError)
MAX_ERROR_CHARACTERS = 200
STAFF_LINE = (
    "The game's database fails, and assistants can answer nobody. Whoever asks is told so. "
    "Look: its disk, and whatever else writes to it"
)

ALERT_INTERVAL_SECONDS = 600.0
# When staff were last told, by the primary key of each assistant whose last beat failed.
_FAILED: dict[int, float] = {}


def describe(error: BaseException) -> str:
    """The error in words for staff."""
    return f"the game's database failed: {one_line(str(error), MAX_ERROR_CHARACTERS)}"


def on_beat_failed(script: Assistant, failure: Failure) -> None:
    """Report a failed beat: the database to staff now and then, anything else to the log."""
    if not failure.check(*ERRORS):
        logger.log_err(failure.getTraceback())
        return
    now, told = script.clock.seconds(), max(_FAILED.values(), default=None)
    is_due = told is None or now - told >= ALERT_INTERVAL_SECONDS
    _FAILED[script.pk] = told if told is not None and not is_due else now
    if is_due:
        outgoing.alert_staff(Notice(STAFF_LINE, f"{script.key}: {describe(failure.value)}"))


def on_beat_succeeded(script: Assistant) -> None:
    """Note a beat that succeeded; after a failure it tells staff that the database works again."""
    if script.pk in _FAILED and script.work is not None:
        # A beat without work writes nothing, and would succeed on a full disk.
        try:
            state.write(script, pending_events=script.work.inbox)
        except ERRORS:
            return
        start_anew()
        outgoing.alert_staff("The game's database works again.", is_over=True)


def seconds_of_query() -> float | None:
    """Seconds that a query takes; None where the database fails, or refused the last writes."""
    began = time.perf_counter()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return None
    # A full disk can still be read.
    return None if _FAILED else time.perf_counter() - began


def start_anew() -> None:
    """Forget the failed beats: the outage is over, or another test begins."""
    _FAILED.clear()
