"""The limits of one turn: where each is asked, what a yes grants, and how a no ends it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from evennia_ai.core.hearing.chain import Chain
from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.settings.safety import Loop
from evennia_ai.core.turn.react import StopReason
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine import tick
from evennia_ai.engine.bounds import require_room
from evennia_ai.engine.ports import Specs
from evennia_ai.engine.toolboxes import Timed
from evennia_ai.errors import (
    LimitReachedError,
    ModelTimeoutError,
    StaleEpochError,
    ToolDeniedError,
    ToolError,
)
from tests.engine.doubles import (
    HELLO,
    LOOK,
    Stage,
    asked,
    bounded,
    finish,
    look,
    looks,
    make_pattern,
    reply,
)


@pytest.mark.parametrize("grants", [0, 1, 2, 3])
def test_l1_iterations_grant_exactly_what_was_asked(grants: int) -> None:
    """Each yes gives exactly five more calls; the last word comes on top."""
    stage = Stage(*looks(30))
    stage.limits.grants = [True] * grants
    stop = stage.play(max_iterations=5)
    loop_calls = 5 * (1 + grants)
    assert loop_calls == stage.turn.iterations
    assert loop_calls + 1 == stage.diary.count("ask")
    assert ["max_iterations"] * (grants + 1) == asked(stage)
    assert (StopReason.MAX_ITERATIONS, LimitKind.ITERATIONS) == (stop.reason, stop.limit.kind)
    assert (loop_calls, 5) == (stop.limit.cap, stop.limit.amount)


def test_l3_model_calls_are_counted_for_a_tick_with_those_beside_the_loop() -> None:
    """One of the three calls was made outside the loop, so the third step is refused."""
    stage = bounded(Stage(*looks(9)), max_model_calls_per_tick=3)
    stage.turn.model_calls = 1
    stop = stage.play(max_iterations=9)
    assert LimitKind.MODEL_CALLS == stop.limit.kind
    assert 2 == stage.turn.iterations


def test_l3_an_extension_of_model_calls_dies_with_the_turn() -> None:
    first = bounded(Stage(*looks(9)), max_model_calls_per_tick=3)
    first.limits.grants = [True]
    first.play(max_iterations=9)
    assert 6 == first.turn.iterations
    second = bounded(Stage(*looks(9)), max_model_calls_per_tick=3)
    second.play(max_iterations=9)
    assert 3 == second.turn.iterations


def test_l6_the_visit_after_the_last_one_asks() -> None:
    """The 25th tick of a task passes, the 26th asks; refused, the turn says what it found."""
    stage = Stage(reply(HELLO))
    stage.turn.visits = 24
    assert StopReason.TERMINAL_TOOL == stage.play().reason
    assert 25 == stage.turn.visits
    late = Stage(reply(content="I have found the map so far."))
    late.turn.visits = 25
    stop = late.play()
    assert (LimitKind.CONTEXT_VISITS, True) == (stop.limit.kind, stop.is_told)
    assert ["limit context_visits", "ask", "note whisper", "run whisper"] == late.diary


def test_l7_the_call_beyond_the_cap_is_kept_while_somebody_is_asked() -> None:
    """The eleventh call waits for the yes and then runs, without another call of the model."""
    stage = bounded(Stage(*looks(10), reply(look(99)), reply(HELLO)), max_tool_calls_per_context=10)
    stage.limits.grants = [True]
    assert StopReason.TERMINAL_TOOL == stage.play(max_iterations=20).reason
    assert 12 == stage.diary.count("ask")
    begin = stage.diary.index("limit tool_calls")
    assert ["ask", "limit tool_calls", "run look"] == stage.diary[begin - 1 : begin + 2]


def test_l7_refused_no_call_is_left_without_its_result() -> None:
    stage = bounded(
        Stage(*looks(9), reply(look(98), look(99)), reply()), max_tool_calls_per_context=10
    )
    stop = stage.play(max_iterations=20)
    assert LimitKind.TOOL_CALLS == stop.limit.kind
    assert 10 == stage.diary.count("run look")
    assert "not done: the turn ended before it" in stage.results()[-1]


def test_l8_a_yes_makes_the_call_that_ran_out_of_time_anew() -> None:
    """The repeated call counts as the same step."""
    hit = LimitReachedError(LimitKind.TICK_SECONDS, used=30, cap=30, amount=30, scope="task e1")
    stage = Stage(hit, reply(HELLO))
    stage.limits.grants = [True]
    assert StopReason.TERMINAL_TOOL == stage.play().reason
    assert (1, ["tick_seconds"]) == (stage.turn.iterations, asked(stage))


@pytest.mark.parametrize("windows", [0, 1, 3])
def test_l9_each_yes_is_one_more_window(windows: int) -> None:
    """Refused, the timeout counts as an error of the model."""

    def late() -> LimitReachedError:
        kind = LimitKind.MODEL_CALL_SECONDS
        hit = LimitReachedError(kind, used=60, cap=60, amount=60, scope="task e1")
        hit.__cause__ = ModelTimeoutError("no whole answer within 60 s")
        return hit

    stage = Stage(*[late() for _ in range(9)])
    stage.limits.grants = [True] * windows
    stop = stage.play()
    assert windows + 1 == stage.diary.count("ask")
    assert (StopReason.LLM_ERROR, True, False) == (stop.reason, stop.is_counted, stop.is_told)
    assert "no whole answer within 60 s" in stop.detail


def test_l10_a_reply_with_thousands_of_calls() -> None:
    """Ten of them run, the model reads how many did not, and the cut is recorded."""
    calls = [look(number) for number in range(3451)]
    stage = Stage(reply(*calls), reply(HELLO))
    assert StopReason.TERMINAL_TOOL == stage.play(calls_per_reply=10).reason
    assert 10 == stage.diary.count("run look")
    advisory = json.loads(stage.results()[9])["advisory"]
    assert "3441 more calls were left out: 10 a reply" == advisory
    assert [(LimitKind.CALLS_PER_REPLY, 3451, 10)] == [
        (h.kind, h.used, h.cap) for h in stage.limits.hits
    ]


def test_l10_as_many_calls_as_are_allowed_are_no_matter() -> None:
    stage = Stage(reply(look(1), look(2)), reply(HELLO))
    stage.play(calls_per_reply=2)
    assert [] == stage.limits.hits


@pytest.mark.parametrize(
    ("cap", "kind", "steps"),
    [
        pytest.param(6, LimitKind.TASK_ITERATIONS, 6, id="up to the cap"),
        pytest.param(0, LimitKind.ITERATIONS, 13, id="no cap is no end"),
    ],
)
def test_b1_the_steps_of_a_task_count_over_its_ticks(cap: int, kind: str, steps: int) -> None:
    stage = bounded(Stage(*looks(9)), max_iterations_per_task=cap)
    stage.turn.iterations = 4  # of earlier ticks
    stop = stage.play(max_iterations=9)
    assert (kind, steps) == (stop.limit.kind, stage.turn.iterations)


def test_b1_a_grant_of_steps_is_exact() -> None:
    """A yes adds the cap once more, and a new task starts at zero."""
    stage = bounded(Stage(*looks(9)), max_iterations_per_task=2)
    stage.limits.grants = [True]
    stop = stage.play(max_iterations=9)
    assert (LimitKind.TASK_ITERATIONS, 4) == (stop.limit.kind, stage.turn.iterations)


def test_b2_the_tokens_of_a_task_end_it_when_they_are_used() -> None:
    """Reaching the limit exactly ends the task; a yes grants as many tokens again."""
    stage = bounded(Stage(*looks(9, tokens=49)), max_tokens_per_task=100)
    stage.limits.grants = [True]
    stop = stage.play(max_iterations=9)
    assert (LimitKind.TASK_TOKENS, 4) == (stop.limit.kind, stage.turn.iterations)


def test_what_happened_while_somebody_was_asked_counts() -> None:
    """A stop that comes during the question ends the turn, even after a yes."""
    stage = Stage(*looks(9))
    stage.limits.grants = [True]
    stage.limits.on_ask = stage.checkpoint_store.cancel
    with pytest.raises(StaleEpochError):
        stage.play(max_iterations=2)
    assert 2 == stage.diary.count("ask")


# ---- going in circles ------------------------------------------------------------------------


def test_the_same_failure_is_told_once_and_then_ends_the_turn() -> None:
    """After three equal failures the model is warned; the fourth locks the assistant."""
    stage = Stage(*[reply(LOOK) for _ in range(9)])
    stage.tools.outcomes = {"look": [ToolError("there is no such thing") for _ in range(9)]}
    stop = stage.play(max_iterations=9)
    assert Cause.REPEAT == stop.halt.cause
    assert 4 == stage.diary.count("run look")
    alerts = [number for number, text in enumerate(stage.results()) if "SYSTEM ALERT" in text]
    assert [2] == alerts
    assert (True, False) == (stop.is_failure, stop.is_counted)


def test_a_halt_leaves_no_call_without_a_result() -> None:
    stage = Stage(reply(*[LOOK] * 6))
    stage.tools.outcomes = {"look": [ToolError("there is no such thing") for _ in range(9)]}
    assert Cause.REPEAT == stage.play(calls_per_reply=6).halt.cause
    assert (4, 6) == (stage.diary.count("run look"), len(stage.results()))


def test_an_answer_that_cannot_be_read_counts_as_an_anomaly() -> None:
    """Seven of nine calls fail; the empty reply is the eighth anomaly in ten: a cascade."""
    answers = [reply(look(number)) for number in range(9)]
    stage = Stage(*answers, reply())
    stage.tools.outcomes = {"look": [ToolError("no") for _ in range(7)]}
    stop = stage.play(max_iterations=12)
    assert Cause.CASCADE == stop.halt.cause


def test_no_step_waits_for_what_the_other_turn_did() -> None:
    """Turns share no counts: the second may look as often as the first."""
    for _ in range(2):
        stage = Stage(*looks(3), reply(HELLO))
        assert StopReason.TERMINAL_TOOL == finish(stage.start(max_iterations=9)).reason


# ---- tools and time --------------------------------------------------------------------------


def test_a_tool_gets_no_more_time_than_its_tick_has() -> None:
    """The call carries the time left; without a limit, and for a last word, it carries none."""
    stage = Stage()
    seen: list[float | None] = []

    class Watched:
        def specs(self) -> Specs:
            return stage.tools.specs()

        async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
            seen.append(call.deadline_seconds)
            return ToolResult(True, "done")

    left: list[float | None] = [12.5, None]
    tools = Timed(Watched(), lambda: left.pop(0))
    assert {"say", "whisper", "look", "dig", "noop"} == set(tools.specs())
    for _ in range(2):
        finish(tools.run(LOOK, stage.turn))
    stage.turn.stopped_by = "max_iterations"
    finish(tools.run(LOOK, stage.turn))
    assert [12.5, None, None] == seen


@pytest.mark.parametrize("may_go_on", [True, False], ids=["a yes", "a no"])
def test_l8_a_tool_without_time_waits_for_the_answer(may_go_on: bool) -> None:
    stage = Stage(reply(LOOK), reply(HELLO) if may_go_on else reply())
    hits = [LimitReachedError(LimitKind.TICK_SECONDS, used=30, cap=30, amount=30, scope="task e1")]

    def left() -> float | None:
        if hits:
            raise hits.pop()
        return None

    stage.limits.grants = [may_go_on]
    ports = stage.ports()
    timed = replace(ports, toolbox=Timed(ports.toolbox, left))
    stop = finish(tick.run(stage.turn, timed, make_pattern()))
    assert may_go_on is (stop.limit is None)
    assert int(may_go_on) == stage.diary.count("run look")
    assert (2 if may_go_on else 1) == len(stage.results())


def test_b6_what_a_lock_forbids_counts_as_an_anomaly() -> None:
    """Denied calls count like failed ones: eight in ten are a cascade."""
    stage = Stage(*[reply(look(number)) for number in range(10)])
    stage.tools.outcomes = {"look": [ToolDeniedError("you may not look") for _ in range(10)]}
    assert Cause.CASCADE == stage.play(max_iterations=10).halt.cause


@pytest.mark.parametrize("grants", [(), (True,)], ids=["and a no", "and a yes"])
def test_hole_d25_others_of_its_chain_used_its_steps_up(grants: tuple[bool, ...]) -> None:
    """Steps of any turn of a chain count for all its turns, and so does an extension."""
    stage = Stage(*looks(1), reply(HELLO), reply(content="So far nothing."))
    stage.turn.chain = Chain("e1", "*#3", steps=7, most_steps=7)
    stage.limits.grants = list(grants)
    stop = stage.play()
    (hit,) = stage.limits.hits
    assert (7, 7, "chain e1") == (hit.used, hit.cap, hit.scope)
    assert (None if grants else hit) == stop.limit
    assert ({LimitKind.TASK_ITERATIONS: 7} if grants else {}) == stage.turn.chain.grants


@pytest.mark.parametrize(
    ("kind", "loop", "turn", "chain"),
    [
        pytest.param("", {}, {"model_calls": 999, "earlier_tokens": 10**9}, {}, id="no limits"),
        pytest.param("", {"max_model_calls_per_tick": 4}, {"model_calls": 2}, {}, id="one left"),
        pytest.param(
            "model_calls", {"max_model_calls_per_tick": 4}, {"model_calls": 3}, {}, id="the last"
        ),
        pytest.param(
            "", {"max_model_calls_per_tick": 4}, {"model_calls": 3, "grants": {"model_calls": 1}},
            {}, id="granted",
        ),
        pytest.param("", {"max_tokens_per_task": 801}, {"earlier_tokens": 700}, {}, id="it fits"),
        pytest.param(
            "task_tokens", {"max_tokens_per_task": 800}, {"earlier_tokens": 700}, {}, id="tokens"
        ),
        pytest.param("", {}, {}, {"tokens": 700, "most_tokens": 801}, id="it fits the chain"),
        pytest.param(
            "task_tokens", {}, {}, {"tokens": 700, "most_tokens": 800}, id="tokens of the chain"
        ),
    ],
)  # fmt: skip
def test_a_call_beside_the_loop_leaves_room_for_an_answer(
    kind: str, loop: dict[str, int], turn: dict[str, Any], chain: dict[str, int]
) -> None:
    """One model call of the tick and some tokens of task and chain must remain after it."""
    limits = Loop(**{"max_model_calls_per_tick": 0, "max_tokens_per_task": 0, **loop})
    asking = Turn(1, (HELLO,), chain=Chain("c", **chain), **turn)
    if not kind:
        require_room(asking, limits, 100)
        return
    with pytest.raises(LimitReachedError) as caught:
        require_room(asking, limits, 100)
    scope = "chain c" if chain else asking.scope
    assert (kind, scope) == (caught.value.kind, caught.value.scope)
