"""Reports of the ledger: the standing of each cap, and the shares of the players."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial

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


def _read_report(scope: Scope, key: str, config: BudgetConfig, now: float) -> UsageReport:
    caps = config.caps_of(scope)
    rows: list[CapStanding] = []
    for span in BudgetSpan:
        account = BudgetAccount(scope, key, period_of(span, now))
        rows += standings(account, span, _read_total(account), caps)
    calls = ModelCall.objects.filter(at__gte=int(start_of(BudgetSpan.MONTH, now)))
    if scope is not Scope.ALL_GAMES:
        calls = calls.filter(game=place.game())
    if scope is Scope.ASSISTANT:
        calls = calls.filter(assistant=key)
    elif scope is Scope.BENCH:
        calls = calls.filter(purpose=Purpose.BENCH)
    # Open calls may still come to nothing, as those that were released did.
    calls = calls.filter(state__in=(CallState.SETTLED, CallState.CUT_OFF))
    return UsageReport(tuple(rows), _shares(calls), _unpriced(calls.filter(is_priced=False), now))


def _unpriced(calls: QuerySet[ModelCall], now: float) -> dict[BudgetSpan, int]:
    counts = {str(s): Count("pk", filter=Q(at__gte=int(start_of(s, now)))) for s in SHORTER}
    found = calls.aggregate(whole=Count("pk"), **counts)
    return {span: found.get(str(span), found["whole"]) for span in BudgetSpan}


def _shares(calls: QuerySet[ModelCall]) -> dict[str, float]:
    tokens = Sum(F("prompt_tokens") + F("completion_tokens"))
    used = dict(calls.values_list("person").annotate(tokens=tokens).order_by("-tokens", "person"))
    whole = sum(used.values())
    return {person: part / whole for person, part in used.items()} if whole else {}
