"""Limits of delegation: hops, tasks, delegates at one time, and the time of a wait."""

from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.approvals import checkpoints
from evennia_ai.core.hearing.audience import OPEN
from evennia_ai.core.hearing.inbox import TASK, Event
from evennia_ai.core.safety.limits import Decision, DecisionReason, LimitKind
from evennia_ai.errors import LimitReachedError
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from evennia_ai.tasks import task_waits
from tests.game.support import pump, whispers
from tests.game.tasks.delegating import DelegationTest, hands_on, reports
from tests.game.tools.tool_case import make_turn

INTERACTIVE = {"on_limit": {"mode": "interactive", "modes": {"agent_hops": "interactive"}}}
AUTO = {"on_limit": {"mode": "auto_extend", "modes": {"agent_hops": "auto_extend"}}}
UNATTENDED = {"on_limit": {"mode": "unattended"}}


class TestHops(DelegationTest):
    """Ada, Brass, Cora, Dora and Edda, of whom each may ask the next."""

    def setUp(self) -> None:
        super().setUp()
        for name in ("Cora", "Dora", "Edda"):
            script, _ = self.make_specialist(name)
            self.allow(script)
        self.allow(self.brass_script)

    def run_chain(self, *answers: bytes) -> None:
        """Let Tom ask, Brass and Cora be given tasks, and then these answers come."""
        first = hands_on(specialist="Brass"), hands_on(specialist="Cora")
        self.ask("whisper Ada = count", *first, *answers)

    def test_l4_depth_three_goes_and_the_fourth_is_refused_with_its_key(self) -> None:
        """The hop from Tom to Ada counts as the first."""
        back = reports("C"), reports("B"), whispers("No.")
        self.run_chain(hands_on(specialist="Dora"), *back)
        assert [1, 2] == [fact["hops"] for fact in self.facts("delegation_begun")]
        error = self.result(3)["error"]
        assert "limit agent_hops reached: 3 hops" in error
        assert "raise max_agent_hops" in error
        (denied,) = self.facts("limit_denied")
        assert (3, 3, "unattended") == (denied["used"], denied["cap"], denied["reason"])
        assert ['Ada whispers: "No."'] == self.tom.heard_from(self.ada)

    def test_l4_approved_the_fourth_goes_and_its_reply_comes_back(self) -> None:
        """Nothing on the way back is judged by the cap as it was."""
        self.limit(self.ada_script, **INTERACTIVE)
        back = reports("D"), reports("C"), reports("B"), whispers("Seven.")
        self.run_chain(hands_on(specialist="Dora"))
        (prompt,) = self.prompts()
        assert prompt.startswith("I have used my 3 hops on Brass's request. May I have 1 hop")
        self.model.answers.extend(back)
        self.decide("yes")
        assert [1, 2, 3] == [fact["hops"] for fact in self.facts("delegation_begun")]
        results = ["D", "C", "B"]
        assert results == [self.result(call)["result"] for call in (4, 5, 6)]
        assert ['Ada whispers: "Seven."'] == self.tom.heard_from(self.ada)

    def test_l4_what_is_granted_is_one_hop_of_one_chain(self) -> None:
        """`auto_extend` counts per chain here, not per assistant."""
        self.limit(self.ada_script, **AUTO)
        back = reports("D"), reports("C"), reports("B"), whispers("Seven.")
        self.run_chain(hands_on(specialist="Dora"), hands_on(specialist="Edda"), *back)
        assert "its times are used up" in self.result(4)["error"]
        assert [1, 2, 3] == [fact["hops"] for fact in self.facts("delegation_begun")]
        assert {} == self.ada_script.work.extensions.counts

    def test_l4_zero_is_no_limit(self) -> None:
        state.write(self.ada_script, max_agent_hops=0)
        further = hands_on(specialist="Dora"), hands_on(specialist="Edda")
        back = reports("E"), reports("D"), reports("C"), reports("B"), whispers("Seven.")
        self.run_chain(*further, *back)
        assert [1, 2, 3, 4] == [fact["hops"] for fact in self.facts("delegation_begun")]

    def test_i9_a_question_reaches_the_human_through_three_levels(self) -> None:
        """Those who control Ada answer Cora's question, though they do not control Cora."""
        self.limit(self.ada_script, **INTERACTIVE)
        cora = operations.find_assistant("Cora")
        self.limit(cora, loop={"max_delegations_per_task": 1}, **INTERACTIVE)
        state.write(self.ada_script, max_agent_hops=9)
        for name in ("Brass", "Cora"):
            operations.find_assistant(name).obj.locks.add("ai_control:false()")
        twice = hands_on(specialist="Dora"), reports("D"), hands_on(specialist="Dora")
        self.run_chain(*twice)
        (prompt,) = self.prompts()
        assert prompt.startswith("I have used my 1 delegation")
        self.model.answers.extend(
            [reports("D again"), reports("C"), reports("B"), whispers("Seven.")]
        )
        self.decide("yes")
        assert ['Ada whispers: "Seven."'] == self.tom.heard_from(self.ada)
        assert 4 == len(self.facts("delegation_begun"))

    def test_i9_nobody_is_asked_for_a_task_that_nobody_waits_for(self) -> None:
        """A delegate without its requester is refused at once."""
        self.limit(self.brass_script, **INTERACTIVE)
        self.brass.locks.add("ai_control:all()")
        lost = Event("t1", TASK, "whisper", "#1", "Ada", "count", 0.9, 0, 1, 0.0)
        hit = LimitReachedError(LimitKind.DELEGATIONS, used=5, cap=5, amount=1, scope="task t1")
        asked = checkpoints.ask(self.brass_script, hit, event=lost)
        decisions: list[Decision] = []
        Deferred.fromCoroutine(asked).addCallback(decisions.append)
        assert [Decision(False, 0, DecisionReason.NO_OPERATOR)] == decisions
        assert [] == self.questions()


