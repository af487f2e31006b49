"""A listener that waits for the answer to its question."""

from __future__ import annotations

from typing import Any

from evennia.objects.objects import DefaultObject

ANSWER = "I heard"
EXCUSES = ("Forgive me", "distracted")


class Listener(DefaultObject):
    """Receives everything said to it, and notices when a certain speaker has answered."""

    def await_answer(self, speaker: Any, heard: Any) -> None:
        """Fire `heard` with True at the model's answer, with False at a failure line."""
        self.ndb.awaited = (speaker, heard)

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> bool:
        """Lines of thinking are neither answer nor excuse."""
        awaited = self.ndb.awaited
        line = text[0] if isinstance(text, tuple) else str(text)
        is_answer = ANSWER in line
        if awaited and from_obj is awaited[0] and (is_answer or any(e in line for e in EXCUSES)):
            self.ndb.awaited = None
            awaited[1].callback(is_answer)
        return True
