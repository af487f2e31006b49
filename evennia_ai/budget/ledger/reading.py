"""Reports of the ledger: the standing of each cap, and the shares of the players."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.absence import asked
from evennia_ai.core.safety.budget import (
    BudgetAccount,
    CallState,
    CapStanding,
    Purpose,
    Total,
    period_of,
    standings,
    start_of,
)
from evennia_ai.core.settings.budget import BudgetConfig, BudgetSpan, Scope
from evennia_ai.models import BudgetTotal, ModelCall

SHORTER = (BudgetSpan.DAY, BudgetSpan.MINUTE)
_FIELDS = [entry.name for entry in fields(Total)]


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The use of money and tokens by a game or an assistant.

    Attributes:
        standings: one for each cap, also for those that are not set.
        shares: the id of a player ("" for nobody): their part of the month's tokens, 0 to 1, the
            largest first.
        unpriced: calls whose price nobody knows, for each span; for ever those of the month.
    """

    standings: tuple[CapStanding, ...]
    shares: dict[str, float]
    unpriced: dict[BudgetSpan, int]


def read_total(account: BudgetAccount) -> Total:
    """The use of an account, all 0 where it has no row.

    Raises:
        ConfigurationError: the tables do not exist.
        LedgerAwayError: a shared ledger does not answer.
    """
    return asked(partial(_read_total, account))


def _read_total(account: BudgetAccount) -> Total:
    scope, key, period = account
    game = place.game_of(scope)
    found = BudgetTotal.objects.filter(game=game, scope=scope, key=key, period=period)
    values = found.values(*_FIELDS).first()
    return Total(**values) if values else Total()


def today_of(assistant: str | None, config: BudgetConfig, now: float) -> CapStanding:
    """The standing of an assistant to its tokens of a day, with calls under way and grants.

    Args:
        assistant: its name; None: of the test bench.

    Raises:
        ConfigurationError, LedgerAwayError: as of `read_total`.
    """
    scope = Scope.BENCH if assistant is None else Scope.ASSISTANT
    account = BudgetAccount(scope, (assistant or "").casefold(), period_of(BudgetSpan.DAY, now))
    told = standings(account, BudgetSpan.DAY, read_total(account), config.caps_of(scope))
    return next(standing for standing in told if standing.name == "tokens_per_day")


def read_report(
    assistant: str | None,
    config: BudgetConfig,
    now: float,
    *,
    is_bench: bool = False,
    is_all: bool = False,
) -> UsageReport:
    """The report on an assistant, or with None on the whole game.

    Args:
        is_bench: with None: on the test bench.
        is_all: with None: on all games that share the ledger.

    Raises:
        ConfigurationError, LedgerAwayError: as of `read_total`.
    """
    scope = Scope.BENCH if is_bench else Scope.ALL_GAMES if is_all else Scope.GAME
    if assistant is not None:
        scope = Scope.ASSISTANT
    return asked(partial(_read_report, scope, (assistant or "").casefold(), config, now))


def read_reports(configs: Mapping[str, BudgetConfig], now: float) -> dict[str, UsageReport]:
    """The reports on many assistants, by their names; the database is asked as often as for one.

    Args:
        configs: the caps that hold for each, by its name.

    Raises:
        ConfigurationError, LedgerAwayError: as of `read_total`.
    """
    return asked(partial(_read_reports, configs, now))


def _read_report(scope: Scope, key: str, config: BudgetConfig, now: float) -> UsageReport:
    caps = config.caps_of(scope)
    rows: list[CapStanding] = []
    for span in BudgetSpan:
        account = BudgetAccount(scope, key, period_of(span, now))
        rows += standings(account, span, _read_total(account), caps)
    calls = _ended_calls(now)
    if scope is not Scope.ALL_GAMES:
        calls = calls.filter(game=place.game())
    if scope is Scope.ASSISTANT:
        calls = calls.filter(assistant=key)
    elif scope is Scope.BENCH:
        calls = calls.filter(purpose=Purpose.BENCH)
    return UsageReport(tuple(rows), _shares(calls), _unpriced(calls.filter(is_priced=False), now))


def _read_reports(configs: Mapping[str, BudgetConfig], now: float) -> dict[str, UsageReport]:
    scope, periods = Scope.ASSISTANT, {span: period_of(span, now) for span in BudgetSpan}
    totals = _totals_of(scope, set(periods.values()))
    calls = _ended_calls(now).filter(game=place.game())
    tokens: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for key, person, used in _used(calls, "assistant", "person"):
        tokens[key][person] = used
    counts = _counts_of_spans(now)
    unpriced = {
        row["assistant"]: _by_span(row)
        for row in calls.filter(is_priced=False).values("assistant").annotate(**counts).order_by()
    }
    reports = {}
    for name, config in configs.items():
        key, caps, rows = name.casefold(), config.caps_of(scope), list[CapStanding]()
        for span, period in periods.items():
            account = BudgetAccount(scope, key, period)
            rows += standings(account, span, totals.get((key, period), Total()), caps)
        none = dict.fromkeys(BudgetSpan, 0)
        reports[name] = UsageReport(
            tuple(rows), _parts(tokens.get(key, {})), unpriced.get(key, none)
        )
    return reports


def _totals_of(scope: Scope, periods: set[str]) -> dict[tuple[str, str], Total]:
    """The use of all accounts of a scope in some periods, by key and period."""
    found = BudgetTotal.objects.filter(game=place.game_of(scope), scope=scope, period__in=periods)
    return {
        (row.pop("key"), row.pop("period")): Total(**row)
        for row in found.values("key", "period", *_FIELDS)
    }


def _ended_calls(now: float) -> QuerySet[ModelCall]:
    """The calls of this month; open ones may still come to nothing, as released ones did."""
    return ModelCall.objects.filter(
        at__gte=int(start_of(BudgetSpan.MONTH, now)),
        state__in=(CallState.SETTLED, CallState.CUT_OFF),
    )


def _counts_of_spans(now: float) -> dict[str, Count]:
    counts = {str(s): Count("pk", filter=Q(at__gte=int(start_of(s, now)))) for s in SHORTER}
    return {"whole": Count("pk"), **counts}


def _by_span(found: Mapping[str, int]) -> dict[BudgetSpan, int]:
    return {span: found.get(str(span), found["whole"]) for span in BudgetSpan}


def _unpriced(calls: QuerySet[ModelCall], now: float) -> dict[BudgetSpan, int]:
    return _by_span(calls.aggregate(**_counts_of_spans(now)))


def _used(calls: QuerySet[ModelCall], *by: str) -> QuerySet[ModelCall, Any]:
    """Rows of some columns with the tokens that calls used, the most first."""
    tokens = Sum(F("prompt_tokens") + F("completion_tokens"))
    return calls.values_list(*by).annotate(tokens=tokens).order_by("-tokens", "person")


def _shares(calls: QuerySet[ModelCall]) -> dict[str, float]:
    return _parts(dict(_used(calls, "person")))


def _parts(used: Mapping[str, int]) -> dict[str, float]:
    whole = sum(used.values())
    return {person: part / whole for person, part in used.items()} if whole else {}
