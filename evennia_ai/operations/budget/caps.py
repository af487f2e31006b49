"""Caps on model calls, tokens and money: how much of each is used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, NotRequired

from twisted.internet import reactor
from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget import ledger
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import (
    BudgetAccount,
    CapStanding,
    as_amount,
    caps_in_words,
    resets_in_seconds,
    start_of,
)
from evennia_ai.core.safety.prices import NAME as PRICES
from evennia_ai.core.settings.budget import BudgetConfig, BudgetSpan, Cap, Measure, Scope
from evennia_ai.core.text.words import counted, first_few, money, number
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.incoming import key_of
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.times import iso
from evennia_ai.runtime import state

MOST_PLAYERS = 10  # in a line
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
    now = now_of(script)
    try:
        config = ledger.config_for(budget_settings(script))
        own = game = ledger.report(Scope.GAME, "", config, now)
        every = ledger.report(Scope.ALL_GAMES, "", config, now) if ledger.is_shared() else None
        if script is not None or is_bench:
            own = ledger.report(*scope_of(script, is_bench=is_bench), config, now)
    except ConfigurationError as error:
        return Result.invalid(f"No model call is made: {error}.")
    parts = {owner_name(script, is_bench=is_bench): own}
    if own is not game:
        parts["The whole game"] = game
    if every is not None:
        parts["All games together"] = every
    head, *rest = tables(parts, now)
    lines = [*head, f"  by player    {_by_player(own.shares)}"]
    lines.append(f"  each player  {caps_in_words(config.player)}")
    lines += (line for table in rest for line in table)
    if unpriced := own.unpriced[BudgetSpan.MONTH]:
        lines.append(f"Of {counted(unpriced, 'calls')} this month the price is not known: {PRICES}")
    data = BudgetReport(
        standings=as_data(own, now),
        game=as_data(game, now),
        players=own.shares,
        unpriced=unpriced,
        all_games=[] if every is None else as_data(every, now),
    )
    return Result(True, "\n".join(lines), data)


def standings_of(scripts: Sequence[AssistantScript]) -> dict[str, Result[list[CapRow]]]:
    """Caps of many assistants and their use, by key, in as few queries as for a single one."""
    now, configs = now_of(next(iter(scripts), None)), dict[str, BudgetConfig]()
    results: dict[str, Result[list[CapRow]]] = {}
    for script in scripts:
        try:
            configs[str(script.key)] = ledger.config_for(budget_settings(script))
        except ConfigurationError as error:
            results[str(script.key)] = Result.invalid(f"No model call is made: {error}.")
    try:
        reports = ledger.reports(configs, now)
    except ConfigurationError as error:
        return results | dict.fromkeys(configs, Result.invalid(f"No model call is made: {error}."))
    return results | {key: Result(True, "", as_data(each, now)) for key, each in reports.items()}


def today_of(script: AssistantScript | None) -> str:
    """Tokens used today and their cap, in a few words, or why they are unknown.

    Args:
        script: the assistant; None: the test bench.

    Returns:
        "?" where a setting is wrong, which `status` reports by itself.
    """
    now, name = now_of(script), None if script is None else str(script.key)
    try:
        config = ledger.config_for(budget_settings(script))
    except ConfigurationError as error:
        return str(error) if script is None else "?"
    try:
        standing = ledger.today_of(name, config, now)
    except ConfigurationError as error:
        return str(error)
    used, allowed = number(standing.used), number(standing.allowed)
    return f"{used} of {allowed}" if standing.configured else used


def used_ever(script: AssistantScript) -> tuple[int, int] | None:
    """Model calls and tokens of an assistant in all; None where the ledger cannot be read."""
    try:
        ledger.store().flush()
        total = read_total(BudgetAccount(Scope.ASSISTANT, str(script.key).casefold(), ""))
    except ConfigurationError:
        return None
    return total.calls, total.used(Measure.TOKENS)


def now_of(script: AssistantScript | None) -> float:
    """Seconds since 1970, by an assistant's clock or the game's."""
    return float((reactor if script is None else script.clock).seconds())


def budget_settings(script: AssistantScript | None) -> Any:
    """An assistant's own caps; none for the game."""
    return {} if script is None else state.read(script, "budget_config")


def scope_of(script: AssistantScript | None, *, is_bench: bool) -> tuple[Scope, str]:
    """Scope and key of the caps of an assistant; with None of the game or the test bench."""
    if script is not None:
        return Scope.ASSISTANT, script.key.casefold()  # as the ledger keeps names
    return Scope.BENCH if is_bench else Scope.GAME, ""


def owner_name(script: AssistantScript | None, *, is_bench: bool = False) -> str:
    """The name of an assistant; with None of the game or the test bench."""
    nobody = "The test bench" if is_bench else "The whole game"
    return nobody if script is None else str(script.key)


def known_cost(shown: str, amount: float, unpriced: int) -> str:
    """An amount of money in words that allows for calls whose price is not known."""
    if not unpriced:
        return shown
    return f"{shown} + unknown" if amount else "unknown"


def tables(parts: Mapping[str, ledger.UsageReport], now: float) -> list[list[str]]:
    """The lines of a table of caps for each report, by its heading; all have the same columns."""
    rows = {name: list(_rows(report, now)) for name, report in parts.items()}
    cells = [row for each in rows.values() for row in each]
    used = max(14, *(len(row[1]) + 1 for row in cells))
    cap = max(30 - used, *(len(row[2]) + 1 for row in cells))
    names = list(rows)
    heads = {name: name for name in names}
    heads[names[0]] = f"{names[0]:<14}{'used':>{used}}{'cap':>{cap}}   resets"
    return [
        [heads[name], *(f"  {a:<12}{b:>{used}}{c:>{cap}}   {d}" for a, b, c, d in rows[name])]
        for name in names
    ]


def _rows(report: ledger.UsageReport, now: float) -> Iterable[tuple[str, str, str, str]]:
    standings = [s for s in report.standings if s.configured or s.name in ALWAYS_SHOWN]
    standings.sort(key=lambda standing: ORDER.index(standing.cap.span))
    return (_row(each, _unpriced(each, report), now) for each in standings)


def _unpriced(standing: CapStanding, report: ledger.UsageReport) -> int:
    return report.unpriced[standing.cap.span] if standing.cap.measure is Measure.COST else 0


def _row(standing: CapStanding, unpriced: int, now: float) -> tuple[str, str, str, str]:
    cap = standing.cap
    used = known_cost(amount_text(cap, standing.used), standing.used, unpriced)
    if cap.measure is not Measure.COST:
        used = counted(standing.used, "calls" if cap.measure is Measure.CALLS else "tok")
    allowed = amount_text(cap, standing.allowed) if standing.configured else "no cap"
    granted = f" ({amount_text(cap, standing.granted)} of it granted)" if standing.granted else ""
    return NAMES[cap.span], used, allowed, f"{_resets(cap.span, now)}{granted}"


def amount_text(cap: Cap, units: int) -> str:
    """An amount of a cap, in words."""
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
    return f"{first_few(parts, MOST_PLAYERS, '   ') or 'nobody yet'}   (this month)"


def as_data(report: ledger.UsageReport, now: float) -> list[CapRow]:
    """The caps of a report and their use, for programs."""
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
