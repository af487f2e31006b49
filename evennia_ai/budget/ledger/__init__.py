"""The ledger: the cost of every model call is reserved in the database before it is sent.

Each server process has one `LedgerStore`; the totals in the database are common to all. Whatever
reads or writes it raises ConfigurationError if a setting is wrong or the tables do not exist, and
LedgerAwayError if a shared ledger does not answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial

from django.conf import settings
from twisted.internet import reactor

from evennia_ai.budget.ledger import place, reading
from evennia_ai.budget.ledger.grants import Raise, grant, raise_cap, take_back
from evennia_ai.budget.ledger.judging import unpriced_text
from evennia_ai.budget.ledger.ledger_store import LedgerStore
from evennia_ai.budget.ledger.names import OWN_NAME
from evennia_ai.budget.ledger.outages import ABSENCE, query_ledger
from evennia_ai.budget.ledger.place import game, is_shared
from evennia_ai.budget.ledger.reading import UsageReport, read_report, read_reports
from evennia_ai.budget.ledger.reservations import (
    BillingContext,
    CostEstimate,
    Reservation,
    bench,
    cost_cap_of,
)
from evennia_ai.budget.ledger.rows import MISSING, missing_tables, missing_text
from evennia_ai.core.safety.budget import CapStanding
from evennia_ai.core.safety.prices import NAME as PRICES_NAME
from evennia_ai.core.safety.prices import Price, price_of, read_prices
from evennia_ai.core.settings.budget import CAPS, GAME_NAME, BudgetConfig, Scope
from evennia_ai.core.settings.model import read_once
from evennia_ai.core.settings.services import LedgerConfig
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.endpoints import Endpoint

__all__ = [
    "MISSING",
    "BillingContext",
    "CostEstimate",
    "LedgerStore",
    "Raise",
    "Reservation",
    "UsageReport",
    "bench",
    "check_priced",
    "check_settings",
    "config_for",
    "cost_cap_of",
    "game",
    "grant",
    "is_shared",
    "missing_tables",
    "missing_text",
    "prices",
    "raise_cap",
    "report",
    "reports",
    "start_anew",
    "store",
    "take_back",
    "today_of",
    "unpriced_text",
]


@lru_cache(maxsize=1)
def store() -> LedgerStore:
    """This server process's ledger; it is flushed when the reactor shuts down."""
    ledger_store = LedgerStore(reactor.callLater)
    reactor.addSystemEventTrigger("before", "shutdown", ledger_store.stop)
    return ledger_store


def check_settings(endpoints: Iterable[Endpoint]) -> None:
    """Validate caps and prices.

    Args:
        endpoints: the game's default model and its fallback models.

    Raises:
        ConfigurationError: a cap or price is wrong, or costs are capped and one of these models has
            no price.
    """
    if not place.is_shared() and any(getattr(config_for({}).all_games, name) for name in CAPS):
        raise ConfigurationError(
            f"{GAME_NAME}.all_games has caps, and no other game shares the ledger: say where it is "
            f"in {LedgerConfig.NAME}, as docs/scale.md tells, or take them out"
        )
    prices()  # wrong ones are told without a cap on money, too
    check_priced(endpoints, config_for({}).cost_cap)


def check_priced(endpoints: Iterable[Endpoint], path: str) -> None:
    """Refuse models without a price where costs are capped.

    Args:
        path: of the cap in the settings; "": there is none.

    Raises:
        ConfigurationError: one of them has no price; it would count as free, and the cap would
            never be reached.
    """
    for each in endpoints if path else ():
        if price_of(prices(), each.provider, each.model) is None:
            raise ConfigurationError(unpriced_text(f"{each.provider}/{each.model}", path))


def start_anew() -> None:
    """Drop this process's ledger without writing it; tests have a database each."""
    if store.cache_info().currsize:
        store().drop()
    store.cache_clear()
    place.clear_cache()
    ABSENCE.forget()
    OWN_NAME.forget()


def report(scope: Scope, key: str, config: BudgetConfig, now: float) -> UsageReport:
    """The report on one of the caps' scopes, including calls not yet written.

    Args:
        key: name of the assistant; "" for any other scope.
    """
    store().flush()
    return query_ledger(partial(read_report, scope, key.casefold(), config, now))


def reports(configs: Mapping[str, BudgetConfig], now: float) -> dict[str, UsageReport]:
    """The reports on many assistants by name, including calls not yet written."""
    store().flush()
    return query_ledger(partial(read_reports, configs, now))


def today_of(assistant: str | None, config: BudgetConfig, now: float) -> CapStanding:
    """The use of an assistant's daily token cap; see `reading.today_of`."""
    store().flush()
    return reading.today_of(assistant, config, now)


def config_for(own: object) -> BudgetConfig:
    """The caps for an assistant: the game's, overridden by its own.

    Args:
        own: its `budget_config`; {} gives the game's caps.
    """
    return read_once(BudgetConfig, BudgetConfig.from_layers, getattr(settings, GAME_NAME, {}), own)


def prices() -> Mapping[str, Price]:
    """The prices of models from the game's settings."""
    return read_once(Price, read_prices, getattr(settings, PRICES_NAME, {}))
