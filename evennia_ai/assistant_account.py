"""An account for an assistant, so that players reach it with the game's own page command."""

from __future__ import annotations

from typing import Any

from evennia.accounts.accounts import DefaultAccount
from evennia.utils import logger

from evennia_ai.agent import hearing
from evennia_ai.messages import incoming

# To mypy the mixin has any base; at run time the typeclass comes after it in the MRO.
_Typeclass: Any = object


class HearsPagesForAssistant(_Typeclass):
    """Lets an account typeclass hear pages for the assistant whose body is `db.assistant_body`."""

    def at_msg_receive(self, text: object = None, from_obj: object = None, **kwargs: Any) -> Any:
        """Hear a page, then let the account's own hook decide."""
        body = self.db.assistant_body
        script = getattr(body, "assistant_script", None)
        if script is not None:
            # A fault of ours must not keep the page from the account.
            try:
                # The line does not name its sender reliably; the stored page does.
                heard = incoming.read_page(text, self)
                if heard is not None:
                    hearing.handle_message(script, heard, incoming.find_being(heard.sender_id))
            except Exception:
                logger.log_trace(f"[assistant] {self} could not hear a page")
        return super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)


class AssistantAccount(HearsPagesForAssistant, DefaultAccount):
    """An account that nobody can log in to: it has no password."""
