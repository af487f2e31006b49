"""The assistants that a person has had contact with, listed for that person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.db.models import Count
from evennia.accounts.models import AccountDB

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.core.typed_objects import Being
from evennia_ai.memory.forgetting import filter_of_person
from evennia_ai.memory_store import rows
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import EntityProfile
from evennia_ai.operations.naming import assistant_for, list_assistants
from evennia_ai.operations.result import Result, note
from evennia_ai.runtime import state
from evennia_ai.runtime.rights import name_before


@dataclass(frozen=True, slots=True)
class Relationship:
    """The relationship of an assistant to a person."""

    name: Annotated[str, note("Name by which the person knows it and can address it.")]
    mark: Annotated[str, note("Mark that identifies it even if others have the same name.")]
    count: Annotated[int, note("Number of things it remembers about the person.")]
    is_remembered: Annotated[bool, note("True if new things about the person may be remembered.")]
    is_muted: Annotated[bool, note("True if neither hears the other.")]


@dataclass(frozen=True, slots=True)
class Acquaintances:
    """The assistants that know a person, are muted by them, or are in the same room."""

    assistants: list[Relationship]


def list_acquaintances(being: Being) -> Result[Acquaintances]:
    """List the assistants that a person has had contact with, sorted by name.

    Others are not listed, so that nobody learns of assistants they have never met.
    """
    scripts = list_assistants()
    counts = _counts([script.pk for script in scripts], person_of(being))
    known = ((script, _relationship(script, being, counts[script.pk])) for script in scripts)
    found = [stands for script, stands in known if _is_met(script, stands, being)]
    names = ", ".join(each.name for each in found) or "none"
    return Result(True, f"Assistants that know you: {names}.", Acquaintances(found))


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
    found = _marked(words, being) or (assistant_for(words, being) if words else None)
    if found is not None:
        return Result(True, "", found)
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
