"""The limit checkpoint: its decision in each mode, its questions and its records."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.safety.limits import LIMITS, Decision, DecisionReason, LimitKind, Mode
from evennia_ai.core.safety.questions import LIMIT_PREFIX, Answer, ApprovalRequest, QuestionOutcome
from evennia_ai.core.settings.safety import OnLimit
from evennia_ai.engine.checkpoint import Bus, Checkpoint, Extensions
from evennia_ai.errors import LimitReachedError, StaleEpochError
from tests.engine.doubles import Pause, finish

YES, NO = (
    Answer(QuestionOutcome.ANSWERED, "yes", "Tom"),
    Answer(QuestionOutcome.ANSWERED, "no", "Tom"),
)


class CancelledError(Exception):
    """An ordinary exception, as Twisted's is."""


@dataclass
class ListedBus:
    """Gives one answer to every question, or raises it.

    Attributes:
        asked: the questions with their timeouts.
        waits: whether each answer takes a pause.
    """

    answer: Answer | BaseException = YES
    asked: list[tuple[ApprovalRequest, float]] = field(default_factory=list)
    waits: bool = False

    async def ask(self, asking: ApprovalRequest, timeout_seconds: float) -> Answer:
        self.asked.append((asking, timeout_seconds))
        if self.waits:
            await Pause()
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@dataclass
class Desk:
    """A checkpoint with everything it reports to."""

    bus: Bus | None = field(default_factory=ListedBus)
    config: OnLimit = field(default_factory=OnLimit)
    records: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    reported: list[BaseException] = field(default_factory=list)
    extensions: Extensions = field(default_factory=Extensions)

    def start(self, hit: LimitReachedError, **more: str) -> Any:
        def record(event: str, facts: Mapping[str, object]) -> None:
            self.records.append((event, dict(facts)))

        checkpoint = Checkpoint(
            self.config, self.bus, self.extensions, record, self.reported.append, (CancelledError,)
        )
        return checkpoint.handle_limit_exceeded(hit, **more)

    def decide(self, hit: LimitReachedError, **more: str) -> Decision:
        return finish(self.start(hit, **more))  # type: ignore[no-any-return]


def make_hit(
    kind: str = "max_iterations", scope: str = "t1", amount: float = 3
) -> LimitReachedError:
    """The error of a limit that is reached at 5 of 5."""
    return LimitReachedError(kind, used=5, cap=5, amount=amount, scope=scope)


def desk(mode: str = "interactive", answer: Answer | BaseException = YES, **config: Any) -> Desk:
    """A desk in this mode, whose bus gives this answer."""
    return Desk(ListedBus(answer), OnLimit.model_construct(mode=Mode(mode), **config))


def asked_of(at: Desk) -> list[tuple[ApprovalRequest, float]]:
    assert isinstance(at.bus, ListedBus)
    return at.bus.asked


def test_c1_unattended_refuses_at_once() -> None:
    at = desk("unattended")
    assert Decision(False, 0.0, DecisionReason.UNATTENDED) == at.decide(make_hit())
    assert [] == asked_of(at)


def test_c2_a_yes_grants_the_amount() -> None:
    at = desk(ask_timeout_seconds=45.0)
    decision = at.decide(make_hit(amount=3), task="Tom's request", detail="two done", actor="Ada")
    assert Decision(True, 3, DecisionReason.APPROVED) == decision
    expected = ApprovalRequest(
        key="t1 max_iterations",
        kind="safety.limit.max_iterations",
        prompt="I have used my 5 steps on Tom's request. May I have 3 steps more?",
        detail="two done",
        actor="Ada",
    )
    assert [(expected, 45.0)] == asked_of(at)
    assert ["yes", "no"] == [choice.id for choice in asked_of(at)[0][0].choices]
    assert expected.kind.startswith(LIMIT_PREFIX)


