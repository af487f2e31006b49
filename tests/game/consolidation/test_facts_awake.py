"""Facts drawn while awake: an assistant without nights does it in pauses, a little a day."""

from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai import consolidation, operations
from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.memory import forgetting, talks
from evennia_ai.models import ModelCall
from evennia_ai.runtime import services
from tests.game.consolidation.sleep_case import HOUR, QUARTER, NightCase
from tests.game.consolidation.sleep_model import answer_to
from tests.game.support import whispers
from tests.recorded import record_of


class AwakeCase(NightCase):
    """Ada has no nights; Tom talks with her."""

    def setUp(self) -> None:
        super().setUp()
        self.set(sleep_schedule={"enabled": False})
        self.beat()
        self.clock.advance(HOUR)

    def talk(self, *texts: str, owner: str = "") -> None:
        """Tom says these lines and is answered."""
        for text in texts:
            self.note(f"Tom said: {text}", owner)
            talks.note(self.ada_script, self.persons["Tom"])

    @property
    def calls(self) -> int:
        return len(self.asked("facts"))


class TestWhen(AwakeCase):
    def test_when_a_talk_is_over(self) -> None:
        """A talk is over a quarter of an hour after its last words."""
        recorded = record_of(self)
        self.talk("the harbour is open.")
        self.pause(QUARTER - 1)
        assert 0 == self.calls
        self.pause(1)
        assert ["It is told: Tom said: the harbour is open."] == self.texts("fact")
        assert [True] == [row.is_consolidated for row in self.stored("journal")]
        assert ["facts_awake"] == list(ModelCall.objects.values_list("purpose", flat=True))
        (fact,) = [facts for event, _, facts in recorded if event == "memories_kept"]
        assert ("while awake", 1) == (fact["why"], fact["count"])

    def test_nothing_is_searched_where_no_fact_is_known(self) -> None:
        """One statement finds that out, however many entries there are."""
        self.talk(*(f"boat {number} is in the harbour." for number in range(12)))
        self.model.answers.append(completion("[]"))
        with self.statements() as taken:
            self.pause()
        looks = [query["sql"] for query in taken if "'fact'" in query["sql"]]
        assert (1, 1) == (self.calls, len(looks)), looks

    def test_after_a_real_talk(self) -> None:
        """A fact from a whisper is for the person who whispered only."""
        self.type(self.tom, "whisper Ada = the cellar is shut")
        self.model_answers(whispers("I see.", "Tom"))
        self.pause()
        (fact,) = self.stored("fact")
        assert "the cellar is shut" in fact.text
        assert fact.audience.startswith("person:")

    def test_in_a_talk_only_when_much_waits(self) -> None:
        """Twenty waiting entries make one batch in the middle of a talk."""
        self.pause()
        self.talk(*(f"boat {i} is in the harbour." for i in range(19)))
        self.beat()
        assert 0 == self.calls
        self.talk("boat 19 is in the harbour.", "boat 20 is in the harbour.")
        self.beat()
        assert (1, 20) == (self.calls, len(self.stored("fact")))

    def test_one_batch_an_hour(self) -> None:
        self.talk("the harbour is open.")
        self.talk("the cellar is shut.", owner="Tom")
        self.pause()
        self.pause()
        assert 1 == self.calls
        self.pause(HOUR)
        assert 2 == self.calls
        self.pause(HOUR)
        assert 2 == self.calls, "nothing waits any more"

    def test_a_few_a_day(self) -> None:
        self.set(memory_config={"awake_calls_per_day": 2})
        for hour in range(4):
            self.talk(f"boat {hour} is in the harbour.")
            self.pause(HOUR)
        assert (2, 2) == (self.calls, self.today["calls"])
        self.pause(24 * HOUR)
        assert (3, 1, 4) == (self.calls, self.today["calls"], len(self.stored("fact")))

    def test_looking_up_counts_as_well(self) -> None:
        """Each model call counts; for the day's last one no tool is offered."""
        look = completion(None, ("recall_memories", {"query": "boats"}))
        for most, offered in ((1, [False]), (2, [True, True]), (9, [True] * 5)):
            self.set(memory_config={"awake_calls_per_day": most})
            self.model.bodies.clear()
            self.model.answers.extend([look] * len(offered))
            self.talk(f"boat {most} is in the harbour.")
            self.pause(24 * HOUR)
            with self.subTest(most=most):
                assert offered == ["tools" in body for body in self.asked("facts")]
                assert len(offered) == self.today["calls"]
                last = str(self.asked("facts")[-1]["messages"][-1]["content"])
                assert (most > 1) == ("one step is left" in last)

    def test_each_call_is_counted_before_it_is_made(self) -> None:
        """A call that a crash interrupts has been counted, and so has a failed one."""
        stored: list[int] = []
        post = self.model.post

        def noting(body: Any) -> Deferred[bytes]:
            stored.append(self.today["calls"])
            return post(body)

        self.model.post = noting  # type: ignore[method-assign]
        look = completion(None, ("recall_memories", {"query": "boats"}))
        self.model.answers.extend([look, ModelStatusError(400, "no")])
        self.talk("the harbour is open.")
        self.pause()
        assert ([1, 2], 2) == (stored, self.today["calls"])

    def test_a_request_that_is_refused_keeps_no_other_from_being_asked(self) -> None:
        """As for a word in it: those entries wait for another day."""
        self.model.barred = "cellar"
        self.talk("the cellar is shut.", owner="Tom")
        self.pause()
        self.talk("the harbour is open.")
        self.pause(HOUR)
        assert ["It is told: Tom said: the harbour is open."] == self.texts("fact")
        assert (2, 1) == (self.today["calls"], len(self.today["skipped"]))

    def test_switched_off(self) -> None:
        for off in (
            {"memory_config": {"awake_calls_per_day": 0}},
            {"memory_config": {"enabled": False}},
            {"sleep_schedule": {"enabled": True, "sleep_start_hour": 20}},
        ):
            with self.subTest(off=off):
                self.set(memory_config={}, sleep_schedule={"enabled": False})
                self.set(**off)
                self.talk("the harbour is open.")
                self.pause(HOUR)
                assert 0 == self.calls

    def test_not_while_somebody_waits(self) -> None:
        self.talk("the harbour is open.")
        self.clock.advance(QUARTER)
        self.tom.execute_cmd("whisper Ada = hello")
        self.beat()
        assert ["turn"] == self.model.kinds

    def test_nobody_waits_for_it(self) -> None:
        """A player is answered at once while facts are being drawn."""
        self.model.holds.add("facts")
        self.talk("the harbour is open.")
        self.pause()
        self.type(self.tom, "whisper Ada = hello")
        assert ["facts", "turn"] == self.model.kinds

    def test_idle_it_costs_no_statement(self) -> None:
        self.talk("the harbour is open.")
        self.pause()
        self.pause(HOUR)
        for _ in range(5):
            self.clock.advance(HOUR)
            with self.assertNumQueries(0):
                self.beat()

    def test_a_restart_ends_no_talk(self) -> None:
        """Entries from before a restart are handled a quarter of an hour after it."""
        self.talk("the harbour is open.")
        self.restart()
        self.beat()
        self.pause(QUARTER - 1)
        assert 0 == self.calls
        self.pause(1)
        assert 1 == len(self.stored("fact"))


