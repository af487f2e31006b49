"""Views of lore: what the game lets all its assistants know of its world."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from evennia_ai.api import asked, memory_answers
from evennia_ai.api.assistants import page_of
from evennia_ai.api.base import ApiView, Call, picked, with_data
from evennia_ai.api.endpoints import Endpoint
from evennia_ai.api.memory import KEY
from evennia_ai.api.problems import problem
from evennia_ai.api.shapes import Done
from evennia_ai.operations import Result, lore
from evennia_ai.operations.result import Problem

TAG = "Lore"
SENT = ("key", "text", "audience", "place", "importance", "at")
NEW = {
    "text": "The lighthouse was built by the Guild of Cartographers.",
    "keywords": ["lighthouse", "guild"],
    "audience": "world",
}
ENTRY = {"key": KEY, **NEW, "place": "", "importance": 5, "at": "2026-01-31T12:00:00+00:00"}


def _sent(row: dict[str, Any]) -> dict[str, Any]:
    return {**picked(row, *SENT), "keywords": row["tags"]}


def _told(result: Result) -> Result:
    return with_data(result, lore=_sent(result.data["lore"])) if result.ok else result


class Lore(ApiView):
    """The lore of the game."""

    @Endpoint(
        "show memories",
        "List the lore of the game",
        tag=TAG,
        gives=memory_answers.LorePage,
        query=asked.Page,
        answer={"lore": [ENTRY], "count": 1, "next": None},
        paths=(),
    )
    def get(self, call: Call) -> Any:
        """The most important first."""
        entries = lore.list_lore().data["lore"]
        page, rest = page_of(call.query, entries)
        return {"lore": [_sent(row) for row in page], "count": len(entries), "next": rest}

    @Endpoint(
        "change lore",
        "Add lore",
        tag=TAG,
        gives=memory_answers.LoreKept,
        body=asked.NewLore,
        status=201,
        action="add lore",
        is_private=True,
        example=NEW,
        answer={"message": "Lore 7 is added.", "lore": ENTRY},
        paths=(),
    )
    def post(self, call: Call) -> Result:
        """It is told where one of its keywords is said, and a room's in that room."""
        given = {"keywords": [], **call.body}
        made = _told(lore.add_lore(given.pop("text"), **given, by=call.by))
        if made.ok:
            path = {"memory": made.data["lore"]["key"]}
            call.headers["Location"] = reverse("evennia_ai_api:one-lore", kwargs=path)
        return made


class OneLore(ApiView):
    """One piece of lore."""

    @Endpoint(
        "change lore",
        "Change lore",
        tag=TAG,
        gives=memory_answers.LoreKept,
        body=asked.ChangedLore,
        is_private=True,
        example={"keywords": ["lighthouse", "beacon"]},
        answer={"message": "Lore 7 is changed.", "lore": ENTRY},
        paths=("memory",),
    )
    def patch(self, call: Call) -> Result:
        """What is not named stays."""
        if not call.body:
            raise problem(Problem.INVALID, "Name at least one of: text, keywords, audience.")
        return _told(lore.change_lore(call.path["memory"], **call.body, by=call.by))

    @Endpoint(
        "change lore",
        "Remove lore",
        tag=TAG,
        gives=Done,
        action="remove lore",
        answer={"message": "Lore 7 is removed."},
        paths=("memory",),
    )
    def delete(self, call: Call) -> Result:
        """No assistant knows it from now on."""
        return lore.remove_lore(call.path["memory"], by=call.by)
