"""All pages, all buttons and all files, in the order of the menu."""

from __future__ import annotations

from dataclasses import replace

from twisted.internet.defer import Deferred

from evennia_ai.operations import Result
from evennia_ai.web.pages import (
    audit,
    bench,
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
    turns,
)
from evennia_ai.web.rows import Action, Download, Page, Visit

_MODULES = (
    *(now, questions, money, make, lore, records, health, own),
    *(live, turns, bench, memory, people, nights, audit, prompt, settings, looks),
)


def _without_commands(action: Action) -> Action:
    """A button whose sentence names no command to type: a page has a button for each."""

    def do(visit: Visit) -> Result | Deferred[Result]:
        outcome = action.do(visit)
        if isinstance(outcome, Deferred):
            return outcome.addCallback(Result.untyped)
        return outcome.untyped()

    return replace(action, do=do)


PAGES: tuple[Page, ...] = tuple(page for module in _MODULES for page in module.PAGES)
ACTIONS: tuple[Action, ...] = tuple(
    _without_commands(action) for module in _MODULES for action in module.ACTIONS
)
DOWNLOADS: tuple[Download, ...] = tuple(
    each for module in _MODULES for each in getattr(module, "DOWNLOADS", ())
)
BY_NAME = {page.name: page for page in PAGES}
