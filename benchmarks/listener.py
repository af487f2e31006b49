"""Somebody who asks and waits for the answer."""

from __future__ import annotations

from typing import Any

from evennia.objects.objects import DefaultObject

ANSWER = "I heard"
EXCUSES = ("Forgive me", "distracted")


class Listener(DefaultObject):
    """Hears everything said to it and tells when a certain speaker has answered."""

    def await_answer(self, speaker: Any, heard: Any) -> None:
        """Fire `heard` with True at the model's own answer, with False at an excuse for none."""
        self.ndb.awaited = (speaker, heard)

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> bool:
        """Lines of thinking are neither answer nor excuse."""
        awaited = self.ndb.awaited
        said = text[0] if isinstance(text, tuple) else str(text)
        is_answer = ANSWER in said
        if awaited and from_obj is awaited[0] and (is_answer or any(e in said for e in EXCUSES)):
            self.ndb.awaited = None
            awaited[1].callback(is_answer)
        return True
