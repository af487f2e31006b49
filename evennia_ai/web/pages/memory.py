"""The memories of one assistant: searched as it would search, added, corrected and forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred, succeed

from evennia_ai import operations
from evennia_ai.core.memory.recollection import MemoryKind, is_private
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.incoming import find_being
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.memory import trials, upkeep
from evennia_ai.operations.memory.memories import ADDED, find_memory
from evennia_ai.operations.memory.rows import FoundMemories, Remembered, audience_text
from evennia_ai.operations.rights import is_allowed
from evennia_ai.web.rows import ONE, Action, Page, Shown, Visit, page_address
from evennia_ai.web.typed import (
    AT_ONCE,
    FieldError,
    address_with,
    mark_of,
    number_in,
    overtaken,
    time_shown,
    unsure,
    whole_in,
    wrong,
)

FOUND = 20
RECALL, ALIKE = "recall", "alike"
FILTERS = ("person", "kind", "text")
TRIED = ("q", "way", "who", "aloud")


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory as a page shows it.

    Attributes:
        audience: who may know this, in words.
        found: how and why it was found, or would not be told; "" where nothing was sought.
        is_left: it was found, and would not be told.
    """

    number: int
    kind: str
    at: str
    text: str
    person: str
    audience: str
    is_private: bool
    trust: float
    importance: int
    importance_by: str
    source: str
    tags: str
    superseded: str
    is_indexed: bool
    found: str = ""
    is_left: bool = False


def line_of(row: Remembered, found: str = "", *, is_left: bool = False) -> ShownMemory:
    """A row of memory as a line of a page."""
    gone = "somebody who is gone" if row["person"] else ""
    return ShownMemory(
        number=row["number"],
        kind=row["kind"],
        at=time_shown(row["at"]),
        text=row["text"],
        person=row["person_name"] or gone,
        audience=audience_text(row["audience"], row["place"]),
        is_private=is_private(row["audience"]),
        trust=row["trust"],
        importance=row["importance"],
        importance_by=row["importance_by"],
        source=row["source_type"],
        tags=", ".join(row["tags"]),
        superseded=time_shown(row["superseded"]),
        is_indexed=row["is_indexed"],
        found=found,
        is_left=is_left,
    )


# ---- all of them -------------------------------------------------------------------------------


def _show(visit: Visit) -> Shown | Deferred[Shown]:
    script, account = visit.assistant, visit.account
    shown = {
        **_listed(visit),
        "health": upkeep.memory_status(script).data,
        "kinds": [str(kind) for kind in MemoryKind],
        "added": [str(kind) for kind in ADDED],
        "tried": {name: visit.query.get(name, "") for name in TRIED},
        "may_change": is_allowed("change memories", account, script),
    }
    if not visit.query.get("q", "").strip():
        return shown
    return _search(visit).addCallback(lambda found: {**shown, **found})


def _listed(visit: Visit) -> dict[str, Any]:
    """The memories that are chosen by person, kind and words, the newest first."""
    asked = {name: visit.query.get(name, "").strip() for name in FILTERS}
    shown: dict[str, Any] = {"asked": asked, "lines": [], "older": "", "is_filtered": False}
    person = ""
    if asked["person"]:
        person = operations.find_person(visit.assistant, asked["person"])
        if not person:
            visit.said = nobody(asked["person"])
            return shown
    try:
        before = whole_in(visit.query, "before")
    except FieldError as error:
        visit.said = wrong(error)
        return shown
    found = operations.list_memories(
        visit.assistant,
        person=person,
        kind=asked["kind"],
        text=asked["text"],
        before=before,
        limit=AT_ONCE,
        look=visit.look,
    )
    if not found.ok:
        visit.said = found
        return shown
    following = found.data.next
    return {
        **shown,
        "lines": [line_of(row) for row in found.data.memories],
        "count": found.data.count,
        "older": address_with(**asked, before=following) if following else "",
        "is_filtered": any(asked.values()) or before is not None,
    }


def nobody(name: str) -> Result:
    """The refusal of a name by which an assistant could know nobody."""
    return Result.invalid(
        f"There is nobody by the name {name[:60]!r}. Give the name of a character or an account, "
        "or #12, or *#3 of an account."
    )


def somebody(visit: Visit, script: AssistantScript, name: str) -> Being | None:
    """The being of a name; the visitor where it is empty; None: there is nobody."""
    if not name.strip():
        return visit.account
    person = operations.find_person(script, name)
    being: Being | None = find_being(person) if person else None
    return being


