"""Payment of an assistant's model calls: each is reserved before it is made, then settled.

Every attempt that may be charged for is a row of the ledger: one that a service refuses costs
nothing, and what the next one needs is held already; one that came to nothing in any other way
counts in full, and the next is reserved anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred

from evennia_ai.budget import ledger
from evennia_ai.core.safety.budget import Purpose, parts_of
from evennia_ai.core.safety.notices import nearly_used_up
from evennia_ai.core.safety.prices import Price, cost_of, counted, price_of
from evennia_ai.core.settings.budget import BudgetConfig, Scope
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.tokens import count_messages
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.turn.turn import MoneySpent, TokenUsage
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    CircuitOpenError,
    LimitReachedError,
    ModelConnectionError,
    ModelReplyError,
    ModelStatusError,
    NoFreeSlotError,
    StoppedError,
)
from evennia_ai.llm.answer_limits import PLAIN
from evennia_ai.llm.bridge import Bridged
from evennia_ai.llm.token_counter import TokenCounter, counter_for
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.work import ModelRequest

# What a prompt may come out longer than it was estimated, before the window is full.
WINDOW_MARGIN = 1.1
# Statuses of a gateway that gave up waiting: what is behind it may have answered.
TOOK_TOO_LONG = (408, 504, 524)


def may_be_charged(error: BaseException) -> bool:
    """True where an attempt that failed so may have cost something."""
    if isinstance(error, ModelStatusError):
        return error.status in TOOK_TOO_LONG
    if isinstance(error, ModelConnectionError):
        return error.was_sent
    return not isinstance(error, (CircuitOpenError, NoFreeSlotError))


@dataclass(frozen=True, slots=True)
class Charged:
    """The account that is charged for calls, and its caps.

    Attributes:
        name: the assistant's; "" for the game itself.
        shares: for each player who caused them ("*#3", or "" for nobody) how much is theirs.
        is_stopped: whether nothing is sent for it any more.
        under_way: where each of its calls stands until it has ended.
    """

    name: str
    shares: Mapping[str, float]
    config: BudgetConfig
    clock: Callable[[], float]
    is_stopped: Callable[[], bool]
    under_way: set[ModelRequest] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class MeteredPayment:
    """One call of an account, attempt by attempt.

    Attributes:
        estimate: what an attempt may use up.
        prices: each model that may answer, as replies name it: its name and its price.
        spent: where its cost is added up.
    """

    account: Charged
    purpose: str
    estimate: ledger.CostEstimate
    prices: Mapping[str, tuple[str, Price | None]]
    spent: MoneySpent = field(default_factory=MoneySpent)
    _held: list[ledger.Reservation] = field(default_factory=list)
    _sent_to: str | None = None
    _answer: Deferred[bytes] | None = None

    def hold(self) -> None:
        """Reserve what an attempt may need, if that is not done.

        Raises:
            LimitReachedError: there is no room for it under a cap.
            NoFreeSlotError: as many calls are under way as may be.
            ConfigurationError: its price is not known, and costs are capped.
        """
        if self._held:
            return
        first, *others = parts_of(self.estimate.usage, self.account.shares).items()
        # What several pay for is not shortened: the parts are judged one by one, for one answer.
        least = None if others else self.estimate.least
        self._reserve(first[0], replace(self.estimate, usage=first[1], least=least))
        try:
            for person, part in others:
                estimate = replace(self.estimate, usage=part, last=TokenUsage(), least=None)
                self._reserve_share(person, estimate)
        # All or none: a part that is held for no call would take up room under its caps.
        except BaseException:
            self._release()
            raise

    def begin(self, model: str) -> int:
        """See `llm.payments.Payment`."""
        # Before each attempt, as a stop may have come while the one before was failing.
        if self.account.is_stopped():
            raise StoppedError(self.account.name)
        self.hold()
        self._sent_to = model
        return sum(reservation.estimate.usage.completion_tokens for reservation in self._held)

    def sent(self, answer: Deferred[bytes]) -> None:
        """See `llm.payments.Payment`."""
        self._answer = answer

    def drop(self) -> None:
        """Close the socket of the attempt that is under way."""
        if isinstance(self._answer, Bridged):
            self._answer.drop()

    def spoil(self, error: BaseException) -> None:
        """See `llm.payments.Payment`."""
        # Taken out at once: `fail` comes here again for an attempt that was counted already.
        sent_to, self._sent_to = self._sent_to, None
        if sent_to is None or not may_be_charged(error):
            return
        usage = error.usage if isinstance(error, ModelReplyError) else None
        if isinstance(usage, TokenUsage) and usage.total_tokens:
            self._settle(usage, sent_to)
            return
        name, price = self._named(sent_to)
        for reservation in self._taken():
            self.spent.add(cost_of(reservation.estimate.usage, price), is_priced=price is not None)
            ledger.store().cut_off(reservation, self.account.clock(), model=name, price=price)

    def close(self, reply: Reply) -> None:
        """It was answered."""
        self._sent_to = None
        self._settle(reply.usage, reply.model)

    def fail(self, error: BaseException) -> None:
        """No further attempt is made."""
        self.spoil(error)
        self._release()

    def _settle(self, usage: TokenUsage, told: str) -> None:
        name, price = self._named(told)
        reservations = self._taken()
        estimated = sum((each.estimate.usage for each in reservations), TokenUsage())
        used = counted(usage, estimated)
        self.spent.add(cost_of(used, price), is_priced=price is not None)
        parts = parts_of(used, self.account.shares).values()
        for reservation, part in zip(reservations, parts, strict=True):
            ledger.store().settle(reservation, part, self.account.clock(), model=name, price=price)

    def _named(self, told: str) -> tuple[str, Price | None]:
        return self.prices.get(told) or next(iter(self.prices.values()))

    def _taken(self) -> list[ledger.Reservation]:
        reservations, self._held = self._held, []
        return reservations

    def _release(self) -> None:
        for reservation in self._taken():
            ledger.store().release(reservation, self.account.clock())

    def _reserve_share(self, person: str, estimate: ledger.CostEstimate) -> None:
        """Hold the share of one of several. Whoever has no room left pays for no talk of others."""
        try:
            self._reserve(person, estimate)
        except LimitReachedError as hit:
            if not hit.scope.startswith(Scope.PLAYER):
                raise
            self._reserve("", estimate)

    def _reserve(self, person: str, estimate: ledger.CostEstimate) -> None:
        account, is_share = self.account, bool(self._held)
        billing = ledger.BillingContext(account.name, person, self.purpose, is_share)
        reservation = ledger.store().reserve(billing, estimate, account.config, account.clock())
        self._held.append(reservation)
        for warning in reservation.warnings:
            about = account.name or "game"
            outgoing.alert_staff(nearly_used_up(warning, about))


@dataclass(frozen=True, slots=True)
class MeteredClient:
    """The model of an assistant, or of the game itself, paid for in the name of a person.

    Attributes:
        script: the assistant's; None: the game's own, whose caps then hold.
        client: what asks the model.
        person: the id of the player who caused it ("*#3"), or "" for nobody.
        shares: where several caused it, how much of it is whose; then `person` is not asked.
        spent: where the cost of its calls is added up.
    """

    script: Assistant | None
    client: Any
    person: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)
    spent: MoneySpent = field(default_factory=MoneySpent)

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
            tokens: of the prompt, as the model's counter counts them; None: it is asked.
            extra: further members of the request body; a `max_tokens` among them is wanted in full.

        Raises:
            LimitReachedError: there is no room for it under a cap.
            ConfigurationError: its price is not known, and costs are capped.
            ModelError: the service failed.
            CircuitOpenError: it is not being asked now.
            StoppedError: the assistant is stopped.
        """
        if tokens is None:
            counter = self._counter
            tokens = count_messages(messages, counter.count) + counter.count_tools(tools)
        return Deferred.fromCoroutine(self._ask(messages, tools, purpose, tokens, extra))

    async def _ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        purpose: str,
        tokens: int,
        extra: dict[str, Any],
    ) -> Reply:
        payment = self._payment(purpose, tokens, extra)
        payment.hold()
        under_way = payment.account.under_way
        under_way.add(payment)
        try:
            reply: Reply = await self.client.chat_completion(
                messages, tools, payment=payment, **extra
            )
        except BaseException as error:
            payment.fail(error)
            raise
        finally:
            under_way.discard(payment)
        self._counter.note_surplus(tokens, reply.usage.prompt_tokens)
        payment.close(reply)
        return reply

    @property
    def _counter(self) -> TokenCounter:
        return counter_for(self.client.model, self.client.provider_name)

    @property
    def _window(self) -> int:
        """Tokens that the model takes, prompt and answer together."""
        return max(self._counter.max_tokens, self._read("max_context_tokens") or 0)

    def _read(self, name: str) -> Any:
        return None if self.script is None else state.read(self.script, name)

    def _charged(self) -> Charged:
        shares, script = self.shares or {self.person: 1.0}, self.script
        if script is None:
            return Charged("", shares, ledger.config_for({}), reactor.seconds, lambda: False)

        def is_stopped() -> bool:
            return state.is_stopped(script)

        # One that was not started has no caps in memory: those that are stored are read.
        work = script.work
        if work is None:
            config = ledger.config_for(state.read(script, "budget_config"))
            return Charged(script.key, shares, config, script.clock.seconds, is_stopped)
        config, clock = state.budget_config(script), script.clock.seconds
        return Charged(script.key, shares, config, clock, is_stopped, work.requests)

    def _payment(self, purpose: str, tokens: int, extra: dict[str, Any]) -> MeteredPayment:
        account = self._charged()
        if account.is_stopped():
            raise StoppedError(account.name)
        prices = self._prices(extra)
        estimate = self._estimate(purpose, tokens, extra, prices)
        return MeteredPayment(account, purpose, estimate, prices, self.spent)

    def _estimate(
        self,
        purpose: str,
        tokens: int,
        extra: Mapping[str, object],
        prices: Mapping[str, tuple[str, Price | None]],
    ) -> ledger.CostEstimate:
        """The estimate of an attempt, at the price of the dearest model that may answer it."""
        wanted = self.client.wanted(extra)
        answer = wanted.least if purpose == Purpose.WRAP_UP else wanted.tokens
        if PLAIN not in extra and self._read("llm_max_tokens") is None:
            room = self._window - math.ceil(tokens * WINDOW_MARGIN)
            answer = max(wanted.least, min(answer, room))
        tokens = self._counter.most_of(tokens)
        asked = TokenUsage(tokens, answer)
        priced = prices.values()
        unknown = next((name for name, price in priced if price is None), None)
        name, price = max(priced, key=lambda item: cost_of(asked, item[1]))
        return ledger.CostEstimate(
            asked,
            unknown or name,
            None if unknown else price,
            TokenUsage(tokens, wanted.least),
            self.client.deadline_seconds,
            min(wanted.least, answer),
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
        """The model that answered, "provider/name"."""
        models = self._models()
        found = next((one for told, one in models if told == reply.model), models[0][1])
        return f"{found.provider_name}/{found.model}"

    def _models(self) -> list[tuple[str, Any]]:
        """Each model that may answer, and what replies call it."""
        return list(getattr(self.client, "models", ())) or [("", self.client)]
