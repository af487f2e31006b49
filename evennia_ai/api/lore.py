"""Endpoints of lore: knowledge of the game's world that all its assistants share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from evennia_ai.api import requests
from evennia_ai.api.base import page_of, set_location
from evennia_ai.api.memory import KEY
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import Call, Route, Row, Tag
from evennia_ai.operations import Result
from evennia_ai.operations.memory import lore
from evennia_ai.operations.memory.rows import Remembered
from evennia_ai.operations.result import ProblemKind, note

TAG = Tag("Lore", "Knowledge of the game's world, shared by all assistants.")
NEW = {
    "text": "The lighthouse was built by the Guild of Cartographers.",
    "keywords": ["lighthouse", "guild"],
    "audience": "world",
}
ENTRY = {"key": KEY, **NEW, "place": "", "importance": 5, "at": "2026-01-31T12:00:00+00:00"}


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """A piece of lore."""

    key: Annotated[str, note("Identifier of the entry in URLs.")]
    text: str
    keywords: list[str]
    audience: Annotated[str, note("Who may be told: `world`, a room or a faction.")]
    place: Annotated[str, note("Room or faction, if it is for one; otherwise empty.")]
    importance: int
    at: Annotated[str, note("Time at which it was written (ISO 8601).")]


@dataclass(frozen=True, slots=True)
class LorePage:
    """A page of the lore, the most important first."""

    lore: list[LoreEntry]
    count: Annotated[int, note("Total number of entries.")]
    next: Annotated[int | None, note("Offset of the next page; null on the last page.")]


@dataclass(frozen=True, slots=True)
class LoreKept:
    """A piece of lore as it is now."""

    lore: LoreEntry


def _sent(row: Remembered) -> LoreEntry:
    return LoreEntry(
        key=row["key"],
        text=row["text"],
        keywords=row["tags"],
        audience=row["audience"],
        place=row["place"],
        importance=row["importance"],
        at=row["at"],
    )


def _told(result: Result[Remembered]) -> Result[Any]:
    return result.map(lambda row: LoreKept(_sent(row)))


def _list(call: Call) -> LorePage:
    entries = lore.list_lore().data.lore
    page, rest = page_of(call.query, entries)
    return LorePage([_sent(row) for row in page], len(entries), rest)


def _add(call: Call) -> Result:
    fields = {"keywords": [], **call.body}
    result = _told(lore.add_lore(fields.pop("text"), **fields, by=call.by))
    if result.ok:
        set_location(call, "one-lore", memory=result.data.lore.key)
    return result


def _change(call: Call) -> Result:
    if not call.body:
        fields = ", ".join(requests.ChangedLore().fields)
        raise problem(ProblemKind.INVALID, f"Name at least one of: {fields}.")
    return _told(lore.change_lore(call.path["memory"], **call.body, by=call.by))


ROWS = (
    Row(
        Route("GET", "lore/", "lore", "show memories", TAG),
        _list,
        "List the lore of the game",
        "The most important first.",
        result=LorePage,
        query=requests.PageQuery,
        answer={"lore": [ENTRY], "count": 1, "next": None},
    ),
    Row(
        Route("POST", "lore/", "lore", "change lore", TAG),
        _add,
        "Add lore",
        "Lore is told when one of its keywords is said; lore of a room also in that room.",
        result=LoreKept,
        body=requests.NewLore,
        status=201,
        action="add lore",
        is_private=True,
        example=NEW,
        answer={"message": "Lore 7 is added.", "lore": ENTRY},
    ),
    Row(
        Route("PATCH", "lore/<ai_memory:memory>/", "one-lore", "change lore", TAG),
        _change,
        "Change lore",
        "Fields that are left out keep their values.",
        result=LoreKept,
        body=requests.ChangedLore,
        is_private=True,
        example={"keywords": ["lighthouse", "beacon"]},
        answer={"message": "Lore 7 is changed.", "lore": ENTRY},
    ),
    Row(
        Route("DELETE", "lore/<ai_memory:memory>/", "one-lore", "change lore", TAG),
        lambda call: lore.remove_lore(call.path["memory"], by=call.by),
        "Remove lore",
        "No assistant knows it from now on.",
        result=lore.RemovedLore,
        action="remove lore",
        answer={"message": "Lore 7 is removed."},
    ),
)
