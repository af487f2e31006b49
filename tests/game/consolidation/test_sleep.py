"""Falling asleep and waking: by the clock, by somebody's word, and by her own wish."""

from evennia_ai import audit, consolidation, operations
from evennia_ai.emergency import trigger_emergency_stop
from evennia_ai.llm.scripted import completion
from evennia_ai.memory import modes
from evennia_ai.runtime import state
from tests.game.consolidation.sleep_case import HOUR, SleepCase
from tests.game.support import pump, whispers
from tests.recorded import record_of

NOOP = completion(None, ("noop", {}))
SLEEP = completion(None, ("go_to_sleep", {"reason": "the day is done"}))


class RecordedCase(SleepCase):
    def setUp(self) -> None:
        super().setUp()
        self.recorded = record_of(self)


class TestByTheClock(RecordedCase):
    def test_she_falls_asleep_at_her_hour_and_wakes_at_its_end(self) -> None:
        self.advance(2 * HOUR - 1)
        self.beat()
        assert "awake" == self.mode
        self.advance(1)
        self.beat()
        assert ("asleep", "compacting") == (self.mode, state.read(self.ada_script, "sleep_phase"))
        assert "1970-01-01T06:00:00+00:00" == state.read(self.ada_script, "scheduled_wake_time")
        self.advance(4 * HOUR)
        self.beat()
        assert ("awake", "") == (self.mode, state.read(self.ada_script, "sleep_phase"))
        assert None is state.read(self.ada_script, "scheduled_wake_time")
        lines = [str(line) for line in self.tom.heard_from(self.ada)]
        assert ["Ada's eyes fall shut, and sleep comes.", "Ada wakes."] == lines
        audit.flush()
        assert [1, 1] == [len(self.told_facts(name)) for name in ("fell_asleep", "woke_up")]

    def test_without_a_schedule_she_never_does(self) -> None:
        """A schedule that makes no sense counts as none."""
        for schedule in ({}, {"enabled": True, "sleep_start_hour": 99}):
            self.set(sleep_schedule=schedule)
            self.advance(3 * HOUR)
            self.beat()
            assert "awake" == self.mode

    def test_nobody_falls_asleep_over_a_question(self) -> None:
        self.advance(3 * HOUR)
        self.type(self.tom, "whisper Ada = hello")
        self.beat()
        assert "awake" == self.mode
        self.model.answer(whispers("Hello."))
        self.beat()
        assert "awake" == self.mode
        self.advance(modes.TALK_SECONDS)
        self.beat()
        assert "asleep" == self.mode

    def test_nobody_falls_asleep_in_a_talk_that_is_not_remembered(self) -> None:
        """Whether Tom wants to be forgotten, or nothing at all is remembered."""
        self.advance(3 * HOUR)
        for values in (
            {"unremembered": [self.persons["Tom"]]},
            {"memory_config": {"enabled": False}, "unremembered": []},
        ):
            with self.subTest(values=values):
                self.set(operating_mode="awake", **values)
                self.ask("whisper Ada = hello", whispers("Hello."))
                self.beat()
                assert ("awake", []) == (self.mode, self.stored())
                self.advance(modes.TALK_SECONDS)
                self.beat()
                assert "asleep" == self.mode

    def test_the_timer_keeps_the_pace_of_the_mode(self) -> None:
        """The one timer beats once a minute asleep, and at once every five seconds awake."""
        consolidation.put_to_sleep(self.ada_script, "a test")
        task = self.ada_script.ndb._task
        assert (60, True) == (task.interval, task.running)
        assert 55 < task.next_call_time() <= 60
        consolidation.wake_up(self.ada_script, "a test")
        assert (5, True) == (task.interval, task.running)
        assert task.next_call_time() <= 5

    def test_a_restart_wakes_nobody(self) -> None:
        consolidation.put_to_sleep(self.ada_script, "a test")
        self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        assert ("asleep", 60) == (self.mode, self.ada_script.ndb._task.interval)

    def test_session_memories_of_tools_end_with_the_mode(self) -> None:
        """A tool's answer by day must not be believed by night."""
        for change in (consolidation.put_to_sleep, consolidation.wake_up):
            self.ada_script.work.tool_cache.set("k", "v", "session", None)
            change(self.ada_script, "a test")
            assert None is self.ada_script.work.tool_cache.get("k")

    def test_sleeping_twice_is_sleeping_once(self) -> None:
        consolidation.put_to_sleep(self.ada_script, "a test")
        night = state.read(self.ada_script, "consolidation_progress")
        self.advance(60)
        consolidation.put_to_sleep(self.ada_script, "a test")
        assert night == state.read(self.ada_script, "consolidation_progress")
        assert [True, False] == [consolidation.wake_up(self.ada_script, "a test") for _ in range(2)]

    def test_a_night_with_nothing_to_do_costs_nothing(self) -> None:
        self.sleep_through()
        assert [] == self.model.bodies
        with self.statements() as statements:
            self.beat(5)
        assert [] == list(statements)

    def test_awake_the_schedule_costs_no_statement(self) -> None:
        self.beat()
        with self.statements() as statements:
            self.beat(5)
        assert [] == list(statements)

    def test_goals_rest_while_she_sleeps(self) -> None:
        self.set(autonomy_config={"seconds": 1})
        operations.add_goal(self.ada_script, "find the atlas")
        self.beat()
        consolidation.put_to_sleep(self.ada_script, "a test")
        for _ in range(5):
            self.advance(60)
            self.beat()
        assert [] == self.model.bodies


