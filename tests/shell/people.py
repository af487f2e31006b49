"""Typeclasses for tests: people who remember what reached them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evennia.objects.objects import DefaultCharacter
from evennia.utils.ansi import strip_ansi

from evennia_ai.assistant_character import HearsForAssistant


@dataclass(frozen=True)
class Message:
    """One message as it reached somebody.

    Attributes:
        raw: the text with its markup.
        options: what the server sent along.
    """

    raw: str
    options: dict[str, Any]
    sender: Any

    @property
    def shown(self) -> str:
        """The text as a client shows it."""
        return str(strip_ansi(self.raw))


class Person(DefaultCharacter):
    """A player's character that keeps every message in `ndb.messages`."""

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> Any:
        """Keep it, and let it through."""
        raw, options = text[:2] if isinstance(text, tuple) else (text, {})
        if self.ndb.messages is None:
            self.ndb.messages = []
        self.ndb.messages.append(Message(str(raw), dict(options), from_obj))
        return super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)

    @property
    def messages(self) -> list[Message]:
        """Everything that reached this person, the oldest first."""
        return list(self.ndb.messages or ())

    @property
    def seen(self) -> list[str]:
        """The same as shown text."""
        return [message.shown for message in self.messages]

    def heard_from(self, speaker: Any) -> list[str]:
        """What of it came from one speaker, as shown text."""
        return [message.shown for message in self.messages if message.sender == speaker]


class AttentivePerson(HearsForAssistant, Person):
    """A body for an assistant that is a person of this game."""
