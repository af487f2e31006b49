"""One client for every provider: breaker, cap, retry and one deadline around a transport."""

from __future__ import annotations

import random as randomness
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twisted.internet import reactor as default_reactor
from twisted.internet import task
from twisted.internet.defer import Deferred, DeferredSemaphore
from twisted.internet.defer import TimeoutError as DeadlineError
from twisted.python import log
from twisted.python.failure import Failure

from evennia_ai.core.turn.conversation import Message, closed
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    ConfigurationError,
    ModelError,
    ModelStatusError,
    ModelTimeoutError,
    NoFreeSlotError,
)
from evennia_ai.llm.answer_limits import (
    MOST_TRIES,
    OWNED,
    PLAIN,
    AnswerLimit,
    WantedTokens,
    wanted_of,
)
from evennia_ai.llm.endpoints import LOCAL, LOCAL_MODEL, PRESETS, SCRIPTED
from evennia_ai.llm.local_transport import LocalTransport, places_of_game
from evennia_ai.llm.offers import offered
from evennia_ai.llm.payments import UNPAID, CompletionRequest, Payment
from evennia_ai.llm.rate_limits import RateLimitInfo
from evennia_ai.llm.replies import REQUESTS, parse_reply
from evennia_ai.llm.scripted import ScriptedTransport
from evennia_ai.llm.slots import take_slot
from evennia_ai.llm.transport import LARGEST_REPLY_BYTES, OpenAITransport, Transport
from evennia_ai.resilience import CircuitBreaker, CircuitBreakerState, RetryConfig
from evennia_ai.resilience.retry import retry

