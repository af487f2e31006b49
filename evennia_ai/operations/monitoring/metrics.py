"""Prometheus metrics of all assistants, collected in the reactor's thread.

Readers need not be staff, as for the health report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.db import DatabaseError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from twisted.internet import reactor

from evennia_ai import approvals
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import BudgetAccount, Total
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.executions import OTHERS
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.monitoring.capacity import OFF, WorkersRow, all_uses, workers_row
from evennia_ai.operations.monitoring.counts import BUCKETS_SECONDS, Observed, observed
from evennia_ai.operations.monitoring.health import STATES, condition, running
from evennia_ai.resilience import CircuitBreakerState
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant

METRICS_TYPE = CONTENT_TYPE_LATEST
MOST_ASSISTANTS = 1_000  # label values of one metric; the rest is summed up as one
_CREDENTIALS = re.compile(r"//[^/@\s]*@")  # in a URL, which names the breaker of an endpoint


@dataclass(frozen=True, slots=True)
class Scrape:
    """The values that all metrics of one scrape are read from.

    Attributes:
        total: the ledger's totals of the whole game; None where it cannot be read.
    """

    scripts: list[Assistant]
    total: Total | None
    seen: Observed
    work: WorkersRow


Labels = tuple[str, ...]
Samples = Mapping[Labels, float]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric: a counter if its name ends in `_total`, else a gauge; `read` gives its values."""

    text: str
    labels: Labels
    read: Callable[[Scrape], Samples]


def _by_assistant(count: Callable[[Assistant], float]) -> Callable[[Scrape], Samples]:
    def read(scrape: Scrape) -> Samples:
        sums: dict[Labels, float] = {}
        for script in scrape.scripts:
            key = (str(script.key),)
            if key not in sums and len(sums) >= MOST_ASSISTANTS:
                key = (OTHERS,)
            sums[key] = sums.get(key, 0) + count(script)
        return sums

    return read


def _ledger_counter(**counts: Callable[[Total], int]) -> Callable[[Scrape], Samples]:
    # Counters of the ledger, each under the label of its name; a single one has no label.
    def read(scrape: Scrape) -> Samples:
        if (total := scrape.total) is None:
            return {}
        values = {name: scrape.seen.rise(name, count(total)) for name, count in counts.items()}
        return {(name,) if len(counts) > 1 else (): value for name, value in values.items()}

    return read


def _process_counter(name: str) -> Callable[[Scrape], Samples]:
    def read(scrape: Scrape) -> Samples:
        counted = dict(getattr(scrape.seen, name))
        return {key if isinstance(key, tuple) else (key,): n for key, n in counted.items()}

    return read


def _conditions(scrape: Scrape) -> Samples:
    counts = Counter(map(condition, scrape.scripts))
    return {(name,): counts[name] for name in STATES}


def _breaker_states(_scrape: Scrape) -> Samples:
    stats = services.pool().breakers.get_all_stats().values()
    return {
        (one_line(_CREDENTIALS.sub("//", item["name"]), 200), each.value): each == item["state"]
        for item in stats
        for each in CircuitBreakerState
    }


def _jobs(scrape: Scrape) -> Samples:
    work = scrape.work
    if work["state"] == OFF:
        return {}
    return {
        ("waiting",): work["waiting"],
        ("running",): work["running"],
        ("stalled",): work["stalled"],
    }


def _worker_count(scrape: Scrape, value: int) -> Samples:
    return {} if scrape.work["state"] == OFF else {(): value}


def _lag(_scrape: Scrape) -> Samples:
    # Seconds by which the most overdue call of the reactor is late.
    now = reactor.seconds()
    return {(): max([0.0, *(now - call.getTime() for call in reactor.getDelayedCalls())])}