class TestHowMany(DelegationTest):
    def begin(self, turn: Any = None) -> list[Any]:
        """The outcomes of a task that is delegated by hand."""
        outcomes: list[Any] = []
        self.start("delegate_task", {"task": "Count."}, turn or make_turn()).addBoth(
            lambda outcome: outcomes.append(getattr(outcome, "value", outcome))
        )
        pump()
        return outcomes

    def test_l13_delegates_at_one_time(self) -> None:
        """One more than the budget is refused with its key, until one has come back."""
        self.limit(self.ada_script, **UNATTENDED)
        self.allow(self.ada_script, sub_agent_budget=1)
        first = self.begin()
        assert ([], 1) == (first, self.ada_script.ndb.active_sub_agents)
        assert "raise execution_config.sub_agent_budget" in str(self.begin()[0])
        self.model_answers(reports("Done."))
        assert ("Done.", 0) == (first[0].text, self.ada_script.ndb.active_sub_agents)
        assert [] == self.begin()

    def test_l13_tasks_of_one_task(self) -> None:
        """The count is per task: the next task begins anew."""
        self.limit(self.ada_script, loop={"max_delegations_per_task": 1}, **UNATTENDED)
        turn = make_turn()
        self.begin(turn)
        error = str(self.begin(turn)[0])
        assert "raise safety_config.loop.max_delegations_per_task" in error
        assert ([], 1) == (self.begin(), turn.delegations)

    def test_l13_a_delegate_that_is_stopped_while_somebody_is_asked(self) -> None:
        self.limit(self.ada_script, loop={"max_delegations_per_task": 1}, **INTERACTIVE)
        turn = make_turn()
        turn.delegations = 1
        outcomes = self.begin(turn)
        self.brass_script.trigger_emergency_stop("a test")
        self.decide("yes")
        assert ("emergency_stop", 0) == (str(outcomes[0]), self.open_tasks())

    def test_l13_no_grant_is_good_for_another_limit(self) -> None:
        self.limit(self.ada_script, loop={"max_delegations_per_task": 1}, **UNATTENDED)
        self.allow(self.ada_script, sub_agent_budget=1)
        kinds = [LimitKind.AGENT_HOPS, LimitKind.DELEGATIONS, LimitKind.DELEGATES_AT_ONCE]
        turn = make_turn()
        self.begin(turn)
        turn.grants = {LimitKind.AGENT_HOPS: 5.0, LimitKind.DELEGATIONS: 5.0}
        assert "delegates_at_once" in str(self.begin(turn)[0])
        turn.grants = {LimitKind.AGENT_HOPS: 5.0, LimitKind.DELEGATES_AT_ONCE: 5.0}
        assert "limit delegations " in str(self.begin(turn)[0])
        turn.grants = dict.fromkeys(kinds[1:], 5.0)
        state.write(self.ada_script, max_agent_hops=1)
        turn.events = (Event.from_stored(turn.event.as_stored() | {"hops": 1}),)
        turn.event = turn.events[-1]
        assert "agent_hops" in str(self.begin(turn)[0])

    def test_l13_an_assistant_cannot_raise_its_own_cap(self) -> None:
        """It may set attributes of things in the game, never of its script."""
        names = ["execution_config", "sub_agent_budget", "safety_config", "max_agent_hops"]
        state.write(self.ada_script, attribute_allowlist=names)
        self.ada.locks.add("edit:all()")
        self.ada.locks.add("attrcreate:all()")
        before = [state.read(self.ada_script, name) for name in ("execution_config", *names[2:])]
        for name in names:
            for target in ("me", "Ada", "here", "Brass", self.ada_script.dbref):
                self.do("set_attribute", target=target, name=name, value={"sub_agent_budget": 9})
        after = [state.read(self.ada_script, name) for name in ("execution_config", *names[2:])]
        assert before == after


