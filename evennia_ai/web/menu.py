"""The menu of a page: what whoever looks may go to."""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.operations import list_assistants
from evennia_ai.operations.rights import is_allowed
from evennia_ai.runtime.rights import name_before
from evennia_ai.web.rows import Visit, page_address
from evennia_ai.web.tables import PAGES

# Where the name of an assistant leads.
FIRST = next(page.name for page in PAGES if page.is_of_one)


@dataclass(frozen=True, slots=True)
class Link:
    """A line of the menu."""

    title: str
    address: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """All pages that somebody may see, and those of the assistant that the page is about.

    Attributes:
        pages: of the whole game.
        assistants: a line for each assistant.
        of_one: the pages about the assistant at hand.
        assistant: its name; "" where the page is about none.
    """

    pages: tuple[Link, ...]
    assistants: tuple[Link, ...]
    of_one: tuple[Link, ...]
    assistant: str


def menu_of(visit: Visit, here: str) -> Menu:
    """The menu for a visitor of a page.

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
