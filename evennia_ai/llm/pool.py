"""The share of all assistants of a process: transport and breaker per endpoint, a cap on calls."""

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
from evennia_ai.llm.answer_limits import AnswerLimit
from evennia_ai.llm.client import (
    DEADLINE_SECONDS,
    MAX_CALLS_IN_FLIGHT,
    Generation,
    UnifiedLLMClient,
    make_transport,
    provider_headers,
)
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
    """A process's way to the models.

    Attributes:
        state_dir: where the embedded model leaves its address.
        pid_file: the game's portal pid file; the embedded model ends with that game.
        breaker: when a service is left alone, and how often a call is tried.
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
    """Makes clients. One for a process; a test makes its own.

    Attributes:
        troubles: what staff were told of services that do not answer now, by the breaker's name.
    """

    def __init__(self, config: PoolConfig, *, reactor: Reactor = default_reactor) -> None:
        self.config = config
        self.breakers = CircuitBreakerRegistry(clock=reactor.seconds)
        self._reactor = reactor
        self._slots = Slots(config.max_calls_in_flight)
        self._transports: dict[tuple[str, str, str], Transport] = {}
        self._answer_limits: dict[tuple[str, str], AnswerLimit] = {}
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
        """A client for one assistant; what it costs to make is next to nothing.

        Args:
            fallbacks: what is asked, in order, where the endpoint fails. Of the generation they are
                only told how long an answer may be: the rest is fitted to the first model.
        """
        first = self._asked(endpoint, generation)
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
        # The embedded model is slow: its requests have a cap of their own.
        cap = None if endpoint.is_local else generation.max_tokens
        return self._asked(endpoint, Generation(max_tokens=cap), set(map(breaker_name, first.each)))

    def _asked(
        self, endpoint: Endpoint, generation: Generation, taken: Collection[str] = ()
    ) -> UnifiedLLMClient | SpreadModel:
        """A model at its address, or at all of them.

        Args:
            taken: breakers of the model before it. A quota that is used up or a model that is gone
                must not shut out its neighbour.
        """
        clients = []
        for one in endpoint.each:
            name = breaker_name(one)
            breaker = self._breaker(f"{name} {one.model}" if name in taken else name)
            clients.append(self._one(one, generation, breaker))
        if not endpoint.replicas:
            return clients[0]
        places = list(zip(endpoint.replicas, clients, strict=True))
        return SpreadModel(self.spread(endpoint), places, reactor=self._reactor)

    def spread(self, endpoint: Endpoint) -> Spread:
        """The use of a model's addresses, where it has several."""
        if endpoint.replicas not in self._spreads:
            self._spreads[endpoint.replicas] = Spread(endpoint.replicas, self._loads)
        return self._spreads[endpoint.replicas]

    def trial_client(self, endpoint: Endpoint) -> UnifiedLLMClient:
        """A client for trying an endpoint: asked in any case, and its failures count nowhere."""
        breaker = CircuitBreaker(breaker_name(endpoint), clock=self._reactor.seconds)
        breaker.metrics_only()
        return self._one(endpoint, Generation(), breaker)

    def note_answer(self, endpoint: Endpoint) -> None:
        """Count an answer to a trial: a service that was left alone is asked again at once."""
        breaker = self.breaker_of(endpoint)
        if breaker.state is CircuitBreakerState.CLOSED:
            breaker.record_success()
        # One that staff took in hand stays as they left it.
        elif breaker.mode is CircuitBreakerMode.AUTOMATIC:
            breaker.reset()

    def breaker_of(self, endpoint: Endpoint) -> CircuitBreaker:
        """The breaker of an endpoint; models of one endpoint fail together.

        Of several addresses it is that of the one that may be asked soonest.
        """
        if not endpoint.replicas:
            return self._breaker(breaker_name(endpoint))
        return soonest([self._breaker(breaker_name(one)) for one in endpoint.each])

    def _breaker(self, name: str) -> CircuitBreaker:
        return self.breakers.get_or_create(name, self._breaker_config)

    def _one(
        self, endpoint: Endpoint, generation: Generation, breaker: CircuitBreaker
    ) -> UnifiedLLMClient:
        told = (endpoint.base_url or endpoint.provider, endpoint.model)
        if told not in self._answer_limits:
            self._answer_limits[told] = AnswerLimit.of(endpoint.provider, endpoint.model)
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
            answer_limit=self._answer_limits[told],
            reactor=self._reactor,
        )

    def transport(self, endpoint: Endpoint) -> Transport:
        """The endpoint's transport, made when it is first needed."""
        place = _place(endpoint)
        if place not in self._transports:
            self._transports[place] = self._make(endpoint)
        return self._transports[place]

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
        """Let no call begin that waits for a slot, until the end of the block.

        Where many calls are dropped one by one, each would else let one begin that is to be
        dropped next.
        """
        return self._slots.held()

    def close(self) -> Deferred[Any]:
        """Close every connection."""
        closing = [getattr(each, "close", None) for each in self._transports.values()]
        return gatherResults([close() for close in closing if close is not None])

    def set_transport(self, endpoint: Endpoint, transport: Transport) -> None:
        """Let something else answer for an endpoint: a test's model, or a game's own gateway."""
        for one in endpoint.each:
            self._transports[_place(one)] = transport


def _place(endpoint: Endpoint) -> tuple[str, str, str]:
    return endpoint.provider, endpoint.base_url, endpoint.api_key


def breaker_name(endpoint: Endpoint) -> str:
    """The breaker of an endpoint, by where it is: models of one endpoint fail together."""
    return f"llm:{endpoint.base_url or endpoint.provider}"
