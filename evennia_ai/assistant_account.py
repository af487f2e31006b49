"""An account for an assistant, so that pages reach it by the game's own page command."""

from __future__ import annotations

from typing import Any

from evennia.accounts.accounts import DefaultAccount
from evennia.utils import logger

from evennia_ai.agent import hearing
from evennia_ai.messages import incoming

_Typeclass: Any = object  # where the mixin stands there is one behind it


class HearsPagesForAssistant(_Typeclass):
    """Gives any account typeclass the ears of the assistant in `db.assistant_body`."""

    def at_msg_receive(self, text: object = None, from_obj: object = None, **kwargs: Any) -> Any:
        """Hear a page: who sent it stands in the stored page, never in the line."""
        body = self.db.assistant_body
        script = getattr(body, "assistant_script", None)
        if script is not None:
            try:
                heard = incoming.read_page(text, self)
                if heard is not None:
                    hearing.take_in(script, heard, incoming.find_being(heard.sender_id))
            except Exception:
                logger.log_trace(f"[assistant] {self} could not hear a page")
        return super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)


class AssistantAccount(HearsPagesForAssistant, DefaultAccount):
    """An account that nobody can log in to: it has no password."""
