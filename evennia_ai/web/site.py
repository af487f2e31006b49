"""Root URLconf of the game's web site with the workbench: the game's own URLs first, then ours.

`evennia_ai.apps` sets ROOT_URLCONF to this module, so that no file of the game has to include the
workbench. A URL that the game defines itself stays the game's.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.conf import settings
from django.urls import include, path

from evennia_ai.core.settings.game import ROOT_URLCONF
from evennia_ai.core.settings.services import WebConfig

_game: Any = import_module(getattr(settings, ROOT_URLCONF))
_config = WebConfig.from_settings(settings)

urlpatterns = [*_game.urlpatterns, path(_config.path, include("evennia_ai.web.urls"))]
# Django looks for these error views in the root URLconf.
for _name in ("handler400", "handler403", "handler404", "handler500"):
    if hasattr(_game, _name):
        globals()[_name] = getattr(_game, _name)
