"""The body of an assistant: Evennia's hooks, passed on to `hearing`. No rules here."""

from __future__ import annotations

import re
from typing import Any

from evennia.accounts.accounts import DefaultAccount
from evennia.objects.objects import DefaultCharacter
from evennia.utils import logger
from twisted.internet.defer import Deferred

from evennia_ai import errands, hearing

IS_AI_LINE = "({name} is an AI.)"
_SAYS_AI = re.compile(r"\(an AI\)|\bis an AI\b|[,.] an AI\b", re.IGNORECASE)


class HearsForAssistant:
    """Gives any object typeclass the ears of an assistant; put it before the typeclass."""

    assistant_script: Any = None

    def at_idmapper_flush(self) -> bool:
        """Whether Evennia may drop it from memory: never while an assistant is in it."""
        return bool(super().at_idmapper_flush()) and self.assistant_script is None  # type: ignore[misc]

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> Any:
        """Hear a message. It is always passed on to a player who watches through these eyes."""
        if self.assistant_script is not None:
            try:
                hearing.hear(self, text, from_obj, kwargs)
            except Exception:
                logger.log_trace(f"[assistant] {self} could not hear a message")
        return super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)  # type: ignore[misc]

    @property
    def is_connected(self) -> bool:
        """Whether channels reach it: they ask only who is connected, and an assistant always is."""
        return self.assistant_script is not None or super().is_connected  # type: ignore[attr-defined,misc]

    def at_pre_channel_msg(self, message: str, channel: Any, **kwargs: Any) -> str:
        """Let the bare words through: a listener that returns nothing here silences the rest."""
        return message

    def channel_msg(self, message: str, channel: Any, senders: Any = None, **kwargs: Any) -> None:
        """Hear a channel, and show it to a player who watches through these eyes."""
        script = self.assistant_script
        if script is not None:
            try:
                hearing.hear_channel(script, message, channel, senders, kwargs)
            except Exception:
                logger.log_trace(f"[assistant] {self} could not hear the channel {channel}")
        if self.sessions.count() and not channel.subscriptions.has(self.account):  # type: ignore[attr-defined]
            line = DefaultAccount.at_pre_channel_msg(self, message, channel, senders, **kwargs)
            self.msg(text=(line, {"from_channel": channel.id}))  # type: ignore[attr-defined]

    def at_post_channel_msg(self, message: str, channel: Any, **kwargs: Any) -> None:
        """Nothing more to do; channels call it."""

    def ask(
        self, question: str, *, asker: Any = None, timeout_seconds: float | None = None
    ) -> Deferred[str]:
        """Ask the assistant in this body something, from game code; as `errands.ask` says."""
        script = self.assistant_script
        return errands.ask(script, question, asker=asker, timeout_seconds=timeout_seconds)

    def at_assistant_said(self, text: str, **kwargs: Any) -> None:
        """It has said something, in whatever way; for a game to override.

        Args:
            text: as it was sent: what would be markup in it is shown as text.
            kwargs: `source`, `to` and `is_private`, as of the signal `assistant_said`.
        """

    def at_assistant_stopped(self, reason: str, **kwargs: Any) -> None:
        """It was stopped, or stopped itself, and may not act; for a game to override.

        Args:
            kwargs: `cause` and `by`, as of the signal `assistant_stopped`.
        """

    def at_post_unpuppet(self, account: Any = None, session: Any = None, **kwargs: Any) -> None:
        """Stay when a player leaves this body, where a character would leave the game."""
        if self.assistant_script is None:
            super().at_post_unpuppet(account, session=session, **kwargs)  # type: ignore[misc]

    def get_display_desc(self, looker: Any, **kwargs: Any) -> str:
        """What people see; that it is an AI is always said."""
        desc = str(super().get_display_desc(looker, **kwargs))  # type: ignore[misc]
        if self.assistant_script is None or _SAYS_AI.search(desc):  # type: ignore[attr-defined]
            return desc
        return f"{desc} {IS_AI_LINE.format(name=self.get_display_name(looker))}"  # type: ignore[attr-defined]


class AssistantCharacter(HearsForAssistant, DefaultCharacter):
    """A character that an AssistantScript moves."""

    def at_object_creation(self) -> None:
        """Nobody may pick an assistant up or puppet it by accident."""
        super().at_object_creation()
        self.locks.add("get:false();puppet:perm(Admin)")
