"""Capacity as staff see it: the endpoints of a model that has several, and worker processes.

An endpoint has a state, calls in flight and its share of them; a job runs, waits or is stalled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from typing_extensions import TypedDict

from evennia_ai.core.text.words import counted
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.operations.result import note, one_of
from evennia_ai.resilience import CircuitBreakerState
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Assistant

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
    uses = []
    for replica in endpoint.replicas:
        load = spread.loads[replica.base_url]
        uses.append(
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
    return uses


def all_uses() -> list[EndpointUse]:
    """The use of all endpoints of the game's model and its fallback models, each URL once."""
    uses: dict[str, EndpointUse] = {}
    for endpoint in _models():
        for use in uses_of(endpoint):
            uses.setdefault(use.base_url, use)
    return list(uses.values())


def _models() -> Iterator[Endpoint]:
    try:
        yield services.endpoint()
        yield from services.fallbacks()
    except ConfigurationError:  # reported by `health` and by the check of the model
        return


OK, OFF, FAILED = "ok", "off", "failed"


class WorkersRow(TypedDict):
    """The jobs of worker processes, of one assistant or of all."""

    state: Annotated[
        str, note("`off` if the game does the work itself; otherwise `ok` or `failed`.")
    ]
    workers: Annotated[int, note("Number of running workers.")]
    waiting: Annotated[int, note("Number of jobs that no worker has taken.")]
    running: int
    stalled: Annotated[int, note("Number of jobs whose worker no longer responds.")]
    given_up: Annotated[int, note("Jobs abandoned because they crashed every worker.")]
    problem: Annotated[str, note("What is wrong and what to do about it, or empty.")]


def workers_row(script: Assistant | None = None) -> WorkersRow:
    """Count the jobs of workers; without a query where no workers are configured.

    Args:
        script: the assistant whose jobs are counted; None: those of all assistants.
    """
    now = services.work().standing(None if script is None else script.pk)
    state = FAILED if now.problem else OK if now.is_on else OFF
    return {
        "state": state,
        "workers": now.workers,
        "waiting": now.waiting,
        "running": now.running,
        "stalled": now.stalled,
        "given_up": now.given_up,
        "problem": now.problem,
    }


def in_words(row: WorkersRow) -> str:
    """Describe a row in one line; "" where no workers are configured."""
    if row["state"] == OFF:
        return ""
    jobs = (
        f"{row['workers']} at work; {counted(row['waiting'], 'jobs')} waiting, "
        f"{row['running']} under way, {row['stalled']} stalled"
    )
    given_up = f", {row['given_up']} given up" if row["given_up"] else ""
    problem = f". {row['problem']}" if row["problem"] else ""
    return jobs + given_up + problem