DEADLINE_SECONDS = 60.0
MAX_CALLS_IN_FLIGHT = 64
# Mistral's own services and templates say "unexpected role 'user' after role 'tool'".
WANTS_CLOSED_TURNS = re.compile(r"[a-z]stral|[mp]ixtral", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Generation:
    """The model's sampling settings; None leaves one to the provider.

    Attributes:
        max_tokens: of an answer; None: as `answer_limits` knows of the model.
        extra: further members of the request body, sent as they are, but for those that have a
            setting of their own.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    extra: Mapping[str, Any] | None = None

    def as_body(self) -> dict[str, Any]:
        """The members that are set, but for the length of answers."""
        named = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "reasoning_effort": self.reasoning_effort,
        }
        body = {key: value for key, value in named.items() if value is not None}
        extra = self.extra or {}
        return {**body, **{key: value for key, value in extra.items() if key not in OWNED}}


def provider_headers(provider: str, app_name: str, site_url: str) -> dict[str, str]:
    """The headers a provider wants beside the key: OpenRouter names the calling application."""
    if provider != "openrouter":
        return {}
    headers = {"X-Title": app_name, "HTTP-Referer": site_url}
    return {key: value for key, value in headers.items() if value}


def make_transport(
    provider: str,
    base_url: str,
    auth_token: str,
    headers: Mapping[str, str],
    *,
    reactor: Reactor,
    most_bytes: int = LARGEST_REPLY_BYTES,
) -> Transport:
    """The transport to a provider; to "local" without an address, the game's embedded model.

    Raises:
        ConfigurationError: nobody said where it answers, or there is no game here.
    """
    if provider == SCRIPTED:
        return ScriptedTransport()
    if provider == LOCAL and not base_url:
        return LocalTransport(*places_of_game(), most_bytes, reactor=reactor)
    if not base_url:
        raise ConfigurationError(
            f"provider is {provider!r}, which has no address of its own; give a base_url"
        )
    return OpenAITransport(base_url, auth_token, headers, reactor=reactor, most_bytes=most_bytes)


@dataclass(frozen=True, slots=True)
class _Call:
    """One call, for all its attempts.

    Attributes:
        tokens: that its answer may have, where whoever pays allows as many.
    """

    body: Mapping[str, Any]
    tokens: int
    payment: Payment
    name: str


class UnifiedLLMClient:
    """Asks one model of one provider.

    Args:
        provider: a key of `endpoints.PRESETS`, or "custom" together with `base_url`; "local" is
            the game's embedded model, which is started when it is first asked.
        auth_token: the API key, "" for none.
        debug: log of each call how large it is, how long it takes and how it ends; no words.
        deadline_seconds: for a whole call, waiting for a free slot and retries included.
        slots: how many calls may be in flight, shared by all clients of a game.
        transport: what carries the request; made from provider and token when None.
        answer_limit: how the endpoint is told how long an answer may be; shared by all clients of
            the same model there.
    """

    def __init__(
        self,
        provider: str = "openai",
        auth_token: str = "",
        model: str = "",
        retry_config: RetryConfig = RetryConfig(),
        circuit_breaker: CircuitBreaker | None = None,
        *,
        base_url: str = "",
        tool_mode: str = "",
        generation: Generation = Generation(),
        app_name: str = "Evennia AI Assistant",
        site_url: str = "",
        debug: bool = False,
        deadline_seconds: float = DEADLINE_SECONDS,
        slots: DeferredSemaphore | None = None,
        transport: Transport | None = None,
        answer_limit: AnswerLimit | None = None,
        reactor: Reactor = default_reactor,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        preset = PRESETS.get(provider)
        self.provider_name = provider
        self.model = model or (LOCAL_MODEL if provider == LOCAL else "")
        self.tool_mode = tool_mode or (preset.tool_mode if preset else "native")
        self.circuit_breaker = circuit_breaker or CircuitBreaker(f"llm:{provider}")
        self.debug = debug
        self.deadline_seconds = deadline_seconds
        self._retry = retry_config
        self._generation = generation
        self._answer_limit = answer_limit or AnswerLimit.of(provider, model)
        self._slots = slots or DeferredSemaphore(MAX_CALLS_IN_FLIGHT)
        self._reactor = reactor
        self._random = random
        self.transport = transport or make_transport(
            provider,
            base_url or (preset.base_url if preset else ""),
            auth_token,
            provider_headers(provider, app_name, site_url),
            reactor=reactor,
        )

    @property
    def supports_tools(self) -> bool:
        """True where tool calls go over the API as such."""
        return self.tool_mode == "native"

    @property
    def rate_limit_info(self) -> RateLimitInfo | None:
        """The rate limits that the service last told, None when it tells nothing."""
        return getattr(self.transport, "rate_limit_info", None)

    def wanted(self, extra: Mapping[str, Any]) -> WantedTokens:
        """The longest answer of a call, as it is set, else as the model can.

        Args:
            extra: further members of the call's body; a length among them is wanted in full.
        """
        if (own := extra.get(PLAIN)) is not None:
            return WantedTokens(own, own)
        usual = wanted_of(
            extra.get("model", self.model),
            is_native=self.supports_tools,
            is_thinking=self._generation.reasoning_effort is not None,
        )
        most = self._generation.max_tokens
        return usual if most is None else WantedTokens(most, min(most, usual.least))

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """The engine's model port."""
        reply: Reply = await self.chat_completion(messages, tools)
        return reply

    def chat_completion(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec | Mapping[str, object]] = (),
        *,
        payment: Payment = UNPAID,
        debug: bool | None = None,
        **extra: Any,
    ) -> Deferred[Reply]:
        """Ask for one completion. Cancelling the Deferred closes the socket.

        Args:
            tools: specs, or as the chat completions API writes them.
            payment: is told of each attempt, and says how long its answer may be at most.
            debug: as the client's, for this call; None: as the client's.
            extra: further members of the request body, which win over the client's own, such as
                `tool_choice`, `temperature` and `max_tokens`.

        Raises:
            ConfigurationError: a tool or `tool_choice` cannot be read.
            ModelError: the service failed; its text says how.
            CircuitOpenError: the service is not being asked now.
        """
        asked = Deferred.fromCoroutine(self._in_slot(messages, tools, extra, payment))
        if self.debug if debug is None else debug:
            told = (
                f"{self.provider_name} {self.model}: {len(messages)} messages, {len(tools)} tools"
            )
            asked.addBoth(self._log_end, told, self._reactor.seconds())
        return asked

    def _log_end(self, end: Reply | Failure, told: str, began: float) -> Reply | Failure:
        how = (
            f"{end.finish_reason or 'no reason told'}, {end.usage.total_tokens} tokens"
            if (isinstance(end, Reply))
            else end.type.__name__
        )
        log.msg(f"[assistant] {told}: {how}, {self._reactor.seconds() - began:.2f} s")
        return end

    async def _in_slot(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec | Mapping[str, object]],
        extra: Mapping[str, object],
        payment: Payment,
    ) -> Reply:
        specs, extra = offered(tools, extra, is_native=self.supports_tools)
        ends_at = self._reactor.seconds() + self.deadline_seconds
        if not self.circuit_breaker.is_available:
            # This raises: nobody waits for a slot to hear that the service is left alone.
            self.circuit_breaker.acquire().release()
        await take_slot(self._slots, self.deadline_seconds, self._reactor)
        try:
            asked = CompletionRequest(messages, specs, extra, payment)
            return await self.answer_within(ends_at - self._reactor.seconds(), asked)
        finally:
            self._slots.release()

    @property
    def may_begin(self) -> bool:
        """True where it would be asked now."""
        return self.circuit_breaker.is_available

    def with_clients(
        self, made: Callable[[UnifiedLLMClient], UnifiedLLMClient]
    ) -> UnifiedLLMClient:
        """Another client that is made of this one."""
        return made(self)

    async def answer_within(
        self, seconds: float, asked: CompletionRequest, *, is_last: bool = True
    ) -> Reply:
        """Ask for one completion without waiting for a slot, for who has one already.

        Args:
            seconds: for all attempts and the waits between them.
            is_last: False: the next attempt is made elsewhere, so that this is the only one here.
        """
        messages = asked.messages
        if WANTS_CLOSED_TURNS.search(self.model):
            messages = closed(messages)
        body = {"model": self.model, **REQUESTS[self.tool_mode](messages, asked.tools)}
        body |= {**self._generation.as_body(), **asked.extra}
        body.pop(PLAIN, None)  # told per attempt, by the name that the endpoint takes
        call = _Call(body, self.wanted(asked.extra).tokens, asked.payment, asked.name)
        permit = self.circuit_breaker.acquire()
        try:
            tried = self._tried(call, seconds) if is_last else self._attempt(call, seconds)
            reply = await tried
            permit.success()
        except ModelError as error:
            self._note(error)
            if error.blames_service:
                permit.failure(error)
            raise
        finally:
            # A call that was cancelled, or failed for no fault of the service, frees its place.
            permit.release()
        return reply

    def _tried(self, call: _Call, seconds: float) -> Awaitable[Reply]:
        return retry(
            lambda seconds_left: self._attempt(call, seconds_left),
            self._retry,
            deadline_seconds=seconds,
            sleep=lambda wait: task.deferLater(self._reactor, wait),
            clock=self._reactor.seconds,
            random=self._random,
        )

    def _note(self, error: ModelError) -> None:
        """Lay to the service what a request may have caused, where nobody's is answered."""
        is_doubtful = error.blames_service and not error.may_lock
        if is_doubtful and not self.circuit_breaker.has_answered_lately:
            error.is_of_service = True

    async def _attempt(self, call: _Call, seconds: float) -> Reply:
        if self.circuit_breaker.state is CircuitBreakerState.OPEN:  # since the attempt before
            self.circuit_breaker.acquire()
        if seconds <= 0:  # sent, it would be charged for nothing
            raise NoFreeSlotError("no time was left when its turn came")
        tokens = min(call.tokens, call.payment.begin(call.name))
        try:
            answer = await self._fitted(call, tokens, seconds)
            return parse_reply(answer, self.tool_mode)
        # Also one that was cancelled: it was sent, and may be charged for.
        except BaseException as error:
            call.payment.spoil(error)
            raise

    async def _fitted(self, call: _Call, tokens: int, seconds: float) -> bytes:
        """Post a request; where the endpoint wants to be told the length otherwise, once more.

        What it refuses costs nothing.
        """
        ends_at, limit = self._reactor.seconds() + seconds, self._answer_limit
        tries_left = MOST_TRIES
        while True:
            sent = limit.as_body(tokens)
            left = max(0.0, ends_at - self._reactor.seconds())
            try:
                posted = self.transport.post({**call.body, **sent})
                call.payment.sent(posted)
                answer: bytes = await posted.addTimeout(left, self._reactor)
                return answer
            except DeadlineError:
                raise ModelTimeoutError(f"no whole answer within {round(left, 1):g} s") from None
            except ModelStatusError as error:
                fewer = limit.after(error, *next(iter(sent.items()))) if tries_left else None
                if fewer is None:
                    raise
                tokens, tries_left = min(tokens, fewer), tries_left - 1
