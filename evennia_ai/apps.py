"""The Django app. Wrong settings are reported by `check`, before a player meets them."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.core import checks

from evennia_ai.errors import ConfigurationError


def check_settings(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Report settings that do not fit together."""
    from evennia_ai import preparation, services

    try:
        notice = services.check_settings()
        preparation.check_settings()
    except ConfigurationError as error:
        return [checks.Error(str(error), id="evennia_ai.E001")]
    return [checks.Warning(notice, id="evennia_ai.W001")] if notice else []


class EvenniaAIConfig(AppConfig):
    """evennia_ai as a Django app."""

    name = "evennia_ai"
    verbose_name = "AI assistant"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the settings check."""
        checks.register(check_settings)
