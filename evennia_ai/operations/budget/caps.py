"""Caps on model calls, tokens and money: how much of each is used, and raising one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any, NotRequired

from twisted.internet import reactor
from typing_extensions import TypedDict

from evennia_ai import approvals
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget import ledger
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import (
    BudgetAccount,
    CapStanding,
    as_amount,
    as_units,
    caps_in_words,
    period_of,
    read_amount,
    resets_in_seconds,
    start_of,
)
from evennia_ai.core.safety.prices import NAME as PRICES
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.settings.budget import CAPS, BudgetConfig, BudgetSpan, Cap, Measure, Scope
from evennia_ai.core.text.words import counted, money, number
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.incoming import key_of
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.operations.times import iso
from evennia_ai.runtime import state

ALWAYS_SHOWN = ("tokens_per_day", "cost_per_month")  # even where no cap is set
ORDER = (BudgetSpan.DAY, BudgetSpan.MONTH, BudgetSpan.EVER, BudgetSpan.MINUTE)
NAMES = {
    BudgetSpan.EVER: "in all",
    BudgetSpan.MONTH: "month",
    BudgetSpan.DAY: "today",
    BudgetSpan.MINUTE: "minute",
}


class CapRow(TypedDict):
    """A cap and how much of it is used: tokens, calls, or US dollars."""

    name: str
    used: float
    cap: float
    granted: Annotated[float, note("Part of the cap that was granted by hand.")]
    resets_in_seconds: float | None
    resets_at: Annotated[str | None, note("Time of the next reset (ISO 8601).")]
    unpriced_calls: NotRequired[Annotated[int, note("Model calls without a configured price.")]]


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """Caps of an assistant and of the game.

    Attributes:
        all_games: caps over all games that share the ledger; [] where it is not shared.
        players: each player's share of this month's tokens, 0 to 1.
        unpriced: calls of this month whose price is not configured.
    """

    standings: list[CapRow]
    game: list[CapRow]
    players: Mapping[str, float]
    unpriced: int
    all_games: list[CapRow] = field(default_factory=list)


def budget_of(script: AssistantScript | None, *, is_bench: bool = False) -> Result[BudgetReport]:
    """Report use and caps of an assistant and of the game; with None of the game alone.

    The shares of players are for staff only.

    Args:
        is_bench: with None: report the test bench and the game.
    """
    now = _now(script)
    try:
        config = ledger.config_for(_budget_settings(script))
        own = game = ledger.report(Scope.GAME, "", config, now)
        every = ledger.report(Scope.ALL_GAMES, "", config, now) if ledger.is_shared() else None
        if script is not None or is_bench:
            own = ledger.report(*_scope_of(script, is_bench=is_bench), config, now)
    except ConfigurationError as error:
        return Result.invalid(f"No model call is made: {error}.")
    head = f"{_name(script, is_bench=is_bench):<14}{'used':>14}{'cap':>16}   resets"
    lines = [head, *_rows(own, now), f"  by player    {_by_player(own.shares)}"]
    lines.append(f"  each player  {caps_in_words(config.player)}")
    if own is not game:
        lines += ["The whole game", *_rows(game, now)]
    if every is not None:
        lines += ["All games together", *_rows(every, now)]
    if unpriced := own.unpriced[BudgetSpan.MONTH]:
        lines.append(f"Of {counted(unpriced, 'calls')} this month the price is not known: {PRICES}")
    data = BudgetReport(
        standings=_as_data(own, now),
        game=_as_data(game, now),
        players=own.shares,
        unpriced=unpriced,
        all_games=[] if every is None else _as_data(every, now),
    )
    return Result(True, "\n".join(lines), data)


def standings_of(scripts: Sequence[AssistantScript]) -> dict[str, Result[list[CapRow]]]:
    """Caps of many assistants and their use, by key, in as few queries as for a single one."""
    now, configs = _now(next(iter(scripts), None)), dict[str, BudgetConfig]()
    results: dict[str, Result[list[CapRow]]] = {}
    for script in scripts:
        try:
            configs[str(script.key)] = ledger.config_for(_budget_settings(script))
        except ConfigurationError as error:
            results[str(script.key)] = Result.invalid(f"No model call is made: {error}.")
    try:
        reports = ledger.reports(configs, now)
    except ConfigurationError as error:
        return results | dict.fromkeys(configs, Result.invalid(f"No model call is made: {error}."))
    return results | {key: Result(True, "", _as_data(each, now)) for key, each in reports.items()}


def today_of(script: AssistantScript | None) -> str:
    """Tokens used today and their cap, in a few words, or why they are unknown.

    Args:
        script: the assistant; None: the test bench.

    Returns:
        "?" where a setting is wrong, which `status` reports by itself.
    """
    now, name = _now(script), None if script is None else str(script.key)
    try:
        config = ledger.config_for(_budget_settings(script))
    except ConfigurationError as error:
        return str(error) if script is None else "?"
    try:
        standing = ledger.today_of(name, config, now)
    except ConfigurationError as error:
        return str(error)
    used, allowed = number(standing.used), number(standing.allowed)
    return f"{used} of {allowed}" if standing.configured else used


def _now(script: AssistantScript | None) -> float:
    return float((reactor if script is None else script.clock).seconds())


def _budget_settings(script: AssistantScript | None) -> Any:
    return {} if script is None else state.read(script, "budget_config")


def _scope_of(script: AssistantScript | None, *, is_bench: bool) -> tuple[Scope, str]:
    if script is not None:
        return Scope.ASSISTANT, script.key.casefold()  # as the ledger keeps names
    return Scope.BENCH if is_bench else Scope.GAME, ""


def _name(script: AssistantScript | None, *, is_bench: bool = False) -> str:
    nobody = "The test bench" if is_bench else "The whole game"
    return nobody if script is None else str(script.key)


def known_cost(shown: str, amount: float, unpriced: int) -> str:
    """An amount of money in words that allows for calls whose price is not known."""
    if not unpriced:
        return shown
    return f"{shown} + unknown" if amount else "unknown"


def _rows(report: ledger.UsageReport, now: float) -> list[str]:
    standings = [s for s in report.standings if s.configured or s.name in ALWAYS_SHOWN]
    standings.sort(key=lambda standing: ORDER.index(standing.cap.span))
    return [_row(each, _unpriced(each, report), now) for each in standings]


def _unpriced(standing: CapStanding, report: ledger.UsageReport) -> int:
    return report.unpriced[standing.cap.span] if standing.cap.measure is Measure.COST else 0


def _row(standing: CapStanding, unpriced: int, now: float) -> str:
    cap = standing.cap
    used = known_cost(_amount(cap, standing.used), standing.used, unpriced)
    if cap.measure is not Measure.COST:
        used = counted(standing.used, "calls" if cap.measure is Measure.CALLS else "tok")
    allowed = _amount(cap, standing.allowed) if standing.configured else "no cap"
    granted = f" ({_amount(cap, standing.granted)} of it granted)" if standing.granted else ""
    return f"  {NAMES[cap.span]:<12}{used:>14}{allowed:>16}   {_resets(cap.span, now)}{granted}"


def _amount(cap: Cap, units: int) -> str:
    amount = as_amount(cap.measure, units)
    if cap.measure is Measure.COST:
        return money(amount)
    return number(amount)


def _resets(span: BudgetSpan, now: float) -> str:
    if span is BudgetSpan.EVER:
        return "never"
    if span is BudgetSpan.MONTH:
        day = datetime.fromtimestamp(start_of(span, now, 1), UTC)
        return f"on {day.day} {day:%b}"
    minutes = math.ceil((resets_in_seconds(span, now) or 0) / 60)
    return f"in {minutes // 60:02}:{minutes % 60:02}"


def _by_player(shares: Mapping[str, float]) -> str:
    pairs = ((person and key_of(person), share * 100) for person, share in shares.items())
    parts = [f"{name or 'no player (checks, own work)'} {percent:.0f} %" for name, percent in pairs]
    return f"{'   '.join(parts) or 'nobody yet'}   (this month)"


def _as_data(report: ledger.UsageReport, now: float) -> list[CapRow]:
    return [_cap_row(standing, report, now) for standing in report.standings]


def _cap_row(standing: CapStanding, report: ledger.UsageReport, now: float) -> CapRow:
    measure, seconds = standing.cap.measure, resets_in_seconds(standing.cap.span, now)
    row: CapRow = {
        "name": standing.name,
        "used": as_amount(measure, standing.used),
        "cap": as_amount(measure, standing.allowed),
        "granted": as_amount(measure, standing.granted),
        "resets_in_seconds": seconds,
        "resets_at": iso(now + seconds) if seconds is not None else None,
    }
    if measure is Measure.COST:
        row["unpriced_calls"] = _unpriced(standing, report)
    return row


def raise_budget(
    script: AssistantScript | None, name: str, amount: str, by: str, *, is_bench: bool = False
) -> Result:
    """Add to a cap of an assistant, or with None of the whole game, until its period ends.

    Args:
        name: name of the cap, such as `tokens_per_day`.
        amount: tokens, US dollars or calls, as typed.
        is_bench: with None: the cap is the test bench's.
    """
    whose = _name(script, is_bench=is_bench)
    if (cap := CAPS.get(name)) is None:
        return Result.invalid(f"There is no cap {name[:40]!r}; there are {', '.join(CAPS)}.")
    if (more := read_amount(cap.measure, amount)) is None:
        condition = "it must be a number above 0, such as 50000 or 2.50"
        return Result.invalid(f"{amount[:40]!r} is not an amount; {condition}.")
    scope, key = _scope_of(script, is_bench=is_bench)
    account = BudgetAccount(scope, key, period_of(cap.span, _now(script)))
    try:
        if not getattr(ledger.config_for(_budget_settings(script)).caps_of(scope), name):
            return Result.invalid(f"{whose} has no cap {name}: there is nothing to raise.")
        ledger.raise_cap(ledger.Raise(account, name, more, by))
    except ConfigurationError as error:
        return Result.invalid(f"That was not done: {error}.")
    # Open questions about this cap have their answer by this.
    approvals.withdraw_moot()
    amount_text = _amount(cap, as_units(cap.measure, more))
    until = "for good" if cap.span is BudgetSpan.EVER else f"until the {cap.span} ends"
    return Result(True, f"{whose}: {name} is raised by {amount_text}, {until}.")


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
