"""Profiles of the people that an assistant has met, and the assistants that a person has met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.db.models import Count
from evennia.accounts.models import AccountDB
from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.memory.namesakes import former_names
from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import Being
from evennia_ai.memory.forgetting import filter_of_person
from evennia_ai.memory_store import rows
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import EntityProfile
from evennia_ai.operations.memory.rows import Names, note_viewed
from evennia_ai.operations.naming import assistant_for, list_assistants, persons_called
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import day_of, iso
from evennia_ai.runtime import state
from evennia_ai.runtime.rights import name_before

MOST_LISTED = 500
MOST_NAMESAKES = 5


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


def list_profiles(
    script: AssistantScript, *, after: int = 0, limit: int = MOST_LISTED
) -> Result[Profiles]:
    """List the profiles of an assistant, the last met first.

    Args:
        after: number of profiles to skip.
        limit: number of profiles, at most MOST_LISTED.
    """
    profiles = EntityProfile.objects.filter(assistant=script.pk).order_by("-last_at", "pk")
    page, names = list(profiles[after : after + min(limit, MOST_LISTED)]), Names()
    names.look_up(each.entity for each in page)
    profile_rows: list[ProfileRow] = [
        {**_row(each, names), "entity": each.entity, "attributes": len(each.attributes)}
        for each in page
    ]
    lines = [_line(row, row["attributes"], names) for row in profile_rows]
    data = Profiles(profile_rows, profiles.count())
    return Result(True, "\n".join(lines) or f"{script.key} knows nobody yet.", data)


def show_profile(
    script: AssistantScript, entity: str, *, look: PrivateView | None = None
) -> Result[Profile]:
    """Show an assistant's profile of one being.

    Args:
        entity: id of the being, "*#3" for an account or "#12" for an object.
    """
    profile = EntityProfile.objects.filter(assistant=script.pk, entity=entity).first()
    if profile is None:
        return Result.not_found(f"{script.key} knows nobody by {one_line(entity, 40)}.")
    look = look or PrivateView()
    attributes = look.rows(attributes_of(profile))
    count = rows.of(script.pk).filter(filter_of_person(entity)).count()
    names = Names()
    row: Profile = {
        **_row(profile, names),
        "entity": profile.entity,
        "attributes": attributes,
        "observations": count,
    }
    # One view for each attribute, counted as `note_viewed` counts memories.
    note_viewed(script, [{"person": entity}] * len(attributes), entity)
    look.note(script, "profile")
    lines = [_line(row, len(attributes), names), f"  {counted(count, 'memories')} of them"]
    lines += [f"  {day_of(item['at'])}  {one_line(item['text'], 300)}" for item in attributes]
    lines += look.hint()
    return Result(True, "\n".join(lines), row)


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


def _line(row: ProfileRow | Profile, attributes: int, names: Names) -> str:
    # Several who are gone may have had one name, as guests do.
    gone = "" if names.of(row["entity"]) else f" ({row['entity']}, gone)"
    return (
        f"{row['name'] or 'Somebody'}{gone}: met {counted(row['meetings'], 'times')}, "
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
    persons = persons_called(text)
    if not persons:
        profiles = EntityProfile.objects.filter(assistant=script.pk, name__iexact=text)
        persons = set(profiles.values_list("entity", flat=True)) or _formerly(script, text)
    return persons.pop() if len(persons) == 1 else ""


def _formerly(script: AssistantScript, name: str) -> set[str]:
    """Ids of people whom an assistant met by a name that they gave up."""
    wanted, known = name.casefold(), EntityProfile.objects.filter(assistant=script.pk)
    return {
        entity
        for entity, attributes in known.exclude(attributes=[]).values_list("entity", "attributes")
        if wanted in map(str.casefold, former_names(item["text"] for item in attributes))
    }


def namesakes(script: AssistantScript, name: str, person: str) -> list[str]:
    """Ids of others whom an assistant met by a name, the last met first."""
    profiles = EntityProfile.objects.filter(assistant=script.pk, name__iexact=name.strip())
    others = profiles.exclude(entity=person).order_by("-last_at", "pk")
    return list(others.values_list("entity", flat=True)[:MOST_NAMESAKES])


@dataclass(frozen=True, slots=True)
class Relationship:
    """The relationship of an assistant to a person."""

    name: Annotated[str, note("Name by which the person knows it and can address it.")]
    mark: Annotated[str, note("Mark that identifies it even if others have the same name.")]
    count: Annotated[int, note("Number of things it remembers about the person.")]
    is_remembered: Annotated[bool, note("True if new things about the person may be remembered.")]
    is_muted: Annotated[bool, note("True if neither hears the other.")]


def list_acquaintances(being: Being) -> Result[list[Relationship]]:
    """List the assistants that know a person, are muted by them, or are in the same room, by name.

    Others are not listed, so that nobody learns of assistants they have never met.
    """
    scripts = list_assistants()
    counts = _counts([script.pk for script in scripts], person_of(being))
    known = ((script, _relationship(script, being, counts[script.pk])) for script in scripts)
    acquaintances = [stands for script, stands in known if _is_met(script, stands, being)]
    names = ", ".join(each.name for each in acquaintances) or "none"
    return Result(True, f"Assistants that know you: {names}.", acquaintances)


def _is_met(script: AssistantScript, stands: Relationship, being: Being) -> bool:
    if stands.count or stands.is_muted or not stands.is_remembered:
        return True
    places = (body.location for body in _bodies(being) if body.location is not None)
    return script.obj is not None and script.obj.location in places


def relationship_of(script: AssistantScript, being: Being) -> Relationship:
    """The relationship of an assistant to a person."""
    return _relationship(script, being, _counts([script.pk], person_of(being))[script.pk])


def _counts(assistants: Sequence[int], person: str) -> Counter[int]:
    """The number of things that each assistant remembers about a person."""
    known = rows.of_all(assistants).exclude(kind=MemoryKind.LORE).filter(filter_of_person(person))
    counts = Counter(dict(known.order_by().values_list("assistant").annotate(Count("pk"))))
    profiles = EntityProfile.objects.filter(assistant__in=assistants, entity=person)
    for assistant, attributes in profiles.values_list("assistant", "attributes"):
        counts[assistant] += len(attributes)
    return counts


def _relationship(script: AssistantScript, being: Being, count: int) -> Relationship:
    person = person_of(being)
    return Relationship(
        name=name_before(script, being),
        mark=str(script.pk),
        count=count,
        is_remembered=person not in state.read(script, "unremembered"),
        is_muted=person in state.read(script, "muted_by"),
    )


def find_by_known_name(name: str, being: Being) -> Result[AssistantScript]:
    """Find the assistant that a person means by a name, as they know it.

    Args:
        name: a name, or the mark of an assistant that `list_acquaintances` lists.
    """
    words = " ".join(name.split())
    script = _marked(words, being) or (assistant_for(words, being) if words else None)
    if script is not None:
        return Result(True, "", script)
    return Result.not_found(f"There is no assistant named {words[:60]!r} that you know.")


def _marked(mark: str, being: Being) -> AssistantScript | None:
    # A mark is a primary key, which could be guessed: only assistants they know are found.
    script = next((each for each in list_assistants() if str(each.pk) == mark), None)
    if script is not None and _is_met(script, relationship_of(script, being), being):
        return script
    return None


def _bodies(being: Being) -> Iterator[Any]:
    if isinstance(being, AccountDB):
        yield from being.get_all_puppets()
    else:
        yield being
