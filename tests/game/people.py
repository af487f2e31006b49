"""Typeclasses for tests: people who remember what reached them."""

from typing import Any

from evennia.objects.objects import DefaultCharacter

from evennia_ai.assistant_character import HearsForAssistant
from evennia_ai.testing import Message


class Person(DefaultCharacter):
    """A player's character that keeps every message in `ndb.messages`."""

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> Any:
        if self.ndb.messages is None:
            self.ndb.messages = []
        self.ndb.messages.append(Message.from_text(text, from_obj))
        return super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)

    @property
    def messages(self) -> list[Message]:
        return list(self.ndb.messages or ())

    @property
    def seen(self) -> list[str]:
        return [message.shown for message in self.messages]

    def heard_from(self, speaker: Any) -> list[str]:
        return [message.shown for message in self.messages if message.sender == speaker]


class AttentivePerson(HearsForAssistant, Person):
    """A person that can be an assistant's body."""
