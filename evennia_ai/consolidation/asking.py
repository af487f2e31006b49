"""The model calls of a night: paid for, counted, within one budget, and void after a stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.agent.compaction import DEADLINE_SECONDS, Fence
from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.executions import usage_counted
from evennia_ai.core.turn.tokens import count_messages, estimate
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import AssistantError, ModelTimeoutError
from evennia_ai.llm.fallback import Client
from evennia_ai.runtime import state, turns
from evennia_ai.runtime.assistant import Assistant

LONGEST_ANSWER_TOKENS = 1_500
FEWEST_ANSWER_TOKENS = 1_000


class PutOffError(AssistantError):
    """A step of the night cannot be done now; another night does it."""


def fence_of(script: Assistant) -> Fence:
    """A fence that holds as long as nothing stops or resets the assistant."""
    return Fence(script, script.work, script.work.epoch)


@dataclass(slots=True)
class Asker:
    """The assistant's model, for what nobody waits for.

    Attributes:
        most_tokens: what all calls may use; None: no more than the caps on what it costs say.
        tokens: what they used.
        shares: whose calls they are, and how much of each; empty for nobody's.
    """

    script: Assistant
    client: Client
    fence: Fence
    most_tokens: int | None = None
    tokens: int = 0
    shares: Mapping[str, float] = field(default_factory=dict)

    def has_room(self, size: int) -> bool:
        """True where a call with a prompt of so many tokens fits into what is left."""
        most = self.most_tokens
        return most is None or self.tokens + size + FEWEST_ANSWER_TOKENS <= most

    async def ask(self, messages: Sequence[Message], purpose: str) -> str:
        """One model call.

        Returns:
            What the model wrote.

        Raises:
            PutOffError: the budget has no room for it.
            AssistantError: the model failed, is not asked now, or no cap has room for it.
            StaleEpochError: it was stopped or reset meanwhile.
        """
        self.fence.check()
        size = count_messages(messages, estimate)
        if not self.has_room(size):
            raise PutOffError(f"the night's token_budget of {self.most_tokens} has no room for it")
        metered = MeteredClient(self.script, self.client, shares=self.shares)
        asked = metered.ask(messages, purpose=purpose, **self._extra(size))
        try:
            reply = await asked.addTimeout(DEADLINE_SECONDS, self.script.clock)
        except DeadlineError:
            raise ModelTimeoutError(f"no answer within {DEADLINE_SECONDS:g} s") from None
        used = reply.usage
        self.tokens += (used.prompt_tokens or size) + used.completion_tokens
        told = usage_counted(purpose, 1, used.prompt_tokens, used.completion_tokens)
        turns.add_usage(self.script, Turn(0, (), usage=used, model_calls=1), told)
        self.fence.check()
        return str(reply.content)

    def _extra(self, size: int) -> dict[str, Any]:
        """A list may be longer than what the assistant says, but not than what is left.

        Args:
            size: tokens of the prompt.
        """
        limit = state.read(self.script, "llm_max_tokens")
        extra: dict[str, Any] = {}
        if limit is not None or not self.client.supports_tools:
            extra = {"max_tokens": max(limit or 0, LONGEST_ANSWER_TOKENS)}
        if self.most_tokens is None:
            return extra
        left = max(1, self.most_tokens - self.tokens - size)
        return {"max_tokens": min(left, self.client.wanted(extra).tokens)}
