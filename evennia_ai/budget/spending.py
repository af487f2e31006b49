"""Accounting of model calls: the cost of each is reserved before it is sent, then settled.

Every attempt that may be charged for is a row of the ledger. An attempt that the service refuses
costs nothing, and its reservation serves the next one. An attempt that failed in any other way
counts in full, and the next one gets a new reservation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred

from evennia_ai.budget import ledger
from evennia_ai.core.safety.budget import Purpose, parts_of
from evennia_ai.core.safety.notices import nearly_used_up
from evennia_ai.core.safety.prices import Price, cost_of, counted, highest, price_of
from evennia_ai.core.settings.budget import BudgetConfig, Scope
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.turn.turn import MoneySpent, TokenUsage
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import LimitReachedError, ModelReplyError, StoppedError
from evennia_ai.llm.answer_limits import MAX_TOKENS
from evennia_ai.llm.bridge import Bridged
from evennia_ai.llm.fallback import with_models
from evennia_ai.llm.payments import may_be_charged
from evennia_ai.llm.token_counter import TokenCounter, counter_for
from evennia_ai.messages import outgoing
from evennia_ai.messages.incoming import key_of
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.work import ModelRequest

# Factor by which a prompt may turn out longer than estimated.
WINDOW_MARGIN = 1.1


@dataclass(frozen=True, slots=True)
class BilledAccount:
    """The account that calls are billed to, and its caps.

    Attributes:
        name: the assistant's; "" for the game itself.
        shares: fraction of the cost for each player who caused the calls ("*#3", "" for nobody).
        is_stopped: True while nothing may be sent for the account.
        under_way: its calls in flight, so that an emergency stop can drop them.
    """

    name: str
    shares: Mapping[str, float]
    config: BudgetConfig
    clock: Callable[[], float]
    is_stopped: Callable[[], bool]
    under_way: set[ModelRequest] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class MeteredPayment:
    """The accounting of one call, attempt by attempt; implements `llm.payments.Payment`.

    Attributes:
        prices: full name and price of each model that may answer, by its name in replies.
        spent: the sum to which the cost is added.
    """

    account: BilledAccount
    purpose: str
    estimate: ledger.CostEstimate
    prices: Mapping[str, tuple[str, Price | None]]
    spent: MoneySpent = field(default_factory=MoneySpent)
    _held: list[ledger.Reservation] = field(default_factory=list)
    _sent_to: str | None = None
    _answer: Deferred[bytes] | None = None

    def hold(self) -> None:
        """Reserve the cost of an attempt, unless it is reserved already.

        Raises:
            LimitReachedError: a cap has no room for it.
            NoFreeSlotError: the assistant has its maximum of calls in flight.
            ConfigurationError: costs are capped, and the model has no known price.
        """
        if self._held:
            return
        parts = parts_of(self.estimate.usage, self.account.shares)
        if len(parts) == 1:
            self._reserve(next(iter(parts)), self.estimate)
            return
        last = self.estimate.last
        try:
            for person, part in parts.items():
                # Shares are judged one by one but belong to a single answer, which one share's cap
                # alone cannot shorten.
                share = replace(self.estimate, usage=part, last=last, least=None)
                self._reserve_share(person, share)
                last = TokenUsage()
        # All or none: a share held for no call would take up room under its caps.
        except BaseException:
            self._release()
            raise

    def begin(self, model: str) -> int:
        """See `llm.payments.Payment`."""
        # Checked before each attempt: a stop may have come while the previous one failed.
        if self.account.is_stopped():
            raise StoppedError(self.account.name)
        self.hold()
        self._sent_to = model
        return sum(reservation.estimate.usage.completion_tokens for reservation in self._held)

    def sent(self, answer: Deferred[bytes]) -> None:
        """See `llm.payments.Payment`."""
        self._answer = answer

    def drop(self) -> None:
        """Close the socket of the attempt in flight."""
        if isinstance(self._answer, Bridged):
            self._answer.drop()

    def spoil(self, error: BaseException) -> None:
        """See `llm.payments.Payment`."""
        # Cleared at once, because `fail` calls this again for an attempt already accounted for.
        sent_to, self._sent_to = self._sent_to, None
        if sent_to is None or not may_be_charged(error):
            return
        # An unusable answer may still state what it used; otherwise the whole estimate counts.
        usage = error.usage if isinstance(error, ModelReplyError) else None
        if isinstance(usage, TokenUsage) and usage.total_tokens:
            self._settle(usage, sent_to)
            return
        name, price = self._model_named(sent_to)
        reservations = self._taken()
        estimated = sum((each.estimate.usage for each in reservations), TokenUsage())
        self.spent.add(cost_of(estimated, price), estimated, is_priced=price is not None)
        for reservation in reservations:
            ledger.store().cut_off(reservation, self.account.clock(), model=name, price=price)

    def close(self, reply: Reply) -> None:
        """Settle the call by the usage of its reply."""
        self._sent_to = None
        self._settle(reply.usage, reply.model)

    def fail(self, error: BaseException) -> None:
        """Account for a call that failed for good."""
        self.spoil(error)
        self._release()

    def _settle(self, usage: TokenUsage, reply_name: str) -> None:
        name, price = self._model_named(reply_name)
        reservations = self._taken()
        estimated = sum((each.estimate.usage for each in reservations), TokenUsage())
        used = counted(usage, estimated)
        self.spent.add(cost_of(used, price), used, is_priced=price is not None)
        parts = parts_of(used, self.account.shares).values()
        for reservation, part in zip(reservations, parts, strict=True):
            ledger.store().settle(reservation, part, self.account.clock(), model=name, price=price)

    def _model_named(self, reply_name: str) -> tuple[str, Price | None]:
        return self.prices.get(reply_name) or next(iter(self.prices.values()))

    def _taken(self) -> list[ledger.Reservation]:
        reservations, self._held = self._held, []
        return reservations

    def _release(self) -> None:
        for reservation in self._taken():
            ledger.store().release(reservation, self.account.clock())

    def _reserve_share(self, person: str, estimate: ledger.CostEstimate) -> None:
        """Reserve one player's share; if that player has no budget left, the game bears it."""
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
        warn_staff(reservation)


