"""Wrappers around the running of a tool: note, cache, retries, breaker, time, privacy."""

from dataclasses import replace

import pytest
from twisted.internet.defer import Deferred

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.toolboxes import Cached, Confined, Noted, Protected, Retried, Timely
from evennia_ai.errors import (
    CircuitOpenError,
    NobodyListensError,
    StaleEpochError,
    ToolError,
    ToolTimeoutError,
)
from evennia_ai.resilience import CircuitBreakerRegistry, RetryConfig, ToolResultCache
from tests.core.samples import make_event
from tests.engine.doubles import DIG, HELLO, LOOK, SPECS, EpochCheckpointStore, ListedTools, finish

TURN = Turn(7, (make_event(),))


class TestNoted:
    @pytest.mark.parametrize(
        ("diary", "effects", "call", "outcome"),
        [
            pytest.param("note whisper, run whisper", 1, HELLO, None, id="it worked"),
            pytest.param(
                "note whisper, run whisper, forget",
                0,
                HELLO,
                ToolResult(False, "no"),
                id="it did not",
            ),
            pytest.param("run look", 0, LOOK, None, id="nobody notices"),
        ],
    )
    def test_it_comes_first(
        self, diary: str, effects: int, call: ToolCall, outcome: ToolResult | None
    ) -> None:
        """The note comes before the act, and is taken back when nothing happened."""
        written: list[str] = []
        tools = ListedTools(written, {call.name: [outcome] if outcome else []})
        turn = Turn(7, (make_event(),))
        finish(Noted(tools, EpochCheckpointStore(written)).run(call, turn))
        assert (diary, effects) == (", ".join(written), turn.effects)


class TestCached:
    def make(self, diary: list[str], *, is_cacheable: bool = True) -> Cached:
        """A cache around `look` and `dig`."""
        looks = replace(SPECS[2], cacheable=is_cacheable)
        tools = ListedTools(diary, offered=(looks, SPECS[3]))
        return Cached(tools, ToolResultCache(), finish)

    def test_an_equal_call_is_answered_with_it(self) -> None:
        diary: list[str] = []
        cached = self.make(diary)
        there = replace(LOOK, arguments={"target": "lamp"})
        results = [finish(cached.run(call, TURN)) for call in (LOOK, LOOK, there)]
        assert [ToolResult(True, "look done")] * 3 == results
        assert ["run look"] * 2 == diary

    @pytest.mark.parametrize(("scope", "runs"), [("tick", 2), ("session", 1)])
    def test_another_turn_is_answered_with_it_in_a_session_only(
        self, scope: str, runs: int
    ) -> None:
        diary: list[str] = []
        looks = replace(SPECS[2], cacheable=True, cache_scope=scope)
        cached = Cached(ListedTools(diary, offered=(looks,)), ToolResultCache(), finish)
        for number in (1, 2):
            finish(cached.run(LOOK, Turn(7, (make_event(id=f"e{number}"),))))
        assert ["run look"] * runs == diary

    def test_only_where_the_tool_says_so(self) -> None:
        """A tool that is not marked as cacheable is run each time."""
        diary: list[str] = []
        cached = self.make(diary, is_cacheable=False)
        for _ in range(2):
            finish(cached.run(LOOK, TURN))
        assert ["run look"] * 2 == diary

    def test_the_world_has_changed(self) -> None:
        """An act that others notice empties the cache."""
        diary: list[str] = []
        cached = self.make(diary)
        for call in (LOOK, DIG, LOOK):
            finish(cached.run(call, TURN))
        assert ["run look", "run dig", "run look"] == diary

    def test_a_failure_is_not_kept(self) -> None:
        diary: list[str] = []
        cached = self.make(diary)
        assert isinstance(cached.inner, ListedTools)
        cached.inner.outcomes = {"look": [ToolResult(False, "dark")]}
        results = [finish(cached.run(LOOK, TURN)).success for _ in range(2)]
        assert [False, True] == results

    def test_a_failure_by_an_error_is_a_result(self) -> None:
        """Also where the cache shares the outcome between those who wait for it."""
        diary: list[str] = []
        looks = replace(SPECS[2], cacheable=True)
        tools = ListedTools(diary, {"look": [ToolError("dark")] * 2}, offered=(looks,))
        inner = Protected(tools, CircuitBreakerRegistry(), lambda turn, call, error: None)
        cached = Cached(inner, ToolResultCache(), Deferred.fromCoroutine)
        results = [finish(cached.run(LOOK, TURN)) for _ in range(2)]
        assert [ToolResult(False, "dark", Fault.FAILED)] * 2 == results
        assert ["run look"] * 2 == diary

    def test_one_that_is_under_way_is_shared(self) -> None:
        """An equal call that comes meanwhile waits for the first."""
        diary: list[str] = []
        door: Deferred[None] = Deferred()

        class Slow(ListedTools):
            async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
                await door
                return await super().run(call, turn)

        tools = Slow(diary, offered=(replace(SPECS[2], cacheable=True),))
        cached = Cached(tools, ToolResultCache(), Deferred.fromCoroutine)
        results: list[ToolResult] = []
        for _ in range(2):
            Deferred.fromCoroutine(cached.run(LOOK, TURN)).addCallback(results.append)
        door.callback(None)
        assert ([ToolResult(True, "look done")] * 2, ["run look"]) == (results, diary)


