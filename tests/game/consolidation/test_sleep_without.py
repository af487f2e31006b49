"""A night's summary, and nights without a model, without a budget or without a store."""

from functools import partial
from typing import Any

from evennia_ai import consolidation
from evennia_ai.agent import compaction
from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import services, state
from tests.game.agent.compaction_case import turn_of
from tests.game.consolidation.sleep_case import NightCase
from tests.game.support import pump


class TestSummary(NightCase):
    def setUp(self) -> None:
        """Fill 39 messages of the fifty that are kept, which is over seven tenths."""
        super().setUp()
        self.set(compact_enabled=True)
        history = [message for number in range(13) for message in turn_of(number)]
        self.ada_script.work.history = list(history)
        state.write(self.ada_script, conversation_history=history)

    def test_asleep_it_is_done_earlier(self) -> None:
        """The threshold is seven tenths asleep, and eight awake."""
        assert 1 == self.sleep_through()["counts"]["summaries"]
        assert len(self.ada_script.work.history) < 39

    def test_facts_are_kept_first(self) -> None:
        """Awake too, the summary waits where the facts cannot be drawn."""
        self.note("Tom said: the harbour is open.")
        client = self.ada_script.client()
        self.model.down = ModelStatusError(401, "no such key")
        self.compact_awake(client)
        assert (39, []) == (len(self.ada_script.work.history), self.asked("summary"))
        self.model.down = None
        self.clock.advance(600)
        self.compact_awake(client)
        assert ["facts", "facts", "summary"] == self.model.kinds
        assert ["It is told: Tom said: the harbour is open."] == self.texts("fact")
        assert len(self.ada_script.work.history) < 39

    def compact_awake(self, client: Any) -> None:
        """Compact the history as after a turn that fills it."""
        self.set(compact_emergency_threshold=0.5)
        keep = partial(consolidation.extract, self.ada_script)
        compaction.begin_if_due(self.ada_script, client, before=keep)
        pump()

    def test_what_cannot_be_read_holds_nothing_up(self) -> None:
        """The entry stays in the journal, where the night finds it."""
        self.note("Tom said: the harbour is open.")
        self.model.answers.append(completion("Hm."))
        self.compact_awake(self.ada_script.client())
        assert ["facts", "summary"] == self.model.kinds
        assert [False] == [row.is_consolidated for row in self.stored("journal")]


class TestWithout(NightCase):
    def setUp(self) -> None:
        super().setUp()
        for i in range(25):
            self.note(f"Tom said: boat {i} lies in the harbour.")
        self.note("It rained in May.", kind="fact")

    def test_the_model_is_down(self) -> None:
        """Nothing is lost, and the next night catches up."""
        self.model.down = ModelStatusError(401, "no such key")
        night = self.sleep_through()
        assert {"score", "consolidate"} <= set(night["put_off"])
        assert ([], ["importance"]) == (self.stored("insight"), self.model.kinds[:1])
        assert [False] * 25 == [row.is_consolidated for row in self.stored("journal")]
        consolidation.wake_up(self.ada_script, "a test")
        self.model.down = None
        self.clock.advance(86_400)
        assert {} == self.sleep_through()["put_off"]
        assert 26 == len(self.stored("fact"))

    def test_the_budget_of_a_night(self) -> None:
        self.set(sleep_schedule={"enabled": True, "token_budget": 5000})
        night = self.sleep_through()
        assert night["tokens"] <= 5000
        assert night["put_off"]
        done = len(self.model.bodies)
        consolidation.wake_up(self.ada_script, "a test")
        self.clock.advance(86_400)
        assert self.sleep_through()["tokens"] > 0
        assert len(self.model.bodies) > done

    def test_no_budget(self) -> None:
        self.set(sleep_schedule={"token_budget": 0})
        night = self.sleep_through()
        assert ([], 0) == (self.model.bodies, night["tokens"])
        assert "sleep_schedule.token_budget is 0" == night["put_off"]["score"]

    def test_a_cap_of_the_game(self) -> None:
        self.set(budget_config={"assistant": {"tokens_per_day": 3000}})
        night = self.sleep_through()
        assert night["tokens"] <= 3000
        assert night["put_off"]

    def test_what_it_used_is_counted(self) -> None:
        before = self.ada_script.work.calls
        night = self.sleep_through()
        assert len(self.model.bodies) == self.ada_script.work.calls - before
        assert 980 * len(self.model.bodies) == night["tokens"]


class TestSmallModel(NightCase):
    def test_it_is_asked_nothing(self) -> None:
        """The embedded model is never asked; the guessed scores stay."""
        self.note("Tom said: the harbour is open.")
        client = type("Client", (), {"provider_name": "local"})()
        script = self.ada_script
        consolidation.put_to_sleep(script, "a test")
        script.client = lambda: client
        self.addCleanup(delattr, script, "client")
        self.beat(3)
        assert [] == self.model.bodies
        assert ["heuristic"] == [row.importance_by for row in self.stored()]
        assert "" == self.progress["step"]


class TestNoStore(NightCase):
    def test_what_needs_none_is_done(self) -> None:
        """Facts are drawn beside the newest known ones, and nothing is put off."""
        services.memory().close()
        self.note("Tom said: the harbour is open.")
        night = self.sleep_through()
        assert {} == night["put_off"]
        assert 1 == len(self.stored("fact"))