def warn_staff(reservation: ledger.Reservation) -> None:
    """Tell staff of the caps that a reservation nearly uses up."""
    name, person = reservation.billing.assistant, reservation.billing.person
    for warning in reservation.warnings:
        about = name if warning.startswith(Scope.ASSISTANT) else Scope.GAME.value
        if warning.startswith(whose := f"{Scope.PLAYER} {person}"):
            about = naming_player(whose, person)
        outgoing.alert_staff(nearly_used_up(naming_player(warning, person), about))


@lru_cache
def _tell_left_out(model: str, path: str) -> None:
    """Tell staff, once, of a fallback model that is not asked because its price is unknown."""
    text = ledger.unpriced_text(model, path)
    outgoing.alert_staff(f"A fallback model is left out until its price is known: {text}")


def naming_player(text: str, person: str) -> str:
    """A text about the cap of a player, with the player's name in place of the id."""
    return text.replace(f"{Scope.PLAYER} {person}", f"{Scope.PLAYER} {key_of(person)}")


@dataclass(frozen=True)
class MeteredClient:
    """A client whose calls are billed to an assistant, or to the game, and to a player.

    Attributes:
        script: the assistant's; None: only the game's caps hold.
        person: id of the player who caused them ("*#3"), or "" for nobody.
        shares: each player's fraction if several caused them; `person` is then ignored.
        spent: the sum to which the cost of its calls is added.
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
        """Make one model call. Cancelling the Deferred closes the socket; the call then counts.

        Args:
            tokens: of the prompt, by the model's counter; None: they are counted here.
            extra: further members of the request body; a `max_tokens` among them is not reduced.

        Raises:
            LimitReachedError: a cap has no room for it.
            ConfigurationError: costs are capped, and the model has no known price.
            ModelError: the service failed.
            CircuitOpenError: the circuit breaker is open.
            StoppedError: the assistant is stopped.
        """
        if tokens is None:
            counter = self._counter
            tokens = counter.count_messages(messages) + counter.count_tools(tools)
        return Deferred.fromCoroutine(self._ask(messages, tools, purpose, tokens, extra))

    async def _ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        purpose: str,
        tokens: int,
        extra: dict[str, Any],
    ) -> Reply:
        priced = self._without_unpriced(extra)
        payment = priced._payment(purpose, tokens, extra)
        # Before the client waits for a slot: a call that no cap allows must not wait for one.
        payment.hold()
        under_way = payment.account.under_way
        under_way.add(payment)
        try:
            reply: Reply = await priced.client.chat_completion(
                messages, tools, payment=payment, **extra
            )
        # However it ended, also by cancellation: its attempt may be charged for.
        except BaseException as error:
            payment.fail(error)
            raise
        finally:
            under_way.discard(payment)
        self._counter.note_surplus(tokens, reply.usage.prompt_tokens)
        payment.close(reply)
        return reply

    @cached_property
    def _counter(self) -> TokenCounter:
        return counter_for(self.client.model, self.client.provider_name)

    @property
    def _window(self) -> int:
        """The model's context window in tokens, for prompt and answer together."""
        return max(self._counter.max_tokens, self._read("max_context_tokens") or 0)

    def _read(self, name: str) -> Any:
        return None if self.script is None else state.read(self.script, name)

    def _billed_account(self) -> BilledAccount:
        shares, script = self.shares or {self.person: 1.0}, self.script
        if script is None:
            return BilledAccount("", shares, ledger.config_for({}), reactor.seconds, lambda: False)

        is_stopped, clock = partial(state.is_stopped, script), script.clock.seconds
        # A script that was not started has no caps in memory, so the stored ones are read.
        if script.work is None:
            config = ledger.config_for(state.read(script, "budget_config"))
            return BilledAccount(script.key, shares, config, clock, is_stopped)
        config, under_way = state.budget_config(script), script.work.requests
        return BilledAccount(script.key, shares, config, clock, is_stopped, under_way)

    def _without_unpriced(self, extra: dict[str, Any]) -> MeteredClient:
        """This client without the fallback models whose price is unknown, if costs are capped."""
        first, *others = self._models()
        path = ledger.cost_cap_of(self._billed_account().config) if others else ""
        prices = self._prices(extra) if path else {}
        unpriced = [name for name, _ in others if name in prices and prices[name][1] is None]
        if not unpriced:
            return self
        for name in unpriced:
            _tell_left_out(prices[name][0], path)
        models = [first, *(each for each in others if each[0] not in unpriced)]
        return replace(self, client=with_models(self.client, models))

    def _payment(self, purpose: str, tokens: int, extra: dict[str, Any]) -> MeteredPayment:
        account = self._billed_account()
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
        """The most that an attempt may cost, whichever model answers."""
        wanted = self.client.wanted(extra)
        answer = wanted.least if purpose == Purpose.WRAP_UP else wanted.tokens
        # A default limit shrinks to what the window leaves; a configured one does not.
        if MAX_TOKENS not in extra and self._read("llm_max_tokens") is None:
            room = self._window - math.ceil(tokens * WINDOW_MARGIN)
            answer = max(wanted.least, min(answer, room))
        tokens = self._counter.most_of(tokens)
        # The service may write the whole prompt into its cache, which may be the dearest.
        usage = TokenUsage(tokens, answer, written_tokens=tokens)
        known = {name: price for name, price in prices.values() if price is not None}
        unknown = next((name for name, price in prices.values() if price is None), None)
        return ledger.CostEstimate(
            usage,
            unknown or max(known, key=lambda name: cost_of(usage, known[name])),
            None if unknown else highest(tuple(known.values())),
            TokenUsage(tokens, wanted.least, written_tokens=tokens),
            self.client.deadline_seconds,
            min(wanted.least, answer),
        )

    def _prices(self, extra: dict[str, Any]) -> dict[str, tuple[str, Price | None]]:
        """Full name and price of each model that may answer, by its name in replies."""
        prices = ledger.prices()
        models = [
            (reply_name, client.provider_name, extra.get("model", client.model))
            for reply_name, client in self._models()
        ]
        return {
            reply_name: (f"{provider}/{model}", price_of(prices, provider, model))
            for reply_name, provider, model in models
        }

    def name_of(self, reply: Reply) -> str:
        """The full name of the model that answered, "provider/name"."""
        models = self._models()
        answered = next((client for name, client in models if name == reply.model), models[0][1])
        return f"{answered.provider_name}/{answered.model}"

    def _models(self) -> list[tuple[str, Any]]:
        """The client of each model that may answer, with the name that replies give it."""
        return list(getattr(self.client, "models", ())) or [("", self.client)]
