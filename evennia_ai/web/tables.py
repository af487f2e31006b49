"""All pages and all buttons, in the order of the menu."""

from __future__ import annotations

from evennia_ai.web.pages import bench, live, now, questions, turns
from evennia_ai.web.rows import Action, Page

_MODULES = (now, questions, live, turns, bench)
PAGES: tuple[Page, ...] = tuple(page for module in _MODULES for page in module.PAGES)
ACTIONS: tuple[Action, ...] = tuple(action for module in _MODULES for action in module.ACTIONS)
BY_NAME = {page.name: page for page in PAGES}