@pytest.mark.parametrize(
    ("reason", "answer"),
    [
        pytest.param("user_refused", NO, id="c3 no"),
        pytest.param(
            "user_refused", Answer(QuestionOutcome.ANSWERED, "maybe"), id="c4 another choice"
        ),
        pytest.param("user_refused", Answer(QuestionOutcome.ANSWERED), id="c4 no choice"),
        pytest.param(
            "user_refused", Answer(QuestionOutcome.ANSWERED, "YES"), id="c4 not the choice's id"
        ),
        pytest.param("ask_timeout", Answer(QuestionOutcome.TIMEOUT), id="c6 too late"),
        pytest.param(
            "ask_timeout", Answer(QuestionOutcome.TIMEOUT, "yes"), id="c6 a yes that is too late"
        ),
        pytest.param("no_operator", Answer(QuestionOutcome.NOBODY), id="c11 nobody there"),
        pytest.param("crowded", Answer(QuestionOutcome.CROWDED), id="too many wait already"),
        pytest.param(
            "no_operator", Answer(QuestionOutcome.NOBODY, "yes"), id="c11 nobody, whatever he says"
        ),
        pytest.param("withdrawn", Answer(QuestionOutcome.DISCARDED, "yes"), id="withdrawn"),
    ],
)
def test_c3_c4_c6_c11_whatever_is_no_yes_is_a_no(reason: str, answer: Answer) -> None:
    at = desk(answer=answer)
    assert Decision(False, 0.0, DecisionReason(reason)) == at.decide(make_hit())
    assert 1 == len(asked_of(at))
    assert [] == at.reported


def test_a_cap_that_changed_meanwhile_is_tried_again() -> None:
    """The turn goes on without an extension, and meets the new cap if that is too low."""
    at = desk(answer=Answer(QuestionOutcome.MOOT))
    assert Decision(True, 0.0, DecisionReason.CAP_CHANGED) == at.decide(make_hit())
    assert ["safety_limit_checkpoint"] == [name for name, _ in at.records]


def test_c5_without_a_way_to_ask() -> None:
    assert Decision(False, 0.0, DecisionReason.NO_BUS) == Desk(bus=None).decide(make_hit())


@pytest.mark.parametrize("error", [RuntimeError("gone"), KeyError("x"), TimeoutError()])
def test_c7_asking_that_fails_is_a_no(error: Exception) -> None:
    """The error is reported, and no turn goes on because of it (R9)."""
    at = desk(answer=error)
    assert Decision(False, 0.0, DecisionReason.BUS_ERROR) == at.decide(make_hit())
    assert [error] == at.reported
    assert ["safety_limit_checkpoint", "limit_denied"] == [name for name, _ in at.records]


@pytest.mark.parametrize("times", [0, 1, 5])
def test_c8_auto_extend_grants_so_often_and_no_oftener(times: int) -> None:
    at = desk("auto_extend", auto_extend_times=times)
    grants = [Decision(True, 3, DecisionReason.AUTO_EXTENDED)] * times
    noes = [Decision(False, 0.0, DecisionReason.AUTO_EXTEND_SPENT)] * 3
    assert grants + noes == [at.decide(make_hit()) for _ in range(times + 3)]
    assert [] == asked_of(at)
    assert times == at.extensions.used("t1", "max_iterations")


PERIODS = {"day": "2026-11-21", "month": "2026-11", "minute": "2026-11-21 13:05"}


@given(
    st.integers(0, 4),
    st.lists(
        st.tuples(st.sampled_from(["t1", "t2", "t1 b"]), st.sampled_from(list(LimitKind))),
        max_size=60,
    ),
)
def test_c8_c9_grants_are_exact_for_each_scope_and_kind(
    times: int, hits: list[tuple[str, LimitKind]]
) -> None:
    modes = {kind.value: Mode.AUTO_EXTEND for kind in LimitKind}
    at = desk("auto_extend", auto_extend_times=times, modes=modes)
    # A cap's scope ends with its period, which is the same for all who hit it at one time.
    hits = [(f"{scope} {PERIODS.get(LIMITS[kind].span, '')}".strip(), kind) for scope, kind in hits]
    allowed = Counter(hit for hit in hits if at.decide(make_hit(hit[1], hit[0])).allow_continue)
    for (scope, kind), count in Counter(hits).items():
        expected = min(count, times) if LIMITS[kind].asks else 0
        assert expected == allowed[scope, kind] == at.extensions.used(scope, kind)