class TestRetried:
    def run(
        self, call: ToolCall, *outcomes: ToolResult | BaseException, attempts: int = 4
    ) -> tuple[ToolResult, list[str], list[float]]:
        """The result, the diary and the waits."""
        diary: list[str] = []
        waits: list[float] = []

        async def wait(seconds: float) -> None:
            waits.append(seconds)

        tools = ListedTools(diary, {call.name: list(outcomes)})
        inner = Protected(tools, CircuitBreakerRegistry(), lambda turn, call, error: None)
        config = RetryConfig(max_attempts=attempts, jitter=False)
        retried = Retried(inner, config, wait, lambda: sum(waits), lambda: 0.0)
        return finish(retried.run(call, TURN)), diary, waits

    def test_what_may_pass_is_tried_again(self) -> None:
        result, diary, waits = self.run(LOOK, ToolError("try again"), ConnectionError("gone"))
        assert (True, 3, [1.0, 2.0]) == (result.success, len(diary), waits)

    def test_what_will_not_pass_is_not(self) -> None:
        result, diary, waits = self.run(LOOK, ToolError("it is dark"))
        assert ("it is dark", 1, []) == (result.text, len(diary), waits)

    def test_what_others_notice_is_run_once(self) -> None:
        """Nobody hears the same words twice because the first attempt may have failed."""
        result, diary, _ = self.run(HELLO, ToolError("connection lost, try again"))
        assert (False, 1) == (result.success, len(diary))

    def test_it_has_an_end(self) -> None:
        """Retries end at their number or at the tool's time limit of 30 seconds."""
        result, diary, _ = self.run(LOOK, *[ToolError("try again")] * 9, attempts=3)
        assert (False, 3) == (result.success, len(diary))
        result, diary, waits = self.run(LOOK, *[ToolError("try again")] * 99, attempts=99)
        assert sum(waits) < 30
        assert len(waits) + 1 == len(diary)


class TestProtected:
    @pytest.mark.parametrize(
        ("text", "fault", "reports", "outcome"),
        [
            pytest.param("ok", None, 0, ToolResult(True, "ok"), id="a result"),
            pytest.param("not here", Fault.FAILED, 0, ToolError("not here"), id="a refusal"),
            pytest.param("late", Fault.TIMEOUT, 0, ToolTimeoutError("late"), id="too late"),
            pytest.param("whisper failed inside the game; do something else", Fault.INTERNAL, 1,
                         KeyError("bug"), id="a defect"),
            pytest.param("whisper does not work at present; do without it", Fault.UNAVAILABLE, 0,
                         CircuitOpenError("mcp:almanac", 9.0), id="what is behind it is down"),
        ],
    )  # fmt: skip
    def test_whatever_a_tool_raises_becomes_a_result(
        self, text: str, fault: Fault | None, reports: int, outcome: ToolResult | BaseException
    ) -> None:
        """Only unexpected errors are reported."""
        reported: list[tuple[str, BaseException]] = []
        tools = ListedTools([], {"whisper": [outcome]})
        protected = Protected(
            tools,
            CircuitBreakerRegistry(),
            lambda turn, call, error: reported.append((call.name, error)),
        )
        result = finish(protected.run(HELLO, TURN))
        assert (text, fault) == (result.text, result.fault)
        assert [("whisper", outcome)] * reports == reported

    @pytest.mark.parametrize(
        ("is_shut", "outcome"),
        [
            pytest.param(True, KeyError("bug"), id="a defect"),
            pytest.param(True, ToolTimeoutError("late"), id="too late"),
            pytest.param(False, ToolError("not here"), id="a refusal says that it works"),
            pytest.param(False, StaleEpochError(7, 8), id="a cancelled turn says nothing"),
        ],
    )
    def test_a_tool_that_fails_is_left_alone(self, is_shut: bool, outcome: BaseException) -> None:
        """After five failures it is not run for a while, and the model is told to do without."""
        diary: list[str] = []
        tools = ListedTools(diary, {"look": [outcome] * 9})
        breakers = CircuitBreakerRegistry(clock=lambda: 0.0)
        protected = Protected(tools, breakers, lambda turn, call, error: None)
        results = []
        for _ in range(6):
            try:
                results.append(finish(protected.run(LOOK, TURN)))
            except StaleEpochError:
                continue
        assert (5 if is_shut else 6) == len(diary)
        if is_shut:
            assert Fault.UNAVAILABLE is results[-1].fault
        assert finish(protected.run(HELLO, TURN)).success

    @pytest.mark.parametrize(
        "outcome",
        [
            pytest.param(StaleEpochError(7, 8), id="a cancelled turn"),
            pytest.param(KeyboardInterrupt(), id="the process is to end"),
        ],
    )
    def test_an_end_is_let_through(self, outcome: BaseException) -> None:
        tools = ListedTools([], {"whisper": [outcome]})
        protected = Protected(tools, CircuitBreakerRegistry(), lambda turn, call, error: None)
        with pytest.raises(type(outcome)):
            finish(protected.run(HELLO, TURN))


