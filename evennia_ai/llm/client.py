"""One client for every provider: breaker, cap, retry and one deadline around a transport."""

from __future__ import annotations

import random as randomness
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twisted.internet import reactor as default_reactor
from twisted.internet import task
from twisted.internet.defer import Deferred, DeferredSemaphore
from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.core.conversation import Message, closed
from evennia_ai.core.toolspec import ToolSpec
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import ConfigurationError, ModelError, ModelTimeoutError, NoFreeSlotError
from evennia_ai.llm.endpoints import PRESETS, SCRIPTED
from evennia_ai.llm.rate_limits import RateLimitInfo
from evennia_ai.llm.replies import REQUESTS, parse_reply
from evennia_ai.llm.scripted import ScriptedTransport
from evennia_ai.llm.transport import OpenAITransport, Transport
from evennia_ai.resilience import CircuitBreaker, RetryConfig
from evennia_ai.resilience.retry import retry

DEADLINE_SECONDS = 60.0
MAX_CALLS_IN_FLIGHT = 64
# Mistral's own services and templates say "unexpected role 'user' after role 'tool'".
WANTS_CLOSED_TURNS = re.compile(r"[a-z]stral|[mp]ixtral", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Generation:
    """How the model is to write; None leaves it to the provider.

    Attributes:
        extra: further members of the request body, sent as they are.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    extra: Mapping[str, Any] | None = None

    def as_body(self) -> dict[str, Any]:
        """The members that are set."""
        named = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "reasoning_effort": self.reasoning_effort,
        }
        body = {key: value for key, value in named.items() if value is not None}
        return {**body, **(self.extra or {})}


def provider_headers(provider: str, app_name: str, site_url: str) -> dict[str, str]:
    """The headers a provider wants beside the key: OpenRouter names the calling application."""
    if provider != "openrouter":
        return {}
    headers = {"X-Title": app_name, "HTTP-Referer": site_url}
    return {key: value for key, value in headers.items() if value}


def make_transport(
    provider: str, base_url: str, auth_token: str, headers: Mapping[str, str], *, reactor: Any
) -> Transport:
    """What carries requests to a provider.

    Raises:
        ConfigurationError: nobody said where it answers.
    """
    if provider == SCRIPTED:
        return ScriptedTransport()
    if not base_url:
        raise ConfigurationError(
            f"provider is {provider!r}, which has no address of its own; give a base_url"
        )
    return OpenAITransport(base_url, auth_token, headers, reactor=reactor)


async def take_slot(slots: DeferredSemaphore, seconds: float, reactor: Any) -> None:
    """Wait until one more call may be in flight.

    Raises:
        NoFreeSlotError: it may not by then.
    """
    try:
        await slots.acquire().addTimeout(seconds, reactor)
    except DeadlineError:
        raise NoFreeSlotError(f"no free slot for a model call within {seconds:g} s") from None


class UnifiedLLMClient:
    """Asks one model of one provider.

    Args:
        provider: a key of `endpoints.PRESETS`, or "custom" together with `base_url`.
        auth_token: the API key, "" for none.
        deadline_seconds: for a whole call, waiting for a free slot and retries included.
        slots: how many calls may be in flight, shared by all clients of a game.
        transport: what carries the request; made from provider and token when None.
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
        deadline_seconds: float = DEADLINE_SECONDS,
        slots: DeferredSemaphore | None = None,
        transport: Transport | None = None,
        reactor: Any = default_reactor,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        preset = PRESETS.get(provider)
        self.provider_name = provider
        self.model = model
        self.tool_mode = tool_mode or (preset.tool_mode if preset else "native")
        self.circuit_breaker = circuit_breaker or CircuitBreaker(f"llm:{provider}")
        self.deadline_seconds = deadline_seconds
        self._retry = retry_config
        self._generation = generation
        self._slots = slots or DeferredSemaphore(MAX_CALLS_IN_FLIGHT)
        self._reactor = reactor
        self._random = random
        self._transport = transport or make_transport(
            provider,
            base_url or (preset.base_url if preset else ""),
            auth_token,
            provider_headers(provider, app_name, site_url),
            reactor=reactor,
        )

    @property
    def supports_tools(self) -> bool:
        """Whether tool calls go over the API as such."""
        return self.tool_mode == "native"

    @property
    def rate_limit_info(self) -> RateLimitInfo | None:
        """What the service last said of its limits, None when it says nothing."""
        return getattr(self._transport, "rate_limit_info", None)

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """The engine's model port."""
        reply: Reply = await self.chat_completion(messages, tools)
        return reply

    def chat_completion(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), **extra: Any
    ) -> Deferred[Reply]:
        """Ask for one completion. Cancelling the Deferred closes the socket.

        Args:
            extra: further members of the request body, which win over the client's own.

        Raises:
            ModelError: the service failed; its text says how.
            CircuitOpenError: the service is not being asked now.
        """
        return Deferred.fromCoroutine(self._in_slot(messages, tools, extra))

    async def _in_slot(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], extra: Mapping[str, Any]
    ) -> Reply:
        ends_at = self._reactor.seconds() + self.deadline_seconds
        if not self.circuit_breaker.is_available:
            self.circuit_breaker.acquire().release()
        await take_slot(self._slots, self.deadline_seconds, self._reactor)
        try:
            return await self.answer_within(
                ends_at - self._reactor.seconds(), messages, tools, extra
            )
        finally:
            self._slots.release()

    async def answer_within(
        self,
        seconds: float,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        extra: Mapping[str, Any],
    ) -> Reply:
        """Ask for one completion without waiting for a slot, for who has one already.

        Args:
            seconds: for all attempts and the waits between them.
        """
        if WANTS_CLOSED_TURNS.search(self.model):
            messages = closed(messages)
        body = {"model": self.model, **REQUESTS[self.tool_mode](messages, tools)}
        body |= {**self._generation.as_body(), **extra}
        return await retry(
            lambda seconds_left: self._attempt(body, seconds_left),
            self._retry,
            deadline_seconds=seconds,
            sleep=lambda wait: task.deferLater(self._reactor, wait),
            clock=self._reactor.seconds,
            random=self._random,
        )

    async def _attempt(self, body: Mapping[str, Any], seconds: float) -> Reply:
        permit = self.circuit_breaker.acquire()
        try:
            answer = await self._posted(body, seconds)
            reply = parse_reply(answer, self.tool_mode)
            permit.success()
        except ModelError as error:
            if error.blames_service:
                permit.failure(error)
            raise
        finally:
            permit.release()
        return reply

    async def _posted(self, body: Mapping[str, Any], seconds: float) -> bytes:
        try:
            answer: bytes = await self._transport.post(body).addTimeout(seconds, self._reactor)
        except DeadlineError:
            raise ModelTimeoutError(f"no whole answer within {round(seconds, 1):g} s") from None
        return answer
