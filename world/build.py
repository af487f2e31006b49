"""Builds the world of `library.py` in the database, and repairs it later: see `build_world`.

Everything built has a tag of the category `lantern_library`, whose key names its entry. Objects are
found again by that tag, not by their name, so you can rename them in the game.
"""

from typing import Any

from django.conf import settings
from django.db import transaction
from evennia import DefaultExit, DefaultObject
from evennia.objects.models import ObjectDB
from evennia.utils.create import create_object
from evennia.utils.search import search_object_by_tag
from evennia.utils.utils import class_from_module

from evennia_ai.operations import create_assistant, find_assistant
from evennia_ai.operations.assistants.lifecycle import delete_assistant
from evennia_ai.operations.memory.lore import add_lore
from evennia_ai.operations.naming import problem_of_owner
from world.blueprint import Lore, Place, Resident, Thing
from world.library import PLACES, START
from world.lore import LORE
from world.residents import RESIDENTS
from world.rooms import Detail, Room

CATEGORY = "lantern_library"

SHORT_NAMES = {"north": "n", "south": "s", "east": "e", "west": "w", "up": "u", "down": "d"}


def build_world(*, reset_descriptions: bool = False) -> str:
    """Build the library, or the missing parts of it. It is safe to run this again.

    Run it inside the game server, or while the server is stopped: a running server does not see
    objects that another process adds.

    Args:
        reset_descriptions: also restore every description that a builder has changed.

    Returns:
        One sentence for people: what the library has, and how much of it was just made.

    Raises:
        RuntimeError: if the game was never started, or an assistant could not be created. Nothing
            is built then.
    """
    with transaction.atomic():
        work = _Building(reset_descriptions)
        work.build(PLACES, RESIDENTS)
        work.write_lore(LORE)
    made = f"made now: {len(work.made)}" if work.made else "nothing was missing"
    told = f"The Lantern Library has {len(PLACES)} rooms and {len(RESIDENTS)} assistants ({made})."
    return " ".join((told, *work.left_out))


