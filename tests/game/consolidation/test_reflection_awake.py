"""Reflection by day: after enough importance or time, in a quiet moment, a few times a day."""

from evennia_ai import operations
from evennia_ai.consolidation.awake import LOOK_UPS
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.memory import talks
from evennia_ai.models import ModelCall
from evennia_ai.operations.models.prompts import bare_inputs
from evennia_ai.prompts.placeholders import fill
from evennia_ai.runtime import state
from tests.game.consolidation.sleep_case import HOUR, QUARTER, NightCase
from tests.game.support import pump


class DayCase(NightCase):
    """Ada has no nights and draws no facts awake; thirty of importance are enough to reflect."""

    def setUp(self) -> None:
        super().setUp()
        self.config = {"awake_calls_per_day": 0, "reflection_threshold": 30}
        self.set(sleep_schedule={"enabled": False}, memory_config=self.config)
        self.beat()
        self.clock.advance(HOUR)

    def talk(self, count: int = 6, owner: str = "", importance: int = 5) -> None:
        topic = "cellar" if owner else "harbour"
        for number in range(count):
            self.note(f"Tom said: {number} of the {topic}.", owner, importance=importance)
            talks.note(self.ada_script, self.persons["Tom"])

    @property
    def thoughts(self) -> int:
        """The number of requests for questions, one for each audience and round."""
        return len(self.asked("questions"))


