"""Endpoints of an assistant's memories, for staff, and of the sleep in which it sorts them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai.api import requests
from evennia_ai.api.base import limit_of, look_of, set_location
from evennia_ai.api.people import dbref_of, name_of
from evennia_ai.api.rows import ONE, Call, Route, Row, Tag
from evennia_ai.operations import Result
from evennia_ai.operations.memory import memories, upkeep
from evennia_ai.operations.memory import rows as memory_rows

TAG = Tag("Memory", "Memories of assistants, for staff.")
SLEEP = Tag("Sleep", "Sleep, in which assistants consolidate their memories.")
KEY = "5f0c1d2e3a4b4c5d8e9f001122334455"

MEMORY = {
    "key": KEY,
    "number": 41,
    "kind": "fact",
    "text": "The atlas was lent to the harbour master.",
    "audience": "room:object-2",
    "person": "account-3",
    "person_name": "Mira",
    "place": "#2",
    "trust": 0.9,
    "importance": 6,
    "importance_by": "heuristic",
    "source_type": "direct",
    "at": "2026-01-31T12:00:00+00:00",
    "tags": ["atlas"],
    "cites": [],
    "superseded": "",
    "is_consolidated": False,
    "is_indexed": True,
}

WITH_IT = "{} Also forgotten: 2 entries of its journal and 1 point of a profile."
REACHED = {"count": 3, "facts": 0, "entries": 2, "insights": 0, "attributes": 1, "kept": 0}

GIVEN = {
    **MEMORY,
    "audience": "world",
    "person": "",
    "person_name": "",
    "place": "",
    "importance_by": "manual",
    "is_indexed": False,
}

# The fields of results that contain memories.
NAMED = ("memory", "memories", "cites", "cited_by")


def named(result: Result) -> Result:
    """Replace the ids of people in a result's memories by the API's names (`account-3`)."""
    if not result.ok:
        return result
    rows = {name: getattr(result.data, name) for name in NAMED if hasattr(result.data, name)}
    renamed = {name: _named(value) for name, value in rows.items()}
    return result.with_data(replace(result.data, **renamed))


def _named(part: Any) -> Any:
    if isinstance(part, list):
        return [_named(row) for row in part]
    return {**part, "person": name_of(part["person"])}


def _list(call: Call) -> Result:
    query, look = dict(call.query), look_of(call)
    query.pop("reveal", None)
    query["limit"] = min(limit_of(query), memory_rows.MOST_AT_ONCE)
    if "person" in query:
        query["person"] = dbref_of(query["person"])
    return named(memories.list_memories(call.script, **query, look=look))


def _add(call: Call) -> Result:
    body = dict(call.body)
    text = body.pop("text")
    result = named(memories.add_memory(call.script, text, **body, by=call.by))
    if result.ok:
        key, memory = str(call.script.key), result.data.memory["key"]
        set_location(call, "one-memory", key=key, memory=memory)
    return result


def _correct(call: Call) -> Result:
    key, text = call.path["memory"], call.body["text"]
    return named(memories.correct_memory(call.script, key, text, by=call.by))


def _search(call: Call) -> Deferred[Result]:
    limit = min(call.query.get("limit", 10), limit_of(call.query))
    look, words = look_of(call), call.query["q"]
    search = memories.search_memories(call.script, words, limit=limit, look=look)
    return search.addCallback(named)


ASLEEP = {
    "text": "Edda sleeps until 2026-02-01 06:00 (dreaming). No night has been completed yet.",
    "mode": "sleep",
    "phase": "dreaming",
    "until": "2026-02-01T06:00:00+00:00",
    "schedule": {"enabled": True, "sleep_start_hour": 2, "sleep_duration_hours": 4},
    "night": {},
    "last_night": {},
}


ROWS = (
    Row(
        Route("GET", f"{ONE}memory/", "memories", "show memories", TAG),
        _list,
        "List what an assistant remembers",
        "The newest first. What is private to others is masked, unless `reveal` is true.",
        result=memory_rows.MemoryPage,
        query=requests.MemoriesBefore,
        answer={"memories": [MEMORY], "count": 1, "next": None},
    ),
    Row(
        Route("POST", f"{ONE}memory/", "memories", "change memories", TAG),
        _add,
        "Add a memory to an assistant",
        "Everybody may be told about it.",
        operation_id="let_an_assistant_remember_something",
        result=memory_rows.KeptMemory,
        body=requests.NewMemory,
        status=201,
        action="add memory",
        is_private=True,
        example={"text": "The atlas was lent to the harbour master.", "importance": 6},
        answer={"message": "Edda knows that now, as number 41.", "memory": GIVEN},
    ),
    Row(
        Route("GET", f"{ONE}memory/search/", "memory-search", "show memories", TAG),
        _search,
        "Search what an assistant remembers",
        "Searches by meaning, the most similar first; by words while the vector store "
        "is unavailable.",
        result=memory_rows.FoundMemories,
        query=requests.MemorySearch,
        is_long=True,  # the embedding model may be asked
        answer={"memories": [{**MEMORY, "similarity": 0.71}]},
    ),
    Row(
        Route("GET", f"{ONE}memory/status/", "memory-status", "show memories", TAG),
        lambda call: upkeep.memory_status(call.script),
        "Show the state of an assistant's memory",
        "Number of memories, whether they can be searched, and the progress of the index.",
        operation_id="see_how_an_assistants_memory_is",
        result=upkeep.MemoryStatus,
        says="text",
    ),
    Row(
        Route("POST", f"{ONE}memory/reindex/", "memory-reindex", "change memories", TAG),
        lambda call: upkeep.begin_reindexing(call.script),
        "Rebuild the index of an assistant's memory",
        "Needed after a change of the embedding model. The response does not wait for "
        "the work to finish.",
        operation_id="index_an_assistants_memory_anew",
        result=upkeep.Reindexing,
        status=202,  # the work begins, and goes on after the response
        action="reindex memories",
        answer={"message": "Edda's memories are being indexed anew.", "waiting": 412},
    ),
    Row(
        Route("GET", f"{ONE}memory/<ai_memory:memory>/", "one-memory", "show memories", TAG),
        lambda call: named(
            memories.show_memory(call.script, call.path["memory"], look=look_of(call))
        ),
        "Read one memory of an assistant",
        "Includes the memories it was concluded from, and those concluded from it.",
        result=memory_rows.OneRemembered,
        answer={"memory": MEMORY, "cites": [], "cited_by": []},
        query=requests.Revealing,
    ),
    Row(
        Route("PATCH", f"{ONE}memory/<ai_memory:memory>/", "one-memory", "change memories", TAG),
        _correct,
        "Correct a memory of an assistant",
        "The old text is deleted, and so is everything that says the same or was "
        "concluded from it.",
        result=memory_rows.Corrected,
        body=requests.CorrectedMemory,
        action="correct memory",
        is_private=True,
        example={"text": "The atlas was lent to the lighthouse keeper."},
        answer={"message": "Edda: number 41 is put right.", **REACHED, "memory": MEMORY},
    ),
    Row(
        Route("DELETE", f"{ONE}memory/<ai_memory:memory>/", "one-memory", "change memories", TAG),
        lambda call: memories.forget_memory(call.script, call.path["memory"], by=call.by),
        "Delete one memory of an assistant",
        "Deletes at once and permanently, including what says the same, its journal "
        "entries and what was concluded from it.",
        operation_id="let_an_assistant_forget_one_memory",
        result=memory_rows.ForgottenThing,
        action="forget memory",
        answer={"message": WITH_IT.format("Edda forgot number 41."), **REACHED},
    ),
    Row(
        Route("GET", f"{ONE}sleep/", "sleep", "status", SLEEP),
        lambda call: upkeep.sleep_status(call.script),
        "See whether an assistant sleeps",
        "Whether it sleeps and until when, and the result of its last night.",
        result=upkeep.Sleep,
        says="text",
        answer=ASLEEP,
    ),
    Row(
        Route("POST", f"{ONE}sleep/", "sleep", "sleep", SLEEP),
        lambda call: upkeep.put_to_sleep(call.script, hours=call.body.get("hours"), by=call.by),
        "Put an assistant to sleep",
        "It consolidates its memories while it sleeps; speaking to it wakes it.",
        result=upkeep.Asleep,
        body=requests.SleepLength,
        example={"hours": 4},
        answer={
            "message": "Edda sleeps until 2026-02-01 06:00, or until someone speaks to it.",
            "until": ASLEEP["until"],
        },
    ),
    Row(
        Route("POST", f"{ONE}wake/", "wake", "sleep", SLEEP),
        lambda call: upkeep.wake_up(call.script, by=call.by),
        "Wake an assistant",
        "Consolidation that is not finished continues in the next night.",
        action="wake",
        answer={"message": "Edda is awake."},
    ),
)