METRICS: dict[str, MetricRow] = {
    "evennia_ai_assistants": MetricRow("assistants by what they do", ("state",), _conditions),
    "evennia_ai_inbox_events": MetricRow(
        "messages and tasks that wait",
        ("assistant",),
        _by_assistant(lambda script: len(script.work.inbox)),
    ),
    "evennia_ai_questions_open": MetricRow(
        "questions that nobody answered yet",
        ("assistant",),
        _by_assistant(lambda script: len(approvals.pending(script))),
    ),
    "evennia_ai_consecutive_errors": MetricRow(
        "ticks in a row that failed",
        ("assistant",),
        _by_assistant(lambda script: state.read(script, "consecutive_errors")),
    ),
    "evennia_ai_tool_breakers_unwell": MetricRow(
        "tools of an assistant whose breaker is not closed",
        ("assistant",),
        _by_assistant(lambda script: len(script.work.breakers.degraded())),
    ),
    "evennia_ai_breaker_state": MetricRow(
        "1 for the state that a breaker of the game is in", ("breaker", "state"), _breaker_states
    ),
    "evennia_ai_endpoint_calls_in_flight": MetricRow(
        "model calls under way at each of several endpoints",
        ("endpoint",),
        lambda _: {(use.base_url,): use.in_flight for use in all_uses()},
    ),
    "evennia_ai_endpoint_calls_total": MetricRow(
        "model calls begun at each of several endpoints",
        ("endpoint",),
        lambda _: {(use.base_url,): use.calls for use in all_uses()},
    ),
    "evennia_ai_model_calls_in_flight": MetricRow(
        "model calls under way, of all server processes",
        (),
        lambda scrape: {} if scrape.total is None else {(): scrape.total.open_calls},
    ),
    "evennia_ai_model_calls_total": MetricRow(
        "model calls that were sent and are over",
        (),
        _ledger_counter(calls=lambda total: total.calls - total.open_calls),
    ),
    "evennia_ai_model_tokens_total": MetricRow(
        "tokens of these calls",
        ("kind",),
        _ledger_counter(
            prompt=lambda total: total.prompt_tokens,
            completion=lambda total: total.completion_tokens,
        ),
    ),
    "evennia_ai_model_cost_dollars_total": MetricRow(
        "US dollars of these calls, as far as their prices are known",
        (),
        lambda scrape: {
            key: nano / NANO
            for key, nano in _ledger_counter(cost=lambda total: total.cost_nano)(scrape).items()
        },
    ),
    "evennia_ai_ticks_total": MetricRow(
        "ticks by what they came to", ("outcome",), _process_counter("ticks")
    ),
    "evennia_ai_tool_calls_total": MetricRow(
        "calls of tools", ("tool",), _process_counter("tools")
    ),
    "evennia_ai_tool_errors_total": MetricRow(
        "those that failed", ("tool",), _process_counter("errors")
    ),
    "evennia_ai_tool_seconds_total": MetricRow(
        "seconds they took", ("tool",), _process_counter("seconds")
    ),
    "evennia_ai_emergency_stops_total": MetricRow(
        "emergency stops and lockouts", ("cause",), _process_counter("stops")
    ),
    "evennia_ai_limits_total": MetricRow(
        "limits that were reached", ("kind", "decision"), _process_counter("limits")
    ),
    "evennia_ai_api_requests_total": MetricRow(
        "requests to the API", ("method", "endpoint", "status"), _process_counter("requests")
    ),
    "evennia_ai_worker_jobs": MetricRow("jobs for workers, by how they stand", ("state",), _jobs),
    "evennia_ai_workers": MetricRow(
        "workers at work", (), lambda scrape: _worker_count(scrape, scrape.work["workers"])
    ),
    "evennia_ai_worker_jobs_given_up_total": MetricRow(
        "jobs that ended every worker that began them",
        (),
        lambda scrape: _worker_count(scrape, scrape.work["given_up"]),
    ),
    "evennia_ai_reactor_lag_seconds": MetricRow(
        "how late the server is with what is due", (), _lag
    ),
}
TICKS = "evennia_ai_tick_duration_seconds"
TICKS_TEXT = "how long ticks took, from their begin to their end"


class _Metrics(Collector):
    # Custom collector: values are read when they are scraped, and cost nothing in between.

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics as they are now."""
        scrape = Scrape(running(), _read_ledger(), observed(), workers_row())
        for name, row in METRICS.items():
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            family = kind(name, row.text, labels=row.labels)
            for labels, value in row.read(scrape).items():
                family.add_metric(labels, value)
            yield family
        yield _tick_durations(scrape.seen)


def _read_ledger() -> Total | None:
    try:
        return read_total(BudgetAccount(Scope.GAME, "", ""))
    except (DatabaseError, ConfigurationError):
        return None  # unreachable, or not migrated: the other metrics are still given


def _tick_durations(seen: Observed) -> Metric:
    # Buckets of Prometheus are cumulative.
    counts = [sum(seen.buckets[: place + 1]) for place in range(len(seen.buckets))]
    ends = [*map(str, BUCKETS_SECONDS), "+Inf"]
    buckets = list(zip(ends, counts, strict=True))
    return HistogramMetricFamily(TICKS, TICKS_TEXT, buckets=buckets, sum_value=seen.tick_seconds)


# A registry of our own: the default one would add the metrics of whatever else is in the process.
_REGISTRY = CollectorRegistry(auto_describe=False)
_REGISTRY.register(_Metrics())


def metrics() -> bytes:
    """All metrics in the text format of Prometheus, of the type METRICS_TYPE."""
    return generate_latest(_REGISTRY)
