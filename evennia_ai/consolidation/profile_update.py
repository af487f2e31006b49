"""Step "profiles": updates people's profiles from new observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evennia_ai.consolidation.night import NightWork
from evennia_ai.core.memory.extraction import Shown
from evennia_ai.core.memory.namesakes import is_former_name, speaker_in
from evennia_ai.core.memory.portraits import Portrait, nudge, portrait_request, read_portrait
from evennia_ai.core.memory.profiles import ProfileAttribute
from evennia_ai.core.memory.recollection import Recollection
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.text import dates
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.memory import evidence, modes, profiles
from evennia_ai.memory_store import rows
from evennia_ai.models import EntityProfile
from evennia_ai.runtime.assistant import Assistant

MOST_OBSERVATIONS = 30


async def update_profiles(night: NightWork) -> bool:
    """Update one profile, separately for each audience, so that private knowledge stays private."""
    script = night.script
    waiting = (item for item in profiles.due(script) if item[0].entity not in night.skipped)
    due = next(waiting, None)
    if due is None:
        return False
    profile, observations = due
    known: list[ProfileAttribute] = list(profile.attributes)
    attributes, favours = list(known), []
    for group in _by_audience(observations):
        portrait = await _draw_portrait(night, profile, group)
        if portrait is None:
            night.save(skipped=[profile.entity])
            return True
        attributes = _with_portrait(attributes, group, portrait)
        favours.append(portrait.favour)
    # If something changed during the calls, the next piece tries again.
    if not _is_unchanged(script, profile.entity, known, observations):
        night.save()
        return True

    newest = rows.newest(script.pk, [observation.key for observation in observations])

    def write() -> None:
        liked = profile.favour + nudge(favours)
        profiles.store(script, profile, attributes, liked, newest)

    night.save(extra_writes=write, skipped=[profile.entity], counted={"profiles": 1})
    return True


def _by_audience(observations: Sequence[Recollection]) -> list[list[Recollection]]:
    groups: dict[str, list[Recollection]] = {}
    for observation in observations:
        groups.setdefault(observation.audience, []).append(observation)
    return [group[-MOST_OBSERVATIONS:] for group in groups.values()]


async def _draw_portrait(
    night: NightWork, profile: EntityProfile, group: Sequence[Recollection]
) -> Portrait | None:
    """Ask the model for a portrait from what one audience knows; None if it cannot be parsed."""
    audience = group[0].audience
    known = [item for item in profile.attributes if item["audience"] == audience]
    now = modes.now(night.script)
    known_shown = [Shown(item["text"], dates.moment(item["at"], now).date()) for item in known]
    observations = evidence.dated_memories(night.script, group)
    request = portrait_request(_name_in(group, profile), observations, known_shown)
    reply = await night.ask(request, ContextType.SLEEP_CONSOLIDATE, Purpose.PROFILES)
    portrait = read_portrait(reply)
    if portrait is None:
        return None
    days = evidence.days_of(night.script, group)
    settled = (dates.settled(text, days) for text in portrait.attributes)
    return replace(portrait, attributes=tuple(settled))


def _name_in(group: Sequence[Recollection], profile: EntityProfile) -> str:
    """The being's name: that of the profile, unless all observations have an earlier one."""
    names = list(filter(None, map(speaker_in, group)))
    return names[-1] if names and profile.name not in names else str(profile.name)


def _with_portrait(
    known: list[ProfileAttribute], group: Sequence[Recollection], portrait: Portrait
) -> list[ProfileAttribute]:
    """Replace the attributes of one audience; texts that stay keep their date."""
    audience, newest = group[0].audience, max(item.at for item in group)
    since = {item["text"]: item["at"] for item in known if item["audience"] == audience}
    others = [
        item
        for item in known
        # A model may leave a former name out, without which older memories mean nobody.
        if item["audience"] != audience or is_former_name(item["text"])
    ]
    return others + [
        {"text": text, "audience": audience, "at": since.get(text, newest)}
        for text in portrait.attributes
    ]


def _is_unchanged(
    script: Assistant, entity: str, known: list[ProfileAttribute], seen: Sequence[Recollection]
) -> bool:
    """True if neither observations nor profile were corrected or forgotten in the meantime."""
    now = rows.by_keys(script.pk, [item.key for item in seen])
    is_same = all(item.key in now and now[item.key].text == item.text for item in seen)
    profile = profiles.of(script, entity)
    return is_same and profile is not None and list(profile.attributes) == known
