"""What a room of this game is: a `Room`, and the `Detail`s that are part of it.

Who may be talked to is never written into a room: it follows from who stands there.
"""

from typing import Any

from evennia import DefaultObject, DefaultRoom
from evennia.utils.utils import iter_to_str

from evennia_ai.assistant_character import AssistantMixin


def assistants_in(room: DefaultRoom) -> list[DefaultObject]:
    """The assistants standing in a room, in the order they were created."""
    present = [who for who in room.contents if isinstance(who, AssistantMixin)]
    return sorted(present, key=lambda who: who.id)


def call_name(assistant: DefaultObject) -> str:
    """The name to type after an @: the first of its names that is a single word."""
    names = [assistant.key, *assistant.aliases.all()]
    return next((name for name in names if " " not in name), assistant.key).lower()


def is_at_post(obj: DefaultObject) -> bool:
    """Whether this is an assistant where it belongs, with a line of its own to show for it."""
    return isinstance(obj, AssistantMixin) and obj.location == obj.home and bool(obj.db.post)


class Detail(DefaultObject):
    """A part of a room that can be looked at, but is neither listed nor taken.

    A detail is an object like any other, so `look`, `search` and an assistant's tools find it
    without further help, and builders make one with `create/drop lamp:world.rooms.Detail`.
    """

    def at_object_creation(self) -> None:
        """Fix it in place, with a line for whoever tries to take it."""
        self.locks.add("get:false()")
        self.db.get_err_msg = "It belongs where it is."


class Room(DefaultRoom):
    """A room that shows who is at work in it, and tells a visitor how to talk to them."""

    def filter_visible(
        self,
        obj_list: list[DefaultObject],
        looker: DefaultObject,
        is_list: bool = False,
        **kwargs: Any,
    ) -> list[DefaultObject]:
        """Who and what can be seen; of a list without what the description already shows."""
        visible = super().filter_visible(obj_list, looker, **kwargs)
        if not is_list:
            return visible
        return [obj for obj in visible if not (isinstance(obj, Detail) or is_at_post(obj))]

    def get_display_characters(self, looker: DefaultObject, **kwargs: Any) -> str:
        """The list of who is here."""
        return super().get_display_characters(looker, is_list=True, **kwargs)

    def get_display_things(self, looker: DefaultObject, **kwargs: Any) -> str:
        """The list of what is here."""
        return super().get_display_things(looker, is_list=True, **kwargs)

    def get_display_desc(self, looker: DefaultObject, **kwargs: Any) -> str:
        """The room's own description, then a sentence for each assistant at its post."""
        posts = [who.db.post for who in assistants_in(self) if is_at_post(who) and who != looker]
        return " ".join([super().get_display_desc(looker, **kwargs), *posts])

    def get_display_footer(self, looker: DefaultObject, **kwargs: Any) -> str:
        """One line on how to talk to the assistants here. Assistants need no such advice."""
        present = assistants_in(self)
        if not present or isinstance(looker, AssistantMixin):
            return ""
        names = iter_to_str([who.key for who in present], endsep=", or")
        call = call_name(present[0])
        return f"(You can talk to {names}: |wwhisper {call} = hello|n, or |wsay @{call} hello|n.)"
