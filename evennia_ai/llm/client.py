"""One client for all providers: circuit breaker, slots, retries and one deadline per call."""

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

from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.conversation import Message, with_closing_reply
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    ConfigurationError,
    ContextLengthError,
    ModelError,
    ModelStatusError,
    ModelTimeoutError,
    NoFreeSlotError,
)
from evennia_ai.llm.answer_limits import (
    MAX_TOKENS,
    MOST_TRIES,
    AnswerLimit,
    Generation,
    WantedTokens,
    wanted_of,
)
from evennia_ai.llm.echoes import Echoes, with_echoes, with_kept
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

# Defaults of EVENNIA_AI_CALL_DEADLINE_SECONDS and EVENNIA_AI_MAX_CALLS_IN_FLIGHT.
DEADLINE_SECONDS = 60.0
MAX_CALLS_IN_FLIGHT = 64
# Mistral's services and chat templates refuse a user message right after a tool result:
# "unexpected role 'user' after role 'tool'".
WANTS_CLOSED_TURNS = re.compile(r"[a-z]stral|[mp]ixtral", re.IGNORECASE)


def provider_headers(provider: str, app_name: str, site_url: str) -> dict[str, str]:
    """Extra headers of a provider: OpenRouter takes the name of the calling application."""
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
    """The transport to a provider; for "local" without an address, to the embedded model.

    Raises:
        ConfigurationError: the provider has no address, or no game is set up here.
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
    """One call, which may take several attempts.

    Attributes:
        tokens: limit of its answer, unless `payment` allows fewer.
    """

    body: Mapping[str, Any]
    tokens: int
    payment: Payment
    name: str


def log_outcome(outcome: Deferred[Reply], call: str, reactor: Reactor) -> None:
    """Log how a call ends and how long it takes, but none of its words.

    Args:
        call: the model and the size of the call.
    """
    began = reactor.seconds()

    def write(result: Reply | Failure) -> Reply | Failure:
        if isinstance(result, Reply):
            reason = result.finish_reason or "no reason told"
            text = f"{reason}, {result.usage.total_tokens} tokens"
        else:
            text = result.type.__name__
        log.msg(f"[assistant] {call}: {text}, {reactor.seconds() - began:.2f} s")
        return result

    outcome.addBoth(write)


class UnifiedLLMClient:
    """A client of one model at one endpoint.

    Args:
        provider: a key of `endpoints.PRESETS`, or "custom" together with `base_url`; "local" is
            the game's embedded model, which is started by the first request.
        auth_token: the API key, "" for none.
        debug: log size, duration and outcome of each call, but no text of it.
        deadline_seconds: for a whole call, including the wait for a slot and all retries.
        slots: bounds the calls in flight; shared by all clients of a game.
        transport: sends the requests; None: made from provider, address and token.
        answer_limit: the way this endpoint takes the answer limit; shared by all clients of the
            same model there.
        echoes: what this endpoint wants back beside tool calls; shared likewise.
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
        echoes: Echoes | None = None,
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
        self._echoes = echoes or Echoes()
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
        """True if the endpoint has native tool calls."""
        return self.tool_mode == "native"

    @property
    def rate_limit_info(self) -> RateLimitInfo | None:
        """The rate limits in the service's last answer that had any, or None."""
        return getattr(self.transport, "rate_limit_info", None)

    def wanted(self, extra: Mapping[str, Any]) -> WantedTokens:
        """The answer limit of a call: from `extra`, else as configured, else the model's default.

        Args:
            extra: further members of the call's body; a `max_tokens` among them may not be reduced.
        """
        if (own := extra.get(MAX_TOKENS)) is not None:
            return WantedTokens(own, own)
        usual = wanted_of(
            extra.get("model", self.model),
            is_native=self.supports_tools,
            is_thinking=self._generation.reasoning_effort is not None,
        )
        most = self._generation.max_tokens
        return usual if most is None else WantedTokens(most, min(most, usual.least))

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """Ask for one completion; implements the engine's model port."""
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
            tools: specs, or mappings in the form of the chat completions API.
            payment: is told of each attempt, and bounds the length of its answer.
            debug: overrides the client's own setting for this call; None: does not.
            extra: further members of the request body, such as `tool_choice`, `temperature` and
                `max_tokens`; they override the client's own.

        Raises:
            ConfigurationError: a tool or `tool_choice` cannot be read.
            ModelError: the service failed; its text says how.
            CircuitOpenError: the circuit breaker is open.
        """
        outcome = Deferred.fromCoroutine(self._in_slot(messages, tools, extra, payment))
        if self.debug if debug is None else debug:
            size = f"{counted(len(messages), 'messages')}, {counted(len(tools), 'tools')}"
            log_outcome(outcome, f"{self.provider_name} {self.model}: {size}", self._reactor)
        return outcome

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
            # Raises CircuitOpenError before the call waits for a slot it could not use.
            self.circuit_breaker.acquire().release()
        await take_slot(self._slots, self.deadline_seconds, self._reactor)
        try:
            request = CompletionRequest(messages, specs, extra, payment)
            return await self.answer_within(ends_at - self._reactor.seconds(), request)
        finally:
            self._slots.release()

    @property
    def may_begin(self) -> bool:
        """True if the circuit breaker lets a call through."""
        return self.circuit_breaker.is_available

    def with_clients(
        self, made: Callable[[UnifiedLLMClient], UnifiedLLMClient]
    ) -> UnifiedLLMClient:
        """The client that `made` derives from this one; as `SpreadModel` does for each of its."""
        return made(self)

    async def answer_within(
        self, seconds: float, asked: CompletionRequest, *, is_last: bool = True
    ) -> Reply:
        """Ask for one completion; the caller already holds a slot.

        Args:
            seconds: for all attempts and the waits between them.
            is_last: False: make a single attempt, as the caller then tries another address.
        """
        messages = asked.messages
        if WANTS_CLOSED_TURNS.search(self.model):
            messages = with_closing_reply(messages)
        if wanted := self._echoes.wanted:
            messages = with_kept(messages, self.model, wanted)
        settings = self._generation.as_body()
        body = {"model": self.model, **REQUESTS[self.tool_mode](messages, asked.tools)}
        body |= {**settings, **asked.extra}
        # Each attempt adds the limit, under the name that the endpoint takes.
        body.pop(MAX_TOKENS, None)
        call = _Call(body, self.wanted(asked.extra).tokens, asked.payment, asked.name)
        permit = self.circuit_breaker.acquire()
        try:
            attempts = (
                self._with_retries(call, seconds) if is_last else self._attempt(call, seconds)
            )
            reply = await attempts
            permit.success()
            self._answer_limit.answered.add(str(settings))
        except ModelError as error:
            self._mark_if_of_service(error)
            if error.blames_service:
                permit.failure(error)
            raise
        finally:
            # A call that was cancelled, or that failed through no fault of the service, says
            # nothing of its health; without this it would occupy a probe for ever.
            permit.release()
        return reply

    def _with_retries(self, call: _Call, seconds: float) -> Awaitable[Reply]:
        return retry(
            lambda seconds_left: self._attempt(call, seconds_left),
            self._retry,
            deadline_seconds=seconds,
            sleep=lambda wait: task.deferLater(self._reactor, wait),
            clock=self._reactor.seconds,
            random=self._random,
        )

    def _mark_if_of_service(self, error: ModelError) -> None:
        """Blame a setting or the service for an error that a request may have caused.

        A refusal is the setting's if it names one that never had an answer, and the service's if
        none of its answers was ever anything else; other errors are the service's while no request
        succeeds.
        """
        breaker, answered = self.circuit_breaker, self._answer_limit.answered
        if isinstance(error, ContextLengthError):
            return
        if not isinstance(error, ModelStatusError):
            error.is_of_service |= error.blames_service and not breaker.has_answered_lately
        # A service may quote the person's words, which must not name a setting that works.
        elif setting := self._generation.refused_by(error, answered):
            error.blame_setting(setting)
        elif not (error.is_of_service or breaker.has_answered):
            error.is_of_service, error.may_lock = True, False

    async def _attempt(self, call: _Call, seconds: float) -> Reply:
        # Other calls may have opened it since the attempt before; `acquire` raises then.
        if self.circuit_breaker.state is CircuitBreakerState.OPEN:
            self.circuit_breaker.acquire()
        if seconds <= 0:  # it would be charged for and then dropped
            raise NoFreeSlotError("no time was left when its turn came")
        tokens = min(call.tokens, call.payment.begin(call.name))
        try:
            answer = await self._post(call, tokens, seconds)
            return parse_reply(answer, self.tool_mode, model=self.model, wanted=self._echoes.wanted)
        # However it ended, also by cancellation: it was sent, and may be charged for.
        except BaseException as error:
            call.payment.spoil(error)
            raise

    async def _post(self, call: _Call, tokens: int, seconds: float) -> bytes:
        """Send a request, and again if the endpoint wants it in another form.

        These repeats are no attempts of their own: a refused request is not charged for.
        """
        ends_at, limit = self._reactor.seconds() + seconds, self._answer_limit
        tries_left = MOST_TRIES
        while True:
            name, limit_body, echoed = limit.name, limit.as_body(tokens), self._echoes.wanted
            usual = {} if self.supports_tools else limit.usual
            call_body = with_echoes(call.body, echoed) if echoed else call.body
            body = limit.in_its_form({**usual, **call_body, **limit_body})
            timeout = max(0.0, ends_at - self._reactor.seconds())
            try:
                posted = self.transport.post(body)
                call.payment.sent(posted)
                answer: bytes = await posted.addTimeout(timeout, self._reactor)
                return answer
            except DeadlineError:
                raise ModelTimeoutError(f"no whole answer within {round(timeout, 1):g} s") from None
            except ModelStatusError as error:
                if not tries_left:
                    raise
                tries_left -= 1
                if self._echoes.after(error, echoed):
                    continue
                if limit.repeats(error, body, usual.keys() - call.body.keys()):
                    continue
                fewer = limit.after(error, name, limit_body[name])
                if fewer is None:
                    raise
                tokens = min(tokens, fewer)
