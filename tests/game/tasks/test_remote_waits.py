"""Tasks of agents elsewhere while no message comes: their time, their end and their rows."""

from typing import Any

from django.test.utils import override_settings
from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.agent import remote_delegating
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.models import RemoteTask
from evennia_ai.operations.peers import overview
from evennia_ai.runtime import services, state, turns
from evennia_ai.runtime.turns import aside
from evennia_ai.tasks import remote_tasks
from evennia_ai.tasks.remote_tasks import RemoteWait
from tests.game.support import pump
from tests.game.tasks.delegating import DelegationTest
from tests.game.tools.tool_case import make_turn

SECONDS = 20.0
# Nobody listens there.
NOWHERE = {"card": "http://127.0.0.1:1", "assistants": ["*"], "seconds": SECONDS}
ASKING_PEOPLE = {"on_limit": {"mode": "interactive"}}


class TestWaits(DelegationTest):
    """Ada's task is with an agent that asks something back."""

    def setUp(self) -> None:
        super().setUp()
        self.enterContext(override_settings(EVENNIA_AI_REMOTE_SPECIALISTS={"atlas": NOWHERE}))
        services.remote_specialists.cache_clear()
        self.addCleanup(services.remote_specialists.cache_clear)
        agent = services.remote_specialists().find("atlas")
        assert agent is not None
        self.agent, self.turn = agent, make_turn()

    def ask_back(self) -> RemoteWait:
        """A task whose agent asks something and waits for an answer."""
        wait = remote_tasks.begin(self.ada_script, self.agent, self.turn)
        remote_tasks.note_state(wait, remote_tasks.ASKING)
        remote_tasks.expect_answer(wait)
        return wait

    def answer(self) -> list[Any]:
        outcomes: list[Any] = []
        answering = remote_delegating.delegate_remotely(
            self.ada_script, self.turn, self.agent, "The blue one.", ExecutionConfig()
        )
        Deferred.fromCoroutine(answering).addBoth(outcomes.append)
        pump()
        return outcomes

    def state_of(self, wait: RemoteWait) -> str:
        return str(RemoteTask.objects.get(pk=wait.row.pk).state)

    def test_its_time_stands_still_while_a_person_is_asked_for_budget(self) -> None:
        """The time begins anew where the answer is not sent."""
        self.limit(self.ada_script, **ASKING_PEOPLE)
        wait = self.ask_back()
        state.write(self.ada_script, budget_config={"assistant": {"tokens_per_day": 1_000}})
        outcomes = self.answer()
        assert ([], 1) == (outcomes, len(self.questions()))
        self.advance(SECONDS + 1)
        assert ("asking", []) == (self.state_of(wait), outcomes)
        self.decide("no")
        assert "tokens_per_day" in str(outcomes[0])
        assert "asking" == self.state_of(wait)
        self.advance(SECONDS + 1)
        assert "failed" == self.state_of(wait)

    def test_what_is_over_is_not_taken_up_again(self) -> None:
        wait = self.ask_back()
        remote_tasks.give_up(wait, "it is over")
        remote_tasks.note_state(wait, remote_tasks.OPEN)
        remote_tasks.expect_answer(wait)
        assert ("failed", None) == (self.state_of(wait), wait.timer)
        assert not remote_tasks.is_asking(wait)

    def test_it_counts_while_its_agent_asks(self) -> None:
        """It takes a place in `sub_agent_budget` until it is over."""
        wait = self.ask_back()
        assert 1 == remote_tasks.count_of(self.ada_script)
        remote_tasks.give_up(wait, "it is over")
        assert 0 == remote_tasks.count_of(self.ada_script)

    def test_only_what_is_of_a_turn_ends_with_it(self) -> None:
        wait = self.ask_back()
        remote_tasks.give_up_all(self.ada_script, "task of another")
        remote_tasks.give_up_all(self.brass_script)
        assert "asking" == self.state_of(wait)
        self.ada_script.at_pause()
        assert "failed" == self.state_of(wait)

    def test_what_is_asked_of_a_turn_that_is_void_ends_with_it(self) -> None:
        """Nothing would run it, also where the turn goes on with the next beat."""
        script, event = self.ada_script, self.turn.event
        for void in (
            lambda: operations.reset_history(script),
            lambda: operations.control.set_enabled(script, False),
            lambda: state.mute(script, "*#1", is_muted=True),
            lambda: state.discard(script, [event.as_stored()]),
            lambda: aside.give_up(script, {**turns.as_noted(self.turn), "events": [event.id]}),
        ):
            script.work.inbox = []
            state.push(script, event, 1)
            wait = self.ask_back()
            state.discard(script, [])
            assert "asking" == self.state_of(wait), "of others nothing ends"
            void()
            assert ("failed", set()) == (self.state_of(wait), script.work.unanswered)

    def test_what_began_last_month_is_still_under_way(self) -> None:
        self.ask_back()
        RemoteTask.objects.update(began_at=1.0, tokens=7)
        (row,) = overview.remote_rows()
        assert (1, 0) == (row["unfinished"], row["tokens_month"])

    def test_an_agent_is_told_for_a_day(self) -> None:
        """A start tells the agent of a dropped task for a day; after that its row is closed."""
        now = self.clock.seconds()
        rows = {"new": now - 60, "old": now - remote_tasks.CANCEL_SECONDS - 1}
        for key, ended in rows.items():
            RemoteTask.objects.create(
                id=key,
                assistant=self.ada_script.id,
                agent="atlas",
                chain="c",
                hops=1,
                task=f"theirs {key}",
                state=remote_tasks.DROPPED,
                began_at=ended - 5,
                ended_at=ended,
            )
        remote_tasks.end_orphans(self.ada_script)
        states = dict(RemoteTask.objects.values_list("id", "state"))
        assert {"new": "dropped", "old": "failed"} == states
