"""Step "profiles": what was observed of somebody becomes what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evennia_ai.consolidation.night import NightWork
from evennia_ai.core.memory.extraction import Shown
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

AT_ONCE = 30


async def update_profiles(night: NightWork) -> bool:
    """One being. What each audience knows of it is looked at apart, and stays apart.

    Returns:
        Whether there was anything to do.
    """
    script, skipped = night.script, night.cursor.get("skipped", [])
    waiting = (item for item in profiles.due(script) if item[0].entity not in skipped)
    due = next(waiting, None)
    if due is None:
        return False
    profile, observations = due
    done = {"skipped": [*skipped, profile.entity]}
    known: list[ProfileAttribute] = list(profile.attributes)
    attributes, favours = list(known), []
    for group in _by_audience(observations):
        portrait = await _look(night, profile, group)
        if portrait is None:
            night.keep(cursor=done)
            return True
        attributes = _with(attributes, group, portrait)
        favours.append(portrait.favour)
    # No cursor goes along, so that the next piece looks at this being anew.
    if not _is_as_it_was(script, profile.entity, known, observations):
        night.keep()
        return True

    newest = rows.newest(script.pk, [observation.key for observation in observations])

    def write() -> None:
        liked = profile.favour + nudge(favours)
        profiles.store(script, profile, attributes, liked, newest)

    night.keep(extra_writes=write, cursor=done, counted={"profiles": 1})
    return True


def _by_audience(observations: Sequence[Recollection]) -> list[list[Recollection]]:
    groups: dict[str, list[Recollection]] = {}
    for observation in observations:
        groups.setdefault(observation.audience, []).append(observation)
    return [group[-AT_ONCE:] for group in groups.values()]


async def _look(
    night: NightWork, profile: EntityProfile, group: Sequence[Recollection]
) -> Portrait | None:
    """The model's view of what one audience knows; None where it cannot be read."""
    audience = group[0].audience
    known = [item for item in profile.attributes if item["audience"] == audience]
    now = modes.hour(night.script)
    known_shown = [Shown(item["text"], dates.moment(item["at"], now).date()) for item in known]
    asked = portrait_request(profile.name, evidence.shown(night.script, group), known_shown)
    reply = await night.ask(asked, ContextType.SLEEP_CONSOLIDATE, Purpose.PROFILES)
    portrait = read_portrait(reply)
    if portrait is None:
        return None
    days = evidence.days_of(night.script, group)
    settled = (dates.settled(text, days) for text in portrait.attributes)
    return replace(portrait, attributes=tuple(settled))


def _with(
    known: list[ProfileAttribute], group: Sequence[Recollection], portrait: Portrait
) -> list[ProfileAttribute]:
    """The attributes, with those of one audience replaced."""
    audience, newest = group[0].audience, max(item.at for item in group)
    since = {item["text"]: item["at"] for item in known if item["audience"] == audience}
    others = [item for item in known if item["audience"] != audience]
    return others + [
        {"text": text, "audience": audience, "at": since.get(text, newest)}
        for text in portrait.attributes
    ]


def _is_as_it_was(
    script: Assistant, entity: str, known: list[ProfileAttribute], seen: Sequence[Recollection]
) -> bool:
    """True where nobody corrected or forgot anything of it meanwhile."""
    now = rows.by_keys(script.pk, [item.key for item in seen])
    is_same = all(item.key in now and now[item.key].text == item.text for item in seen)
    profile = profiles.of(script, entity)
    return is_same and profile is not None and list(profile.attributes) == known