class TestCalled(RecordedCase):
    def test_she_wakes_and_answers(self) -> None:
        consolidation.put_to_sleep(self.ada_script, "a test")
        self.type(self.tom, "whisper Ada = hello")
        assert "awake" == self.mode
        self.model_answers(whispers("Hm? Hello."))
        assert ['Ada whispers: "Hm? Hello."'] == self.tom.heard_from(self.ada)[-1:]

    def test_not_in_the_middle_of_a_step(self) -> None:
        """The running step is stored first; then she wakes by herself and answers."""
        key = self.note("The harbour is open.")
        consolidation.put_to_sleep(self.ada_script, "a test")
        self.model.holds.add("importance")
        self.beat()
        self.type(self.tom, "whisper Ada = hello")
        self.beat(3)
        assert ("asleep", ["importance"]) == (self.mode, self.model.kinds)
        assert 1 == len(self.waiting())
        self.model_answers(completion('[{"entry": 1, "importance": 9}]'))
        assert ("awake", ["importance", "turn"]) == (self.mode, self.model.kinds)
        assert 9 == next(row.importance for row in self.stored() if row.key == key)
        self.model_answers(whispers("Hello."))
        assert [] == self.waiting()

    def test_woken_by_hand_in_the_middle_of_a_step(self) -> None:
        for _ in range(2):
            self.note("The harbour is open.")
        consolidation.put_to_sleep(self.ada_script, "a test")
        self.model.holds.add("importance")
        self.beat()
        consolidation.wake_up(self.ada_script, "a test")
        self.model.answer(completion('[{"entry": 1, "importance": 9}]'))
        self.beat(3)
        assert ["importance"] == self.model.kinds
        assert ("", "awake") == (state.read(self.ada_script, "sleep_phase"), self.mode)

    def test_at_night_she_goes_back_to_sleep(self) -> None:
        """After half an hour she goes on with the rest of the night's budget."""
        self.advance(2 * HOUR)
        self.beat()
        self.note("The harbour is open.")
        self.beat()
        tokens = state.read(self.ada_script, "consolidation_progress")["tokens"]
        self.type(self.tom, "whisper Ada = hello")
        self.model_answers(NOOP)
        self.advance(29 * 60)
        self.beat()
        assert "awake" == self.mode
        self.advance(60)
        self.beat()
        progress = state.read(self.ada_script, "consolidation_progress")
        assert ("asleep", tokens, "score") == (self.mode, progress["tokens"], progress["step"])
        assert 980 == tokens
        assert "1970-01-01T06:00:00+00:00" == state.read(self.ada_script, "scheduled_wake_time")

    def test_a_program_that_asks_wakes_her_too(self) -> None:
        consolidation.put_to_sleep(self.ada_script, "a test")
        asked = self.ada_script.ask("what is here?")
        pump()
        assert ("awake", ["turn"]) == (self.mode, self.model.kinds)
        asked.addErrback(lambda _: None)


