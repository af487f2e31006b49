"""The body of an assistant: it hears the game and passes on what may need an answer."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from evennia.objects.objects import DefaultCharacter
from evennia.utils import logger

from evennia_ai import inbound, outbound, state
from evennia_ai.core.inbox import Event
from evennia_ai.core.perception import Ear, Heard, Outcome, Verdict, classify


class HearsForAssistant:
    """Gives any object typeclass the ears of an assistant; put it before the typeclass."""

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> Any:
        """Hear a message. It is always passed on to a player who watches through these eyes."""
        script = self.ndb.assistant_script  # type: ignore[attr-defined]
        if script is not None and from_obj is not None:
            try:
                self._hear(script, text, from_obj)
            except Exception:
                logger.log_trace(f"[assistant] {self} could not hear a message")
        return super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)  # type: ignore[misc]

    def _hear(self, script: Any, text: Any, from_obj: Any) -> None:
        heard = inbound.read(text, from_obj, self)
        if heard is None or not heard.body:
            return
        verdict = classify(heard, self._ear(script))
        if verdict.outcome is not Outcome.TRIGGER:
            return
        if not script.may_answer:
            sender = inbound.sender_of(from_obj)
            outbound.tell(self, sender, outbound.STOPPED_LINE, hops=heard.hops + 1)
            return
        script.enqueue(self._event(heard, verdict))

    def _event(self, heard: Heard, verdict: Verdict) -> Event:
        return Event.from_heard(heard, verdict, event_id=uuid4().hex[:12], at=outbound.now())

    def _ear(self, script: Any) -> Ear:
        return Ear(
            names=(self.key, *self.aliases.all()),  # type: ignore[attr-defined]
            interaction_enabled=state.read(script, "interaction_enabled"),
            enable_addressing=state.read(script, "enable_addressing"),
            max_agent_hops=state.read(script, "max_agent_hops"),
        )


class AssistantCharacter(HearsForAssistant, DefaultCharacter):
    """A character that an AssistantScript moves."""

    def at_object_creation(self) -> None:
        """Nobody may pick an assistant up or puppet it by accident."""
        super().at_object_creation()
        self.locks.add("get:false();puppet:perm(Admin)")
