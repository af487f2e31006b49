"""The player's character: Evennia's own, greeted once on first arrival."""

from typing import Any

from evennia import DefaultCharacter

from world import library
from world.rooms import assistants_in, call_name


class Character(DefaultCharacter):
    """A character that is told how to talk to an assistant, when it first meets one."""

    def at_post_puppet(self, **kwargs: Any) -> None:
        """Greet a newcomer, after Evennia has shown the room."""
        super().at_post_puppet(**kwargs)
        present = assistants_in(self.location)
        if present and not self.db.is_welcomed:
            self.msg(library.WELCOME.format(name=present[0].key, call=call_name(present[0])))
            self.db.is_welcomed = True
