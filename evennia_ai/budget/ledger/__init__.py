"""The ledger: every model call is reserved in the game's database before it is sent.

One `LedgerStore` for a server process; the totals themselves are shared by all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from django.conf import settings
from twisted.internet import reactor

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.absence import ABSENCE
from evennia_ai.budget.ledger.grants import Raise, grant, raise_cap
from evennia_ai.budget.ledger.judging import unpriced_text
from evennia_ai.budget.ledger.ledger_store import LedgerStore
from evennia_ai.budget.ledger.names import OURS
from evennia_ai.budget.ledger.reading import UsageReport, read_report, read_reports, today_of
from evennia_ai.budget.ledger.reservations import (
    BillingContext,
    CostEstimate,
    Reservation,
    bench,
)
from evennia_ai.budget.ledger.rows import MISSING, missing_tables, missing_text
from evennia_ai.core.safety.prices import NAME as PRICES_NAME
from evennia_ai.core.safety.prices import Price, price_of, read_prices
from evennia_ai.core.settings.budget import CAPS, GAME_NAME, BudgetConfig
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
    "check_settings",
    "config_for",
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
    "today_of",
]


@lru_cache(maxsize=1)
def store() -> LedgerStore:
    """This server process's ledger; what is left in memory is written when it shuts down."""
    made = LedgerStore(reactor.callLater)
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
    if not place.is_shared() and any(getattr(config_for({}).all_games, name) for name in CAPS):
        raise ConfigurationError(
            f"{GAME_NAME}.all_games has caps, and no other game shares the ledger: say where it is "
            f"in {LedgerConfig.NAME}, as docs/scale.md tells, or take them out"
        )
    path, model = config_for({}).cost_cap, endpoint.model
    # A model without a price counts as 0, so that a cap on costs would never be reached.
    if price_of(prices(), endpoint.provider, model) is None and path:
        raise ConfigurationError(unpriced_text(f"{endpoint.provider}/{model}", path))


def start_anew() -> None:
    """Forget this process's ledger, unwritten: between two tests, which have a database each."""
    if store.cache_info().currsize:
        store().drop()
    store.cache_clear()
    place.read_anew()
    ABSENCE.forget()
    OURS.forget()


def report(
    assistant: str | None,
    config: BudgetConfig,
    now: float,
    *,
    is_bench: bool = False,
    is_all: bool = False,
) -> UsageReport:
    """The report on an assistant, or with None on the game, with all that has ended by now.

    Args:
        is_bench, is_all: as of `read_report`.
    """
    store().flush()
    return read_report(assistant, config, now, is_bench=is_bench, is_all=is_all)


def is_shared() -> bool:
    """True where several games share the ledger."""
    return place.is_shared()


def game() -> str:
    """The name of this game where several share the ledger; "" in its own."""
    return place.game()


def reports(configs: Mapping[str, BudgetConfig], now: float) -> dict[str, UsageReport]:
    """The reports on many assistants by their names, with all that has ended by now."""
    store().flush()
    return read_reports(configs, now)


def config_for(own: object) -> BudgetConfig:
    """The caps that hold for an assistant.

    Args:
        own: its `budget_config`, {} for the game's alone.

    Raises:
        ConfigurationError: something in them is wrong; the text names the path.
    """
    return read_once(BudgetConfig, BudgetConfig.from_layers, getattr(settings, GAME_NAME, {}), own)


def prices() -> Mapping[str, Price]:
    """The prices of models, as the game says.

    Raises:
        ConfigurationError: something in the setting is wrong; the text names the path.
    """
    return read_once(Price, read_prices, getattr(settings, PRICES_NAME, {}))
