"""Forgetting a person or all memories, in one transaction. For a single memory see `reaching`.

The vector store is updated soon after. Until then it may return keys, but the rows have no text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from django.db.models import Q

from evennia_ai.core.hearing.decision_traces import DecisionTrace, DecisionTraces
from evennia_ai.core.memory import reaching as core
from evennia_ai.core.memory.forgetting import (
    PersonNames,
    history_without,
    without_marked,
    without_names,
)
from evennia_ai.core.memory.namesakes import former_names, speaker_in
from evennia_ai.core.memory.recollection import MemoryKind, person_audience
from evennia_ai.core.safety.audit_events import AuditEvent, audit_event
from evennia_ai.core.text.plain_data import to_stored
from evennia_ai.core.turn import executions
from evennia_ai.memory import indexing
from evennia_ai.memory.seeking import beings_of
from evennia_ai.memory_store import rows
from evennia_ai.messages import incoming
from evennia_ai.models import EntityProfile
from evennia_ai.runtime import asked, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import unmarked
from evennia_ai.runtime.work import Work

LOGGED_WORDS = ("parameters", "reasoning", "error")  # of an entry of the log of tools


def filter_of_person(person: str) -> Q:
    """A filter for memories that a person ("*#3") caused or that are private to them; "": none."""
    if not person:
        return Q(pk=None)
    return Q(person=person) | Q(audience=person_audience(person))


def conclusions(assistant: int, keys: Collection[str]) -> set[str]:
    """Keys of memories that were derived from the given ones, directly or indirectly."""
    cites = dict(rows.of(assistant).exclude(cites=[]).values_list("key", "cites"))
    return core.conclusions(cites, keys)


def forget_all(script: Assistant) -> int:
    """Forget all memories of an assistant except lore. Returns their number."""
    memories = rows.of(script.pk).exclude(kind=MemoryKind.LORE)
    keys = list(memories.values_list("key", flat=True))

    def write() -> None:
        rows.remove(script.pk, keys)
        EntityProfile.objects.filter(assistant=script.pk).delete()

    event = audit_event("memories_forgotten", count=len(keys), why="all of them")
    state.write(script, event, extra_writes=write, notes=[], projects={}, reflection_state={})
    if script.work is not None:
        script.work.talks.clear()
        script.work.profiles = None
        script.work.tool_cache.clear_all()
    indexing.soon(script)
    return len(keys)


# ---- a person, everywhere ----------------------------------------------------------------------


def forms_of(person: str) -> set[str]:
    """The ids of a person: of the account and its characters, masked or not."""
    return {person, *map(incoming.id_of, beings_of(person))}


def name_of(script: Assistant, person: str) -> PersonNames:
    """All names of a person: of the account, its characters, and the stored profile."""
    keys = [str(each.key) for each in beings_of(person)]
    names = {*keys, *map(unmarked, keys)}
    for profile in EntityProfile.objects.filter(assistant=script.pk, entity=person):
        names |= {profile.name, *former_names(item["text"] for item in profile.attributes)}
    return PersonNames(names - {str(script.key)})


def met_names(assistant: int) -> dict[str, set[str]]:
    """The names by which an assistant met each person, now or earlier."""
    profiles = EntityProfile.objects.filter(assistant=assistant)
    return {
        entity: {name, *former_names(item["text"] for item in attributes)}
        for entity, name, attributes in profiles.values_list("entity", "name", "attributes")
    }


def without_words(event: AuditEvent) -> AuditEvent:
    """Remove the words from an audit event of a tool call; other events are returned unchanged."""
    if event.event != executions.TOOL:
        return event
    entry = executions.without_words(event.details)
    return audit_event(event.event, **{name: entry[name] for name in event.details})


def forget_person(
    script: Assistant, person: str, *also: Callable[[int, str, PersonNames], None]
) -> int:
    """Forget a person: their memories, whose number is returned, and their name elsewhere.

    No turn for them may be running: `operations.memory.own` cancels those first.

    Args:
        also: called in the same transaction to forget them elsewhere, with the assistant's id,
            the person and their names.
    """
    name = name_of(script, person)
    mine = set(rows.of(script.pk).filter(filter_of_person(person)).values_list("key", flat=True))
    keys = [*mine, *conclusions(script.pk, mine)]

    def write() -> None:
        rows.remove(script.pk, keys)
        EntityProfile.objects.filter(assistant=script.pk, entity=person).delete()
        _hide_in_rows(script.pk, person, name)
        for forget in also:
            forget(script.pk, person, name)

    event = audit_event("person_forgotten", person=person, count=len(keys))
    _write_without(script, person, name, event, write)
    indexing.soon(script)
    return len(keys)


def _hide_in_rows(assistant: int, person: str, name: PersonNames) -> None:
    """Replace a person's name in memories and profiles of others, which stay.

    Lore is left unchanged: it is the owner's, and a player may be called like anything in it. So
    is the name where it is somebody else's, who had it before or has it now: in front of their
    entries, in facts that they told, and in their profile.
    """
    met = met_names(assistant)

    def besides(whose: str) -> PersonNames:
        return name.then(dict.fromkeys(met.get(whose, ()), whose), (person,))

    _hide_in_memories(assistant, person, name, besides)
    for profile in EntityProfile.objects.filter(assistant=assistant).exclude(attributes=[]):
        hidden_ones = without_names(profile.attributes, besides(profile.entity))
        if hidden_ones != profile.attributes:
            profile.attributes = hidden_ones
            profile.save(update_fields=["attributes"])


def _hide_in_memories(
    assistant: int, person: str, name: PersonNames, besides: Callable[[str], PersonNames]
) -> None:
    """Replace a person's name in memories of others.

    Args:
        besides: the names without those of somebody else, by that person's id.
    """
    others, condition = rows.of(assistant).exclude(kind=MemoryKind.LORE), Q()
    for form in name.written:
        # A substring match only narrows the rows; `hidden` replaces whole names.
        condition |= Q(text__contains=form)
    for memory in rows.values(others.filter(condition)):
        own = speaker_in(memory) if memory.person not in ("", person) else ""
        # An entry has all that was said, also of the person.
        names = name if memory.kind == MemoryKind.JOURNAL else besides(memory.person)
        hidden = own + names.hidden(memory.text[len(own) :])
        if hidden != memory.text:
            rows.change(assistant, memory.key, text=hidden)
    for key, tags, whose in list(others.exclude(tags=[]).values_list("key", "tags", "person")):
        if (hidden_tags := without_names(tags, besides(whose))) != tags:
            rows.change(assistant, key, tags=hidden_tags)


def _write_without(
    script: Assistant, person: str, name: PersonNames, event: AuditEvent, write: state.ExtraWrites
) -> None:
    """Remove a person from all state. Memory is updated only after the commit."""
    work = script.work or state.rebuild(script)
    history = history_without(work.history, forms_of(person), name)
    heard = [item for item in work.overheard if item.person != person]
    log = [_entry_without(entry, person, name) for entry in work.executions]
    records = _records_without(work.decisions, person, name)
    marks = frozenset((person, person_audience(person)))
    values = {
        "conversation_history": history,
        "overheard": [to_stored(item) for item in heard],
        "records": records.as_stored() if records.count else {},
        "execution_log": log,
        "notes": [
            {**note, "text": name.hidden(str(note["text"]))}
            for note in state.read(script, "notes")
            if note["person"] != person
        ],
        "company": {who: row for who, row in work.senders.as_stored().items() if who != person},
        "projects": without_marked(state.read(script, "projects"), marks, name),
    }
    changed = {key: value for key, value in values.items() if value != state.read(script, key)}
    state.write(script, event, extra_writes=write, **changed)
    work.history, work.overheard, work.decisions, work.executions = history, heard, records, log
    _forget_in_memory(script, work, person)


def _entry_without(entry: dict[str, Any], person: str, name: PersonNames) -> dict[str, Any]:
    """An entry of the log of tools: without words if it was for the person, else without names."""
    if entry.get("person") == person:
        return executions.without_words(entry)
    words = {key: entry[key] for key in LOGGED_WORDS if key in entry}
    hidden = without_names(words, name)
    return entry if hidden == words else {**entry, **hidden, executions.FORGOTTEN: True}


def _record_without(record: DecisionTrace, name: PersonNames) -> DecisionTrace:
    body = name.hidden(record.heard.body)
    # Unchanged ones stay the same objects: further steps of theirs are still noted.
    is_same = body == record.heard.body
    return record if is_same else replace(record, heard=replace(record.heard, body=body))


def _records_without(records: DecisionTraces, person: str, name: PersonNames) -> DecisionTraces:
    # The counter is kept, so that the remaining decisions keep their numbers.
    remaining = DecisionTraces(count=records.count)
    for theirs, others in ((records.passed, remaining.passed), (records.judged, remaining.judged)):
        for record in theirs:
            if record.heard.person != person:
                others.append(_record_without(record, name))
    return remaining


def _forget_in_memory(script: Assistant, work: Work, person: str) -> None:
    work.talks.pop(person, None)
    work.profiles = None
    if work.indexing is not None:
        work.indexing.places.pop(person, None)
    work.tool_cache.clear_all()
    work.recorded.forget()
    asked.drop_copy(script)
    # Request counts of this minute stay: otherwise a player could evade rate limits this way.
    if (known := work.senders.people.get(person)) is not None:
        known.answered = known.refused = 0
    for place, (partner, *_) in list(work.conversations.by_place.items()):
        if partner == person:
            work.conversations.end(place)
