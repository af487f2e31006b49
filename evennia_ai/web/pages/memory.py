"""The pages of one assistant's memories: search, recall trials, add, correct and forget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, succeed

from evennia_ai import operations
from evennia_ai.core.memory.recollection import MemoryKind, is_private
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.incoming import find_being
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.memory import trials, upkeep
from evennia_ai.operations.memory.memories import ADDED, find_memory
from evennia_ai.operations.memory.rows import FoundMemory, Remembered, audience_text
from evennia_ai.operations.rights import is_allowed
from evennia_ai.web.forms import (
    AT_ONCE,
    asked_number,
    mark_of,
    number_in,
    query_string,
    refuse_stale,
    require_confirmation,
    time_shown,
    whole_number_in,
)
from evennia_ai.web.rows import ONE, Action, Page, Shown, Visit

FOUND = 20
RECALL, ALIKE = "recall", "alike"
FILTERS = ("person", "kind", "text")
TRIED = ("q", "way", "who", "aloud")


def shown_memory(row: Remembered, found: str = "", *, is_left: bool = False) -> Shown:
    """Format a memory for a page.

    Args:
        found: why it was found, or would be left out of a prompt; "" outside of searches.
        is_left: it was found, but would be left out.
    """
    gone = "someone who is gone" if row["person"] else ""
    return {
        **row,
        "at": time_shown(row["at"]),
        "person": row["person_name"] or gone,
        "audience": audience_text(row["audience"], row["place"]),
        "is_private": is_private(row["audience"]),
        "tags": ", ".join(row["tags"]),
        "superseded": time_shown(row["superseded"]),
        "found": found,
        "is_left": is_left,
    }


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
    return _search(visit).addCallback(lambda matches: {**shown, **matches})


def _listed(visit: Visit) -> dict[str, Any]:
    filters = {name: visit.query.get(name, "").strip() for name in FILTERS}
    shown: dict[str, Any] = {"asked": filters, "lines": [], "older": "", "is_filtered": False}
    person = ""
    if filters["person"]:
        person = operations.find_person(visit.assistant, filters["person"])
        if not person:
            visit.result = unknown_person(filters["person"])
            return shown
    before = asked_number(visit, "before")
    result = operations.list_memories(
        visit.assistant,
        person=person,
        kind=filters["kind"],
        text=filters["text"],
        before=before,
        limit=AT_ONCE,
        look=visit.look,
    )
    if not result.ok:
        visit.result = result
        return shown
    following = result.data.next
    return {
        **shown,
        "lines": [shown_memory(row) for row in result.data.memories],
        "count": result.data.count,
        "older": query_string(**filters, before=following) if following else "",
        "is_filtered": any(filters.values()) or before is not None,
    }


def unknown_person(name: str) -> Result:
    """Refuse a name that belongs to no person."""
    return Result.invalid(
        f"There is nobody by the name {name[:60]!r}. Give the name of a character or an account, "
        "or #12, or *#3 of an account."
    )


def person_or_visitor(visit: Visit, script: AssistantScript, name: str) -> Being | None:
    """Find a being by name, or the visitor if the name is empty; None if there is none."""
    if not name.strip():
        return visit.account
    person = operations.find_person(script, name)
    being: Being | None = find_being(person) if person else None
    return being


def _search(visit: Visit) -> Deferred[Shown]:
    """Search for the words in the query string: by similarity, or as the assistant would recall."""
    script, words = visit.assistant, visit.query["q"]
    if visit.query.get("way") == ALIKE:
        similar = operations.search_memories(script, words, limit=FOUND, look=visit.look)
        return similar.addCallback(_show_found, visit, _similar)
    being = person_or_visitor(visit, script, visit.query.get("who", ""))
    is_aloud = bool(visit.query.get("aloud"))
    if being is None:
        visit.result = unknown_person(visit.query["who"])
        return succeed({})
    recalled = trials.try_recall(script, words, being, is_aloud=is_aloud, look=visit.look)
    return recalled.addCallback(_show_found, visit, _recalled, is_trial=True)


def _show_found(
    result: Result[Any], visit: Visit, form: Callable[[Any], Shown], **more: bool
) -> Shown:
    if not result.ok:
        visit.result = result
        return {}
    memories = list(map(form, result.data.memories))
    return {"found": memories, "problem": result.data.problem, **more}


def _similar(row: FoundMemory) -> Shown:
    similarity = row["similarity"]
    is_by_words = similarity is None
    return shown_memory(
        row, "It contains these words" if is_by_words else f"It is {similarity:.0%} similar"
    )


def _recalled(row: trials.TriedMemory) -> Shown:
    return shown_memory(row, _why(row), is_left=bool(row["why_not"]))


def _why(row: trials.TriedMemory) -> str:
    """Explain why a memory was found, and how it was ranked."""
    meaning = "not compared" if row["meaning"] is None else f"{row['meaning']:.0%}"
    ranking = f"Weight {row['score']:.0%}: words {row['words']:.0%}, meaning {meaning}"
    return f"{ranking}. Not used: {row['why_not']}" if row["why_not"] else ranking


# ---- one of them -------------------------------------------------------------------------------


def _show_one(visit: Visit) -> Shown:
    script = visit.assistant
    result = operations.show_memory(script, visit.path["number"], look=visit.look)
    if not result.ok:
        visit.result = (
            visit.result or result.untyped()
        )  # the message of a refused button comes first
        return {"memory": None}
    data = result.data
    return {
        "memory": shown_memory(data.memory),
        "mark": mark_of(_words_of(visit)),
        "cites": [shown_memory(row) for row in data.cites],
        "cited_by": [shown_memory(row) for row in data.cited_by],
        "may_change": is_allowed("change memories", visit.account, script),
    }


def _words_of(visit: Visit) -> str:
    """The text of the memory in the path; "" if there is none.

    Private text too: it is used for the mark of the form only, and not shown.
    """
    memory = find_memory(visit.assistant, visit.path["number"])
    return str(memory.text) if memory is not None else ""


# ---- buttons -----------------------------------------------------------------------------------


def _add(visit: Visit) -> Result:
    form = visit.form
    importance, trust = whole_number_in(form, "importance"), number_in(form, "trust")
    # The defaults are those of the REST API.
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
    if stale := refuse_stale(visit, mark_of(_words_of(visit)), "it"):
        return stale
    return operations.correct_memory(visit.assistant, number, text, by=visit.by)


def _forget(visit: Visit) -> Result:
    refused = require_confirmation(
        visit, "what is forgotten is gone for good, with what was concluded from it."
    )
    return refused or operations.forget_memory(visit.assistant, visit.path["number"], by=visit.by)


LOOK, CHANGE = "show memories", "change memories"
PAGES = (
    Page(f"{ONE}memory/", "memory", "Memory", LOOK, _show, is_long=True),
    Page(f"{ONE}memory/<int:number>/", "one-memory", "One memory", LOOK, _show_one, in_menu=False),
)
ACTIONS = (
    Action(f"{ONE}memory/add/", "memory-add", "memory", CHANGE, _add),
    Action(
        f"{ONE}memory/reindex/",
        "memory-reindex",
        "memory",
        CHANGE,
        lambda visit: upkeep.begin_reindexing(visit.assistant),
    ),
    Action(f"{ONE}memory/<int:number>/correct/", "memory-correct", "one-memory", CHANGE, _correct),
    Action(
        f"{ONE}memory/<int:number>/forget/",
        "memory-forget",
        "one-memory",
        CHANGE,
        _forget,
        goes_to="memory",
    ),
)
