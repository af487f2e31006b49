"""Compaction that is cut off, and the conditions for compaction."""

from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.agent import compaction
from evennia_ai.core.turn.compaction import summary_text
from evennia_ai.core.turn.conversation import Message
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import services, state
from tests.game.agent.compaction_case import TOLD, CompactionCase, turn_of
from tests.game.support import pump
from tests.llm.doubles import StubbornTransport


class TestStopped(CompactionCase):
    """A model that cannot be cancelled, so that its answer comes in late."""

    def setUp(self) -> None:
        super().setUp()
        self.model = StubbornTransport()
        services.pool().set_transport(services.endpoint(), self.model)

    def test_a_late_summary_lands_nowhere(self) -> None:
        """The history stays as a stop, reset, pause or shutdown left it."""
        for name, end in {
            "emergency stop": lambda: operations.stop(self.ada_script, "test"),
            "history reset": lambda: operations.reset_history(self.ada_script),
            "paused": lambda: self.ada_script.pause(),
            "shutdown": lambda: self.ada_script.at_server_shutdown(),
        }.items():
            with self.subTest(name):
                self._set_up_again()
                outcomes = self.compact()
                end()
                expected = self.stored()
                assert expected == ([] if name == "history reset" else self.history)
                self.model_answers(completion("Too late."))
                assert [False] == list(map(bool, outcomes))
                assert expected == self.stored()

    def test_a_stop_while_a_turn_is_under_way_too(self) -> None:
        self.ada_script.work.in_flight = Deferred()
        outcomes = self.compact()
        operations.stop(self.ada_script, "test")
        self.model_answers(completion("Too late.", usage=TOLD))
        assert [False] == list(map(bool, outcomes))
        assert self.history == self.stored()

    def test_a_reload_in_between(self) -> None:
        """After a reload the script has the whole history, and can sum it up."""
        outcomes = self.compact()
        self.ada_script.work = None
        self.ada_script.at_start()
        self.model_answers(completion("Too late."))
        assert [False] == list(map(bool, outcomes))
        assert self.history == self.stored()
        assert self.compact(completion("Storms."))[0]

    def test_a_stop_between_two_steps(self) -> None:
        """The stop comes during the callback before the model call."""
        gate: Deferred[None] = Deferred()

        async def wait(messages: list[Message]) -> None:
            await gate

        self.ada_script.work.in_flight = Deferred()
        outcomes = self.compact(completion("Storms."), before=wait)
        operations.stop(self.ada_script, "test")
        gate.callback(None)
        pump()
        assert [False] == list(map(bool, outcomes))
        assert self.history == self.stored()

    def test_all_that_was_to_stay_is_gone(self) -> None:
        """The summary has no message to stand before."""
        outcomes = self.compact()
        self.remember(turn_of(99))
        self.model_answers(completion("Storms."))
        assert [False] == list(map(bool, outcomes))
        assert turn_of(99) == self.stored()

    def _set_up_again(self) -> None:
        self.ada_script.delete()
        self.ada.delete()
        self.ada_script, self.ada = self.make("Ada")
        self.remember(self.history or [m for number in range(16) for m in turn_of(number)])


class TestWhen(CompactionCase):
    def test_by_messages_and_by_tokens(self) -> None:
        """It is due at 80 % of either limit, and at 70 % while asleep."""
        assert self.is_due()
        state.write(self.ada_script, max_history=61)
        assert not self.is_due()
        assert self.is_due(is_asleep=True)
        state.write(self.ada_script, max_context_tokens=1000)
        assert self.is_due()

    def test_switched_off(self) -> None:
        """The oldest messages are left out instead."""
        state.write(self.ada_script, compact_enabled=False)
        assert not self.is_due()

    def test_the_embedded_model_is_not_asked(self) -> None:
        """That model is not shown the conversation, so it needs no summary."""
        state.write(self.ada_script, llm_provider="local")
        assert not self.is_due()
        assert not self.compact()[0]
        assert [] == self.model.bodies

    def test_nothing_to_sum_up(self) -> None:
        self.remember(turn_of(1))
        assert ["there is nothing to sum up"] == [o.detail for o in self.compact()]
        assert [] == self.model.bodies

    def test_one_at_a_time(self) -> None:
        self.compact()
        assert not self.is_due()
        assert [False] == list(map(bool, self.compact()))
        assert 1 == len(self.model.bodies)

    def test_begin_if_due(self) -> None:
        client = self.ada_script.client()
        self.model.answers.append(completion("Storms."))
        running = compaction.begin_if_due(self.ada_script, client)
        assert running is not None
        pump()
        assert "Storms." == summary_text(self.stored()[0])
        assert None is compaction.begin_if_due(self.ada_script, client)
