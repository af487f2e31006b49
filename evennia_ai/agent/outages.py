"""Outages of a model's service and of the game's database: staff are told when they begin and end.

While a service fails, its breaker leaves it alone and tries a call now and then; this locks nobody,
and passes with the first answer. While the database fails nobody can be answered. A full disk fails
every beat of every assistant, every few seconds: a traceback for each would fill what is left of
it. The first beat that succeeds ends that outage.
"""

from __future__ import annotations

import math
import time
from secrets import token_hex

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from evennia.server.models import ServerConfig
from evennia.utils import logger
from twisted.python.failure import Failure

from evennia_ai.core.safety.notices import Notice, rests, unanswered
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.react import Stop
from evennia_ai.errors import CircuitOpenError, ConfigurationError, LedgerAwayError
from evennia_ai.messages import outgoing
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerState
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant

# An open breaker: nobody was asked, so any trouble that staff know of may be the cause.
BREAKER_OPEN = CircuitOpenError.trouble


def breaker_of(script: Assistant) -> CircuitBreaker | None:
    """The circuit breaker of an assistant's model; None where its settings are wrong."""
    try:
        return services.pool().breaker_of(script.endpoint())
    except ConfigurationError:
        return None


def is_resting(script: Assistant) -> bool:
    """True while the breaker of an assistant's model is open, or tests whether it works again."""
    breaker = breaker_of(script)
    return breaker is not None and breaker.state is not CircuitBreakerState.CLOSED


def on_model_failed(script: Assistant, stop: Stop, ending: str) -> None:
    """Report a turn that failed for its service: to staff the first time, then to the log."""
    breaker, is_ledgers = breaker_of(script), stop.trouble == LedgerAwayError.trouble
    name = str(script.obj.key)
    if breaker is None:
        line = f"{name} has no model to ask, since a setting is wrong. {ending}. Look: "
        outgoing.alert_staff(Notice(f"{line}assistant check {name}", stop.detail))
        return
    troubles, known = services.pool().troubles, services.pool().troubles.get(breaker.name)
    # Staff are told of one outage once, however many assistants and turns it fails.
    if known is not None and stop.trouble in (known, BREAKER_OPEN):
        cause = stop.detail if is_ledgers else unanswered(stop.detail)
        logger.log_warn(f"[assistant] {name}: {cause}. {ending}.")
        return
    troubles[breaker.name] = stop.trouble
    # An open breaker only says that nobody was asked; staff need the error that opened it.
    last = breaker.get_stats()["last_failure_error"] if stop.trouble == BREAKER_OPEN else None
    cause = f"{stop.detail} (last: {last})" if last else stop.detail
    when = _when(breaker.retry_after)
    outgoing.alert_staff(rests(name, when, ending, cause, is_ledgers=is_ledgers))


def _when(wait: float | None) -> str:
    if wait == math.inf:
        return "when somebody resets its breaker"
    return f"{f'in {wait:.0f} s' if wait else 'with the next message'}, until it answers"


def on_model_answered(script: Assistant) -> None:
    """Note that an assistant's model has answered; tell staff if they knew of an outage."""
    troubles = services.pool().troubles
    breaker = breaker_of(script) if troubles else None
    if breaker is not None and troubles.pop(breaker.name, None) is not None:
        outgoing.alert_staff(f"{script.obj.key}: its model answers again.", is_over=True)


# Raised when the database is locked, full or unreachable.
DATABASE_ERRORS = (InterfaceError, OperationalError)
MAX_ERROR_CHARACTERS = 200
STAFF_LINE = (
    "The game's database fails, and assistants can answer nobody. Whoever asks is told so. "
    "Look: its disk, and whatever else writes to it"
)

ALERT_INTERVAL_SECONDS = 600.0
# A row that is written and deleted again; random, so that no database compresses it.
_PROBE, _PROBE_BYTES = "evennia_ai_probe", 32_768
# When staff were last told, by the primary key of each assistant whose last beat failed.
_FAILED: dict[int, float] = {}


def describe_error(error: BaseException) -> str:
    """The error in words for staff."""
    return f"the game's database failed: {one_line(str(error), MAX_ERROR_CHARACTERS)}"


def on_beat_failed(script: Assistant, failure: Failure) -> None:
    """Report a failed beat: the database to staff now and then, anything else to the log."""
    if not failure.check(*DATABASE_ERRORS):
        logger.log_err(failure.getTraceback())
        return
    now, last_alert = script.clock.seconds(), max(_FAILED.values(), default=None)
    is_due = last_alert is None or now - last_alert >= ALERT_INTERVAL_SECONDS
    _FAILED[script.pk] = last_alert if last_alert is not None and not is_due else now
    if is_due:
        outgoing.alert_staff(Notice(STAFF_LINE, f"{script.key}: {describe_error(failure.value)}"))


def on_beat_succeeded(script: Assistant) -> None:
    """Note a beat that succeeded; after a failure it tells staff that the database works again."""
    if script.pk in _FAILED and script.work is not None:
        # A beat without work writes nothing, and would succeed on a full disk. On one that is
        # nearly full, small changes still fit, and an answer does not.
        try:
            state.write(script, pending_events=script.work.inbox)
            ServerConfig.objects.conf(_PROBE, token_hex(_PROBE_BYTES))
            ServerConfig.objects.conf(_PROBE, delete=True)
        except DATABASE_ERRORS:
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