class TestHowLong(DelegationTest):
    def hand_on(self, **safety: Any) -> None:
        """Let Ada delegate a task, over which Brass's model thinks."""
        self.limit(self.ada_script, **safety)
        self.ask("whisper Ada = count", hands_on())
        assert 1 == self.open_tasks()

    def test_l5_at_sixty_seconds_it_is_an_error_upstream(self) -> None:
        """The key is named, and the delegate's call is cancelled."""
        self.hand_on(**UNATTENDED)
        self.advance(59.9)
        assert (1, 0) == (self.open_tasks(), self.model.cancelled)
        self.model.answers.append(whispers("Nobody answers."))
        self.advance(0.1)
        error = self.result(2)["error"]
        assert "raise safety_config.timeout.delegation_seconds" in error
        assert (0, 1, []) == (self.open_tasks(), self.model.cancelled, self.brass_script.work.inbox)
        assert 'Ada whispers: "Nobody answers."' in self.tom.heard_from(self.ada)
        assert ["delegation_begun", "delegation_failed"] == self.names()

    def test_l5_yes_gives_a_full_window(self) -> None:
        """It counts from the answer, as often as somebody says yes."""
        self.hand_on(**INTERACTIVE)
        self.advance(60)
        (prompt,) = self.prompts()
        assert prompt.startswith("I have used my 60 seconds on what I gave Brass to do.")
        self.advance(7)
        self.decide("yes")
        self.advance(59.9)
        assert ([], 1) == (self.questions(), self.open_tasks())
        self.advance(0.1)
        assert ["I have used my 120 seconds"] == [prompt[:26] for prompt in self.prompts()]
        self.model.answers.append(whispers("Nobody answers."))
        self.decide("no")
        assert "(a person said no)" in self.result(2)["error"]
        assert [120] == [fact["cap"] for fact in self.facts("delegation_extended")]

    def test_l5_an_answer_while_asked_cancels_the_question_and_wins(self) -> None:
        self.hand_on(**INTERACTIVE)
        self.advance(60)
        assert 1 == len(self.questions())
        self.model.answers.append(whispers("Seven."))
        self.model_answers(reports())
        assert ([], {"success": True, "result": "Seven lamps."}) == (
            self.questions(),
            self.result(2),
        )
        assert ["delegation_begun", "delegation_answered"] == self.names()
        self.advance(600)
        assert ([], []) == (self.questions(), self.facts("limit_denied"))

    def test_l5_an_answer_at_the_last_moment_wins(self) -> None:
        """It came before the time was over, though nobody has read it yet."""
        self.hand_on(**INTERACTIVE)
        (event,) = map(Event.from_stored, self.brass_script.work.inbox)
        self.model.answers.append(whispers("Seven."))
        assert task_waits.answer(event, "Seven.", held=OPEN)
        self.advance(60)
        assert ([], {"success": True, "result": "Seven."}) == (self.questions(), self.result(2))

    def test_l5_however_asking_fails_the_wait_ends(self) -> None:
        self.limit(self.ada_script, **INTERACTIVE)
        outcomes: list[Any] = []
        self.start("delegate_task", {"task": "Count."}, make_turn()).addErrback(outcomes.append)
        work, self.ada_script.work = self.ada_script.work, None
        self.advance(60)
        self.ada_script.work = work
        assert ["the time for it is over"] == [failure.getErrorMessage() for failure in outcomes]
        assert 0 == self.open_tasks()

    def test_l5_a_stop_while_asked_takes_the_question_along(self) -> None:
        self.hand_on(**INTERACTIVE)
        self.advance(60)
        operations.stop(self.ada_script, "a test")
        pump()
        assert ([], 0, []) == (self.questions(), self.open_tasks(), self.brass_script.work.inbox)
        self.advance(600)
        assert ([], 2) == (self.questions(), len(self.model.bodies))

    def test_l5_zero_waits_as_long_as_the_delegate_is_there(self) -> None:
        self.hand_on(timeout={"delegation_seconds": 0}, **INTERACTIVE)
        for _ in range(60):
            self.advance(60)
        assert ([], 1) == (self.questions(), self.open_tasks())
        self.model.answers.append(whispers("Seven."))
        self.model_answers(completion("Seven."))
        assert 'Ada whispers: "Seven."' in self.tom.heard_from(self.ada)
