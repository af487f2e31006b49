"""The ledger's place: the game's own database, or one that several games share.

In a shared one each row bears the name of its game, so that player #5 of two games is two players;
the totals of all games together bear none. It is another database than the rest of the game's: what
is written to both is never one transaction, and it may be away while the game goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import connections, router
from django.db.models import Model

from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.settings.services import LedgerConfig
from evennia_ai.errors import ConfigurationError
from evennia_ai.models import APP, BudgetTotal, LedgerGame, ModelCall

TABLES = (BudgetTotal, ModelCall, LedgerGame)
POSTGRESQL = "django.db.backends.postgresql"
# The game's thread waits for a shared ledger no longer than this, and no other game waits long for
# a row that a game holds which was frozen in the middle of a transaction.
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
    """The place of the ledger, read once in a server process.

    Raises:
        ConfigurationError: something in the setting is wrong, or it names no database.
    """
    found = LedgerConfig.from_stored(getattr(settings, LedgerConfig.NAME, {}))
    if found.database not in settings.DATABASES:
        known = ", ".join(sorted(settings.DATABASES))
        raise ConfigurationError(
            f"{LedgerConfig.NAME}.database is {found.database!r}, which DATABASES does not have; "
            f"it must be one of: {known}"
        )
    return found


@lru_cache(maxsize=1)
def alias() -> str:
    """Django's name of the database that has the ledger."""
    return config().database


@lru_cache(maxsize=1)
def is_shared() -> bool:
    """True where the ledger is not in the game's own database."""
    return config().is_shared


@lru_cache(maxsize=1)
def game() -> str:
    """The name of this game in the rows of a shared ledger; "" in its own."""
    return config().game if is_shared() else ""


@lru_cache(maxsize=len(Scope))
def game_of(scope: str) -> str:
    """The name that rows of a scope bear: the game's, or "" for those of all games together."""
    return "" if scope == Scope.ALL_GAMES else game()


def read_anew() -> None:
    """Forget what the settings said: between two tests."""
    for known in (config, alias, is_shared, game, game_of):
        known.cache_clear()


def connection() -> Any:
    """This thread's connection to that database."""
    return connections[alias()]


class LedgerRouter:
    """Sends the ledger's tables, and nothing else, to the database that games share."""

    def db_for_read(self, model: type[Model], **hints: object) -> str | None:
        """The database of a model, None: the game's own."""
        return alias() if model in TABLES else None

    db_for_write = db_for_read

    def allow_migrate(
        self, db: str, app_label: str, model_name: str | None = None, **hints: object
    ) -> bool | None:
        """True for tables that belong there; None: whatever others say.

        The game's own database has the tables too, so that a game can go back to it.
        """
        if db != alias():
            return None
        return app_label == APP and model_name in {model._meta.model_name for model in TABLES}


def install() -> None:
    """Let Django ask for the ledger where it is. A wrong setting is told by the check."""
    try:
        found = config()
    except ConfigurationError:
        return
    routers: list[Any] = router.routers
    if not found.is_shared or any(isinstance(each, LedgerRouter) for each in routers):
        return
    # First, as a game's own router may have an answer for every table.
    routers.insert(0, LedgerRouter())
    database = settings.DATABASES[found.database]
    if database.get("ENGINE") == POSTGRESQL:
        # What the game itself says goes before ours.
        database["OPTIONS"] = {**PATIENCE, **database.get("OPTIONS", {})}
        connections.databases[found.database]["OPTIONS"] = database["OPTIONS"]
