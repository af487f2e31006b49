"""A player's rights over memories of them: to read and correct them, and to be forgotten.

Players reach only what is theirs: what they said or caused, what is private to them, and what was
concluded from it. Staff read and forget for another person by naming themselves as `by`, which is
recorded.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated, Any

from django.db.models import QuerySet

from evennia_ai import approvals, audit
from evennia_ai.agent import tracing
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import TASK
from evennia_ai.core.hearing.perception import PRIVATE
from evennia_ai.core.memory.forgetting import PersonNames
from evennia_ai.core.memory.recollection import WORLD, MemoryKind, is_private, person_audience
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.safety.persona import about_itself
from evennia_ai.core.text.cleaning import name_as_data, one_line, quote
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.conversation import PRIVATE_TO, Message, is_of
from evennia_ai.core.typed_objects import Being
from evennia_ai.memory import consent, forgetting, reaching
from evennia_ai.memory.notebook import Note
from evennia_ai.memory_store import rows
from evennia_ai.messages import incoming
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.operations.memory.memories import OF_ITSELF
from evennia_ai.operations.memory.profiles import attributes_of
from evennia_ai.operations.memory.rows import (
    Export,
    Forgotten,
    ForgottenThing,
    Known,
    Names,
    OwnMemory,
    also_forgotten,
    cleaned,
    lines_of_known,
    own_memory_of,
    problem_of_text,
    rows_of,
)
from evennia_ai.operations.result import Result, note, number_of
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.settings.changing import signed
from evennia_ai.operations.turns.traces import exported
from evennia_ai.runtime import state, turns
from evennia_ai.runtime.names import name_of
from evennia_ai.runtime.rights import name_before
from evennia_ai.runtime.turns import aside
from evennia_ai.runtime.work import Work
from evennia_ai.tasks import store as tasks

# Upper bound of trust in a memory that its own person has corrected.
MENDED_TRUST = 0.6
_I = re.compile(r"\b(?:I|me|my|mine|myself)\b", re.IGNORECASE)
MOST_KNOWN = 1_000
MAY_LAST = "Recent words may still be in the conversation."
ORDER = {MemoryKind.FACT: 1, MemoryKind.INSIGHT: 2, MemoryKind.JOURNAL: 3}
KEPT = (
    "This stays: a choice not to be heard or remembered; how much was used; lore that staff wrote; "
    "the audit log, which has numbers and short versions of what was said in public, but no "
    "private words; and whatever still waits for an answer."
)


@dataclass(frozen=True, slots=True)
class ForgottenPerson(Forgotten):
    """The number of memories of a person that were forgotten, and what is not."""

    kept: Annotated[str, note("What is not deleted, and why.")]


def person_id(being: Being | str) -> str:
    """The id of the person behind a character or an account, or the id itself."""
    return being if isinstance(being, str) else incoming.person_of(being)


def _name(script: AssistantScript, being: Being | str, by: str = "") -> str:
    # The name that the reader knows: staff know all names, a player perhaps only a description.
    return name_before(script, None if by or isinstance(being, str) else being)


# ---- reading -----------------------------------------------------------------------------------


def what_is_known(
    script: AssistantScript,
    being: Being | str,
    *,
    after: int = 0,
    limit: int = MOST_KNOWN,
    by: str = "",
    look: PrivateView | None = None,
) -> Result[Known]:
    """List an assistant's memories of a person: facts, insights, then entries of its journal.

    Args:
        after: number of memories to skip.
        limit: number of memories, at most MOST_KNOWN.
        by: name of the reader, where that is not the person.
        look: the reader; None: the person.
    """
    person = person_id(being)
    look = look or PrivateView("" if by else person)
    every = _known(script, person)
    # Only what is listed counts as seen.
    known: list[OwnMemory] = [
        {**row, "text": look.words(row["text"], person if row["is_private"] else None)}
        for row in every[after : after + min(limit, MOST_KNOWN)]
    ]
    look.note(script, "memories")
    if by:
        with signed(by):
            audit.record("memory_viewed", script, person=person, count=len(known))
    is_remembered = person not in state.read(script, "unremembered")
    data = Known(known, len(every), is_remembered)
    left, name = len(every) - after - len(known), _name(script, being, by)
    lines = [*lines_of_known(name, data, left, is_own=not by), *look.hint()]
    return Result(True, "\n".join(lines), data)


def _known(script: AssistantScript, person: str) -> list[OwnMemory]:
    profile = _profile(script, person)
    # A profile may hold the same for several audiences: it is listed once, for the widest.
    entries: dict[str, OwnMemory] = {}
    for item in attributes_of(profile) if profile is not None else ():
        text, number = item["text"], number_of_attribute(item["text"])
        if number not in entries or entries[number]["is_private"]:
            own = is_private(item["audience"])
            entries[number] = OwnMemory(
                id=number, kind="attribute", text=text, at=item["at"], superseded="", is_private=own
            )
    theirs = sorted(_theirs(script, person), key=lambda row: (ORDER.get(row.kind, 4), -row.pk))
    return [*entries.values(), *map(own_memory_of, theirs)]


def _theirs(script: AssistantScript, person: str) -> QuerySet[Memory]:
    memories = rows.of(script.pk).exclude(kind=MemoryKind.LORE)
    theirs: QuerySet[Memory] = memories.filter(forgetting.filter_of_person(person)).order_by("-pk")
    return theirs


def _profile(script: AssistantScript, person: str) -> EntityProfile | None:
    profiles = EntityProfile.objects.filter(assistant=script.pk, entity=person)
    profile: EntityProfile | None = profiles.first()
    return profile


def number_of_attribute(text: str) -> str:
    """The number of an attribute, which has no row of its own: "a" and part of its hash."""
    return f"a{sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


def export_known(
    script: AssistantScript, being: Being | str, *, by: str = "", look: PrivateView | None = None
) -> Result[Export]:
    """Export everything that is stored of a person, as plain data.

    Args:
        by: name of the reader, where that is not the person.
        look: the reader; None: the person.
    """
    person, work = person_id(being), script.work or state.rebuild(script)
    forms = forgetting.forms_of(person)
    look = look or PrivateView("" if by else person)
    profile = _profile(script, person)
    notes = [note for note in state.read(script, "notes") if note["person"] == person]
    known = work.senders.as_stored().get(person, [0, 0])
    data = Export(
        assistant=_name(script, being, by),
        person=person,
        is_remembered=person not in state.read(script, "unremembered"),
        is_muted=person in work.muted,
        profile=_exported(profile, look) if profile is not None else None,
        memories=look.rows(rows_of(_theirs(script, person))),
        notes=[_note(note, look, person) for note in notes],
        conversation=[
            _said(message, look, person) for message in work.history if is_of(message, forms)
        ],
        heard=[_heard(record, look) for record in work.decisions.newest(person=person)],
        traced=exported(script, person, look),
        company={"answered": known[0], "refused": known[1]},
    )
    look.note(script, "export")
    with signed(by):
        audit.record("memories_exported", script, person=person)
    whom = Names().of(person) or (data.profile or {}).get("name") or person
    message = f"{data.assistant} remembers {counted(len(data.memories), 'things')} about {whom}."
    return Result(True, message, data)


def _note(note: Note, look: PrivateView, person: str) -> dict[str, Any]:
    owner = person if note["is_private"] else None
    return {"number": note["number"], "text": look.words(note["text"], owner)}


def _said(message: Message, look: PrivateView, person: str) -> dict[str, Any]:
    owner = person if PRIVATE_TO in message else None
    content = message.get("content")
    text = look.words(content, owner) if content else content
    return {"role": message["role"], "content": text}


def _heard(record: DecisionTrace, look: PrivateView) -> dict[str, Any]:
    owner = record.heard.person if record.heard.source in PRIVATE else None
    return {"number": record.number, "text": look.words(record.heard.body, owner)}


def _exported(profile: EntityProfile, look: PrivateView) -> dict[str, Any]:
    return {
        "name": profile.name,
        "favour": profile.favour,
        "meetings": profile.meetings,
        "attributes": look.rows(attributes_of(profile)),
    }


# ---- correcting --------------------------------------------------------------------------------


def correct_known(
    script: AssistantScript, being: Being, number: str | int, text: str
) -> Result[ForgottenThing]:
    """Correct a memory of a person; other memories of theirs that say the old are forgotten.

    Args:
        number: number of a memory or attribute, as `what_is_known` lists it.
    """
    person, words = person_id(being), cleaned(text)
    name, own = _met_as(script, being), _name(script, being)
    # "I" means the person who corrects it, not the assistant.
    of_itself = about_itself(_I.sub(name or "somebody", words), consent.names_of(script))
    if problem := problem_of_text(words) or (OF_ITSELF if of_itself else ""):
        return Result.invalid(f"{own}: nothing is changed: {problem}.")
    if _I.search(words):
        words = f"{name_as_data(name)} says: {quote(words)}"
    memory, attribute = _own(script, person, number), _own_attribute(script, person, number)
    if memory is not None:
        # An open memory becomes private: else a player could spread anything as remembered.
        whom = person_audience(person) if memory.audience == WORLD else memory.audience
        mended = {"text": words, "trust": min(memory.trust, MENDED_TRUST), "audience": whom}
        reached = reaching.correct(script, memory, person=person, **mended)
    elif attribute is not None:
        reached = reaching.correct_attribute(script, *attribute, words)
    else:
        return _unknown(own, number)
    message = f"{own} remembers that now: {words}\n{also_forgotten(reached)}".rstrip()
    return Result(True, message, ForgottenThing(reached.memories, **asdict(reached)))


def forget_known(
    script: AssistantScript, being: Being, number: str | int
) -> Result[ForgottenThing]:
    """Forget one memory of a person, and all memories of theirs that say the same.

    These are the entries it was drawn from, equal facts, and conclusions from any of them.
    """
    person, name = person_id(being), _name(script, being)
    memory, attribute = _own(script, person, number), _own_attribute(script, person, number)
    if memory is not None:
        reached = reaching.forget(script, memory, why="asked for", person=person)
    elif attribute is not None:
        reached = reaching.forget_attribute(script, *attribute, why="asked for")
    else:
        return _unknown(name, number)
    message = " ".join(filter(None, (f"{name} forgot that.", also_forgotten(reached), MAY_LAST)))
    return Result(True, message, ForgottenThing(1 + reached.memories, **asdict(reached)))


def _met_as(script: AssistantScript, being: Being) -> str:
    # An account is not seen in the game: it has the name under which the assistant met it.
    if not incoming.id_of(being).startswith("*"):
        return name_of(being, script.obj)
    profile = _profile(script, person_id(being))
    return profile.name if profile is not None else Names().of(person_id(being))


def _own(script: AssistantScript, person: str, number: str | int) -> Memory | None:
    pk = number_of(number)
    if pk is None:
        return None
    own: Memory | None = _theirs(script, person).filter(pk=pk).first()
    return own


def _own_attribute(
    script: AssistantScript, person: str, number: str | int
) -> tuple[EntityProfile, str] | None:
    profile, wanted = _profile(script, person), str(number).casefold()
    texts = [str(item["text"]) for item in profile.attributes] if profile is not None else []
    attribute = next((text for text in texts if number_of_attribute(text) == wanted), None)
    return None if profile is None or attribute is None else (profile, attribute)


def _unknown(name: str, number: str | int) -> Result:
    result = Result.not_found(f"{name} has no memory {one_line(str(number), 30)} about you.")
    return result.with_typed(f" See: assistant memory {name}")


# ---- being forgotten ---------------------------------------------------------------------------


def set_remembered(script: AssistantScript, being: Being, is_remembered: bool) -> Result:
    """Stop or resume remembering new things of a person. What is remembered already stays."""
    person, name = person_id(being), _name(script, being)
    unremembered = set(state.read(script, "unremembered"))
    if (person not in unremembered) is is_remembered:
        now = "remembers what you do" if is_remembered else "remembers nothing new about you"
        return Result.conflict(f"{name} already {now}.")
    event = audit_event("remembering_changed", person=person, is_remembered=is_remembered)
    # A symmetric difference: it adds the person or removes them.
    state.write(script, event, unremembered=sorted(unremembered ^ {person}))
    if is_remembered:
        return Result(True, f"{name} will remember new things about you again.")
    rest = f"What {name} knows already stays"
    done = Result(True, f"{name} will remember nothing new about you. {rest}")
    forget, back = f"assistant forget everything {name}", f"assistant memory on {name}"
    return done.with_typed(f"; to delete that too: {forget}. To undo: {back}")


def forget_everything(
    script: AssistantScript, being: Being | str, *, by: str = ""
) -> Result[ForgottenPerson]:
    """Forget a person everywhere: memories, profile, notes, conversation, summaries and traces.

    A turn that is answering them is dropped first; messages that wait for an answer stay.
    """
    person = person_id(being)
    with signed(by):
        # First, since a turn that ends afterwards would store their words again.
        _drop_under_way(script, person)
        elsewhere = tracing.forget, tasks.forget, approvals.forget
        count = forgetting.forget_person(script, person, *elsewhere)
    whom, name = "you" if not by else "them", _name(script, being, by)
    gone = f"{counted(count, 'memories')}, and all conversation with {whom}. {KEPT}"
    return Result(True, f"{name} has forgotten {whom}: {gone}", ForgottenPerson(count, KEPT))


def _drop_under_way(script: AssistantScript, person: str) -> None:
    """Drop everything under way that could still write something about a person.

    Another player's turn that holds their overheard words starts again, unless an effect of it was
    seen already; a summary being made, and a step of the night, are repeated later.
    """
    work = script.work
    if work is None:
        return
    theirs = {item["id"] for item in work.inbox if item.get("person") == person}
    checkpoint = state.read(script, "current_tool_call") or {}
    busy = theirs.intersection({*work.busy, *checkpoint.get("events", ())})
    name = forgetting.name_of(script, person)
    is_named = name.is_in(str(checkpoint))
    holds_words = is_named or any(item.person == person for item in work.overheard)
    is_cut_off = busy or (work.in_flight and holds_words)
    if work.in_flight and holds_words:
        state.bump_epoch(script)
    else:
        state.void_turns(work, theirs | _knowing(work, person, name))
    if is_cut_off:
        # The cut-off turn is still to be recorded, with the length of its words only.
        work.unkept[:] = [forgetting.without_words(each) for each in work.unkept]
    for beside in filter(None, (work.compacting, work.resting)):
        beside.cancel()
    if checkpoint and (busy or holds_words):
        aside.recover(script, is_final=True)
        state.write(script, current_tool_call=None)
    aside.void(script, lambda item: item["id"] in theirs or name.is_in(str(item)))
    if gone := [item for item in work.inbox if item["id"] in busy and item["kind"] != TASK]:
        state.discard(script, gone)
    approvals.discard_of(script, person)
    script.beat_soon()


def _knowing(work: Work, person: str, name: PersonNames) -> set[str]:
    """Ids of the events of turns that are set aside and hold a person's name or words."""
    return {
        event.id
        for seat in work.aside.values()
        if name.is_in(str(turns.as_noted(seat.turn)))
        or any(item.person == person for item in seat.turn.overheard)
        for event in seat.turn.events
    }
