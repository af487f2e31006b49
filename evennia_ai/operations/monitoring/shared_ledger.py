"""Upkeep of a ledger that several games share, and reports to staff of what is wrong with it.

Each minute the server shows that it runs, and reserves what it needs of the caps of this day and
the next, so that the first call of a day works even while the ledger is away.
"""

from __future__ import annotations

from evennia.utils import logger
from twisted.internet import reactor

from evennia_ai.budget import ledger
from evennia_ai.core.typed_objects import Account
from evennia_ai.errors import ConfigurationError, LedgerAwayError
from evennia_ai.messages import outgoing
from evennia_ai.messages.lines import literal
from evennia_ai.runtime.assistant import Clock

BEAT_SECONDS = 60.0


class _Watch:
    # The present trouble, and the kind that staff were last told of; "" where all is well.
    trouble = told = ""


def begin(clock: Clock) -> None:
    """Start the upkeep of a shared ledger; the game's own ledger needs none.

    Args:
        clock: the reactor, or a test's clock.
    """
    try:
        is_shared = ledger.is_shared()
    except ConfigurationError:
        return  # Django's system check reports it
    if is_shared:
        _beat(clock)


def _beat(clock: Clock) -> None:
    try:
        _report(_maintain(clock.seconds()))
    except LedgerAwayError:
        pass  # reported where a model call needs it, and it comes back by itself
    except Exception:
        logger.log_trace(
            "[assistant] the shared ledger could not be reconciled; trying again in a minute"
        )
    finally:
        clock.callLater(BEAT_SECONDS, _beat, clock)


def _maintain(now: float) -> str:
    # Returns what is wrong with the ledger, or "".
    try:
        return ledger.store().maintain(ledger.config_for({}), now)
    except LedgerAwayError:  # a ConfigurationError too
        raise
    except ConfigurationError as error:
        return str(error)


def _report(trouble: str) -> None:
    # After the colon stands a time, which changes each minute: only a new kind is reported.
    _Watch.trouble, kind = trouble, trouble.partition(":")[0]
    if kind and kind != _Watch.told:
        outgoing.alert_staff(trouble)
    _Watch.told = kind


def condition() -> tuple[str, str] | None:
    """Describe this game's place in the shared ledger and its trouble; None: it is not shared."""
    try:
        if not ledger.is_shared():
            return None
        ledger.today_of(None, ledger.config_for({}), reactor.seconds())
    except ConfigurationError as error:
        return "No model call is made.", str(error)
    return f"This game is called {ledger.game()!r} there.", _Watch.trouble


def greet_staff(account: Account) -> None:
    """Tell staff at login what is wrong with the shared ledger."""
    if _Watch.trouble and account.check_permstring("Admin"):
        account.msg(f"|r[assistant]|n {literal(_Watch.trouble)}")
