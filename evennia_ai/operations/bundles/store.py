"""Storing an imported assistant's memories, profiles and state, under ids of this game."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from evennia_ai import emergency
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.keys import new_key
from evennia_ai.core.memory.recollection import Recollection
from evennia_ai.memory_store import rows
from evennia_ai.models import CardFile, EntityProfile
from evennia_ai.operations.bundles.parts import (
    OF_MEMORY,
    OF_PROFILE,
    Bundle,
    MemoryLine,
    ProfileLine,
    taken,
)
from evennia_ai.operations.bundles.people import STRANGERS, Ids
from evennia_ai.runtime import state
from evennia_ai.runtime.game_thread import Steps

AT_ONCE = 25  # rows stored in one step, in a few milliseconds


def storing(number: int, bundle: Bundle, ids: Ids) -> Steps[None]:
    """Store memories and profiles in small transactions, before the assistant itself exists.

    Args:
        number: primary key that the assistant's script will have.
    """
    # All keys come first, since a memory may cite one of a later line.
    keys = list[str]()
    while len(keys) < len(bundle.memories):
        keys += [new_key() for _ in range(min(1_000, len(bundle.memories) - len(keys)))]
        yield
    for first in range(0, len(keys), AT_ONCE):
        _store_memories(number, keys, first, bundle.memories[first : first + AT_ONCE], ids)
        yield
    for first in range(0, len(bundle.profiles), AT_ONCE):
        some = bundle.profiles[first : first + AT_ONCE]
        EntityProfile.objects.bulk_create(_profile(number, line, keys, ids) for line in some)
        yield


def _store_memories(
    number: int, keys: list[str], first: int, lines: Sequence[MemoryLine], ids: Ids
) -> None:
    memories = {
        key: Recollection(
            **taken(line, OF_MEMORY),
            key=key,
            audience=ids.audience_of(line.audience),
            person=ids.id_of(line.person),
            place=ids.id_of(line.place),
            tags=tuple(line.tags),
            cites=tuple(keys[cited - 1] for cited in line.cites),
        )
        for key, line in zip(keys[first : first + len(lines)], lines, strict=True)
    }
    pairs = list(zip(memories, lines, strict=True))
    with transaction.atomic():
        terms = {key: line.terms for key, line in pairs if line.terms is not None}
        rows.insert(number, memories.values(), terms)
        rows.note_consolidated(number, [key for key, line in pairs if line.is_consolidated])


def _profile(number: int, line: ProfileLine, keys: list[str], ids: Ids) -> EntityProfile:
    consolidated = keys[line.consolidated - 1 :][:1] if line.consolidated else []
    return EntityProfile(
        **taken(line, OF_PROFILE),
        assistant=number,
        entity=ids.id_of(line.who),
        attributes=[
            {"text": item.text, "audience": ids.audience_of(item.audience), "at": item.at}
            for item in line.attributes
        ],
        consolidated=rows.newest(number, consolidated),
    )


def store(script: AssistantScript, bundle: Bundle, ids: Ids) -> None:
    """Store an assistant's card and state, in the transaction that creates the assistant."""
    if (card := bundle.card) is not None:
        picture = b64decode(card.picture)
        CardFile.objects.create(
            assistant=script.pk, chara=card.chara, ccv3=card.ccv3, picture=picture
        )
    _store_state(script, bundle, ids)
    if bundle.manifest.stopped is not None:
        why = f"as in {bundle.manifest.game}: {bundle.manifest.stopped}"
        emergency.trigger_emergency_stop(script, why, is_alarm=False)


def _store_state(script: AssistantScript, bundle: Bundle, ids: Ids) -> None:
    def owned(value: Mapping[str, Any]) -> dict[str, Any]:
        return {**value, "person": ids.id_of(value["person"])}

    stored = bundle.state.model_dump(mode="json", exclude_unset=True)
    projects = stored["projects"]
    if slots := projects.get("slots"):
        projects["slots"] = {name: owned(slot) for name, slot in slots.items()}
    values = {
        "current_goals": stored["goals"],
        "notes": [owned(each) for each in stored["notes"]],
        "projects": projects,
        "unremembered": sorted(map(ids.id_of, stored["unremembered"])),
        "muted_by": sorted(map(ids.id_of, stored["muted_by"])),
        STRANGERS: ids.strangers,
    }
    state.write(script, **{name: value for name, value in values.items() if value})
    # The script has started already, and read its state before this was written.
    if script.work is not None:
        script.work.muted = set(values["muted_by"])
        script.work.drop_cached_settings()
