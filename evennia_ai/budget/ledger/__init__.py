"""The ledger: every model call is reserved in the game's database before it is sent.

One `Book` for a server process; the totals themselves are shared by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache

from django.conf import settings
from twisted.internet import reactor

from evennia_ai.budget.ledger.book import Book, unpriced_text
from evennia_ai.budget.ledger.claims import Claim, Need, Payer
from evennia_ai.budget.ledger.grants import Raise, grant, raise_cap
from evennia_ai.budget.ledger.reading import Report, read_report, today_of
from evennia_ai.budget.ledger.rows import MISSING, missing_tables
from evennia_ai.core.safety.prices import NAME as PRICES_NAME
from evennia_ai.core.safety.prices import Price, price_of, read_prices
from evennia_ai.core.settings.budget import GAME_NAME, BudgetConfig
from evennia_ai.core.settings.model import read_once
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.endpoints import Endpoint

__all__ = [
    "MISSING",
    "Book",
    "Claim",
    "Need",
    "Payer",
    "Raise",
    "Report",
    "book",
    "check_settings",
    "config_for",
    "cut_off",
    "flush",
    "grant",
    "missing_tables",
    "prices",
    "raise_cap",
    "release",
    "report",
    "reserve",
    "riding",
    "settle",
    "start_anew",
    "today_of",
]


@lru_cache(maxsize=1)
def book() -> Book:
    """This server process's ledger; what is left in memory is written when it shuts down."""
    made = Book(reactor.callLater)
    reactor.addSystemEventTrigger("before", "shutdown", made.stop)
    return made


def check_settings(endpoint: Endpoint) -> None:
    """Read caps and prices once.

    Args:
        endpoint: the model that is asked for most assistants.

    Raises:
        ConfigurationError: something in them is wrong; or costs are capped, and what this model
            costs nobody said.
    """
    path, model = config_for({}).cost_cap, endpoint.model
    if price_of(prices(), endpoint.provider, model) is None and path:
        raise ConfigurationError(unpriced_text(f"{endpoint.provider}/{model}", path))


def start_anew() -> None:
    """Forget this process's ledger, unwritten: between two tests, which have a database each."""
    if book.cache_info().currsize:
        book().drop()
    book.cache_clear()


def reserve(payer: Payer, need: Need, config: BudgetConfig, now: float) -> Claim:
    """See `Book.reserve`."""
    return book().reserve(payer, need, config, now)


def settle(
    claim: Claim, usage: TokenUsage, now: float, *, model: str = "", price: Price | None = None
) -> None:
    """See `Book.settle`."""
    book().settle(claim, usage, now, model=model, price=price)


def release(claim: Claim, now: float) -> None:
    """See `Book.release`."""
    book().release(claim, now)


def cut_off(claim: Claim, now: float, *, model: str = "", price: Price | None = None) -> None:
    """See `Book.cut_off`."""
    book().cut_off(claim, now, model=model, price=price)


def riding() -> AbstractContextManager[Callable[[], None] | None]:
    """See `Book.riding`."""
    return book().riding()


def flush() -> None:
    """See `Book.flush`."""
    book().flush()


def report(assistant: str | None, config: BudgetConfig, now: float) -> Report:
    """How an assistant stands, or with None the whole game, with all that has ended by now."""
    flush()
    return read_report(assistant, config, now)


def config_for(own: object) -> BudgetConfig:
    """The caps that hold for an assistant.

    Args:
        own: its `budget_config`, {} for the game's alone.

    Raises:
        ConfigurationError: something in them is wrong; the text names the path.
    """
    return read_once(BudgetConfig, BudgetConfig.from_layers, getattr(settings, GAME_NAME, {}), own)


def prices() -> Mapping[str, Price]:
    """What models cost, as the game says.

    Raises:
        ConfigurationError: something in the setting is wrong; the text names the path.
    """
    return read_once(Price, read_prices, getattr(settings, PRICES_NAME, {}))
