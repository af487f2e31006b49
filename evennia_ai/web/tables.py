"""All pages, all buttons and all files, in the order of the menu."""

from __future__ import annotations

from evennia_ai.web.pages import (
    audit,
    live,
    lore,
    memory,
    nights,
    now,
    own,
    people,
    questions,
    records,
)
from evennia_ai.web.rows import Action, Download, Page

_MODULES = (now, questions, own, lore, records, live, memory, people, nights, audit)
PAGES: tuple[Page, ...] = tuple(page for module in _MODULES for page in module.PAGES)
ACTIONS: tuple[Action, ...] = tuple(action for module in _MODULES for action in module.ACTIONS)
DOWNLOADS: tuple[Download, ...] = tuple(
    each for module in _MODULES for each in getattr(module, "DOWNLOADS", ())
)
BY_NAME = {page.name: page for page in PAGES}
