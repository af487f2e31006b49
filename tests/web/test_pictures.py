"""The pictures of pages in docs/workbench.md: none missing, none obsolete."""

from pathlib import Path

from evennia_ai.web.menu import PAGES
from tests.browser.workbench_pictures import LOOKS, name_of

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_each_page_of_a_menu_has_its_pictures() -> None:
    """Light, dark and on a phone."""
    wanted = {
        f"{name_of(page.title)}-{look}.webp" for page in PAGES if page.in_menu for look in LOOKS
    }
    assert wanted == {path.name for path in (DOCS / "workbench").iterdir()}
    shown = (DOCS / "workbench.md").read_text("utf-8")
    assert [] == [name for name in sorted(wanted) if f"(workbench/{name})" not in shown]
