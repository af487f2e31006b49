"""Reports of the ledger: the use of each cap, and the shares of the players."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.outages import query_ledger
from evennia_ai.budget.ledger.reservations import SHARE
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

# Spans within the month, of whose calls reports count those without a price.
SHORTER = (BudgetSpan.DAY, BudgetSpan.MINUTE)
_FIELDS = [entry.name for entry in fields(Total)]


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The use of money and tokens by a game or an assistant.

    Attributes:
        standings: one for each cap, including those that are not set.
        shares: each player's fraction of the month's tokens by id ("" for nobody), largest first;
            of a player, each assistant's by name.
        unpriced: number of calls without a known price in each span; in place of all time, this
            month's.
    """

    standings: tuple[CapStanding, ...]
    shares: dict[str, float]
    unpriced: dict[BudgetSpan, int]


def read_total(account: BudgetAccount) -> Total:
    """The totals of an account; all 0 if it has no row."""
    return query_ledger(partial(_read_total, account))


def _read_total(account: BudgetAccount) -> Total:
    values = BudgetTotal.objects.filter(**place.row_of(account)).values(*_FIELDS).first()
    return Total(**values) if values else Total()


def today_of(assistant: str | None, config: BudgetConfig, now: float) -> CapStanding:
    """The use of an assistant's daily token cap, including open calls and grants.

    Args:
        assistant: its name; None: the test bench.
    """
    scope = Scope.BENCH if assistant is None else Scope.ASSISTANT
    account = BudgetAccount(scope, (assistant or "").casefold(), period_of(BudgetSpan.DAY, now))
    daily = standings(account, BudgetSpan.DAY, read_total(account), config.caps_of(scope))
    return next(standing for standing in daily if standing.name == "tokens_per_day")


def read_report(scope: Scope, key: str, config: BudgetConfig, now: float) -> UsageReport:
    """The report on a scope of caps.

    Args:
        key: an assistant's name in lower case, or a player's id; else "".
    """
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
    elif scope is Scope.PLAYER:
        calls = calls.filter(person=key)
    elif scope is Scope.BENCH:
        calls = calls.filter(purpose=Purpose.BENCH)
    # Of a call that several pay for, a player may have only a share.
    counts = _counts_of_spans(now, with_shares=scope is Scope.PLAYER)
    unpriced = calls.filter(is_priced=False).aggregate(**counts)
    by = "assistant" if scope is Scope.PLAYER else "person"
    return UsageReport(tuple(rows), _parts(dict(_used(calls, by))), _by_span(unpriced))


def read_reports(configs: Mapping[str, BudgetConfig], now: float) -> dict[str, UsageReport]:
    """The reports on many assistants by name, with as many queries as for one."""
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
    rows = BudgetTotal.objects.filter(game=place.game_of(scope), scope=scope, period__in=periods)
    return {
        (row.pop("key"), row.pop("period")): Total(**row)
        for row in rows.values("key", "period", *_FIELDS)
    }


def count_unpriced(person: str, now: float) -> int:
    """The calls of this month in this game that a person caused, and whose price is not known."""
    calls = _ended_calls(now).filter(game=place.game(), person=person, is_priced=False)
    return int(calls.count())


def _ended_calls(now: float) -> QuerySet[ModelCall]:
    """The calls of this month that count; an open call may still be released."""
    return ModelCall.objects.filter(
        at__gte=int(start_of(BudgetSpan.MONTH, now)),
        state__in=(CallState.SETTLED, CallState.CUT_OFF),
    )


def _counts_of_spans(now: float, *, with_shares: bool = False) -> dict[str, Count]:
    call = Q() if with_shares else ~Q(key__endswith=SHARE)  # a share is a part of a call
    counts = {str(s): Count("pk", filter=call & Q(at__gte=int(start_of(s, now)))) for s in SHORTER}
    return {"whole": Count("pk", filter=call), **counts}


def _by_span(amounts: Mapping[str, int]) -> dict[BudgetSpan, int]:
    return {span: amounts.get(str(span), amounts["whole"]) for span in BudgetSpan}


def _used(calls: QuerySet[ModelCall], *by: str) -> QuerySet[ModelCall, Any]:
    """The tokens used, grouped by some columns, largest first."""
    tokens = Sum(F("prompt_tokens") + F("completion_tokens"))
    return calls.values_list(*by).annotate(tokens=tokens).order_by("-tokens", *by)


def _parts(used: Mapping[str, int]) -> dict[str, float]:
    whole = sum(used.values())
    return {person: part / whole for person, part in used.items()} if whole else {}
