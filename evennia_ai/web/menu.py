"""The tables of all pages, buttons and downloads, and the menu that a visitor sees."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from evennia_ai.web.rows import Action, Download, Page, Visit, page_address

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
# The page that the name of an assistant links to.
FIRST = next(page.name for page in PAGES if page.is_of_one)


@dataclass(frozen=True, slots=True)
class Link:
    """A link in the menu."""

    title: str
    address: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """The pages that a visitor may see.

    Attributes:
        pages: pages about the whole game.
        assistants: a link for each assistant.
        of_one: the pages about the current assistant.
        assistant: its name; "" on a page about the whole game.
    """

    pages: tuple[Link, ...]
    assistants: tuple[Link, ...]
    of_one: tuple[Link, ...]
    assistant: str


def menu_of(visit: Visit, here: str) -> Menu:
    """Make the menu of a page for a visitor.

    Args:
        here: the name of the page.
    """
    person, script = visit.account, visit.script
    shown = [page for page in PAGES if page.in_menu]
    pages = tuple(
        Link(page.title, _address(page.name), page.name == here)
        for page in shown
        if not page.is_of_one and is_allowed(page.act, person)
    )
    assistants: tuple[Link, ...] = ()
    if is_allowed("list", person):
        assistants = tuple(
            Link(name_before(each, person), _address(FIRST, str(each.key)), each is script)
            for each in list_assistants()
        )
    if script is None:
        return Menu(pages, assistants, (), "")
    of_one = tuple(
        Link(page.title, _address(page.name, str(script.key)), page.name == here)
        for page in shown
        if page.is_of_one and is_allowed(page.act, person, script)
    )
    return Menu(pages, assistants, of_one, name_before(script, person))


def _address(name: str, key: str = "") -> str:
    return page_address(name, **({"key": key} if key else {}))
