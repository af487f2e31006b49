"""Profiles of the people that an assistant has met, for staff and its owners."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from evennia.accounts.models import AccountDB
from evennia.utils.search import search_object
from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.memory.forgetting import filter_of_person
from evennia_ai.memory_store import rows
from evennia_ai.messages import incoming
from evennia_ai.models import EntityProfile
from evennia_ai.operations.memory.rows import Names, note_viewed
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import day_of, iso

MOST_LISTED = 500
_ID = re.compile(r"\*?#\d{1,18}")


class Met(TypedDict):
    """A being that an assistant knows, and its relationship to it."""

    entity_type: str
    name: str
    favour: Annotated[float, note("How much the assistant likes them, from 0 to 1.")]
    meetings: int
    first_at: str
    last_at: str


class Attribute(TypedDict):
    """One thing that is known of a being."""

    text: str
    audience: str
    at: str


class ProfileRow(Met):
    """A profile in a list: the being's id, "*#3" or "#12", and the number of its attributes."""

    entity: str
    attributes: int


class Profile(Met):
    """A whole profile; `observations` is the number of the assistant's memories of the being."""

    entity: str
    attributes: list[Attribute]
    observations: int


@dataclass(frozen=True, slots=True)
class Profiles:
    """The profiles of an assistant, the last met first, and their number in all."""

    profiles: list[ProfileRow]
    count: int


@dataclass(frozen=True, slots=True)
class OneProfile:
    """One profile."""

    profile: Profile


def list_profiles(
    script: AssistantScript, *, after: int = 0, limit: int = MOST_LISTED
) -> Result[Profiles]:
    """List the profiles of an assistant, the last met first.

    Args:
        after: number of profiles to skip.
        limit: number of profiles, at most MOST_LISTED.
    """
    found = EntityProfile.objects.filter(assistant=script.pk).order_by("-last_at", "pk")
    shown, names = list(found[after : after + min(limit, MOST_LISTED)]), Names()
    names.look_up(each.entity for each in shown)
    listed: list[ProfileRow] = [
        {**_row(each, names), "entity": each.entity, "attributes": len(each.attributes)}
        for each in shown
    ]
    lines = [_line(row, row["attributes"]) for row in listed]
    data = Profiles(listed, found.count())
    return Result(True, "\n".join(lines) or f"{script.key} knows nobody yet.", data)


def show_profile(
    script: AssistantScript, entity: str, *, look: PrivateView | None = None
) -> Result[OneProfile]:
    """Show an assistant's profile of one being.

    Args:
        entity: id of the being, "*#3" for an account or "#12" for an object.
    """
    found = EntityProfile.objects.filter(assistant=script.pk, entity=entity).first()
    if found is None:
        return Result.not_found(f"{script.key} knows nobody by {one_line(entity, 40)}.")
    look = look or PrivateView()
    attributes = look.rows(attributes_of(found))
    count = rows.of(script.pk).filter(filter_of_person(entity)).count()
    row: Profile = {
        **_row(found, Names()),
        "entity": found.entity,
        "attributes": attributes,
        "observations": count,
    }
    # One view for each attribute, counted as `note_viewed` counts memories.
    note_viewed(script, [{"person": entity}] * len(attributes), entity)
    look.note(script, "profile")
    lines = [_line(row, len(attributes)), f"  {counted(count, 'memories')} of them"]
    lines += [f"  {day_of(item['at'])}  {one_line(item['text'], 300)}" for item in attributes]
    lines += look.hint()
    return Result(True, "\n".join(lines), OneProfile(row))


def attributes_of(profile: EntityProfile) -> list[Attribute]:
    """The attributes of a profile, the newest last, as plain data."""
    return [
        {
            "text": str(item.get("text", "")),
            "audience": str(item.get("audience", "")),
            "at": iso(float(item.get("at") or 0.0)),
        }
        for item in profile.attributes
    ]


def _row(profile: EntityProfile, names: Names) -> Met:
    return {
        "entity_type": profile.entity_type,
        "name": names.of(profile.entity) or profile.name,
        "favour": profile.favour,
        "meetings": profile.meetings,
        "first_at": iso(profile.first_at),
        "last_at": iso(profile.last_at),
    }


def _line(row: ProfileRow | Profile, attributes: int) -> str:
    return (
        f"{row['name'] or row['entity']}: met {counted(row['meetings'], 'times')}, "
        f"last {day_of(row['last_at'])}, "
        f"favour {row['favour']:.2f}, {counted(attributes, 'attributes')}"
    )


def find_person(script: AssistantScript, name: str) -> str:
    """The id of a person by a name or an id; "" where the name is unknown or ambiguous.

    Args:
        name: name of a character, of an account, or of anyone the assistant met, even if they no
            longer exist; or "#12", "*#3".
    """
    text = name.strip()
    if _ID.fullmatch(text):
        being = incoming.find_being(text)
        return text if being is None else incoming.person_of(being)
    account = AccountDB.objects.filter(username__iexact=text).first()
    found = [account] if account is not None else list(search_object(text, exact=True))
    persons = {incoming.person_of(being) for being in found if not _is_room(being)}
    if not persons:
        met = EntityProfile.objects.filter(assistant=script.pk, name__iexact=text)
        persons = set(met.values_list("entity", flat=True))
    return persons.pop() if len(persons) == 1 else ""


def _is_room(being: GameObject) -> bool:
    # A character without a location whose player is logged out has an account, unlike a room.
    return hasattr(being, "location") and being.location is None and not being.has_account
