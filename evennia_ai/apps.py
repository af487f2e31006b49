"""The Django app. Wrong settings are reported by `check`, before a player meets them."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.db.utils import DatabaseError

from evennia_ai.core.api_config import NAME as API_CONFIG
from evennia_ai.core.api_config import read_api_config
from evennia_ai.errors import ConfigurationError


def check_settings(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Report settings that do not fit together."""
    from evennia_ai import audit, ledger, preparation, services

    try:
        notice = services.check_settings()
        preparation.check_settings()
        ledger.check_settings(services.endpoint())
        audit.check_settings()
        read_api_config(getattr(settings, API_CONFIG, {}))
    except ConfigurationError as error:
        return [checks.Error(str(error), id="evennia_ai.E001")]
    return [checks.Warning(notice, id="evennia_ai.W001")] if notice else []


def check_tables(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Report tables that are missing: without them no model is asked."""
    from evennia_ai import audit, ledger

    # `migrate`, which makes them, names the databases it is about to work on.
    if kwargs.get("databases"):
        return []
    try:
        missing = [*ledger.missing_tables(), *audit.missing_tables()]
    except DatabaseError:
        return []  # there is no database yet, which others report
    hint = "Type: evennia migrate. Until then no model is asked, and nothing recorded."
    text = f"the game's database has no tables {', '.join(missing)}"
    return [checks.Error(text, hint=hint, id="evennia_ai.E002")] if missing else []


def _find(name: str) -> Any:
    from evennia_ai.operations import find_assistant

    return find_assistant(name)


class EvenniaAIConfig(AppConfig):
    """evennia_ai as a Django app."""

    name = "evennia_ai"
    verbose_name = "AI assistant"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the checks, and send the signals that the record has a fact for."""
        from evennia_ai import audit, signals

        relay = signals.Relay(_find)
        if relay not in audit.LISTENERS:  # an app may be made ready more than once
            audit.LISTENERS.append(relay)
        checks.register(check_settings)
        checks.register(check_tables)
