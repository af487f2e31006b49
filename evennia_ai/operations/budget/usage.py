"""The use of one assistant: model calls, tokens, money and tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import BudgetAccount, period_of
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.settings.budget import BudgetSpan, Measure, Scope
from evennia_ai.core.text.words import counted, money
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.incoming import key_of
from evennia_ai.operations.budget.caps import BudgetReport, CapRow, budget_of, known_cost
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.runtime import state

SPANS = {BudgetSpan.DAY: "today", BudgetSpan.MONTH: "month", BudgetSpan.EVER: "ever"}
TASKS = ("tasks_attempted", "tasks_completed", "tasks_failed")
SUMS = {"calls": "tool_calls", "errors": "tool_errors", "ms": "tool_ms"}
MOST_EXECUTIONS = 200


class Share(TypedDict):
    """The part of this month's tokens that a player caused."""

    person: Annotated[str, note("Such as `*#3`; empty for the assistant itself.")]
    name: str
    share: Annotated[float, note("Share of the tokens, from 0 to 1.")]


class Spent(TypedDict):
    """Model calls of a span of time, and their cost."""

    calls: int
    calls_under_way: int
    prompt_tokens: int
    completion_tokens: int
    tokens: int
    cost_dollars: float
    unpriced_calls: Annotated[int, note("Model calls without a configured price.")]


class CapReport(TypedDict, total=False):
    """The caps of an assistant and those of the game; nothing where the ledger cannot be read."""

    standings: list[CapRow]
    game: list[CapRow]
    all_games: Annotated[list[CapRow], note("Empty if no other game shares the ledger.")]
    unpriced_calls: Annotated[int, note("Model calls of this month without a configured price.")]


@dataclass(frozen=True, slots=True)
class Usage:
    """Model calls, tokens and money used, the caps on them, and statistics of tools."""

    totals: Annotated[dict[str, Spent], note("Sums under the keys `today`, `month` and `ever`.")]
    by_player: list[Share]
    tasks: dict[str, int]
    tools: Annotated[dict[str, dict[str, int]], note("Counts for each tool.")]
    executions: Annotated[list[dict[str, object]], note("Latest tool calls, the oldest first.")]
    budget: CapReport


def usage(script: AssistantScript) -> Result[Usage]:
    """Report what an assistant used: model calls, tokens, money and tools.

    Where the ledger cannot be read, the result is a refusal whose data has only tasks and tools.
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
        return Result(False, standing.message, data, ProblemKind.UNAVAILABLE)
    spent = standing.data
    try:
        totals = _totals(script, spent)
    except ConfigurationError as error:  # a shared ledger may go away between the two
        return Result(False, f"That is unknown: {error}.", data, ProblemKind.UNAVAILABLE)
    data = replace(
        data,
        totals=totals,
        by_player=_player_rows(spent.players),
        budget={
            "standings": spent.standings,
            "game": spent.game,
            "all_games": spent.all_games,
            "unpriced_calls": spent.unpriced,
        },
    )
    ever, calls = data.totals["ever"], sum(tool["calls"] for tool in tools.values())
    message = (
        f"{script.key}: {counted(ever['calls'], 'model calls')}, {ever['tokens']:,} tokens, "
        f"{cost_text(ever)} in all; {counted(calls, 'tool calls')}."
    )
    return Result(True, message, data)


def cost_text(total: Spent) -> str:
    """The cost of a row of `totals`, in words."""
    cost = total["cost_dollars"]
    return known_cost(money(cost), cost, total["unpriced_calls"])


def _totals(script: AssistantScript, budget: BudgetReport) -> dict[str, Spent]:
    now, key = float(script.clock.seconds()), str(script.key).casefold()
    rows = {row["name"]: row for row in budget.standings}
    totals: dict[str, Spent] = {}
    for span, word in SPANS.items():
        # There is no cap on cost without a period: `ever` has the unpriced calls of the month.
        cap = "cost_per_day" if span is BudgetSpan.DAY else "cost_per_month"
        total = read_total(BudgetAccount(Scope.ASSISTANT, key, period_of(span, now)))
        totals[word] = {
            "calls": total.calls,
            "calls_under_way": total.open_calls,
            "prompt_tokens": total.prompt_tokens,
            "completion_tokens": total.completion_tokens,
            "tokens": total.used(Measure.TOKENS),
            "cost_dollars": total.used(Measure.COST) / NANO,
            "unpriced_calls": rows[cap]["unpriced_calls"],
        }
    return totals


def _player_rows(shares: Mapping[str, float]) -> list[Share]:
    return [
        {"person": person, "name": person and key_of(person, gone=""), "share": round(share, 4)}
        for person, share in shares.items()
    ]


def _tools(metrics: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    names = sorted({name for key in SUMS.values() for name in metrics.get(key, {})})
    return {
        name: {short: metrics.get(key, {}).get(name, 0) for short, key in SUMS.items()}
        for name in names
    }
