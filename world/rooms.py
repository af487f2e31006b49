"""The typeclasses of rooms: `Room`, and the `Detail` objects that are part of it.

Descriptions do not name assistants: a room shows those that are in it at the moment.
"""

from typing import Any

from evennia import DefaultObject, DefaultRoom
from evennia.utils.utils import iter_to_str

from evennia_ai.assistant_character import AssistantMixin


def assistants_in(room: DefaultRoom) -> list[DefaultObject]:
    """Return the assistants in a room, in the order of their creation."""
    present = [who for who in room.contents if isinstance(who, AssistantMixin)]
    return sorted(present, key=lambda who: who.id)


def call_name(assistant: DefaultObject) -> str:
    """Return the name to type after an @: the first of its names that is a single word."""
    names = [assistant.key, *assistant.aliases.all()]
    return next((name for name in names if " " not in name), assistant.key).lower()


def is_at_post(obj: DefaultObject) -> bool:
    """Return whether this is an assistant in its own place, with a line to show there."""
    return isinstance(obj, AssistantMixin) and obj.location == obj.home and bool(obj.db.post)


class Detail(DefaultObject):
    """A part of a room that can be looked at, but is not listed and cannot be taken.

    A detail is an ordinary object, so `look`, `search` and an assistant's tools find it, and
    builders make one with `create/drop lamp:world.rooms.Detail`.
    """

    def at_object_creation(self) -> None:
        """Make it impossible to take, with a message that says so."""
        self.locks.add("get:false()")
        self.db.get_err_msg = "It belongs where it is."


class Room(DefaultRoom):
    """A room that shows its assistants, and tells visitors how to talk to them."""

    def filter_visible(
        self,
        obj_list: list[DefaultObject],
        looker: DefaultObject,
        is_list: bool = False,
        **kwargs: Any,
    ) -> list[DefaultObject]:
        """Return what can be seen; in lists without what the description already shows."""
        visible = super().filter_visible(obj_list, looker, **kwargs)
        if not is_list:
            return visible
        return [obj for obj in visible if not (isinstance(obj, Detail) or is_at_post(obj))]

    def get_display_characters(self, looker: DefaultObject, **kwargs: Any) -> str:
        """Return the list of characters."""
        return super().get_display_characters(looker, is_list=True, **kwargs)

    def get_display_things(self, looker: DefaultObject, **kwargs: Any) -> str:
        """Return the list of things."""
        return super().get_display_things(looker, is_list=True, **kwargs)

    def get_display_desc(self, looker: DefaultObject, **kwargs: Any) -> str:
        """Return the room's description, then a sentence for each assistant in its place."""
        posts = [who.db.post for who in assistants_in(self) if is_at_post(who) and who != looker]
        return " ".join([super().get_display_desc(looker, **kwargs), *posts])

    def get_display_footer(self, looker: DefaultObject, **kwargs: Any) -> str:
        """Return a line on how to talk to the assistants here; assistants do not see it."""
        present = assistants_in(self)
        if not present or isinstance(looker, AssistantMixin):
            return ""
        names = iter_to_str([who.key for who in present], endsep=", or")
        call = call_name(present[0])
        return f"(You can talk to {names}: |wwhisper {call} = hello|n, or |wsay @{call} hello|n.)"
