"""All pages, all buttons and all files, in the order of the menu."""

from __future__ import annotations

from evennia_ai.web.pages import (
    audit,
    health,
    live,
    looks,
    lore,
    make,
    memory,
    money,
    nights,
    now,
    own,
    people,
    prompt,
    questions,
    records,
    settings,
)
from evennia_ai.web.rows import Action, Download, Page

_MODULES = (
    *(now, questions, money, own, lore, records, make, health),
    *(live, memory, people, nights, audit, prompt, settings, looks),
)
PAGES: tuple[Page, ...] = tuple(page for module in _MODULES for page in module.PAGES)
ACTIONS: tuple[Action, ...] = tuple(action for module in _MODULES for action in module.ACTIONS)
DOWNLOADS: tuple[Download, ...] = tuple(
    each for module in _MODULES for each in getattr(module, "DOWNLOADS", ())
)
BY_NAME = {page.name: page for page in PAGES}
