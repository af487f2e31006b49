"""The assistants that somebody has to do with, for that person alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from evennia.accounts.models import AccountDB

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.core.typed_objects import Being
from evennia_ai.memory.forgetting import theirs
from evennia_ai.memory_store import rows
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import EntityProfile
from evennia_ai.operations.naming import assistant_for, list_assistants
from evennia_ai.operations.result import Result, note
from evennia_ai.runtime import state
from evennia_ai.runtime.rights import name_before


@dataclass(frozen=True, slots=True)
class Relationship:
    """An assistant, as it stands to somebody."""

    name: Annotated[str, note("As that person knows it, and by which they mean it.")]
    mark: Annotated[str, note("Means it also where others look like it.")]
    count: Annotated[int, note("How many things it remembers of them.")]
    is_remembered: Annotated[bool, note("Something more may be remembered.")]
    is_muted: Annotated[bool, note("Neither hears the other.")]


@dataclass(frozen=True, slots=True)
class Acquaintances:
    """The assistants that know somebody, that they parted from, or that are with them."""

    assistants: list[Relationship]


def who_knows(being: Being) -> Result[Acquaintances]:
    """The assistants that a person has to do with, by name.

    Others are not told of: whoever met none of them does not learn here that they are there.
    """
    found = [
        stands
        for script in list_assistants()
        if _is_met(script, stands := how_it_stands(script, being), being)
    ]
    names = ", ".join(each.name for each in found) or "none"
    return Result(True, f"Assistants that know you: {names}.", Acquaintances(found))


def _is_met(script: AssistantScript, stands: Relationship, being: Being) -> bool:
    """True where an assistant and somebody have to do with each other, or are in one place."""
    if stands.count or stands.is_muted or not stands.is_remembered:
        return True
    places = (body.location for body in _bodies(being) if body.location is not None)
    return script.obj is not None and script.obj.location in places


def how_it_stands(script: AssistantScript, being: Being) -> Relationship:
    """An assistant, as it stands to somebody."""
    person = person_of(being)
    memories = rows.of(script.pk).exclude(kind=MemoryKind.LORE).filter(theirs(person)).count()
    profile = EntityProfile.objects.filter(assistant=script.pk, entity=person).first()
    return Relationship(
        name=name_before(script, being),
        mark=str(script.pk),
        count=memories + (len(profile.attributes) if profile is not None else 0),
        is_remembered=person not in state.read(script, "unremembered"),
        is_muted=person in state.read(script, "muted_by"),
    )


def find_named(name: str, being: Being) -> Result[AssistantScript]:
    """The assistant that somebody means by a name, as they know it.

    Args:
        name: or the mark of one of those that `who_knows` gives.
    """
    words = " ".join(name.split())
    found = _marked(words, being) or (assistant_for(words, being) if words else None)
    if found is not None:
        return Result(True, "", found)
    return Result.missing(f"There is no assistant named {words[:60]!r} that you know.")


def _marked(mark: str, being: Being) -> AssistantScript | None:
    """The assistant of a mark, where somebody has to do with it; others are not told of."""
    script = next((each for each in list_assistants() if str(each.pk) == mark), None)
    if script is not None and _is_met(script, how_it_stands(script, being), being):
        return script
    return None


def _bodies(being: Being) -> Iterator[Any]:
    """The characters somebody acts by now."""
    if isinstance(being, AccountDB):
        yield from being.get_all_puppets()
    else:
        yield being
