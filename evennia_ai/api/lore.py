"""Lore: what the game lets all its assistants know of its world."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from evennia_ai.api import asked, memory_answers
from evennia_ai.api.base import page_of, picked, with_data
from evennia_ai.api.memory import KEY
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import Call, Row
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


def _list(call: Call) -> Any:
    entries = lore.list_lore().data["lore"]
    page, rest = page_of(call.query, entries)
    return {"lore": [_sent(row) for row in page], "count": len(entries), "next": rest}


def _add(call: Call) -> Result:
    given = {"keywords": [], **call.body}
    made = _told(lore.add_lore(given.pop("text"), **given, by=call.by))
    if made.ok:
        path = {"memory": made.data["lore"]["key"]}
        call.headers["Location"] = reverse("evennia_ai_api:one-lore", kwargs=path)
    return made


def _change(call: Call) -> Result:
    if not call.body:
        raise problem(Problem.INVALID, "Name at least one of: text, keywords, audience.")
    return _told(lore.change_lore(call.path["memory"], **call.body, by=call.by))


ROWS = (
    Row(
        "GET",
        "lore/",
        "lore",
        "show memories",
        _list,
        "List the lore of the game",
        "The most important first.",
        tag=TAG,
        result=memory_answers.LorePage,
        query=asked.Page,
        answer={"lore": [ENTRY], "count": 1, "next": None},
    ),
    Row(
        "POST",
        "lore/",
        "lore",
        "change lore",
        _add,
        "Add lore",
        "It is told where one of its keywords is said, and a room's in that room.",
        tag=TAG,
        result=memory_answers.LoreKept,
        body=asked.NewLore,
        status=201,
        action="add lore",
        is_private=True,
        example=NEW,
        answer={"message": "Lore 7 is added.", "lore": ENTRY},
    ),
    Row(
        "PATCH",
        "lore/<ai_memory:memory>/",
        "one-lore",
        "change lore",
        _change,
        "Change lore",
        "What is not named stays.",
        tag=TAG,
        result=memory_answers.LoreKept,
        body=asked.ChangedLore,
        is_private=True,
        example={"keywords": ["lighthouse", "beacon"]},
        answer={"message": "Lore 7 is changed.", "lore": ENTRY},
    ),
    Row(
        "DELETE",
        "lore/<ai_memory:memory>/",
        "one-lore",
        "change lore",
        lambda call: lore.remove_lore(call.path["memory"], by=call.by),
        "Remove lore",
        "No assistant knows it from now on.",
        tag=TAG,
        action="remove lore",
        answer={"message": "Lore 7 is removed."},
    ),
)