class TestHeld(AwakeCase):
    """Conditions that postpone the call without losing an entry."""

    def setUp(self) -> None:
        super().setUp()
        self.talk("the harbour is open.")

    def waits(self) -> bool:
        """True if the only entry is still there and no fact was drawn from it."""
        (entry,) = self.stored()
        return not entry.is_consolidated

    def test_an_emergency_stop(self) -> None:
        operations.stop(self.ada_script, "a test")
        self.pause(HOUR)
        assert (0, True) == (self.calls, self.waits())
        operations.clear(self.ada_script)
        self.model.holds.add("facts")
        self.beat()
        assert 1 == self.calls
        operations.stop(self.ada_script, "a test")
        assert (1, None, True) == (self.model.cancelled, self.ada_script.work.resting, self.waits())
        operations.clear(self.ada_script)
        self.model.holds.remove("facts")
        self.pause(HOUR)
        assert ["It is told: Tom said: the harbour is open."] == self.texts("fact")

    def test_a_breaker(self) -> None:
        breaker = services.pool().breaker_of(self.ada_script.endpoint())
        breaker.force_open()
        self.pause(HOUR)
        assert (0, True, {}) == (self.calls, self.waits(), self.today)
        breaker.reset()
        self.pause(HOUR)
        assert 1 == len(self.stored("fact"))

    def test_a_cap(self) -> None:
        self.set(budget_config={"assistant": {"tokens_per_day": 10}})
        self.pause(HOUR)
        assert (0, True) == (self.calls, self.waits())
        self.set(budget_config={})
        self.pause(HOUR)
        assert 1 == len(self.stored("fact"))

    def test_a_model_that_fails(self) -> None:
        self.model.down = ModelStatusError(401, "no such key")
        for _ in range(3):
            self.pause(HOUR)
        assert self.waits()
        assert self.calls <= 3
        self.model.down = None
        services.pool().breaker_of(self.ada_script.endpoint()).reset()
        self.pause(HOUR)
        assert 1 == len(self.stored("fact"))

    def test_the_embedded_model(self) -> None:
        """The embedded model is never asked for facts."""
        client = type("Client", (), {"provider_name": "local"})()
        self.ada_script.client = lambda: client
        self.addCleanup(delattr, self.ada_script, "client")
        self.pause(HOUR)
        assert ([], True) == (self.model.bodies, self.waits())

    def test_an_unreadable_answer(self) -> None:
        self.model.answers.append(completion("Hm."))
        self.pause(HOUR)
        self.pause(HOUR)
        assert (1, True) == (self.calls, self.waits())
        self.pause(24 * HOUR)
        assert 1 == len(self.stored("fact"))

    def test_who_is_forgotten_meanwhile(self) -> None:
        self.model.holds.add("facts")
        self.pause()
        forgetting.forget_person(self.ada_script, self.persons["Tom"])
        self.model_answers(answer_to(self.model.bodies[-1]))
        assert [] == self.texts()

    def test_put_to_sleep_meanwhile(self) -> None:
        self.model.holds.add("facts")
        self.pause()
        running: Deferred[Any] = self.ada_script.work.resting
        consolidation.put_to_sleep(self.ada_script, "a test")
        self.beat()
        assert running is self.ada_script.work.resting
        self.model_answers(answer_to(self.model.bodies[-1]))
        assert 1 == len(self.stored("fact"))
        self.model.holds.remove("facts")
        self.sleep_through()
        assert "" == self.progress["step"]
