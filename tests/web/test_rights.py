"""Who may open which page, and press which button: a table, tried whole."""

from __future__ import annotations

from evennia_ai.web.tables import ACTIONS, PAGES
from tests.web.support import WebTest

WHO = ("anonymous", "guest", "player", "builder", "controller", "owner")
# The first of WHO that may, and whoever comes after; of a page and of a button by its name.
LEAST = {
    "now": "builder",
    "questions": "player",
    "live": "builder",
    "bench": "controller",
    "turns": "builder",
    "turn": "builder",
    "live-stop": "controller",
    "live-clear": "controller",
    "stop-all": "controller",
    "clear-all": "controller",
    "stop": "controller",
    "clear": "controller",
    "start": "controller",
    "silence": "controller",
    "answer": "player",
}
# What the path of an address may need beside the name of an assistant.
NAMES = {"number": 1}
REFUSED = {"anonymous": 302}


def test_the_table_is_whole() -> None:
    """Each page and each button has its row."""
    assert sorted(LEAST) == sorted(row.name for row in (*PAGES, *ACTIONS))


class RightsTest(WebTest):
    """Every page and every button, as everybody."""

    def test_pages(self) -> None:
        """A page opens for whoever has its right, and says to others that they may not."""
        for page in PAGES:
            for who in WHO:
                with self.subTest(page=page.name, who=who):
                    status = self.get(page.name, who=who, **self.path_of(page.path)).status_code
                    may = WHO.index(who) >= WHO.index(LEAST[page.name])
                    assert (status != REFUSED.get(who, 403)) is may, status
                    assert status < 500

    def test_buttons(self) -> None:
        """The same of buttons, whatever state an assistant is in."""
        for action in ACTIONS:
            for who in WHO:
                with self.subTest(action=action.name, who=who):
                    path = self.path_of(action.path)
                    response = self.post(action.name, who=who, follow=False, **path)
                    location = response.headers.get("Location", "")
                    is_refused = response.status_code == 403 or "/login/" in location
                    assert is_refused is (WHO.index(who) < WHO.index(LEAST[action.name]))
                    assert response.status_code < 500

    def path_of(self, path: str) -> dict[str, object]:
        """The names that an address needs."""
        named = {name: value for name, value in NAMES.items() if f":{name}>" in path}
        return {**named, **({"key": "Ada"} if ":key>" in path else {})}