class TestTimely:
    def run(self, given: ToolCall | ToolResult | None, *outcomes: ToolResult) -> ToolResult:
        """Whisper, where the check of time gives another call, a result, or None for no change."""
        self.diary, self.turn = list[str](), Turn(7, (make_event(),))

        def timed(turn: Turn, spec: ToolSpec, call: ToolCall) -> ToolCall | ToolResult:
            assert (spec.name, HELLO) == ("whisper", call)
            return given or call

        name = given.name if isinstance(given, ToolCall) else ""
        tools = ListedTools(self.diary, {name: list(outcomes)})
        return finish(Timely(tools, timed).run(HELLO, self.turn))

    def test_in_its_moment_it_runs_as_it_is(self) -> None:
        assert ("moment" in self.run(None).text, self.diary) == (False, ["run whisper"])

    def test_another_way_is_told(self) -> None:
        """The model reads that its words went by another tool."""
        text = self.run(replace(HELLO, name="look")).text
        assert text.startswith("its moment was over, so it went by look: ")
        assert (["run look"], "look") == (self.diary, self.turn.stale_way)

    def test_one_call_alone_may_not_run(self) -> None:
        """The refusal is the call's result, and the turn goes on."""
        refused = ToolResult(False, "not done", Fault.NOT_RUN)
        assert (refused, [], "") == (self.run(refused), self.diary, self.turn.stale_way)

    def test_a_page_that_fails_ends_the_turn(self) -> None:
        """The answer waits; with any other tool the model reads of the failure."""
        failed = ToolResult(False, "nobody is online", Fault.FAILED)
        with pytest.raises(NobodyListensError, match="nobody is online") as caught:
            self.run(replace(HELLO, name="page"), failed)
        assert (False, "wait") == (caught.value.is_over, self.turn.stale_way)
        result = self.run(replace(HELLO, name="look"), failed)
        assert (False, "wait") == (result.success, self.turn.stale_way)

    def test_what_is_not_given_does_not_run(self) -> None:
        """The check of time may end the turn, and then there is no result."""

        def never(turn: Turn, spec: ToolSpec, call: ToolCall) -> ToolCall:
            raise NobodyListensError("Tom had left", is_over=True)

        diary: list[str] = []
        with pytest.raises(NobodyListensError, match="Tom had left") as caught:
            finish(Timely(ListedTools(diary), never).run(HELLO, TURN))
        assert (True, []) == (caught.value.is_over, diary)


class TestConfined:
    def run(self, outcome: ToolCall | ToolResult, held: str = "person:account-3") -> Turn:
        """A turn that whispers, of which the guard makes this outcome."""
        self.diary: list[str] = []
        turn = Turn(7, (make_event(),))
        turn.hold(held)

        def guard(turn: Turn, spec: ToolSpec, call: ToolCall) -> ToolCall | ToolResult:
            assert (spec.name, HELLO) == ("whisper", call)
            turn.addressee = "*#3"
            return outcome

        self.result = finish(Confined(ListedTools(self.diary), guard).run(HELLO, turn))
        return turn

    def test_what_is_open_is_not_asked_about(self) -> None:
        """Words that hold nothing private do not go to the guard."""
        assert {} == self.run(ToolResult(False, "never"), held="world").asides
        assert (["run whisper"], True) == (self.diary, self.result.success)

    def test_it_runs_as_the_guard_lets_it(self) -> None:
        """The turn notes the one person whom the call spoke to."""
        assert {HELLO.id: "*#3"} == self.run(replace(HELLO, name="say")).asides
        assert ["run say"] == self.diary

    def test_what_the_guard_did_in_its_place_is_the_result(self) -> None:
        done = ToolResult(True, "whispered to Tom alone")
        assert {HELLO.id: "*#3"} == self.run(done).asides
        assert ([], done) == (self.diary, self.result)