class TestByHerOwnWish(RecordedCase):
    def used(self, count: int) -> None:
        """Count so many tool calls since she woke."""
        self.ada_script.work.metrics = {"tool_calls": {"look": count}}

    def result(self) -> str:
        history = state.read(self.ada_script, "conversation_history")
        return str(next(m["content"] for m in reversed(history) if m["role"] == "tool"))

    def test_she_says_good_night_and_sleeps(self) -> None:
        """The person whom she answers just now does not keep her awake."""
        self.used(5)
        self.type(self.tom, "whisper Ada = go to bed")
        self.model_answers(SLEEP)
        assert ("asleep", []) == (self.mode, self.waiting())
        assert "1970-01-01T04:00:00+00:00" == state.read(self.ada_script, "scheduled_wake_time")
        assert ["turn"] == self.model.kinds
        assert "Ada's eyes fall shut, and sleep comes." in self.tom.heard_from(self.ada)

    def test_for_as_long_as_she_wants(self) -> None:
        self.used(5)
        asked = {"reason": "tired", "hours": 0.5}
        self.type(self.tom, "whisper Ada = go to bed")
        self.model_answers(completion(None, ("go_to_sleep", asked)))
        assert "1970-01-01T00:30:00+00:00" == state.read(self.ada_script, "scheduled_wake_time")

    def test_not_for_ever(self) -> None:
        self.used(5)
        self.type(self.tom, "whisper Ada = go to bed")
        self.model_answers(completion(None, ("go_to_sleep", {"reason": "tired", "hours": 900})))
        assert "hours must be from 0.1 to 23" in str(self.model.bodies[-1]["messages"])
        assert "awake" == self.mode

    def test_not_after_nothing(self) -> None:
        """She must have used five tools since she woke."""
        self.used(4)
        self.type(self.tom, "whisper Ada = go to bed")
        self.model_answers(SLEEP)
        text = str(self.model.bodies[-1]["messages"])
        assert "you did 4 things since you woke" in text
        assert "awake" == self.mode

    def test_not_soon_after_waking(self) -> None:
        """It takes half an hour, kept over a restart by `last_night`; tools count from there."""
        self.used(7)
        consolidation.put_to_sleep(self.ada_script, "a test")
        self.advance(60)
        consolidation.wake_up(self.ada_script, "a test")
        self.advance(60)
        assert (60.0, 0) == (modes.awake_seconds(self.ada_script), modes.activity(self.ada_script))
        self.used(12)
        assert "you woke 1 minutes ago" in modes.bedtime_problem(self.ada_script)
        self.advance(30 * 60)
        assert "" == modes.bedtime_problem(self.ada_script)

    def test_not_while_somebody_else_waits(self) -> None:
        self.used(5)
        self.type(self.tom, "whisper Ada = go to bed")
        self.type(self.mira, "whisper Ada = wait!")
        self.model_answers(SLEEP)
        assert "somebody waits for your answer" in str(self.model.bodies[-1]["messages"])
        assert "awake" == self.mode


class TestStopped(RecordedCase):
    def test_it_breaks_off_the_step(self) -> None:
        self.note("The harbour is open.")
        consolidation.put_to_sleep(self.ada_script, "a test")
        self.model.holds.add("importance")
        self.beat()
        before = state.read(self.ada_script, "consolidation_progress")
        message = operations.stop(self.ada_script, "a test").message
        assert message.startswith("Ada is stopped. One call in flight was dropped.")
        shown = operations.memory_status(self.ada_script).message
        assert shown.endswith("none completed yet; now an emergency stop is active")
        self.beat(3)
        assert (1, ["importance"]) == (self.model.cancelled, self.model.kinds)
        assert before == state.read(self.ada_script, "consolidation_progress")
        assert (None, False) == (self.ada_script.work.resting, self.ada_script.work.is_ticking)

    def test_it_goes_on_when_it_is_cleared(self) -> None:
        self.test_it_breaks_off_the_step()
        self.ada_script.clear_emergency_stop(by="Tom")
        self.model.holds.remove("importance")
        self.beat()
        assert ["llm"] == [row.importance_by for row in self.stored()]

    def test_stopped_she_neither_falls_asleep_nor_wakes(self) -> None:
        trigger_emergency_stop(self.ada_script, "a test")
        self.advance(3 * HOUR)
        self.beat()
        assert "awake" == self.mode
        assert "an emergency stop is active" == modes.bedtime_problem(self.ada_script)
