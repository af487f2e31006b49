"""What staff look after: breakers, and what an assistant used up and did with its tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Annotated, Any

from twisted.internet import reactor
from typing_extensions import TypedDict

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import BudgetAccount, Total, period_of
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.settings.budget import BudgetSpan, Measure, Scope
from evennia_ai.messages.incoming import find_being
from evennia_ai.operations.budget import budget_of, known_cost
from evennia_ai.operations.days import iso
from evennia_ai.operations.explaining import heard
from evennia_ai.operations.result import Problem, Result, note, one_of
from evennia_ai.resilience import CircuitBreaker
from evennia_ai.runtime import services, state

__all__ = ["breakers", "find_breaker", "heard", "reset_breaker", "usage"]

GAME, ASSISTANT = "game", "assistant"
SPANS = {BudgetSpan.DAY: "today", BudgetSpan.MONTH: "month", BudgetSpan.EVER: "ever"}
TASKS = ("tasks_attempted", "tasks_completed", "tasks_failed")
SUMS = {"calls": "tool_calls", "errors": "tool_errors", "ms": "tool_ms"}
MOST_EXECUTIONS = 200


class BreakerRow(TypedDict):
    """A service that an assistant depends on, and whether it is asked."""

    name: str
    scope: Annotated[str, one_of((GAME, ASSISTANT), "Whose it is; that says who may reset it.")]
    state: str
    mode: str
    failures_in_window: int
    failure_threshold: int
    total_failures: int
    total_successes: int
    total_rejections: int
    last_failure_error: str | None
    retry_after: Annotated[float | None, note("Seconds until it is asked again.")]
    retry_at: Annotated[str | None, note("When that is (ISO 8601).")]
    half_open_successes: int
    success_threshold: int


@dataclass(frozen=True, slots=True)
class Breakers:
    """The services an assistant depends on, its own first."""

    breakers: list[BreakerRow]


class Share(TypedDict):
    """The part of this month's tokens that somebody caused."""

    person: Annotated[str, note("Such as `*#3`; empty: the assistant itself.")]
    name: str
    share: Annotated[float, note("0 to 1.")]


class Spent(TypedDict):
    """Model calls of a span of time, and what they cost."""

    calls: int
    calls_under_way: int
    prompt_tokens: int
    completion_tokens: int
    tokens: int
    cost_dollars: float
    unpriced_calls: Annotated[int, note("Calls whose price nobody set.")]


@dataclass(frozen=True, slots=True)
class Usage:
    """Model calls, tokens and money that were used, of which caps, and what tools did."""

    totals: Annotated[dict[str, Spent], note("`today`, `month` and `ever`.")]
    by_player: list[Share]
    tasks: dict[str, int]
    tools: Annotated[dict[str, dict[str, int]], note("Sums for each tool.")]
    executions: Annotated[list[dict[str, object]], note("The last tool calls, the oldest first.")]
    budget: Annotated[dict[str, object], note("How each cap stands.")]


def breakers(script: AssistantScript | None) -> Result[Breakers]:
    """The breakers of the game, and those of an assistant's tools.

    Args:
        script: None: those of the game alone.
    """
    rows = [_row(script, *found) for found in _breakers(script)]
    unwell = sum(row["state"] != "closed" for row in rows)
    told = f"{len(rows)} breakers, {unwell} of them not closed."
    return Result(True, told, Breakers(rows))


def find_breaker(script: AssistantScript | None, name: str) -> Result[BreakerRow]:
    """One breaker, in whatever case its name is typed; an assistant's own before the game's.

    Its scope says which right a reset needs: that to "reset breaker", or to "reset breaker of the
    game".
    """
    found = _find(script, name)
    if found is None:
        return _unknown(script, name)
    row = _row(script, *found)
    return Result(True, f"{row['name']} is {row['state']}.", row)


def reset_breaker(
    script: AssistantScript | None, name: str, *, scope: str = "", by: str = ""
) -> Result[BreakerRow]:
    """Close a breaker by hand: the service is asked again at once, and may open it again.

    Args:
        scope: "game" or "assistant", where only such a one is meant.
    """
    found = _find(script, name, scope)
    if found is None:
        return _unknown(script, name)
    where, breaker = found
    was = breaker.state.value
    breaker.reset()
    subject = script if script is not None and where == ASSISTANT else GAME
    audit.record("breaker_reset", subject, breaker=breaker.name, was=was, by=by)
    told = f"The breaker {breaker.name} was {was}, and is closed now."
    return Result(True, told, _row(script, where, breaker))


