"""Several models as one: the first that answers, tried in order, within one deadline for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from twisted.internet import reactor as default_reactor
from twisted.internet.defer import Deferred, DeferredSemaphore

from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import CircuitOpenError, ModelError
from evennia_ai.llm.answer_limits import WantedTokens
from evennia_ai.llm.client import DEADLINE_SECONDS, UnifiedLLMClient
from evennia_ai.llm.payments import UNPAID, CompletionRequest, Payment
from evennia_ai.llm.slots import Slot
from evennia_ai.llm.spread import OfFirst, Refusal, SpreadModel, gravest, notice_of
from evennia_ai.llm.transport import Transport


class FallbackClient(OfFirst):
    """Asks the first model, and where it fails the next. To the engine it is one model.

    Every model but the last gets at most half of the time that is left, so that there is always
    some for the next; the last gets all the rest. One slot is held for the whole call, but not
    while it waits for room at addresses that are full. What is said of a client (its model, its
    breaker, its way of calling tools) is said of the first.

    Args:
        models: what each is called for people, and its client; the first choice first.
        deadline_seconds: for a whole call, waiting for a slot and all models included.
        slots: how many calls may be in flight, shared by all clients of a game.
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
        """The client of the first choice."""
        return self.models[0][1]

    def wanted(self, extra: Mapping[str, object]) -> WantedTokens:
        """The longest answer of a call: as long as any of the models wants it."""
        return max((client.wanted(extra) for _, client in self.models), key=lambda one: one.tokens)

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """The engine's model port."""
        reply: Reply = await self.chat_completion(messages, tools)
        return reply

    def chat_completion(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        *,
        payment: Payment = UNPAID,
        **extra: Any,
    ) -> Deferred[Reply]:
        """Ask for one completion. Cancelling the Deferred closes whatever is in flight.

        Args:
            messages: in the native form; for a model that is not asked natively they are rewritten.
            payment: is told of each attempt at each model.
            extra: further members of each request body.

        Raises:
            ContextLengthError: none answered; for the first choice the prompt was too long.
            ModelError: none answered; the text says what came of each.
            CircuitOpenError: none is being asked now; of the one that may be asked again first.
        """
        return Deferred.fromCoroutine(
            self._in_slot(CompletionRequest(messages, tools, extra, payment))
        )

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
            # The first one is asked in any case: without it there would be no error to raise.
            if refusals and self._reactor.seconds() >= ends_at:
                break
            is_last = client is self.models[-1][1]
            try:
                if client.may_begin:  # else nobody waits for a slot to hear that
                    await slot.take()
                left = max(0.0, ends_at - self._reactor.seconds())
                seconds, call = left if is_last else left / 2, replace(asked, name=name)
                if isinstance(client, SpreadModel):
                    reply = await client.answer_within(seconds, call, slot=slot, is_last=is_last)
                else:
                    reply = await client.answer_within(seconds, call)
            except (ModelError, CircuitOpenError) as error:
                refusals.append((name, error))
            else:
                # One model at several addresses has told already which of them it was.
                notices = (notice_of(name, refusals), reply.notice)
                return replace(reply, model=name, notice="; ".join(filter(None, notices)))
        raise gravest(refusals)


# What asks an assistant's model, with those that stand in for it or without.
Client = UnifiedLLMClient | FallbackClient


def sent_by(client: Client, carry: Callable[[Transport], Transport]) -> Client:
    """The same client, whose requests something else carries.

    Args:
        carry: makes what carries them of what does so now.
    """

    def carried(each: UnifiedLLMClient) -> UnifiedLLMClient:
        # A copy shares breaker, slots and limits with the client that it was made of.
        other = copy(each)
        other.transport = carry(each.transport)
        return other

    if isinstance(client, UnifiedLLMClient):
        return carried(client)
    other = copy(client)
    other.models = tuple((name, each.with_clients(carried)) for name, each in client.models)
    return other
