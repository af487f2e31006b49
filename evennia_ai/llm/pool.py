"""The state that all clients of a process share: transports, breakers and a limit on calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twisted.internet import reactor as default_reactor
from twisted.internet.defer import Deferred, gatherResults

from evennia_ai.core.settings.services import BreakerConfig
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.llm.answer_limits import AnswerLimit, Generation
from evennia_ai.llm.client import (
    DEADLINE_SECONDS,
    MAX_CALLS_IN_FLIGHT,
    UnifiedLLMClient,
    make_transport,
    provider_headers,
)
from evennia_ai.llm.echoes import Echoes
from evennia_ai.llm.endpoints import Endpoint, Replica
from evennia_ai.llm.fallback import Client, FallbackClient
from evennia_ai.llm.local_transport import LocalTransport
from evennia_ai.llm.slots import Slots
from evennia_ai.llm.spread import Loads, Spread, SpreadModel, soonest
from evennia_ai.llm.transport import LARGEST_REPLY_BYTES, Transport
from evennia_ai.resilience import (
    CircuitBreaker,
    CircuitBreakerConfig,
    CircuitBreakerMode,
    CircuitBreakerRegistry,
    CircuitBreakerState,
    RetryConfig,
)


@dataclass(frozen=True, slots=True)
class PoolConfig:
    """Settings for all clients of a process.

    Attributes:
        state_dir: the folder in which the embedded model publishes its address.
        pid_file: the game's portal pid file; the embedded model ends when that game does.
        breaker: thresholds of the circuit breakers, and the number of attempts per call.
    """

    state_dir: Path
    pid_file: Path | None = None
    deadline_seconds: float = DEADLINE_SECONDS
    max_calls_in_flight: int = MAX_CALLS_IN_FLIGHT
    most_reply_bytes: int = LARGEST_REPLY_BYTES
    app_name: str = "Evennia AI Assistant"
    site_url: str = ""
    breaker: BreakerConfig = field(default_factory=BreakerConfig)


class Pool:
    """Factory of clients. A process has one; a test makes its own.

    Attributes:
        troubles: notices already sent to staff about failing services, by the breaker's name.
    """

    def __init__(self, config: PoolConfig, *, reactor: Reactor = default_reactor) -> None:
        self.config = config
        self.breakers = CircuitBreakerRegistry(clock=reactor.seconds)
        self._reactor = reactor
        self._slots = Slots(config.max_calls_in_flight)
        self._transports: dict[tuple[str, str, str], Transport] = {}
        self._answer_limits: dict[tuple[str, str], AnswerLimit] = {}
        self._echoes: dict[tuple[str, str], Echoes] = {}
        self._loads = Loads()
        self._spreads: dict[tuple[Replica, ...], Spread] = {}
        self.troubles: dict[str, str] = {}
        breaker = config.breaker
        self._retry = RetryConfig(max_attempts=breaker.attempts)
        self._breaker_config = CircuitBreakerConfig(
            failure_threshold=breaker.failure_threshold,
            success_threshold=breaker.success_threshold,
            timeout_seconds=breaker.timeout_seconds,
            window_seconds=breaker.window_seconds,
            max_probes=breaker.max_probes,
            failure_rate=breaker.failure_rate,
            least_calls=breaker.least_calls,
        )

    def client(
        self,
        endpoint: Endpoint,
        generation: Generation = Generation(),
        fallbacks: Sequence[Endpoint] = (),
    ) -> Client:
        """A client for one assistant. Cheap: everything expensive is shared.

        Args:
            fallbacks: asked in order if the endpoint fails. They get only `max_tokens` of the
                generation settings, as the others are tuned for the first model.
        """
        first = self._model_client(endpoint, generation)
        if not fallbacks and isinstance(first, UnifiedLLMClient):
            return first
        models = [(endpoint.describe() if fallbacks else "", first)]
        models += [
            (each.describe(), self._fallback(each, endpoint, generation)) for each in fallbacks
        ]
        return FallbackClient(
            models,
            slots=self._slots,
            deadline_seconds=self.config.deadline_seconds,
            reactor=self._reactor,
        )

    def _fallback(
        self, endpoint: Endpoint, first: Endpoint, generation: Generation
    ) -> UnifiedLLMClient | SpreadModel:
        # The embedded model is slow, so its default limit is kept, which is far lower.
        cap = None if endpoint.is_local else generation.max_tokens
        taken = set(map(breaker_name, first.each))
        return self._model_client(endpoint, Generation(max_tokens=cap), taken)

    def _model_client(
        self, endpoint: Endpoint, generation: Generation, taken: Collection[str] = ()
    ) -> UnifiedLLMClient | SpreadModel:
        """A client of a model at its address, or at all of its addresses.

        Args:
            taken: names of the first model's breakers. A fallback at the same address gets one of
                its own, as a used-up quota or a missing model concerns only one of the two.
        """
        clients = []
        for address in endpoint.each:
            name = breaker_name(address)
            breaker = self._breaker(f"{name} {address.model}" if name in taken else name)
            clients.append(self._address_client(address, generation, breaker))
        if not endpoint.replicas:
            return clients[0]
        places = list(zip(endpoint.replicas, clients, strict=True))
        return SpreadModel(self.spread(endpoint), places, reactor=self._reactor)

    def spread(self, endpoint: Endpoint) -> Spread:
        """The shared load figures of a model that has several addresses."""
        if endpoint.replicas not in self._spreads:
            self._spreads[endpoint.replicas] = Spread(endpoint.replicas, self._loads)
        return self._spreads[endpoint.replicas]

    def trial_client(
        self, endpoint: Endpoint, generation: Generation = Generation()
    ) -> UnifiedLLMClient:
        """A client for testing an endpoint, with a private breaker that never opens."""
        breaker = CircuitBreaker(breaker_name(endpoint), clock=self._reactor.seconds)
        breaker.metrics_only()
        return self._address_client(endpoint, generation, breaker)

    def note_answer(self, endpoint: Endpoint) -> None:
        """Note that an endpoint answered a test request, and close its breaker if it is open."""
        breaker = self.breaker_of(endpoint)
        if breaker.state is CircuitBreakerState.CLOSED:
            breaker.record_success()
        # A breaker that staff isolated stays as they set it.
        elif breaker.mode is CircuitBreakerMode.AUTOMATIC:
            breaker.reset()

    def breaker_of(self, endpoint: Endpoint) -> CircuitBreaker:
        """The breaker of an endpoint, shared by all models there.

        Of several addresses, the one that lets a call through soonest.
        """
        if not endpoint.replicas:
            return self._breaker(breaker_name(endpoint))
        return soonest([self._breaker(breaker_name(one)) for one in endpoint.each])

    def _breaker(self, name: str) -> CircuitBreaker:
        return self.breakers.get_or_create(name, self._breaker_config)

    def _address_client(
        self, endpoint: Endpoint, generation: Generation, breaker: CircuitBreaker
    ) -> UnifiedLLMClient:
        # Shared, so that a refused parameter costs one request per process, not per assistant.
        limit_key = (endpoint.base_url or endpoint.provider, endpoint.model)
        if limit_key not in self._answer_limits:
            self._answer_limits[limit_key] = AnswerLimit.of(endpoint.provider, endpoint.model)
        return UnifiedLLMClient(
            endpoint.provider,
            model=endpoint.model,
            retry_config=self._retry,
            circuit_breaker=breaker,
            tool_mode=endpoint.tool_mode,
            generation=generation,
            deadline_seconds=self.config.deadline_seconds,
            slots=self._slots,
            transport=self.transport(endpoint),
            answer_limit=self._answer_limits[limit_key],
            echoes=self._echoes.setdefault(limit_key, Echoes()),
            reactor=self._reactor,
        )

    def transport(self, endpoint: Endpoint) -> Transport:
        """The endpoint's transport, made when it is first needed."""
        key = _transport_key(endpoint)
        if key not in self._transports:
            self._transports[key] = self._make(endpoint)
        return self._transports[key]

    def _make(self, endpoint: Endpoint) -> Transport:
        if endpoint.is_local:
            config = self.config
            return LocalTransport(
                config.state_dir, config.pid_file, config.most_reply_bytes, reactor=self._reactor
            )
        headers = provider_headers(endpoint.provider, self.config.app_name, self.config.site_url)
        return make_transport(
            endpoint.provider,
            endpoint.base_url,
            endpoint.api_key,
            headers,
            reactor=self._reactor,
            most_bytes=self.config.most_reply_bytes,
        )

    def held(self) -> AbstractContextManager[None]:
        """Give no waiting call a slot until the end of the block.

        For cancelling many calls: each cancelled one would otherwise let another begin that is
        about to be cancelled too.
        """
        return self._slots.held()

    def close(self) -> Deferred[Any]:
        """Close every connection."""
        closing = [getattr(each, "close", None) for each in self._transports.values()]
        return gatherResults([close() for close in closing if close is not None])

    def set_transport(self, endpoint: Endpoint, transport: Transport) -> None:
        """Replace the transport of an endpoint, by a test's model or a game's own gateway."""
        for address in endpoint.each:
            self._transports[_transport_key(address)] = transport


def _transport_key(endpoint: Endpoint) -> tuple[str, str, str]:
    return endpoint.provider, endpoint.base_url, endpoint.api_key


def breaker_name(endpoint: Endpoint) -> str:
    """The name of an endpoint's breaker. It has no model in it: models there fail together."""
    return f"llm:{endpoint.base_url or endpoint.provider}"
