"""What each response about memory, lore and sleep holds, for the OpenAPI schema."""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    DictField,
    FloatField,
    IntegerField,
    ListField,
)

from evennia_ai.api.shapes import Done, Shape, anything, mappings, maybe_count, maybe_text


class Remembered(Shape):
    """One thing that an assistant remembers."""

    key = CharField(help_text="By which it is found.")
    number = IntegerField(help_text="The later it was remembered the higher.")
    kind = CharField(help_text="`journal`, `fact` or `insight`.")
    text = CharField()
    audience = CharField(help_text="Who may be told: `world`, or such as `person:account-3`.")
    person = CharField(help_text="Who said or caused it, such as `account-3`.")
    person_name = CharField()
    place = CharField()
    trust = FloatField(help_text="How far it is believed, 0 to 1.")
    importance = IntegerField(help_text="1 to 10.")
    importance_by = CharField()
    source_type = CharField()
    at = CharField(help_text="When.")
    tags = ListField(child=CharField())
    cites = ListField(child=CharField(), help_text="Keys of what it was concluded from.")
    is_consolidated = BooleanField(help_text="It was thought over in sleep.")
    is_indexed = BooleanField(help_text="It can be found by its meaning.")


class MemoryPage(Shape):
    """Some of the memories, the newest first."""

    memories = ListField(child=Remembered())
    count = IntegerField(help_text="How many there are in all.")
    next = maybe_count(help_text="Give it as `before` for what is older.")


class OneRemembered(Shape):
    """One memory, and what it hangs together with."""

    memory = Remembered()
    cites = ListField(child=Remembered(), help_text="What it was concluded from.")
    cited_by = ListField(child=Remembered(), help_text="What was concluded from it.")
    links = ListField(child=Remembered())


class Likeness(Remembered):
    """Something that was found."""

    similarity = FloatField(allow_null=True, help_text="0 to 1; null: found by its words.")


class Found(Shape):
    """What was found, the most alike first."""

    memories = ListField(child=Likeness())


class Kept(Done):
    """What is remembered now."""

    memory = Remembered()


class Forgotten(Done):
    """How much was forgotten."""

    count = IntegerField()


class MemoryStatus(Shape):
    """How the memory is, and how far its index has come."""

    text = CharField(help_text="For people.")
    enabled = BooleanField()
    counts = DictField(child=IntegerField(), help_text="How many of each kind.")
    characters = IntegerField()
    people = IntegerField(help_text="Of how many there is a profile.")
    unremembered = IntegerField(help_text="How many want not to be remembered.")
    waiting = IntegerField(help_text="Memories that the index has not read yet.")
    removed = IntegerField(help_text="Forgotten ones that it still has to be rid of.")
    stale = IntegerField(help_text="Memories that it read with another embedding model.")
    model = CharField(help_text="The embedding model.")
    problem = CharField(help_text="Why nothing can be found by its meaning now, or nothing.")
    store = DictField(child=anything())


class Reindexing(Done):
    """What was begun; `memory/status/` tells how far it has come."""

    waiting = IntegerField()


class ProfileRow(Shape):
    """Somebody whom an assistant knows."""

    person = CharField(help_text="Such as `account-3`.")
    entity_type = CharField()
    name = CharField()
    favour = FloatField(help_text="How they are liked, 0 to 1.")
    meetings = IntegerField()
    first_at = CharField()
    last_at = CharField()
    attributes = IntegerField(help_text="How many things are known of them.")


class ProfilePage(Shape):
    """Some of those whom an assistant knows, who was met last first."""

    profiles = ListField(child=ProfileRow())
    count = IntegerField(help_text="How many there are in all.")
    next = maybe_count(help_text="The offset of what follows; null: nothing does.")


class Profile(ProfileRow):
    """What an assistant makes of somebody."""

    attributes = mappings(help_text="What is known of them: `text`, `audience` and `at`.")
    observations = IntegerField(help_text="How many memories there are of them.")


class KnownThing(Shape):
    """One thing that is remembered of somebody."""

    id = CharField(help_text="By which it is corrected and forgotten.")
    kind = CharField()
    text = CharField()
    at = CharField()
    is_private = BooleanField(help_text="Nobody else is told.")


class Known(Shape):
    """What an assistant remembers of somebody."""

    is_remembered = BooleanField(help_text="Whether anything more is remembered.")
    known = ListField(child=KnownThing())
    count = IntegerField(help_text="How many there are in all.")
    next = maybe_count(help_text="The offset of what follows; null: nothing does.")


class Export(Shape):
    """All that is stored of somebody."""

    assistant = CharField()
    person = CharField(help_text="Such as `account-3`.")
    is_remembered = BooleanField()
    is_muted = BooleanField()
    profile = DictField(child=anything(), allow_null=True)
    memories = ListField(child=Remembered())
    notes = mappings()
    conversation = mappings(help_text="The part of the talk that was theirs.")
    heard = mappings()
    company = DictField(child=anything())


class LoreEntry(Shape):
    """A piece of lore."""

    key = CharField(help_text="By which it is found.")
    text = CharField()
    keywords = ListField(child=CharField())
    audience = CharField(help_text="Who may be told.")
    place = CharField(help_text="The room or the faction, where it is for one.")
    importance = IntegerField()
    at = CharField(help_text="When it was written down.")


class LorePage(Shape):
    """Some of the lore, the most important first."""

    lore = ListField(child=LoreEntry())
    count = IntegerField(help_text="How many there are in all.")
    next = maybe_count(help_text="The offset of what follows; null: nothing does.")


class LoreKept(Done):
    """What is lore now."""

    lore = LoreEntry()


class Sleep(Shape):
    """Whether an assistant sleeps, and what its nights are like."""

    text = CharField(help_text="For people.")
    mode = CharField(help_text="`awake` or `sleep`.")
    phase = maybe_text(help_text="What it is at in its sleep.")
    until = maybe_text(help_text="When it wakes by itself.")
    schedule = DictField(child=anything())
    night = DictField(child=anything(), help_text="How far this night has come.")
    last_night = DictField(child=anything())


class Asleep(Done):
    """Until when it sleeps."""

    until = CharField()
