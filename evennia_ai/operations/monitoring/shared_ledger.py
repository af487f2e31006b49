"""A ledger that several games share, seen to while nobody talks; and what is wrong with it, told.

Each minute the server shows that it runs, and sets aside what is wanted for this day and the next,
so that the first call of a day need not find the ledger there.
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
    """The trouble that there is, and that of which staff were told; "" where all is well."""

    trouble = told = ""


def begin(clock: Clock) -> None:
    """See to it now, and each minute; a ledger of the game's own needs nothing.

    Args:
        clock: the reactor, or a test's clock.
    """
    try:
        is_shared = ledger.is_shared()
    except ConfigurationError:
        return  # which the game's check tells
    if is_shared:
        _beat(clock)


def _beat(clock: Clock) -> None:
    try:
        _tell(_keep(clock.seconds()))
    except LedgerAwayError:
        pass  # whoever talks is told, and it comes back by itself
    except Exception:
        logger.log_trace("[assistant] the shared ledger could not be seen to; in a minute again")
    finally:
        clock.callLater(BEAT_SECONDS, _beat, clock)


def _keep(now: float) -> str:
    """See to it, and return what is wrong with it."""
    try:
        return ledger.store().keep(ledger.config_for({}), now)
    except LedgerAwayError:
        raise
    except ConfigurationError as error:
        return str(error)


def _tell(trouble: str) -> None:
    """Tell staff and the log of what is new; when another was last seen is told after a colon."""
    _Watch.trouble, kind = trouble, trouble.partition(":")[0]
    if kind and kind != _Watch.told:
        outgoing.alert_staff(trouble)
    _Watch.told = kind


def condition() -> tuple[str, str] | None:
    """This game's place in the ledger, and what is wrong with it; None: it has one of its own."""
    try:
        if not ledger.is_shared():
            return None
        ledger.today_of(None, ledger.config_for({}), reactor.seconds())
    except ConfigurationError as error:
        return "No model call is made.", str(error)
    return f"This game is called {ledger.game()!r} there.", _Watch.trouble


def greet_staff(account: Account) -> None:
    """Tell staff who come in of it."""
    if _Watch.trouble and account.check_permstring("Admin"):
        account.msg(f"|r[assistant]|n {literal(_Watch.trouble)}")
