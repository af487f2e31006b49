"""A client that tries several models in order, within one deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from twisted.internet import reactor as default_reactor
from twisted.internet.defer import Deferred, DeferredSemaphore

from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import CircuitOpenError, ModelError
from evennia_ai.llm.answer_limits import WantedTokens
from evennia_ai.llm.client import DEADLINE_SECONDS, UnifiedLLMClient, log_outcome
from evennia_ai.llm.payments import UNPAID, CompletionRequest, Payment
from evennia_ai.llm.slots import Slot
from evennia_ai.llm.spread import ClientGroup, Refusal, SpreadModel, decisive, notice_of
from evennia_ai.llm.transport import Transport


class FallbackClient(ClientGroup):
    """Asks the first model, and the next one if it fails. To the engine it is one model.

    Every model but the last gets at most half of the time left, so that some remains for the next.
    One slot is held for the whole call, except while it waits for room at addresses that are full.
    Model name, breaker and tool mode are those of the first model.

    Args:
        models: display name and client of each model, in order of preference.
        deadline_seconds: for a whole call, including the wait for a slot and all models.
        slots: bounds the calls in flight; shared by all clients of a game.
    """

    def __init__(
        self,
        models: Sequence[tuple[str, UnifiedLLMClient | SpreadModel]],
        *,
        slots: DeferredSemaphore,
        deadline_seconds: float = DEADLINE_SECONDS,
        reactor: Reactor = default_reactor,
    ) -> None:
        self.models = tuple(models)
        self.deadline_seconds = deadline_seconds
        self._slots = slots
        self._reactor = reactor

    @property
    def first(self) -> UnifiedLLMClient | SpreadModel:
        """The client of the preferred model."""
        return self.models[0][1]

    def wanted(self, extra: Mapping[str, object]) -> WantedTokens:
        """The longest answer limit among the models, since any of them may answer."""
        limits = (client.wanted(extra) for _, client in self.models)
        return max(limits, key=lambda limit: limit.tokens)

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """Ask for one completion; implements the engine's model port."""
        reply: Reply = await self.chat_completion(messages, tools)
        return reply

    def chat_completion(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        *,
        payment: Payment = UNPAID,
        debug: bool = False,
        **extra: Any,
    ) -> Deferred[Reply]:
        """Ask for one completion. Cancelling the Deferred closes the socket in use.

        Args:
            messages: in the native form; each client rewrites them for a model without tool calls.
            payment: is told of each attempt at each model.
            debug: log the size, duration and outcome of the call, but no text of it.
            extra: further members of each request body.

        Raises:
            ContextLengthError: no model answered; the prompt was too long for the first.
            ModelError: no model answered; the text says why for each.
            CircuitOpenError: all breakers are open; this is the one that closes first.
        """
        request = CompletionRequest(messages, tools, extra, payment)
        outcome = Deferred.fromCoroutine(self._in_slot(request))
        if debug:
            names = ", ".join(name for name, _ in self.models)
            size = f"{counted(len(messages), 'messages')}, {counted(len(tools), 'tools')}"
            log_outcome(outcome, f"{names}: {size}", self._reactor)
        return outcome

    async def _in_slot(self, asked: CompletionRequest) -> Reply:
        ends_at = self._reactor.seconds() + self.deadline_seconds
        slot = Slot(self._slots, ends_at, self._reactor)
        try:
            return await self._in_turn(asked, ends_at, slot)
        finally:
            slot.give_back()

    async def _in_turn(self, asked: CompletionRequest, ends_at: float, slot: Slot) -> Reply:
        refusals: list[tuple[str, Refusal]] = []
        for name, client in self.models:
            # The first model is asked even without time, as there would be no error to raise.
            if refusals and self._reactor.seconds() >= ends_at:
                break
            is_last = client is self.models[-1][1]
            try:
                # Without the check, a call would wait for a slot only to find the breaker open.
                if client.may_begin:
                    await slot.take()
                timeout = max(0.0, ends_at - self._reactor.seconds())
                seconds, call = timeout if is_last else timeout / 2, replace(asked, name=name)
                if isinstance(client, SpreadModel):
                    reply = await client.answer_within(seconds, call, slot=slot, is_last=is_last)
                else:
                    reply = await client.answer_within(seconds, call)
            except (ModelError, CircuitOpenError) as error:
                refusals.append((name, error))
            else:
                # A model at several addresses has a notice of its own: which of them answered.
                notices = (notice_of(name, refusals), reply.notice)
                return replace(reply, model=name, notice="; ".join(filter(None, notices)))
        raise decisive(refusals)


# The client of an assistant: of one model, or of one with fallbacks or several addresses.
Client = UnifiedLLMClient | FallbackClient


def with_models(
    client: FallbackClient, models: Sequence[tuple[str, UnifiedLLMClient | SpreadModel]]
) -> FallbackClient:
    """A copy of the client that asks these models."""
    clone = copy(client)
    clone.models = tuple(models)
    return clone


def first_alone(client: Client) -> Client:
    """The client without its fallbacks: of the preferred model, at all of its addresses."""
    return (
        client if isinstance(client, UnifiedLLMClient) else with_models(client, client.models[:1])
    )


def with_transport(client: Client, carry: Callable[[Transport], Transport]) -> Client:
    """A copy of the client that sends its requests over another transport.

    Args:
        carry: derives the new transport from the present one.
    """

    def with_new_transport(single: UnifiedLLMClient) -> UnifiedLLMClient:
        # A shallow copy shares breaker, slots and answer limit with the original.
        clone = copy(single)
        clone.transport = carry(single.transport)
        return clone

    if isinstance(client, UnifiedLLMClient):
        return with_new_transport(client)
    models = [(name, each.with_clients(with_new_transport)) for name, each in client.models]
    return with_models(client, models)
