"""One assistant, and its turns as they happen."""

from __future__ import annotations

from evennia_ai.operations.rights import is_allowed
from evennia_ai.web.pages.now import card_of
from evennia_ai.web.rows import ONE, Page, Shown, Visit


def _show(visit: Visit) -> Shown:
    script = visit.assistant
    return {
        "card": card_of(script, visit),
        "may_reveal": is_allowed("reveal", visit.account, script),
    }


PAGES = (Page(ONE, "live", "Live", "status", _show),)
ACTIONS = ()
