"""Use of the endpoints of a model that has several: state, calls in flight and share of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.operations.result import note, one_of
from evennia_ai.resilience import CircuitBreakerState
from evennia_ai.runtime import services

STATES = [each.value for each in CircuitBreakerState]


@dataclass(frozen=True, slots=True)
class EndpointUse:
    """The use of one of several endpoints of a model, since this server process began."""

    model: str
    base_url: str
    state: Annotated[str, one_of(STATES, "State of its circuit breaker.")]
    weight: float
    most_calls: Annotated[int, note("Maximum number of concurrent calls; 0 for no limit.")]
    in_flight: int
    calls: Annotated[int, note("Number of attempts sent there, for any model.")]
    share: Annotated[float, note("Share of the calls to all endpoints of the model, from 0 to 1.")]

    def describe(self) -> str:
        """Describe it in words, without its URL."""
        most = f" of {self.most_calls}" if self.most_calls else ""
        return (
            f"{self.in_flight}{most} calls under way, {self.calls} so far, which is"
            f" {self.share:.0%} of all; weight {self.weight:g}"
        )


def uses_of(endpoint: Endpoint) -> list[EndpointUse]:
    """The use of each endpoint of a model; empty where it has only one."""
    if not endpoint.replicas:
        return []
    pool = services.pool()
    spread = pool.spread(endpoint)
    total = sum(load.started for load in spread.loads.values())
    found = []
    for replica in endpoint.replicas:
        load = spread.loads[replica.base_url]
        found.append(
            EndpointUse(
                endpoint.model,
                replica.base_url,
                pool.breaker_of(endpoint.at(replica)).state.value,
                replica.weight,
                load.most_calls,
                load.in_flight,
                load.started,
                load.started / total if total else 0.0,
            )
        )
    return found


def all_uses() -> list[EndpointUse]:
    """The use of all endpoints of the game's model and its fallback models, each URL once."""
    found: dict[str, EndpointUse] = {}
    for endpoint in _models():
        for use in uses_of(endpoint):
            found.setdefault(use.base_url, use)
    return list(found.values())


def _models() -> Iterator[Endpoint]:
    try:
        yield services.endpoint()
        yield from services.fallbacks()
    except ConfigurationError:  # reported by `health` and by the check of the model
        return
