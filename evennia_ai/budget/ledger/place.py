"""The ledger's database: the game's own, or one that several games share.

In a shared one each row has the name of its game, since player #5 of two games is two players; the
totals over all games have none. It is a separate database: a transaction never covers both, and it
may be unreachable while the game runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import connections, router
from django.db.models import Model

from evennia_ai.core.safety.budget import BudgetAccount
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.settings.services import LedgerConfig
from evennia_ai.errors import ConfigurationError
from evennia_ai.models import APP, BudgetTotal, LedgerGame, ModelCall

TABLES = (BudgetTotal, ModelCall, LedgerGame)
POSTGRESQL = "django.db.backends.postgresql"
# libpq options. The game's thread must not wait long for a shared ledger, nor other games for rows
# that a frozen game has locked. `connect_timeout` and `keepalives_*` are seconds, the others
# milliseconds.
PATIENCE: Mapping[str, Any] = {
    "connect_timeout": 2,
    "tcp_user_timeout": 4000,
    "keepalives_idle": 10,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "options": (
        "-c statement_timeout=4000 -c lock_timeout=3000 "
        "-c idle_in_transaction_session_timeout=10000"
    ),
}


@lru_cache(maxsize=1)
def config() -> LedgerConfig:
    """The ledger's settings, read once per server process.

    Raises:
        ConfigurationError: the setting is wrong, or names an unknown database.
    """
    current = LedgerConfig.from_settings(settings)
    if current.database not in settings.DATABASES:
        known = ", ".join(sorted(settings.DATABASES))
        raise ConfigurationError(
            f"{LedgerConfig.NAME}.database is {current.database!r}, which DATABASES does not have; "
            f"it must be one of: {known}"
        )
    return current


@lru_cache(maxsize=1)
def alias() -> str:
    """The ledger's database in Django's DATABASES."""
    return config().database


@lru_cache(maxsize=1)
def is_shared() -> bool:
    """True if the ledger is not in the game's own database."""
    return config().is_shared


@lru_cache(maxsize=1)
def game() -> str:
    """This game's name in the rows of a shared ledger; "" if the ledger is its own."""
    return config().game if is_shared() else ""


@lru_cache(maxsize=len(Scope))
def game_of(scope: str) -> str:
    """The game's name in the rows of a scope: "" for the totals over all games."""
    return "" if scope == Scope.ALL_GAMES else game()


def row_of(account: BudgetAccount) -> dict[str, str]:
    """The columns that identify the row of an account."""
    scope, key, period = account
    return {"game": game_of(scope), "scope": scope, "key": key, "period": period}


def clear_cache() -> None:
    """Forget the cached settings, for tests."""
    for known in (config, alias, is_shared, game, game_of):
        known.cache_clear()


def connection() -> Any:
    """This thread's connection to the ledger's database."""
    return connections[alias()]


class LedgerRouter:
    """Routes the ledger's tables, and no others, to the shared database."""

    def db_for_read(self, model: type[Model], **hints: object) -> str | None:
        """The database of a model; None leaves it to other routers."""
        return alias() if model in TABLES else None

    db_for_write = db_for_read

    def allow_migrate(
        self, db: str, app_label: str, model_name: str | None = None, **hints: object
    ) -> bool | None:
        """True for the ledger's tables in the shared database, False for all others there."""
        # In the game's own database they are created too, so that a game can go back to it.
        if db != alias():
            return None
        return app_label == APP and model_name in {model._meta.model_name for model in TABLES}


def install() -> None:
    """Install the router and the connection options, if the ledger is shared."""
    try:
        current = config()
    except ConfigurationError:  # Django's system check reports it
        return
    routers: list[Any] = router.routers
    if not current.is_shared or any(isinstance(each, LedgerRouter) for each in routers):
        return
    # First, because a game's own router may have an answer for every table.
    routers.insert(0, LedgerRouter())
    database = settings.DATABASES[current.database]
    if database.get("ENGINE") == POSTGRESQL:
        # The game's own options take precedence.
        database["OPTIONS"] = {**PATIENCE, **database.get("OPTIONS", {})}
        connections.databases[current.database]["OPTIONS"] = database["OPTIONS"]
