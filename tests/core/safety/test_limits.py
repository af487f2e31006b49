"""The table of limits, the decisions made without a person, and the texts."""

import re

import pytest

from evennia_ai.core.safety.limits import (
    LIMITS,
    MONEY,
    Decision,
    DecisionReason,
    Denial,
    LimitKind,
    Mode,
    decide_alone,
    denial_text,
    path_of,
    question_text,
)
from evennia_ai.core.settings.budget import CAPS
from evennia_ai.core.settings.game import ATTRIBUTES, GAME_SETTINGS, default_at
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.text.words import counted, number

KINDS = list(LimitKind)
UNITS = {"tokens": "tokens", "cost": "US dollars", "calls": "model calls"}
SEEDS = {
    "act turns per phase": "tool_calls",
    "visits of a phase": "context_visits",
    "phase wall clock": "tick_seconds",
    "router calls per turn": "model_calls",
    "workflow calls per chain": "delegations",
    "agent hops": "agent_hops",
    "chain wait": "delegation_seconds",
    "router iterations": "max_iterations",
    "LLM call timeout": "model_call_seconds",
    "media cap": "message_characters",
    "summary body cap": "summary_tokens",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_limit_is_set_somewhere(kind: LimitKind) -> None:
    """Requirement R27: the path of each limit is a setting that exists."""
    limit = LIMITS[kind]
    if kind.startswith("cost."):
        assert {"budget_config", "EVENNIA_AI_BUDGET_CONFIG"} <= {*ATTRIBUTES, *GAME_SETTINGS}
        place, scope, key = limit.path.split(".")
        assert ("budget_config", "{scope}", kind) == (place, scope, CAPS[key].kind)
        assert limit.unit == UNITS[CAPS[key].measure]
        assert limit.span == CAPS[key].span
    else:
        assert 0 <= default_at(limit.path)


@pytest.mark.parametrize("section", ["loop", "timeout", "size"])
def test_every_key_of_the_settings_has_its_limit(section: str) -> None:
    """The two exceptions are no limits."""
    own = {f"safety_config.{section}.{name}" for name, _ in getattr(SafetyConfig(), section)}
    others = {"safety_config.timeout.wrap_up_seconds", "safety_config.size.on_oversize"}
    assert set() == own - {limit.path for limit in LIMITS.values()} - others


def test_the_default_of_what_does_not_exist_is_no_number() -> None:
    for path in ("max_agent_hop", "safety_config.loop.max_hops"):
        with pytest.raises(LookupError):
            default_at(path)


def test_every_limit_of_the_first_description_is_here() -> None:
    """Each of the eleven limits of the original specification has one of ours."""
    assert set(KINDS) == set(LIMITS)
    assert SEEDS == {
        limit.seed: kind.value for kind, limit in LIMITS.items() if limit.seed in SEEDS
    }
    assert all(limit.text and limit.unit and limit.span and limit.seed for limit in LIMITS.values())


def test_every_word_is_explained() -> None:
    assert all(each.text for each in (*Denial, *DecisionReason))
    assert len(Denial) == len({denial.text for denial in Denial})
    assert len(DecisionReason) == len({reason.text for reason in DecisionReason})


def test_the_inventory_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        LIMITS[LimitKind.ITERATIONS] = LIMITS[LimitKind.MODEL_CALLS]  # type: ignore[index]
    with pytest.raises(AttributeError):
        LIMITS[LimitKind.ITERATIONS].unit = "days"  # type: ignore[misc]


def test_what_locks_and_what_never_asks() -> None:
    locking = {kind.value for kind, limit in LIMITS.items() if limit.locks}
    silent = {kind.value for kind, limit in LIMITS.items() if not limit.asks}
    assert {"task_iterations", "task_tokens", "cost.tokens_total"} == locking
    assert {"calls_per_reply", "summary_tokens"} == silent
    assert silent == {k.value for k, limit in LIMITS.items() if limit.denial is Denial.CUT}


@pytest.mark.parametrize(
    ("allowed", "reason", "kind", "mode", "left"),
    [
        pytest.param(False, "unattended", "max_iterations", "unattended", 9, id="unattended"),
        pytest.param(True, "auto_extended", "max_iterations", "auto_extend", 1, id="one left"),
        pytest.param(False, "auto_extend_spent", "max_iterations", "auto_extend", 0, id="none"),
        pytest.param(False, "auto_extend_spent", "max_iterations", "auto_extend", -1, id="fewer"),
        pytest.param(None, "", "max_iterations", "interactive", 0, id="somebody is asked"),
        pytest.param(None, "", "max_iterations", "interactive", 9, id="and nothing granted"),
        pytest.param(False, "not_askable", "summary_tokens", "interactive", 9, id="never asked"),
        pytest.param(False, "not_askable", "summary_tokens", "auto_extend", 9, id="nor granted"),
        pytest.param(False, "not_askable", "summary_tokens", "unattended", 9, id="in no mode"),
    ],
)
def test_what_is_decided_alone(
    allowed: bool | None, reason: str, kind: str, mode: str, left: int
) -> None:
    """None means that a person decides; a grant is always the whole amount."""
    decision = decide_alone(LIMITS[LimitKind(kind)], Mode(mode), left, 7.0)
    expected = (
        Decision(allowed, 7.0 if allowed else 0.0, DecisionReason(reason)) if reason else None
    )
    assert expected == decision


def test_c16_a_decision_stays_as_it_is() -> None:
    decision = decide_alone(LIMITS[LimitKind.ITERATIONS], Mode.UNATTENDED, 0, 5.0)
    assert decision is not None
    for name, value in (
        ("allow_continue", True),
        ("extension", 5.0),
        ("reason", DecisionReason.APPROVED),
    ):
        with pytest.raises(AttributeError):
            setattr(decision, name, value)
    assert Decision(False, 0.0, DecisionReason.UNATTENDED) == decision


@pytest.mark.parametrize("has_partial", [False, True])
@pytest.mark.parametrize("reason", [DecisionReason.REFUSED, DecisionReason.NO_OPERATOR])
@pytest.mark.parametrize("kind", KINDS)
def test_f2_a_no_tells_what_is_needed_to_decide(
    kind: LimitKind, reason: DecisionReason, has_partial: bool
) -> None:
    """Staff read the value, the reason, the settings to change, and whether there are results."""
    limit = LIMITS[kind]
    text = denial_text(kind, 1234, "player *#3 2026-11", reason, has_partial=has_partial)
    assert text.startswith(f"limit {kind.value} reached: {limit.amount(1234)} ")
    assert limit.amount(1234) in ("$1,234.00", f"1,234 {limit.unit}")
    is_games = kind.startswith(MONEY)
    is_nobody = is_games and reason is DecisionReason.NO_OPERATOR
    why = "nobody who may raise the cap of a player is there" if is_nobody else reason.text
    assert f"({why})" in text
    assert f"raise {path_of(kind, 'player *#3 2026-11')}" in text
    place = "EVENNIA_AI_SAFETY_CONFIG" if is_games else "safety_config"
    assert limit.asks is (f"set {place}.on_limit.mode" in text)
    assert limit.asks is (" to auto_extend;" in text)
    assert has_partial is text.endswith("; partial results are kept")
    assert has_partial is not text.endswith("; there are no partial results")
    assert not re.search(r"[{}|]| an? (ever|moment|time)\b", text)


@pytest.mark.parametrize("kind", KINDS)
def test_f2_the_mode_that_is_named_is_the_one_that_holds(kind: LimitKind) -> None:
    """Two limits have a mode of their own, so setting the common one would do nothing."""
    text = denial_text(kind, 3, "t1", DecisionReason.UNATTENDED, has_partial=False)
    own = kind in (LimitKind.AGENT_HOPS, LimitKind.MODEL_CALL_SECONDS)
    assert own is (f"safety_config.on_limit.modes.{kind.value} to" in text)


def test_f2_a_no_in_full() -> None:
    expected = (
        "limit max_iterations reached: 5 steps a tick (nobody answered in time). To change that "
        "raise execution_config.max_iterations_per_tick, or set safety_config.on_limit.mode to "
        "auto_extend; partial results are kept"
    )
    text = denial_text(LimitKind.ITERATIONS, 5, "t1", DecisionReason.ASK_TIMEOUT, has_partial=True)
    assert expected == text


@pytest.mark.parametrize(
    ("modes", "reason"),
    [
        ("interactive or auto_extend", DecisionReason.UNATTENDED),
        ("interactive", DecisionReason.AUTO_EXTEND_SPENT),
        ("auto_extend", DecisionReason.NO_OPERATOR),
    ],
)
def test_the_mode_in_force_is_not_advised(modes: str, reason: DecisionReason) -> None:
    text = denial_text(LimitKind.ITERATIONS, 5, "t1", reason, has_partial=False)
    assert f"set safety_config.on_limit.mode to {modes}; " in text


@pytest.mark.parametrize(
    ("words", "kind", "cap"),
    [
        pytest.param(": 9,000 tokens in all (", "cost.tokens_total", 9000, id="for ever"),
        pytest.param(": 3 delegates at one time (", "delegates_at_once", 3, id="at one moment"),
        pytest.param(": 1 hop a chain (", "agent_hops", 1, id="one"),
        pytest.param(": 25 turns without a person (", "own_turns", 25, id="alone"),
        pytest.param(": $0.35 a day (", "cost.cost_per_day", 0.35, id="money"),
    ],
)
def test_the_words_of_a_value(words: str, kind: str, cap: float) -> None:
    assert words in denial_text(
        LimitKind(kind), cap, "game", DecisionReason.REFUSED, has_partial=False
    )


@pytest.mark.parametrize(
    ("path", "kind", "scope"),
    [
        pytest.param("EVENNIA_AI_BUDGET_CONFIG.game.cost_per_day", "cost.cost_per_day", "",
                     id="no scope"),
        pytest.param("EVENNIA_AI_BUDGET_CONFIG.game.cost_per_day", "cost.cost_per_day",
                     "game 2026-11-21", id="game"),
        pytest.param("budget_config.assistant.tokens_total", "cost.tokens_total", "assistant ada",
                     id="hers"),
        pytest.param("budget_config.player.calls_per_minute", "cost.calls_per_minute",
                     "player *#3 x", id="player"),
        pytest.param("max_agent_hops", "agent_hops", "chain 9", id="not of money"),
    ],
)  # fmt: skip
def test_the_key_to_raise(path: str, kind: str, scope: str) -> None:
    assert path == path_of(LimitKind(kind), scope)


@pytest.mark.parametrize(
    ("question", "kind", "cap", "amount", "task"),
    [
        pytest.param("I have used my 5 steps on Tom's request. May I have 3 steps more?",
                     "max_iterations", 5, 3, "Tom's request", id="on something"),
        pytest.param("I have used my 1 model call. May I have 1 model call more?", "model_calls", 1,
                     1, "", id="one each"),
    ],
)  # fmt: skip
def test_c2_a_question_names_what_a_yes_grants(
    question: str, kind: str, cap: float, amount: float, task: str
) -> None:
    """Requirement R3."""
    assert question == question_text(LimitKind(kind), cap - 0.5, cap, amount, task, "")


@pytest.mark.parametrize(
    ("question", "kind", "numbers", "task", "whose"),
    [
        pytest.param(
            "The cap on tokens a day of the whole game leaves too little: 19,500 of 20,000 tokens "
            "of this day are used, and I am at work on Tom's request. May I have 2,000 tokens "
            "more, until the day ends?",
            "cost.tokens_per_day",
            (19_500, 20_000, 2_000),
            "Tom's request",
            "the whole game",
            id="the game",
        ),
        pytest.param(
            "The cap on US dollars a month of the player Tom leaves too little: $0.34 of $0.35 "
            "of this month are used, and I am at work. May I have $0.0025 more, until the month "
            "ends?",
            "cost.cost_per_month",
            (0.34, 0.35, 0.0025),
            "",
            "the player Tom",
            id="money",
        ),
        pytest.param(
            "The cap on tokens in all of Ada leaves too little: 900 of 1,000 tokens in all are "
            "used, and I am at work. May I have 100 tokens more, for good?",
            "cost.tokens_total",
            (900, 1_000, 100),
            "",
            "Ada",
            id="for ever",
        ),
    ],
)
def test_hole_d21_a_question_about_money_names_the_cap_whose_it_is_and_what_is_used(
    question: str, kind: str, numbers: tuple[float, float, float], task: str, whose: str
) -> None:
    assert question == question_text(LimitKind(kind), *numbers, task, whose)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ("0", 0),
        ("1,200", 1200),
        ("1,200", 1200.0),
        ("0.35", 0.35),
        ("0.30", 0.1 + 0.2),
        ("1,234.50", 1234.5),
        ("0.125", 0.125),
        ("0.0025", 0.0025),
        ("0.000001", 0.000001),
        ("0", 0.0000001),
        ("inf", float("inf")),
    ],
)
def test_numbers_read_well(expected: str, value: float) -> None:
    """A fraction of a cent is not lost."""
    assert expected == number(value)


@pytest.mark.parametrize(
    ("expected", "value", "unit"),
    [
        ("1 step", 1, "steps"),
        ("2 steps", 2, "steps"),
        ("0 steps", 0, "steps"),
        ("1 memory", 1, "memories"),
        ("1,200 memories", 1_200, "memories"),
        ("1.50 US dollars", 1.5, "US dollars"),
        ("1 US dollar", 1.0, "US dollars"),
    ],
)
def test_one_is_not_several(expected: str, value: float, unit: str) -> None:
    assert expected == counted(value, unit)
