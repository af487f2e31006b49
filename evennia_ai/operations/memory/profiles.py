"""Profiles: what an assistant makes of those it met, for whoever looks after it."""

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
from evennia_ai.memory.forgetting import theirs
from evennia_ai.memory_store import rows
from evennia_ai.messages import incoming
from evennia_ai.models import EntityProfile
from evennia_ai.operations.memory.rows import Names, note_viewed
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.rights.private_words import Look
from evennia_ai.operations.times import iso

MOST_LISTED = 500
_ID = re.compile(r"\*?#\d{1,18}")


class Met(TypedDict):
    """Somebody whom an assistant knows, and how they stand."""

    entity_type: str
    name: str
    favour: Annotated[float, note("How they are liked, 0 to 1.")]
    meetings: int
    first_at: str
    last_at: str


class Attribute(TypedDict):
    """One thing that is known of somebody."""

    text: str
    audience: str
    at: str


class ProfileRow(Met):
    """One of those an assistant knows, by "*#3" or "#12", with a count of what is known of them."""

    entity: str
    attributes: int


class Profile(Met):
    """The profile of somebody; observations are the assistant's memories of them."""

    entity: str
    attributes: list[Attribute]
    observations: int


@dataclass(frozen=True, slots=True)
class Profiles:
    """Those an assistant knows, who was met last first, and how many there are in all."""

    profiles: list[ProfileRow]
    count: int


@dataclass(frozen=True, slots=True)
class OneProfile:
    """One of those an assistant knows."""

    profile: Profile


def list_profiles(script: AssistantScript) -> Result[Profiles]:
    """Those it knows, who was met last first, 500 at most."""
    found = EntityProfile.objects.filter(assistant=script.pk).order_by("-last_at")
    listed: list[ProfileRow] = [
        {**_row(each), "entity": each.entity, "attributes": len(each.attributes)}
        for each in found[:MOST_LISTED]
    ]
    lines = [_line(row, row["attributes"]) for row in listed]
    data = Profiles(listed, found.count())
    return Result(True, "\n".join(lines) or f"{script.key} knows nobody yet.", data)


def show_profile(
    script: AssistantScript, entity: str, *, look: Look | None = None
) -> Result[OneProfile]:
    """An assistant's profile of one being.

    Args:
        entity: the being's id, "*#3" of an account or "#12" of an object.
    """
    found = EntityProfile.objects.filter(assistant=script.pk, entity=entity).first()
    if found is None:
        return Result.missing(f"{script.key} knows nobody by {one_line(entity, 40)}.")
    look = look or Look()
    attributes = look.rows(attributes_of(found))
    count = rows.of(script.pk).filter(theirs(entity)).count()
    row: Profile = {
        **_row(found),
        "entity": found.entity,
        "attributes": attributes,
        "observations": count,
    }
    note_viewed(script, [{"person": entity}] * len(attributes), entity)
    look.note(script, "profile")
    lines = [_line(row, len(attributes)), f"  {counted(count, 'memories')} of them"]
    lines += [f"  {item['at'][:10]}  {one_line(item['text'], 300)}" for item in attributes]
    lines += look.hint()
    return Result(True, "\n".join(lines), OneProfile(row))


def attributes_of(profile: EntityProfile) -> list[Attribute]:
    """The attributes of a being, the newest last, as plain data."""
    return [
        {
            "text": str(item.get("text", "")),
            "audience": str(item.get("audience", "")),
            "at": iso(float(item.get("at") or 0.0)),
        }
        for item in profile.attributes
    ]


def _row(profile: EntityProfile) -> Met:
    return {
        "entity_type": profile.entity_type,
        "name": Names().of(profile.entity) or profile.name,
        "favour": profile.favour,
        "meetings": profile.meetings,
        "first_at": iso(profile.first_at),
        "last_at": iso(profile.last_at),
    }


def _line(row: ProfileRow | Profile, attributes: int) -> str:
    return (
        f"{row['name'] or row['entity']}: met {row['meetings']} times, last {row['last_at'][:10]}, "
        f"favour {row['favour']:.2f}, {attributes} attributes"
    )


def find_person(script: AssistantScript, name: str) -> str:
    """The id of a person by a name or an id, also of one who is gone; "" of nobody.

    Args:
        name: of a character, an account, or whoever the assistant met; or "#12", "*#3".
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
    return hasattr(being, "location") and being.location is None and not being.has_account
