"""A model transport that cannot be cancelled."""

from twisted.internet.defer import Deferred

from evennia_ai.llm.scripted import ScriptedModel


class StubbornTransport(ScriptedModel):
    """Ignores cancellation, so that a test can answer after the deadline."""

    def _new_outcome(self) -> Deferred[bytes]:
        return Deferred()
