"""Rights on every page and every button: a table, checked whole."""

from evennia_ai.operations.rights import ACTS, Right
from evennia_ai.web.menu import ACTIONS, BY_NAME, DOWNLOADS, PAGES
from tests import postgres
from tests.web.support import WebTest

WHO = ("anonymous", "guest", "player", "builder", "controller", "owner")
# The least of WHO that may open a page or press a button, by its name.
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
    "prompt": "builder",
    "text-difference": "controller",
    "set-text": "controller",
    "switch-component": "controller",
    "delete-component": "controller",
    "apply-template": "controller",
    "delete-template": "controller",
    "set-context": "controller",
    "reset-context": "controller",
    "prompt-undo": "controller",
    "prompt-redo": "controller",
    "settings": "builder",
    "set-settings": "controller",
    "settings-undo": "controller",
    "settings-redo": "controller",
    "set-look": "controller",
    "set-place": "controller",
    "set-channel": "controller",
    "clone": "controller",
    "give-account": "controller",
    "delete": "controller",
    "release": "controller",
    "money": "builder",
    "raise-game": "owner",
    "raise-bench": "owner",
    "raise-player": "owner",
    "raise": "controller",
    "make": "builder",
    "create": "builder",
    "look-at-card": "builder",
    "make-of-card": "builder",
    "copy": "builder",
    "adopt": "builder",
    "health": "builder",
    "check": "builder",
    "reset-game-breaker": "owner",
    "reset-breaker": "controller",
    "card-json": "builder",
    "card-png": "builder",
    "whole": "owner",
    "mine": "player",
    "one-of-mine": "player",
    "my-correct": "player",
    "my-forget": "player",
    "my-forget-all": "player",
    "my-remember": "player",
    "my-mute": "player",
    "my-export": "player",
    "game-audit": "builder",
    "audit": "builder",
    "audit-state": "builder",
    "audit-difference": "builder",
    "audit-undo": "controller",
    "audit-redo": "controller",
    "audit-file": "controller",
    "audit-archive": "controller",
    "audit-export": "controller",
    "memory": "builder",
    "one-memory": "builder",
    "memory-add": "controller",
    "memory-reindex": "controller",
    "memory-correct": "controller",
    "memory-forget": "controller",
    "people": "builder",
    "person-forget": "controller",
    "person-export": "builder",
    "nights": "builder",
    "sleep": "controller",
    "wake": "controller",
    "lore": "builder",
    "one-lore": "builder",
    "lore-add": "owner",
    "lore-change": "owner",
    "lore-remove": "owner",
    "pack-import": "owner",
    "pack-export": "builder",
}
# Rights do not depend on the database, but the pages' queries do.
VISITORS = WHO[-1:] if postgres.is_sampled() else WHO
# A redirect to the login or to the page for everybody, or a page that says why.
REFUSED = (302, 403)


def test_the_table_is_whole() -> None:
    assert sorted(LEAST) == sorted(row.name for row in (*PAGES, *ACTIONS, *DOWNLOADS))


class RightsTest(WebTest):
    def test_pages(self) -> None:
        for page in (*PAGES, *DOWNLOADS):
            for who in VISITORS:
                with self.subTest(page=page.name, who=who):
                    status = self.get(page.name, who=who, **self.path_of(page.path)).status_code
                    may = WHO.index(who) >= WHO.index(LEAST[page.name])
                    assert (status not in REFUSED) is may, status
                    assert status < 500

    def test_buttons(self) -> None:
        for action in ACTIONS:
            for who in VISITORS:
                with self.subTest(action=action.name, who=who):
                    path = self.path_of(action.path)
                    response = self.post(action.name, who=who, follow=False, **path)
                    location = response.headers.get("Location", "")
                    is_refused = response.status_code == 403 or "/login/" in location
                    assert is_refused is (WHO.index(who) < WHO.index(LEAST[action.name]))
                    assert response.status_code < 500


class HolderTest(WebTest):
    """A player whom the locks of Ada's body pass."""

    def test_a_button_opens_no_page(self) -> None:
        """A player with the right to act still must not see the page around the button."""
        pia = self.people["player"]
        for lock in ("ai_control", "ai_configure", "ai_memory", "ai_move", "ai_delete"):
            self.ada.locks.add(f"{lock}:id({pia.id}) or pid({pia.id})")
        seen = []
        for row in (*ACTIONS, *DOWNLOADS):
            page = BY_NAME[row.page]
            if not page.act or ACTS[page.act] is not Right.STAFF or "delete" in row.name:
                continue
            path = self.path_of(row.path)
            response = self.post(row.name, {"cap": "zz"}, who="player", follow=False, **path)
            opened = b"<h1>" + page.title.encode() in response.content
            leads = response.headers.get("Location", self.address("mine"))
            if opened or leads != self.address("mine"):
                seen.append((row.name, response.status_code, leads))
        assert [] == seen
