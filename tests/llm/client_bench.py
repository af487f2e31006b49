"""Clients over scripted transports and a clock moved by hand."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from evennia_ai.core.turn.conversation import user_message
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import ModelConnectionError
from evennia_ai.llm.client import UnifiedLLMClient
from evennia_ai.llm.scripted import ScriptedModel, completion
from evennia_ai.resilience import CircuitBreaker, RetryConfig

HELLO = [user_message("hello")]
FINE = completion("hi", usage={"prompt_tokens": 4, "completion_tokens": 2})
DOWN = ModelConnectionError("nobody there")


class AskingBench:
    """Asks the client that a subclass makes."""

    client: Any

    def ask(self, **extra: Any) -> tuple[Deferred[Reply], list[Any]]:
        """Ask once; the reply or failure is appended to the returned list."""
        outcomes: list[Any] = []
        asked = self.client.chat_completion(HELLO, **extra)
        asked.addBoth(outcomes.append)
        return asked, outcomes

    def fails(self) -> Any:
        """Ask once and return the error that it fails with at once."""
        _, (failure,) = self.ask()
        return failure.value


class Bench(AskingBench):
    """A client whose clock and transport are driven by the test."""

    def __init__(self, *answers: bytes | Exception, attempts: int = 1, **options: Any) -> None:
        self.clock = Clock()
        self.transport = options.pop("transport", None) or ScriptedModel(*answers)
        config = options.pop("breaker", None)
        self.breaker = CircuitBreaker("llm", config, clock=self.clock.seconds)
        self.client = UnifiedLLMClient(
            "custom",
            model="m",
            retry_config=RetryConfig(max_attempts=attempts),
            circuit_breaker=self.breaker,
            transport=self.transport,
            reactor=self.clock,
            random=lambda: 1.0,
            **{"deadline_seconds": 10.0, **options},
        )

    @property
    def failures(self) -> int:
        """Number of failures that the breaker has recorded."""
        return int(self.breaker.get_stats()["total_failures"])