def _breakers(script: AssistantScript | None) -> Iterator[tuple[str, CircuitBreaker]]:
    """All that concern an assistant, its own first."""
    registries = [(GAME, services.pool().breakers)]
    if script is not None and script.work is not None:
        registries.insert(0, (ASSISTANT, script.work.breakers))
    for scope, registry in registries:
        for name in sorted(registry.get_all_stats()):
            yield scope, registry.get_or_create(name)


def _find(
    script: AssistantScript | None, name: str, scope: str = ""
) -> tuple[str, CircuitBreaker] | None:
    wanted = name.strip().casefold()
    every = (each for each in _breakers(script) if scope in ("", each[0]))
    return next((each for each in every if each[1].name.casefold() == wanted), None)


def _unknown(script: AssistantScript | None, name: str) -> Result:
    names = [breaker.name for _, breaker in _breakers(script)]
    near = get_close_matches(name, names, n=3, cutoff=0.4) or names[:10]
    there = ", ".join(near) or "none yet: each is made when its service is first asked"
    return Result(
        False, f"There is no breaker {name!r}; there are: {there}.", problem=Problem.MISSING
    )


def _row(script: AssistantScript | None, scope: str, breaker: CircuitBreaker) -> BreakerRow:
    stats = breaker.get_stats()
    clock = reactor if script is None or scope == GAME else script.clock
    wait = stats["retry_after"]
    at = iso(clock.seconds() + wait) if wait is not None else None
    return {**stats, "scope": scope, "mode": breaker.mode.value, "retry_at": at}


def usage(script: AssistantScript) -> Result[Usage]:
    """Model calls, tokens and money that an assistant used up, and its tools.

    Where the ledger cannot be read it is not ok, and tells of tasks and tools alone.
    """
    metrics = state.read(script, "metrics")
    tools = _tools(metrics)
    data = Usage(
        totals={},
        by_player=[],
        tasks={name.removeprefix("tasks_"): metrics.get(name, 0) for name in TASKS},
        tools=tools,
        executions=state.read(script, "execution_log")[-MOST_EXECUTIONS:],
        budget={},
    )
    standing = budget_of(script)
    if not standing.ok:
        return Result(False, standing.message, data, Problem.UNAVAILABLE)
    data = replace(data, **_spent(script, standing.data))
    ever, calls = data.totals["ever"], sum(tool["calls"] for tool in tools.values())
    told = (
        f"{script.key}: {ever['calls']:,} model calls, {ever['tokens']:,} tokens, "
        f"{cost_text(ever)} in all; {calls:,} tool calls."
    )
    return Result(True, told, data)


def cost_text(total: Mapping[str, Any]) -> str:
    """What a row of `totals` has cost, as people read it."""
    cost = total["cost_dollars"]
    return known_cost(f"${cost:,.2f}", cost, total["unpriced_calls"])


def _spent(script: AssistantScript, budget: Mapping[str, Any]) -> dict[str, Any]:
    now = float(script.clock.seconds())
    rows = {row["name"]: row for row in budget["standings"]}
    totals = {}
    for span, word in SPANS.items():
        cap = "cost_per_day" if span is BudgetSpan.DAY else "cost_per_month"
        unpriced = rows[cap]["unpriced_calls"]
        totals[word] = {**_total(script, span, now), "unpriced_calls": unpriced}
    return {
        "totals": totals,
        "by_player": _by_player(budget["players"]),
        "budget": {
            "standings": [_with_time(row, now) for row in budget["standings"]],
            "game": [_with_time(row, now) for row in budget["game"]],
            "unpriced_calls": budget["unpriced"],
        },
    }


def _total(script: AssistantScript, span: BudgetSpan, now: float) -> dict[str, Any]:
    account = BudgetAccount(Scope.ASSISTANT, str(script.key).casefold(), period_of(span, now))
    total: Total = read_total(account)
    return {
        "calls": total.calls,
        "calls_under_way": total.open_calls,
        "prompt_tokens": total.prompt_tokens,
        "completion_tokens": total.completion_tokens,
        "tokens": total.used(Measure.TOKENS),
        "cost_dollars": total.used(Measure.COST) / NANO,
    }


def _by_player(shares: Mapping[str, float]) -> list[Share]:
    rows: list[Share] = []
    for person, share in shares.items():
        being = find_being(person) if person else None
        name = str(being.key) if being is not None else ""
        rows.append({"person": person, "name": name, "share": round(share, 4)})
    return rows


def _tools(metrics: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Sums for each tool, by its name."""
    names = sorted({name for key in SUMS.values() for name in metrics.get(key, {})})
    return {
        name: {short: metrics.get(key, {}).get(name, 0) for short, key in SUMS.items()}
        for name in names
    }


def _with_time(standing: Mapping[str, Any], now: float) -> dict[str, Any]:
    left = standing["resets_in_seconds"]
    return {**standing, "resets_at": iso(now + left) if left is not None else None}
