"""The tables of all pages, buttons and downloads, and the menu that a visitor sees."""

from __future__ import annotations

from dataclasses import replace

from twisted.internet.defer import Deferred

from evennia_ai.operations import Result, list_assistants
from evennia_ai.operations.rights import is_allowed
from evennia_ai.runtime.rights import name_before
from evennia_ai.web.forms import FieldError, refuse_field
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
from evennia_ai.web.rows import Action, Download, Page, Shown, Visit, page_address

# In the order of the menu: pages about the whole game, then those about one assistant.
_MODULES = (
    *(now, questions, money, make, lore, records, health, own),
    *(live, turns, bench, memory, people, nights, audit, prompt, settings, looks),
)


def _for_pages(action: Action) -> Action:
    """Wrap a button for pages: errors in typed fields become refusals.

    Its message names no commands to type, since pages have buttons for them.
    """

    def do(visit: Visit) -> Result | Deferred[Result]:
        try:
            outcome = action.do(visit)
        except FieldError as error:
            return refuse_field(error)
        if isinstance(outcome, Deferred):
            return outcome.addCallback(Result.untyped)
        return outcome.untyped()

    return replace(action, do=do)


PAGES: tuple[Page, ...] = tuple(page for module in _MODULES for page in module.PAGES)
ACTIONS: tuple[Action, ...] = tuple(
    _for_pages(action) for module in _MODULES for action in module.ACTIONS
)
DOWNLOADS: tuple[Download, ...] = tuple(
    each for module in _MODULES for each in getattr(module, "DOWNLOADS", ())
)
BY_NAME = {page.name: page for page in PAGES}
# The list of more assistants is closed, or it would fill several screens of a phone on each page.
MOST_IN_SIGHT = 12
# The page that the name of an assistant links to.
FIRST = next(page.name for page in PAGES if page.is_of_one)


def menu_of(visit: Visit, here: str) -> Shown:
    """Make the menu of a page for a visitor: links to all that they may see.

    `pages` are about the whole game, `assistants` has a link for each of them (`are_many`: in a
    closed list), and `of_one` are the pages about the current one, whose name is `assistant`.

    Args:
        here: the name of the page.
    """
    person, script = visit.account, visit.script
    assistants = []
    if is_allowed("list", person):
        assistants = [
            _link(name_before(each, person), each is script, FIRST, key=str(each.key))
            for each in list_assistants()
        ]
    return {
        "pages": [
            _link(page.title, page.name == here, page.name)
            for page in PAGES
            if page.in_menu and not page.is_of_one and is_allowed(page.act, person)
        ],
        "assistants": assistants,
        "are_many": len(assistants) > MOST_IN_SIGHT,
        "of_one": [
            _link(page.title, page.name == here, page.name, key=str(script.key))
            for page in (PAGES if script is not None else ())
            if page.in_menu and page.is_of_one and is_allowed(page.act, person, script)
        ],
        "assistant": name_before(script, person) if script is not None else "",
    }


def _link(title: str, is_here: bool, name: str, **path: str) -> Shown:
    return {"title": title, "address": page_address(name, **path), "is_here": is_here}
