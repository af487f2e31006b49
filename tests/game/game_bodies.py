"""A game's own character class with needs, and a body that it makes of it."""

from typing import Any

from evennia.objects.objects import DefaultCharacter, DefaultObject
from evennia.typeclasses.attributes import AttributeProperty
from evennia.utils.utils import lazy_property

from evennia_ai.assistant_character import AssistantMixin


class Satchel:
    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def weight(self) -> int:
        """Weight in stones, which needs the strength set at creation."""
        return int(self.owner.db.strength) // 2


class GameCharacter(DefaultCharacter):
    """A character of a game: it has strength, a satchel, wax in its ears, and loose locks."""

    hit_points = AttributeProperty(default=8)

    @lazy_property
    def satchel(self) -> Satchel:
        return Satchel(self)

    def at_object_creation(self) -> None:
        """Set the strength, and let any player puppet it."""
        super().at_object_creation()
        self.db.strength = 12
        self.locks.add("puppet:all();get:all()")

    def at_object_post_creation(self) -> None:
        """Loosen the locks again, after everything else."""
        super().at_object_post_creation()
        self.locks.add("puppet:all()")

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> Any:
        """Count what is heard, by weight; with wax in the ears nothing is heard."""
        self.ndb.heard = (self.ndb.heard or 0) + self.satchel.weight()
        if self.db.has_wax:
            return False
        return super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)

    def msg(self, text: Any = None, **kwargs: Any) -> None:
        self.ndb.last_sent = text
        super().msg(text=text, **kwargs)


class Brickman(AssistantMixin, GameCharacter):
    """A body of the game's own for assistants."""


class Statue(GameCharacter):
    """A body that does not hear for an assistant."""


class Anybody(AssistantMixin, DefaultCharacter):
    """A base class that makes every character a possible assistant."""


class Creature(DefaultObject):
    """A game's character class that is not derived from Evennia's."""