class _Building:
    """One pass over the entries.

    Attributes:
        made: the tags of objects that were missing and were made.
        left_out: a sentence for each resident that could not be made.
    """

    def __init__(self, reset_descriptions: bool) -> None:
        self.reset_descriptions = reset_descriptions
        self.made: list[str] = []
        self.left_out: list[str] = []
        self.rooms: dict[str, Room] = {}

    def build(self, places: tuple[Place, ...], residents: tuple[Resident, ...]) -> None:
        # All rooms first: exits need both ends.
        for place in places:
            self.rooms[place.key] = self._room(place)
        for place in places:
            self._ways(place)
            self._contents(place)
        for resident in residents:
            self._resident(resident)

    def write_lore(self, entries: tuple[Lore, ...]) -> None:
        """Add the lore of a new world."""
        # Later runs do not restore lore that an owner has removed.
        if START not in self.made:
            return
        for entry in entries:
            audience = f"room {self.rooms[entry.place].dbref}" if entry.place else "world"
            result = add_lore(entry.text, keywords=entry.keywords, audience=audience)
            if not result.ok:
                raise RuntimeError(f"lore could not be written down: {result.message}")

    def _room(self, place: Place) -> Room:
        if place.key == START and not _find(place.key):
            _claim_start(place)
            self.made.append(place.key)
        return self._ensure(place.key, Room, place.name, place.desc, nohome=True)

    def _ways(self, place: Place) -> None:
        exit_class = class_from_module(settings.BASE_EXIT_TYPECLASS)
        here = self.rooms[place.key]
        for way in place.ways:
            there = self.rooms[way.to]
            self._exit(f"{place.key}/{way.name}", exit_class, way.name, here, there)
            self._exit(f"{way.to}/{way.back}", exit_class, way.back, there, here)

    def _exit(
        self, tag: str, exit_class: type[DefaultExit], name: str, source: Room, goal: Room
    ) -> None:
        aliases = [SHORT_NAMES[name]] if name in SHORT_NAMES else []
        desc = f"That way: {goal.key}."
        self._ensure(
            tag, exit_class, name, desc, location=source, destination=goal, aliases=aliases
        )

    def _contents(self, place: Place) -> None:
        object_class = class_from_module(settings.BASE_OBJECT_TYPECLASS)
        for detail in place.details:
            self._thing(place, detail, Detail)
        for thing in place.things:
            self._thing(place, thing, object_class)

    def _thing(self, place: Place, thing: Thing, typeclass: type[DefaultObject]) -> None:
        room = self.rooms[place.key]
        tag = f"{place.key}/{thing.name}"
        aliases = list(thing.aliases)
        found = self._ensure(
            tag, typeclass, thing.name, thing.desc, location=room, home=room, aliases=aliases
        )
        self._bring_home(found, place.key)

    def _resident(self, resident: Resident) -> None:
        found = _find(resident.name)
        if found is None and (namesake := find_assistant(resident.name)):
            if namesake.obj is not None:
                # Somebody made an assistant of this name by hand; leave it alone.
                return
            delete_assistant(namesake, reason="its body was deleted, and it is made anew")
        if found is None and (problem := problem_of_owner(resident.name)):
            self.left_out.append(f"{resident.name} is not there: {problem}")
            return
        found = found or self._create_resident(resident)
        if self.reset_descriptions:
            found.db.desc = resident.looks
        self._bring_home(found, resident.place)

    def _create_resident(self, resident: Resident) -> DefaultObject:
        room = self.rooms[resident.place]
        result = create_assistant(
            resident.name,
            location=room,
            desc=resident.looks,
            persona=resident.briefing,
            # The owner of the game may already have one of these names.
            aliases=[alias for alias in resident.aliases if not problem_of_owner(alias)],
            lines={
                "thinking": list(resident.thinking),
                "failure": resident.failure,
                "examples": resident.examples,
            },
        )
        if not result.ok:
            raise RuntimeError(f"{resident.name} could not be created: {result.message}")
        character = result.data.character
        character.home = room
        character.db.post = resident.post
        character.tags.add(resident.name, category=CATEGORY)
        self.made.append(resident.name)
        return character

    def _bring_home(self, obj: DefaultObject, place_key: str) -> None:
        # Evennia moved the contents of a deleted room elsewhere; they return to its replacement.
        room = self.rooms[place_key]
        if place_key in self.made and obj.home != room:
            obj.home = room
            obj.move_to(room, quiet=True, move_type="teleport")

    def _ensure(
        self, tag: str, typeclass: type[DefaultObject], name: str, desc: str, **where: Any
    ) -> DefaultObject:
        """Return the object with the tag; make it if it does not exist."""
        found = _find(tag)
        if found is None:
            found = create_object(typeclass, key=name, tags=[(tag, CATEGORY)], **where)
            found.db.desc = desc
            self.made.append(tag)
        elif self.reset_descriptions:
            found.db.desc = desc
        return found


def _find(tag: str) -> DefaultObject | None:
    return search_object_by_tag(tag, category=CATEGORY).first()


def _claim_start(place: Place) -> None:
    """Turn Evennia's start room into the first place of the library."""
    room = ObjectDB.objects.get_id(settings.START_LOCATION)
    if room is None:
        raise RuntimeError(
            f"The start room {settings.START_LOCATION} does not exist yet: start the game once "
            "(evennia start), then build the world."
        )
    if not isinstance(room, Room):
        room.swap_typeclass(Room)
    room.key = place.name
    room.db.desc = place.desc
    room.tags.add(place.key, category=CATEGORY)
    for character in room.contents_get(content_type="character"):
        # Evennia left the superuser's character here. Unpuppeted characters have no location.
        character.at_post_unpuppet()
