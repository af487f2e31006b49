"""A model that does not let go of its calls."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from evennia_ai.llm.scripted import ScriptedModel


class StubbornTransport(ScriptedModel):
    """Cannot be cancelled: a test can bring an answer after all, when it is too late."""

    def _new_outcome(self) -> Deferred[bytes]:
        return Deferred()
