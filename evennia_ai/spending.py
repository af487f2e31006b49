"""What pays for an assistant's model calls: each is reserved before it is made, then settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai import ledger, outbound, state
from evennia_ai.core.conversation import Message
from evennia_ai.core.prices import Price, cost_of, price_of
from evennia_ai.core.tokens import count_messages, estimate
from evennia_ai.core.toolspec import ToolSpec
from evennia_ai.core.turn import Usage
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    CircuitOpenError,
    ModelConnectionError,
    ModelStatusError,
    NoFreeSlotError,
)

ANSWER_TOKENS = 1_000
LAST_WORD_TOKENS = 300


@dataclass(frozen=True, slots=True)
class Purse:
    """The model of an assistant, paid for in the name of a person.

    Attributes:
        client: what asks the model.
        person: the id of the player who caused it ("*#3"), or "" for nobody.
    """

    script: Any
    client: Any
    person: str = ""

    def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        *,
        purpose: str,
        tokens: int | None = None,
        **extra: Any,
    ) -> Deferred[Reply]:
        """One model call. Cancelling the Deferred closes the socket, and counts as used.

        Args:
            tokens: of the prompt; None: they are estimated.
            extra: further members of the request body.

        Raises:
            LimitReachedError: there is no room for it under a cap.
            ConfigurationError: its price is not known, and costs are capped.
            ModelError: the service failed.
            CircuitOpenError: it is not being asked now.
        """
        if tokens is None:
            tokens = count_messages(messages, estimate)
        return Deferred.fromCoroutine(self._ask(messages, tools, purpose, tokens, extra))

    async def _ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        purpose: str,
        tokens: int,
        extra: dict[str, Any],
    ) -> Reply:
        clock = self.script.clock
        claim = self._reserve(purpose, tokens, extra)
        try:
            reply: Reply = await self.client.chat_completion(messages, tools, **extra)
        except (CircuitOpenError, NoFreeSlotError, ModelConnectionError, ModelStatusError):
            ledger.release(claim, clock.seconds())
            raise
        except BaseException:
            # Nobody knows what the service makes of a call that was broken off, or bills for it.
            ledger.cut_off(claim, clock.seconds())
            raise
        name, price = self._answered_by(reply.model, extra)
        ledger.settle(claim, reply.usage, clock.seconds(), model=name, price=price)
        return reply

    def _reserve(self, purpose: str, tokens: int, extra: dict[str, Any]) -> ledger.Claim:
        payer = ledger.Payer(self.script.key, self.person, purpose)
        config = state.budget_config(self.script)
        claim = ledger.reserve(
            payer, self._need(tokens, extra), config, self.script.clock.seconds()
        )
        for warning in claim.warnings:
            outbound.alert_staff(f"budget: {warning}. Look: assistant budget {self.script.key}")
        return claim

    def _need(self, tokens: int, extra: dict[str, Any]) -> ledger.Need:
        """What the call may use up, at the price of the dearest model that may answer it."""
        most = extra.get("max_tokens") or state.read(self.script, "llm_max_tokens")
        asked = Usage(tokens, most or ANSWER_TOKENS)
        priced = self._prices(extra).values()
        unknown = next((name for name, price in priced if price is None), None)
        name, price = max(priced, key=lambda item: cost_of(asked, item[1]))
        return ledger.Need(
            asked,
            unknown or name,
            None if unknown else price,
            Usage(tokens, LAST_WORD_TOKENS),
            self.client.deadline_seconds,
        )

    def _prices(self, extra: dict[str, Any]) -> dict[str, tuple[str, Price | None]]:
        """Each model that may answer, as replies name it: its name and its price."""
        prices = ledger.prices()
        named = [
            (told, one.provider_name, extra.get("model", one.model)) for told, one in self._models()
        ]
        return {
            told: (f"{provider}/{model}", price_of(prices, provider, model))
            for told, provider, model in named
        }

    def name_of(self, reply: Reply) -> str:
        """Which model answered, "provider/name"."""
        models = self._models()
        found = next((one for told, one in models if told == reply.model), models[0][1])
        return f"{found.provider_name}/{found.model}"

    def _models(self) -> list[tuple[str, Any]]:
        """Each model that may answer, and what replies call it."""
        return list(getattr(self.client, "models", ())) or [("", self.client)]

    def _answered_by(self, told: str, extra: dict[str, Any]) -> tuple[str, Price | None]:
        known = self._prices(extra)
        return known.get(told) or next(iter(known.values()))
