"""All pages, buttons and files, in the order of the menu."""

from __future__ import annotations

from evennia_ai.web.pages import (
    health,
    live,
    looks,
    make,
    money,
    now,
    prompt,
    questions,
    settings,
)
from evennia_ai.web.rows import Action, Download, Page

_MODULES = (now, questions, live, prompt, settings, looks, money, make, health)
PAGES: tuple[Page, ...] = tuple(page for module in _MODULES for page in module.PAGES)
ACTIONS: tuple[Action, ...] = tuple(action for module in _MODULES for action in module.ACTIONS)
DOWNLOADS: tuple[Download, ...] = tuple(
    download for module in _MODULES for download in getattr(module, "DOWNLOADS", ())
)
BY_NAME = {page.name: page for page in PAGES}