def _search(visit: Visit) -> Deferred[Shown]:
    """The memories that the words in the address find, with why."""
    script, words = visit.assistant, visit.query["q"]
    if visit.query.get("way") == ALIKE:
        looking = operations.search_memories(script, words, limit=FOUND, look=visit.look)
        return looking.addCallback(lambda found: _alike(visit, found))
    being = somebody(visit, script, visit.query.get("who", ""))
    is_aloud = bool(visit.query.get("aloud"))
    if being is None:
        visit.said = nobody(visit.query["who"])
        return succeed({})
    looking = trials.try_recall(script, words, being, is_aloud=is_aloud, look=visit.look)
    return looking.addCallback(lambda found: _recalled(visit, found))


def _alike(visit: Visit, result: Result[FoundMemories]) -> Shown:
    if not result.ok:
        visit.said = result
        return {}
    found = [
        line_of(
            row,
            "It has these words in it"
            if row["similarity"] is None
            else f"It is {row['similarity']:.0%} alike",
        )
        for row in result.data.memories
    ]
    return {"found": found, "problem": result.data.problem}


def _recalled(visit: Visit, result: Result[trials.RecallTrial]) -> Shown:
    if not result.ok:
        visit.said = result
        return {}
    found = [line_of(row, _why(row), is_left=bool(row["why_not"])) for row in result.data.memories]
    return {"found": found, "problem": result.data.problem, "is_trial": True}


def _why(row: trials.TriedMemory) -> str:
    """The reasons why a memory was found, and what it weighs."""
    meaning = "not compared" if row["meaning"] is None else f"{row['meaning']:.0%}"
    told = f"Weight {row['score']:.0%}: words {row['words']:.0%}, meaning {meaning}"
    return f"{told}. Not told: {row['why_not']}" if row["why_not"] else told


# ---- one of them -------------------------------------------------------------------------------


def _show_one(visit: Visit) -> Shown:
    script = visit.assistant
    found = operations.show_memory(script, visit.path["number"], look=visit.look)
    if not found.ok:
        visit.said = visit.said or found.untyped()
        return {"memory": None}
    data = found.data
    return {
        "memory": line_of(data.memory),
        "mark": mark_of(_words_of(visit)),
        "cites": [line_of(row) for row in data.cites],
        "cited_by": [line_of(row) for row in data.cited_by],
        "may_change": is_allowed("change memories", visit.account, script),
    }


def _words_of(visit: Visit) -> str:
    """The words of the memory in the address, of private ones too; "" where there is none."""
    memory = find_memory(visit.assistant, visit.path["number"])
    return str(memory.text) if memory is not None else ""


# ---- buttons -----------------------------------------------------------------------------------


def _add(visit: Visit) -> Result:
    form = visit.form
    importance, trust = whole_in(form, "importance"), number_in(form, "trust")
    return operations.add_memory(
        visit.assistant,
        form.get("text", ""),
        kind=form.get("kind") or MemoryKind.FACT,
        importance=5 if importance is None else importance,
        trust=0.9 if trust is None else trust,
        tags=[tag for tag in form.get("tags", "").split(",") if tag.strip()],
        by=visit.by,
    )


def _correct(visit: Visit) -> Result:
    number, text = visit.path["number"], visit.form.get("text", "")
    if late := overtaken(visit, mark_of(_words_of(visit)), "it"):
        return late
    return operations.correct_memory(visit.assistant, number, text, by=visit.by)


def _forget(visit: Visit) -> Result:
    refused = unsure(visit, "what is forgotten is gone for good, with what was concluded from it.")
    return refused or operations.forget_memory(visit.assistant, visit.path["number"], by=visit.by)


PAGES = (
    Page(f"{ONE}memory/", "memory", "Memory", "show memories", _show, is_long=True),
    Page(
        f"{ONE}memory/<int:number>/",
        "one-memory",
        "One memory",
        "show memories",
        _show_one,
        in_menu=False,
    ),
)
ACTIONS = (
    Action(f"{ONE}memory/add/", "memory-add", "memory", "change memories", _add),
    Action(
        f"{ONE}memory/reindex/",
        "memory-reindex",
        "memory",
        "change memories",
        lambda visit: upkeep.begin_reindexing(visit.assistant),
    ),
    Action(
        f"{ONE}memory/<int:number>/correct/",
        "memory-correct",
        "one-memory",
        "change memories",
        _correct,
    ),
    Action(
        f"{ONE}memory/<int:number>/forget/",
        "memory-forget",
        "one-memory",
        "change memories",
        _forget,
        goes_to=lambda visit, _: page_address("memory", key=visit.path["key"]),
    ),
)
