"""Trouble of a model's service: it locks nobody and passes by itself; staff read once what it is.

While a service fails, its breaker leaves it alone and tries it again with a call now and then. The
first answer ends it, and staff are told of that, too.
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

ANY = CircuitOpenError.trouble


def breaker_of(script: Assistant) -> CircuitBreaker | None:
    """The breaker of an assistant's model, None where it is set up wrongly."""
    try:
        return services.pool().breaker_of(script.endpoint())
    except ConfigurationError:
        return None


def is_resting(script: Assistant) -> bool:
    """True where an assistant's model is left alone now, or has yet to answer after that."""
    breaker = breaker_of(script)
    return breaker is not None and breaker.state is not CircuitBreakerState.CLOSED


def tell(script: Assistant, stop: Stop, told: str) -> None:
    """Tell of a turn that failed by the service: to staff the first time, then to the log.

    Args:
        stop: how the turn ended.
        told: who was told that no answer will come.
    """
    breaker, is_ledgers = breaker_of(script), stop.trouble == LedgerAwayError.trouble
    name = str(script.obj.key)
    if breaker is None:
        line = f"{name} has no model to ask, since a setting is wrong. {told}. Look: "
        outgoing.alert_staff(Notice(f"{line}assistant check {name}", stop.detail))
        return
    troubles, known = services.pool().troubles, services.pool().troubles.get(breaker.name)
    # Staff read of one outage once, however many assistants and turns it fails.
    if known is not None and stop.trouble in (known, ANY):
        cause = stop.detail if is_ledgers else unanswered(stop.detail)
        logger.log_warn(f"[assistant] {name}: {cause}. {told}.")
        return
    troubles[breaker.name] = stop.trouble
    # An open breaker says only that nobody was asked; staff want to know why it opened.
    last = breaker.get_stats()["last_failure_error"] if stop.trouble == ANY else None
    cause = f"{stop.detail} (last: {last})" if last else stop.detail
    when = _when(breaker.retry_after)
    outgoing.alert_staff(rests(name, when, told, cause, is_ledgers=is_ledgers))


def _when(wait: float | None) -> str:
    if wait == math.inf:
        return "when somebody resets its breaker"
    return f"{f'in {wait:.0f} s' if wait else 'with the next message'}, until it answers"


def end(script: Assistant) -> None:
    """Note that an assistant's model has answered; staff who read of its trouble are told."""
    troubles = services.pool().troubles
    breaker = breaker_of(script) if troubles else None
    if breaker is not None and troubles.pop(breaker.name, None) is not None:
        outgoing.alert_staff(f"{script.obj.key}: its model answers again.", is_over=True)