def test_c8_c9_grants_are_exact_among_tasks_that_wait() -> None:
    """Tasks that wait for an answer use up none of the automatic grants of others."""
    bus = ListedBus(waits=True)
    at = Desk(bus, OnLimit(mode=Mode.AUTO_EXTEND, modes={"model_calls": Mode.INTERACTIVE}))
    asked = [at.start(make_hit("model_calls", f"t{n}")) for n in range(3)]
    for waiting in asked:
        waiting.send(None)
    assert [True, False] == [at.decide(make_hit()).allow_continue for _ in range(2)]
    assert [Decision(True, 3, DecisionReason.APPROVED)] * 3 == [
        finish(waiting) for waiting in asked
    ]
    assert {("t1", "max_iterations"): 1} == at.extensions.counts


def test_c10_ended_scopes_leave_nothing() -> None:
    """Counts that outlive their tasks would be a memory leak (R5)."""
    at = desk("auto_extend")
    at.decide(make_hit(scope="kept"))
    for number in range(10_000):
        scope = f"t{number}"
        assert at.decide(make_hit(scope=scope)).allow_continue
        assert at.decide(make_hit("model_calls", scope)).allow_continue
        at.extensions.end(scope)
        at.records.clear()
    assert {("kept", "max_iterations"): 1} == at.extensions.counts
    at.extensions.end("never begun")
    at.extensions.end("kept")
    assert {} == at.extensions.counts


def test_c10_a_scope_that_begins_again_is_new() -> None:
    """Grants end with their scope, even if the next scope has the same name (R6)."""
    at = desk("auto_extend")
    assert [True, False] == [at.decide(make_hit()).allow_continue for _ in range(2)]
    at.extensions.end("t1")
    assert [True, False] == [at.decide(make_hit()).allow_continue for _ in range(2)]


@pytest.mark.parametrize("kind", [pytest.param(k, id=k.value) for k in LimitKind if LIMITS[k].asks])
def test_c11_nobody_there_is_the_same_at_every_limit(kind: LimitKind) -> None:
    """Interactive mode never grants by itself, at any limit (R8)."""
    modes = {kind.value: Mode.INTERACTIVE}
    at = desk(answer=Answer(QuestionOutcome.NOBODY), auto_extend_times=5, modes=modes)
    assert Decision(False, 0.0, DecisionReason.NO_OPERATOR) == at.decide(make_hit(kind))


def test_c12_a_wait_of_0_is_for_ever() -> None:
    bus = ListedBus(waits=True)
    waiting = Desk(bus, OnLimit(ask_timeout_seconds=0.0)).start(make_hit())
    assert "waiting" == waiting.send(None)
    assert [0.0] == [seconds for _, seconds in bus.asked]
    assert Decision(True, 3, DecisionReason.APPROVED) == finish(waiting)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(CancelledError("cancelled"), id="as Twisted cancels"),
        pytest.param(StaleEpochError(1, 2), id="a turn of an earlier epoch"),
        pytest.param(GeneratorExit(), id="a coroutine that is closed"),
        pytest.param(KeyboardInterrupt(), id="a server that ends"),
    ],
)
def test_c13_cancelling_goes_through(error: BaseException) -> None:
    bus = ListedBus(waits=True)
    at = Desk(bus)
    waiting = at.start(make_hit())
    waiting.send(None)
    with pytest.raises(type(error)) as raised:
        waiting.throw(error)
    assert error is raised.value
    assert ([], [], {}) == (at.records, at.reported, at.extensions.counts)
    assert 1 == len(bus.asked)