class TestWhen(DayCase):
    """Reflection needs enough importance, or its interval, and a quiet moment."""

    def test_at_the_threshold_when_a_talk_is_over(self) -> None:
        """Insights cite their sources and keep their audience."""
        self.talk(5)
        self.pause()
        assert 0 == self.thoughts
        self.talk(1)
        self.pause(HOUR - 1)
        assert 0 == self.thoughts, "it looks once an hour"
        self.pause(1)
        assert 1 == self.thoughts
        assert ["People mind the harbour."] == self.texts("insight")
        (insight,) = self.stored("insight")
        assert self.here == insight.audience
        assert insight.cites
        assert {"reflection"} == set(ModelCall.objects.values_list("purpose", flat=True))
        reflection = state.read(self.ada_script, "reflection_state")
        assert (0, False) == (reflection["cumulative_importance"], "round" in reflection)

    def test_each_audience_apart(self) -> None:
        self.talk(4)
        self.talk(4, owner="Tom")
        self.pause()
        assert 2 == self.thoughts
        assert 2 == len({row.audience for row in self.stored("insight")})

    def test_after_an_interval(self) -> None:
        """Little importance is enough then, but something must have been said."""
        self.set(reflection_interval=2 * int(HOUR) // 5)
        self.talk(3, importance=1)
        self.pause()
        assert 1 == self.thoughts, "it never did before"
        self.talk(3, importance=1)
        self.pause(HOUR)
        assert 1 == self.thoughts
        self.pause(HOUR)
        assert 2 == self.thoughts
        self.pause(24 * HOUR)
        assert 2 == self.thoughts, "nothing was said since"
        assert self.ada_script.db.ticks_since_reflection >= 24 * HOUR // 5

    def test_not_while_somebody_waits_or_talks(self) -> None:
        self.talk()
        self.clock.advance(QUARTER)
        self.tom.execute_cmd("whisper Ada = hello")
        self.beat()
        assert ["turn"] == self.model.kinds

    def test_nobody_waits_for_it(self) -> None:
        """Somebody who speaks is answered meanwhile, and the next audience waits."""
        self.talk(4)
        self.talk(4, owner="Tom")
        self.model.holds.add("insights")
        self.pause()
        self.type(self.tom, "whisper Ada = hello")
        assert ["questions", "insights", "turn"] == self.model.kinds
        self.model.holds.clear()
        for _ in range(2):
            self.model_answers(completion("[]"))
        assert 1 == self.thoughts
        assert "round" in state.read(self.ada_script, "reflection_state")

    def test_two_rounds_a_day(self) -> None:
        for _ in range(4):
            self.talk()
            self.pause(HOUR)
        assert (2, 2) == (self.thoughts, self.today["reflections"])
        self.pause(24 * HOUR)
        assert (3, 1) == (self.thoughts, self.today["reflections"])

    def test_a_round_has_an_end(self) -> None:
        """A call for each answer and three look-ups, however often the model looks."""
        self.set(memory_config={**self.config, "reflection_questions": 2})
        self.talk(4)
        self.talk(4, owner="Tom")
        look = completion(None, ("read_journal", {}))
        asking = [look, completion('["Who minds it?", "Why?"]')]
        one = [*asking, look, completion("[]"), look, completion("[]")]
        self.model.answers.extend([*one, asking[1], look, look])
        self.pause()
        bodies = self.asked("questions") + self.asked("insights")
        assert 2 * (1 + 2) + LOOK_UPS == len(bodies)
        assert [True] * 6 + [False] * 3 == ["tools" in body for body in self.model.bodies]
        assert "round" not in state.read(self.ada_script, "reflection_state")

    def test_idle_it_costs_no_statement(self) -> None:
        self.talk(2)
        self.pause()
        for _ in range(5):
            self.clock.advance(HOUR)
            with self.assertNumQueries(0):
                self.beat()

    def test_one_with_nights_does_it_at_night(self) -> None:
        """An interval makes it reflect by day, too."""
        for interval, expected in ((0, 0), (1, 1)):
            self.set(sleep_schedule={"enabled": True, "sleep_start_hour": 20})
            self.set(reflection_interval=interval)
            self.talk()
            self.pause()
            with self.subTest(interval=interval):
                assert expected == self.thoughts


class TestHeld(DayCase):
    """Enough came together, but something holds the reflection back."""

    def setUp(self) -> None:
        super().setUp()
        self.talk()

    def test_switched_off(self) -> None:
        for off in ({"awake_reflections_per_day": 0}, {"enabled": False}):
            self.set(memory_config={**self.config, **off})
            self.pause(HOUR)
            with self.subTest(off=off):
                assert 0 == self.thoughts

    def test_the_embedded_model_is_not_asked(self) -> None:
        """The small local model is not fit for conclusions."""
        self.set(llm_provider="local")
        self.pause(HOUR)
        assert [] == self.model.bodies

    def test_an_emergency_stop(self) -> None:
        """The dropped round stores nothing."""
        self.model.holds.add("questions")
        self.pause()
        assert 1 == len(self.model.waiting)
        operations.stop(self.ada_script, "a test")
        pump()
        assert (0, 1) == (len(self.model.waiting), self.model.cancelled)
        assert [] == self.texts("insight")
        self.pause(HOUR)
        assert 1 == self.thoughts

    def test_a_cap(self) -> None:
        """The importance is kept until the budget has room."""
        self.set(budget_config={"assistant": {"tokens_per_day": 10}})
        self.pause()
        assert [] == self.model.bodies
        self.set(budget_config={})
        self.pause(HOUR)
        assert 1 == self.thoughts

    def test_a_model_that_fails(self) -> None:
        """It counts as a round of the day, and is tried again later."""
        self.model.down = ModelStatusError(400, "no")
        self.pause()
        assert (0, 1) == (len(self.texts("insight")), self.today["reflections"])
        self.model.down = None
        self.talk(1)
        self.pause(HOUR)
        assert 1 == len(self.texts("insight"))


class TestPlaceholder(DayCase):
    def test_it_is_filled(self) -> None:
        """It is empty where only importance counts."""
        for interval, expected in ((0, "every  beats"), (720, "every 720 beats")):
            self.set(reflection_interval=interval)
            inputs = bare_inputs(self.ada_script, ContextType.REFLECTION)
            assert expected == fill("every {reflection_interval} beats", inputs.value)
