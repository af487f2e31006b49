"""Outages of a model's service: they lock nobody and pass; staff are told once what it is.

While a service fails, its breaker leaves it alone and tries a call now and then. The first answer
ends the outage, and staff are told that too.
"""

from __future__ import annotations

import math

from evennia.utils import logger

from evennia_ai.core.safety.notices import Notice, rests, unanswered
from evennia_ai.core.turn.react import Stop
from evennia_ai.errors import CircuitOpenError, ConfigurationError, LedgerAwayError
from evennia_ai.messages import outgoing
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerState
from evennia_ai.runtime import services
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


def tell(script: Assistant, stop: Stop, told: str) -> None:
    """Report a turn that failed because of the service: to staff the first time, then to the log.

    Args:
        stop: how the turn ended.
        told: a sentence on whether the sender was told.
    """
    breaker, is_ledgers = breaker_of(script), stop.trouble == LedgerAwayError.trouble
    name = str(script.obj.key)
    if breaker is None:
        line = f"{name} has no model to ask, since a setting is wrong. {told}. Look: "
        outgoing.alert_staff(Notice(f"{line}assistant check {name}", stop.detail))
        return
    troubles, known = services.pool().troubles, services.pool().troubles.get(breaker.name)
    # Staff are told of one outage once, however many assistants and turns it fails.
    if known is not None and stop.trouble in (known, BREAKER_OPEN):
        cause = stop.detail if is_ledgers else unanswered(stop.detail)
        logger.log_warn(f"[assistant] {name}: {cause}. {told}.")
        return
    troubles[breaker.name] = stop.trouble
    # An open breaker only says that nobody was asked; staff need the error that opened it.
    last = breaker.get_stats()["last_failure_error"] if stop.trouble == BREAKER_OPEN else None
    cause = f"{stop.detail} (last: {last})" if last else stop.detail
    when = _when(breaker.retry_after)
    outgoing.alert_staff(rests(name, when, told, cause, is_ledgers=is_ledgers))


def _when(wait: float | None) -> str:
    if wait == math.inf:
        return "when somebody resets its breaker"
    return f"{f'in {wait:.0f} s' if wait else 'with the next message'}, until it answers"


def end(script: Assistant) -> None:
    """Note that an assistant's model has answered; tell staff if they knew of an outage."""
    troubles = services.pool().troubles
    breaker = breaker_of(script) if troubles else None
    if breaker is not None and troubles.pop(breaker.name, None) is not None:
        outgoing.alert_staff(f"{script.obj.key}: its model answers again.", is_over=True)