def test_c13_without_further_exceptions_a_turn_is_cancelled_all_the_same() -> None:
    """A stale epoch is raised even where the checkpoint is told of no cancelling exceptions."""
    error = StaleEpochError(1, 2)
    checkpoint = Checkpoint(OnLimit(), ListedBus(error), Extensions(), lambda *_: None, print)
    with pytest.raises(StaleEpochError):
        finish(checkpoint.handle_limit_exceeded(make_hit()))


def test_c14_who_hits_the_same_limit_asks_the_same_question() -> None:
    """Hits of one limit within one task share a key, so that one question serves them all (R13)."""
    at = desk()
    for hit in (make_hit(), make_hit(), make_hit(), make_hit("model_calls"), make_hit(scope="t2")):
        at.decide(hit)
    keys = [asking.key for asking, _ in asked_of(at)]
    assert {"t1 max_iterations": 3, "t1 model_calls": 1, "t2 max_iterations": 1} == Counter(keys)


@pytest.mark.parametrize(
    ("reason", "answer"),
    [
        pytest.param("user_approved", YES, id="the yes came first"),
        pytest.param("ask_timeout", Answer(QuestionOutcome.TIMEOUT), id="the time was over first"),
    ],
)
def test_c15_one_question_has_one_outcome(reason: str, answer: Answer) -> None:
    at = desk(answer=answer)
    decision = at.decide(make_hit())
    recorded = [facts["reason"] for name, facts in at.records if name == "safety_limit_checkpoint"]
    assert [reason] == recorded == [decision.reason.value]


DECISIONS: dict[str, tuple[Mode, Callable[[], Bus | None]]] = {
    "user_approved": (Mode.INTERACTIVE, ListedBus),
    "user_refused": (Mode.INTERACTIVE, lambda: ListedBus(NO)),
    "no_bus": (Mode.INTERACTIVE, lambda: None),
    "auto_extended": (Mode.AUTO_EXTEND, ListedBus),
    "unattended": (Mode.UNATTENDED, ListedBus),
}


@pytest.mark.parametrize("reason", DECISIONS)
@pytest.mark.parametrize("kind", list(LimitKind))
def test_c16_every_decision_of_every_kind_is_written_down(kind: LimitKind, reason: str) -> None:
    mode, bus = DECISIONS[reason]
    at = Desk(bus(), OnLimit.model_construct(modes={kind.value: mode}))
    decision = at.decide(make_hit(kind, "t1", 7))
    facts = {
        "kind": kind.value,
        "scope": "t1",
        "used": 5,
        "cap": 5,
        "mode": mode.value,
        "allow_continue": decision.allow_continue,
        "extension": decision.extension,
        "reason": reason if LIMITS[kind].asks else "not_askable",
    }
    names = ["safety_limit_checkpoint"] + ["limit_denied"] * (not decision.allow_continue)
    assert [(name, facts) for name in names] == at.records
    assert (7 if decision.allow_continue else 0) == decision.extension
    with pytest.raises(AttributeError):
        decision.allow_continue = True  # type: ignore[misc]


def test_c16_a_record_is_plain_data() -> None:
    """Records are stored, so their values are plain."""
    at = desk()
    at.decide(make_hit())
    assert {str, int, float, bool} >= {type(value) for value in at.records[0][1].values()}


def test_a_limit_that_is_none_is_a_mistake() -> None:
    """An unknown limit raises at once, and nobody is asked."""
    at = desk()
    with pytest.raises(ValueError, match="max_steps"):
        at.decide(make_hit("max_steps"))
    assert [] == asked_of(at)


def test_hole_d29_counts_of_days_gone_by_are_freed() -> None:
    """Only earlier days of the same limit are freed; the counts of a task end with the task."""
    counts = Extensions()
    counts.count("assistant ada 2026-11-21", LimitKind.TOKENS_PER_DAY)
    counts.count("task e1", LimitKind.ITERATIONS)
    for _ in range(2):
        counts.count("assistant ada 2026-11-22", LimitKind.TOKENS_PER_DAY)
    assert {
        ("task e1", LimitKind.ITERATIONS): 1,
        ("assistant ada 2026-11-22", LimitKind.TOKENS_PER_DAY): 2,
    } == counts.counts
