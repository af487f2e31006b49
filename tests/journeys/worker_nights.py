"""Nights whose model calls are made by workers: the evening, the night, and the next morning."""

import json
from typing import Any

from tests.journeys.clients import Player
from tests.journeys.staging import run
from tests.journeys.worker_bed import Bed, until

NIGHT_SECONDS = 240.0
EVENING = """
from dataclasses import replace
from uuid import NAMESPACE_OID, uuid5
import time
from evennia_ai import consolidation
from evennia_ai.core.memory.recollection import Recollection, person_audience, place_audience
from evennia_ai.memory import profiles
from evennia_ai.memory_store import rows
from evennia_ai.messages import incoming
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime import state
Memory.objects.filter(assistant=who.pk).delete()
EntityProfile.objects.filter(assistant=who.pk).delete()
state.write(who, memory_config={"reflection_threshold": 60}, reflection_state={}, last_night={},
    sleep_schedule={"min_awake_minutes": 0, "tick_rate_sleep": 1, "token_budget": 1_000_000})
tom = incoming.person_of(me)
def entry(number, text, audience):
    return replace(Recollection(uuid5(NAMESPACE_OID, text).hex, "journal", text, audience,
        person=tom, place="#2"), at=time.time() - 3600 + number)
rows.insert(who.pk, [
    *(entry(n, "Boat %s lies in the harbour." % n, place_audience("say", "#2")) for n in range(5)),
    *(entry(n, "Crate %s stands in the cellar." % n, person_audience(tom)) for n in range(5)),
])
profiles.meet(who, tom, "Tom")
who.work.drop_cached_settings()
"""
SLEEP = EVENING + "consolidation.put_to_sleep(who, 'a test', by='a test')\n"
LOOK = """
from evennia_ai.runtime import state
import json
step = state.read(who, "consolidation_progress").get("step", "none")
told = json.dumps([step, bool(state.read(who, "last_night"))])
"""
MORNING = """
import json
from evennia_ai import consolidation
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime import state
kept = Memory.objects.filter(assistant=who.pk, is_removed=False)
told = json.dumps({
    "memories": sorted(kept.values_list(
        "kind", "text", "audience", "importance", "is_consolidated")),
    "unread": kept.filter(indexed_as="").count(),
    "profiles": sorted(str(each) for each in EntityProfile.objects.filter(
        assistant=who.pk).values_list("entity", "favour")),
    "known": sorted(known["text"] for profile in EntityProfile.objects.filter(assistant=who.pk)
        for known in profile.attributes),
    "put_off": state.read(who, "last_night").get("put_off", {}),
})
consolidation.wake_up(who, "a test")
"""


def fall_asleep(owner: Player, name: str = "ada") -> None:
    """Arrange ten entries of two audiences, and begin the night."""
    run(owner, _of(name) + SLEEP)


def _of(name: str) -> str:
    return f"who = find_assistant({name!r})\n"


def progress(owner: Player, name: str = "ada") -> list[Any]:
    """The current step of the night, and True once it has ended."""
    return json.loads(run(owner, _of(name) + LOOK))


def morning(bed: Bed, owner: Player, name: str = "ada") -> dict[str, Any]:
    """The memories and profiles once the night's work is done; the assistant is awake then."""
    until(lambda: progress(owner, name)[1], NIGHT_SECONDS, f"the night has no end; {bed.log()}")
    return json.loads(run(owner, _of(name) + MORNING))
