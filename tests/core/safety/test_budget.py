"""Budget accounts, and the caps that a further call meets there."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.safety.budget import (
    BudgetAccount,
    CapStanding,
    Total,
    account_asked,
    account_of,
    accounts_of,
    as_amount,
    as_units,
    caps_in_words,
    caps_set,
    exceeded,
    is_near,
    period_of,
    read_amount,
    resets_in_seconds,
    standings,
    start_of,
    warning_text,
)
from evennia_ai.core.safety.questions import ApprovalRequest
from evennia_ai.core.settings.budget import CAPS, BudgetConfig, BudgetSpan, Caps, Measure, Scope
from evennia_ai.errors import LimitReachedError

NOON = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC).timestamp()
TODAY = BudgetAccount(Scope.ASSISTANT, "ada", "2026-11-21")


@pytest.mark.parametrize(
    ("period", "seconds", "span"),
    [
        pytest.param("", None, BudgetSpan.EVER, id="ever"),
        pytest.param("2026-11", 9 * 86_400 + 43_170, BudgetSpan.MONTH, id="month"),
        pytest.param("2026-11-21", 43_170, BudgetSpan.DAY, id="day"),
        pytest.param("2026-11-21 12:00", 30, BudgetSpan.MINUTE, id="minute"),
    ],
)
def test_periods(period: str, seconds: float | None, span: BudgetSpan) -> None:
    assert (period, seconds) == (period_of(span, NOON), resets_in_seconds(span, NOON))


@given(
    st.floats(0, 4e9, allow_subnormal=False),
    st.sampled_from([BudgetSpan.MONTH, BudgetSpan.DAY, BudgetSpan.MINUTE]),
)
def test_a_period_ends_where_the_next_begins(now: float, span: BudgetSpan) -> None:
    start, end = start_of(span, now), start_of(span, now, 1)
    assert start <= now < end
    assert period_of(span, start) == period_of(span, now) == period_of(span, end - 1e-3)
    assert period_of(span, end) != period_of(span, now)
    assert end == start_of(span, end)


def test_what_a_call_counts_towards() -> None:
    """The game, the assistant and the player have four spans each."""
    accounts = accounts_of("Ada", "*#3", NOON)
    assert ["game 2026-11", "assistant ada 2026-11", "player *#3 2026-11"] == [
        account.name for account in accounts[1::4]
    ]
    assert 12 == len(accounts)
    assert accounts[:8] == accounts_of("ADA", "", NOON)


def test_what_a_call_of_the_bench_counts_towards() -> None:
    named = [account.name for account in accounts_of("", "", NOON, is_bench=True)[1::4]]
    assert ["game 2026-11", "bench 2026-11"] == named


@pytest.mark.parametrize("assistant", ["ada", "old tom", "tom 2026-11-21", "a  b"])
@pytest.mark.parametrize("name", list(CAPS))
def test_a_limit_leads_back_to_its_account(name: str, assistant: str) -> None:
    """A yes raises the cap that was reached and no other, whatever the assistant is called."""
    cap = CAPS[name]
    for account in accounts_of(assistant, "relay of Public", NOON):
        if account.period == period_of(cap.span, NOON):
            hit = LimitReachedError(cap.kind, used=1, cap=1, amount=1, scope=account.name)
            assert account == account_of(hit)


def test_what_counts_is_used_and_held() -> None:
    total = Total(
        calls=3,
        open_calls=1,
        prompt_tokens=10,
        completion_tokens=5,
        cost_nano=7,
        held_tokens=20,
        held_cost_nano=30,
        granted_tokens=1,
        granted_cost_nano=2,
        granted_calls=4,
        warned_cost=True,
    )
    assert [35, 37, 3] == [total.used(measure) for measure in Measure]
    assert [1, 2, 4] == [total.granted(measure) for measure in Measure]
    assert [False, True, True] == [total.is_warned(measure) for measure in Measure]


def test_standings_name_every_cap_of_a_span() -> None:
    caps = Caps(tokens_per_day=100)
    rows = list(standings(TODAY, BudgetSpan.DAY, Total(prompt_tokens=7, granted_tokens=10), caps))
    assert [("tokens_per_day", 7, 110), ("cost_per_day", 0, 0)] == [
        (standing.name, standing.used, standing.allowed) for standing in rows
    ]
    assert ((BudgetSpan.DAY, "tokens_per_day", 100),) == caps_set(caps)


@pytest.mark.parametrize(
    ("units", "measure", "amount"),
    [
        pytest.param(1_500_000_000, Measure.COST, 1.5, id="dollars"),
        pytest.param(7, Measure.TOKENS, 7, id="tokens"),
        pytest.param(7, Measure.CALLS, 7, id="calls"),
    ],
)
def test_units(units: int, measure: Measure, amount: float) -> None:
    assert (units, amount) == (as_units(measure, amount), as_amount(measure, units))


def test_a_cap_of_any_size_has_units() -> None:
    """A setting may be as large as a number can be; each call is compared with it."""
    assert 10**308 < as_units(Measure.COST, 1e308)


@pytest.mark.parametrize(
    ("text", "tokens", "dollars"),
    [
        ("50000", 50_000.0, 50_000.0),
        (" $2.50 ", 2.5, 2.5),
        ("50,000", 50_000.0, None),
        ("1,500,000", 1_500_000.0, 1_500_000.0),
        ("$1,500.00", 1_500.0, 1_500.0),
        ("0,50", None, None),
        ("0,500", None, None),
        ("2,5", None, None),
        ("1,50,000", None, None),
        ("0", None, None),
        ("-5", None, None),
        ("inf", None, None),
        ("", None, None),
    ],
)
def test_a_comma_that_may_be_a_decimal_one_is_refused(
    text: str, tokens: float | None, dollars: float | None
) -> None:
    measures = (Measure.TOKENS, Measure.COST)
    assert (tokens, dollars) == tuple(read_amount(each, text) for each in measures)


def standing(used: int, cap: int, granted: int = 0, name: str = "tokens_per_day") -> CapStanding:
    return CapStanding(TODAY, name, cap, used, granted)


@pytest.mark.parametrize(
    ("amount", "used", "cap", "granted", "reserve"),
    [
        pytest.param(None, 100, 100, 0, 0, id="just full"),
        pytest.param(10, 101, 100, 0, 0, id="one too many"),
        pytest.param(None, 10**9, 0, 0, 10**9, id="no limit"),
        pytest.param(None, 105, 100, 5, 0, id="inside a grant"),
        pytest.param(10, 106, 100, 5, 0, id="over a grant"),
        pytest.param(None, 80, 100, 0, 20, id="room for a last word"),
        pytest.param(10, 81, 100, 0, 20, id="no room for a last word"),
        pytest.param(70, 130, 100, 0, 40, id="a tenth would not do"),
        pytest.param(1, 6, 5, 0, 0, id="a tenth of few"),
    ],
)
def test_r26_a_call_passes_only_where_there_is_room(
    amount: float | None, used: int, cap: int, granted: int, reserve: int
) -> None:
    """A yes grants a tenth of the cap, or more where this call needs more."""
    hit = exceeded(standing(used, cap, granted), 10, reserve)
    if amount is None:
        assert hit is None
        return
    assert hit is not None
    assert (amount, "cost.tokens_per_day") == (hit.amount, hit.kind)
    assert (used - 10, cap + granted, TODAY.name) == (hit.used, hit.cap, hit.scope)
    assert exceeded(standing(used, cap, granted + int(hit.amount)), 10, reserve) is None


@pytest.mark.parametrize(
    ("amount", "missing"),
    [
        pytest.param(0.0197, 19_669_001, id="a fraction of a cent"),
        pytest.param(0.5, 400_000_000, id="a tenth of the cap"),
        pytest.param(1.24, 1_230_000_001, id="dollars"),
    ],
)
def test_a_yes_grants_what_is_shown_in_the_question(amount: float, missing: int) -> None:
    """A question showed $0.0197, and a yes granted another amount."""
    cap = 5 * 10**9 if amount == 0.5 else 10**6
    hit = exceeded(standing(cap + missing, cap, name="cost_per_day"), 0, 0)
    assert hit is not None
    assert amount == hit.amount


def test_money_is_told_in_dollars() -> None:
    hit = exceeded(standing(2_500_000_000, 2 * 10**9, name="cost_per_day"), 10**9, 0)
    assert (1.5, 2.0, 0.5) == (hit.used, hit.cap, hit.amount)


@pytest.mark.parametrize(
    ("near", "used", "cap", "warn_at", "total"),
    [
        pytest.param(False, 79, 100, 0.8, Total(), id="not yet"),
        pytest.param(True, 80, 100, 0.8, Total(), id="at four fifths"),
        pytest.param(False, 80, 100, 0.8, Total(warned_tokens=True), id="told already"),
        pytest.param(False, 80, 100, 0, Total(), id="not wanted"),
        pytest.param(False, 80, 0, 0.8, Total(), id="no limit"),
    ],
)
def test_a_cap_that_is_near(near: bool, used: int, cap: int, warn_at: float, total: Total) -> None:
    assert near is is_near(standing(used, cap), total, warn_at)


def test_the_warning_says_what_to_change() -> None:
    assert (
        "assistant ada 2026-11-21: 1,500 of 2,000 tokens are used "
        "(budget_config.assistant.tokens_per_day)"
    ) == warning_text(standing(1500, 2000))


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        ({"tokens_per_day": 0}, "no cap"),
        (
            {"tokens_per_day": 1000, "cost_per_day": 0.5, "calls_per_minute": 1},
            "1,000 tokens a day, $0.50 a day, 1 model call a minute",
        ),
        ({"tokens_per_day": 0, "tokens_total": 7}, "7 tokens in all"),
        ({"tokens_per_day": 0, "cost_per_day": 0.015}, "$0.0150 a day"),
    ],
)
def test_caps_in_words(caps: dict[str, float], words: str) -> None:
    assert words == caps_in_words(BudgetConfig.from_stored({"player": caps}).player)


@pytest.mark.parametrize(
    ("account", "key", "kind"),
    [
        pytest.param(BudgetAccount(Scope.GAME, "", "2026-11-21"),
                     "game 2026-11-21 cost.tokens_per_day", "safety.limit.cost.tokens_per_day",
                     id="the game's day"),
        pytest.param(BudgetAccount(Scope.PLAYER, "*#3", "2026-11-21 12:05"),
                     "player *#3 2026-11-21 12:05 cost.calls_per_minute",
                     "safety.limit.cost.calls_per_minute", id="a player's minute"),
        pytest.param(BudgetAccount(Scope.ASSISTANT, "old ada", ""),
                     "assistant old ada cost.tokens_total", "safety.limit.cost.tokens_total",
                     id="for ever"),
        pytest.param(BudgetAccount(Scope.BENCH, "", "2026-11-21"),
                     "bench 2026-11-21 cost.tokens_per_day", "safety.limit.cost.tokens_per_day",
                     id="the bench's day"),
        pytest.param(None, "t1 max_iterations", "safety.limit.max_iterations", id="no money"),
        pytest.param(None, "dig 7", "tool.cost.dig", id="a call"),
    ],
)  # fmt: skip
def test_hole_d21_a_question_tells_whose_cap_it_wants_raised(
    account: BudgetAccount | None, key: str, kind: str
) -> None:
    """Questions that an older version stored are read too."""
    assert account == account_asked(ApprovalRequest(key, kind, "May I?"))
