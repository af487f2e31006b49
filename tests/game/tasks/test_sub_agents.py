"""Delegation of a task: the delegate, the words it gets, and the report that comes back."""

from typing import Any

from evennia_ai import operations
from evennia_ai.agent import failure_notices
from evennia_ai.core.hearing.inbox import TASK, Event
from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from evennia_ai.tasks import task_waits
from evennia_ai.tasks.delegations import told_specialists
from tests.game.support import NOT_A_COMPLETION, pump, says, whispers
from tests.game.tasks.delegating import DelegationTest, hands_on, reports
from tests.game.tools.tool_case import make_turn

EMERGENCY = {"success": False, "error": "emergency_stop"}
CANNOT = 'Ada whispers: "I cannot."'


class TestThereAndBack(DelegationTest):
    def test_the_report_is_the_result(self) -> None:
        answers = hands_on(), reports(), whispers("There are seven.")
        self.ask("whisper Ada = how many lamps?", *answers)
        assert "Ada hands you a task (trust 0." in self.prompt(1)
        assert "Count the lamps." in self.prompt(1)
        assert {"success": True, "result": "Seven lamps."} == self.result(2)
        assert ['Ada whispers: "There are seven."'] == self.tom.heard_from(self.ada)
        assert ["delegation_begun", "delegation_answered"] == self.names()
        assert (0, 0) == (self.open_tasks(), self.ada_script.ndb.active_sub_agents)

    def test_why_says_of_a_task_what_there_is_to_say(self) -> None:
        """It has no number, and was heard by no rule and no mark."""
        self.ask("whisper Ada = how many lamps?", hands_on(), reports(), whispers("Seven."))
        text = operations.why(self.brass_script).message
        assert "Brass, from Ada, 0:00:0" in text
        for line in ("message 0", "known by", "rule ", "()"):
            assert line not in text

    def test_plain_text_is_a_report(self) -> None:
        """A model without tool calls answers a task as it answers a whisper."""
        answers = hands_on(), completion("Seven lamps, I think."), whispers("Seven.")
        self.ask("whisper Ada = how many lamps?", *answers)
        assert {"success": True, "result": "Seven lamps, I think."} == self.result(2)
        assert [] == self.mira.heard_from(self.brass)

    def test_what_is_on_offer(self) -> None:
        """Delegation is offered only where it is enabled, a report only in a turn about a task."""
        self.ask("whisper Ada = how many?", hands_on(), reports(), whispers("Seven."))
        mine = {"delegate_task", "report"}
        assert [{"delegate_task"}, {"report"}] == [self.tools_of(n) & mine for n in (0, 1)]
        self.ask("whisper Brass = hello", whispers("Hm."))
        assert set() == self.tools_of(3) & mine

    def test_a_turn_without_a_report(self) -> None:
        """The delegate's last act is told; with nothing done it is a failure."""
        cases: list[tuple[str, Any, str, str]] = [
            ("it spoke", says("Dinner!"), "result", "(no report; the last thing it did was: say"),
            ("nothing", completion(None, ("noop", {})), "error", "chose to do nothing"),
        ]
        for name, does, key, words in cases:
            with self.subTest(name):
                self.model.bodies.clear()
                self.ask("say @Ada call them", hands_on(), does, says("Done."))
                assert words in self.result(2)[key]

    def test_whoever_is_free_is_asked(self) -> None:
        """Without a name, the one with the fewest things to do is asked."""
        cora_script, _ = self.make_specialist("Cora")
        self.ask("whisper Ada = first", hands_on(specialist="cora"))
        assert 1 == len(cora_script.work.inbox)
        self.start("delegate_task", {"task": "Count."}, make_turn())
        assert (1, 1) == (len(cora_script.work.inbox), len(self.brass_script.work.inbox))
        assert 2 == self.ada_script.ndb.active_sub_agents


class TestRefusals(DelegationTest):
    def test_seed_000_section_4_a_stopped_delegate_is_refused(self) -> None:
        """The result is the seed's to the letter, whether the delegate is named or not."""
        self.brass_script.trigger_emergency_stop("a test")
        for more in ({}, {"specialist": "Brass"}):
            with self.subTest(**more):
                self.model.bodies.clear()
                self.ask("whisper Ada = count", hands_on(**more), whispers("I cannot."))
                assert EMERGENCY == self.result(1)
        assert [] == self.names()

    def test_each_refusal_says_why(self) -> None:
        cases: list[tuple[str, Any, dict[str, str], str]] = [
            ("unknown", None, {"specialist": "Zed"}, 'called "Zed"; there are: Brass'),
            ("itself", None, {"specialist": "ADA"}, "to yourself; specialists are: Brass"),
            ("no words", None, {"task": " \n"}, "say in words what is to be done"),
            ("a lock", lambda: self.brass.locks.add("delegate:false()"), {}, "no task of yours"),
            ("silent", lambda: operations.set_enabled(self.brass_script, False), {}, "is silenced"),
            ("no body", lambda: setattr(self.brass_script, "obj", None), {}, "it has no body"),
            ("untagged", lambda: self.brass_script.tags.clear(), {}, "there are: none"),
            ("not allowed", lambda: self.allow_none(), {}, "your owner did not enable it"),
        ]
        for name, change, more, words in cases:
            with self.subTest(name):
                if change is not None:
                    change()
                assert words in self.refusal("delegate_task", **{"task": "Count."} | more)
        assert ([], 0) == (self.names(), len(self.brass_script.work.inbox))

    def test_the_tag_may_stand_on_the_body(self) -> None:
        """Evennia's command `tag` cannot reach a script."""
        self.brass_script.tags.remove("specialist")
        assert "there are: none" in self.refusal("delegate_task", task="Count.", specialist="Brass")
        self.tom.execute_cmd("tag brass = specialist:role")
        assert ("Brass",) == told_specialists(self.ada_script)

    def allow_none(self) -> None:
        state.write(self.ada_script, execution_config={})

    def test_nobody_who_muted_the_delegate_is_served_by_it(self) -> None:
        """A mute holds also by way of another assistant."""
        state.mute(self.brass_script, "*#1", is_muted=True)
        assert "who has muted it" in self.refusal("delegate_task", task="Count.")

    def test_no_chain_goes_in_a_circle(self) -> None:
        """Brass cannot hand a task back to Ada, who waits for Brass."""
        self.ada_script.tags.add("specialist", category="role")
        self.allow(self.brass_script)
        answers = hands_on(), hands_on(specialist="Ada"), reports("I need her."), whispers("No.")
        self.ask("whisper Ada = count", *answers)
        problem = "Ada waits for what you do yourself, so it cannot be asked"
        assert {"success": False, "error": problem} == self.result(2)
        assert ['Ada whispers: "No."'] == self.tom.heard_from(self.ada)
        assert 1 == len(self.facts("delegation_begun"))

    def test_a_report_that_nobody_waits_for(self) -> None:
        event = Event("t1", TASK, "whisper", "#1", "Ada", "count", 0.9, 0, 1, 0.0)
        turn = make_turn()
        turn.events = (event,)
        turn.event = turn.events[-1]
        assert "nobody waits for this report" in self.refusal("report", turn=turn, message="Seven.")
        assert [{"id": "t1"}] == self.facts("report_unheard")
        refused = self.refusal("delegate_task", turn=turn, task="Count.")
        assert "nobody waits for your own task" in refused
        assert not failure_notices.notify_failure(self.brass_script, event)

    def test_a_report_needs_words(self) -> None:
        self.ask("whisper Ada = count", hands_on(), reports(" "), reports("Seven."), whispers("7"))
        assert "say in words what came of the task" == self.result(2)["error"]
        assert "Seven." == self.result(3)["result"]


class TestFailures(DelegationTest):
    """The requester is told of any failure of the delegate, and goes on."""

    def test_a_model_that_fails(self) -> None:
        cases: list[tuple[str, Any, str]] = [
            ("the service", ModelStatusError(400, "bad"), "the model, or the way to it, failed"),
            ("the answer", NOT_A_COMPLETION, "the model, or the way to it, failed"),
            ("no words", completion(""), "holds nothing to say or do"),
        ]
        for name, answer, words in cases:
            with self.subTest(name):
                self.model.bodies.clear()
                self.ask("whisper Ada = count", hands_on(), answer, whispers("I cannot."))
                error = self.result(len(self.model.bodies) - 1)["error"]
                assert (True, True) == (error.startswith("Brass could not do it"), words in error)
        assert 3 == len(self.facts("delegation_failed"))

    def test_a_task_that_has_to_make_room(self) -> None:
        """A full inbox drops the task, and the requester does not wait for it."""
        state.write(self.brass_script, max_pending_events=1)
        self.type(self.tom, "whisper Brass = a riddle")
        self.type(self.mira, "whisper Brass = one more")
        self.ask("whisper Ada = count", hands_on(), whispers("I cannot."))
        self.type(self.mira, "whisper Brass = and another")
        assert "its inbox was full" in str(self.facts("delegation_failed"))
        assert CANNOT in self.tom.heard_from(self.ada)

    def test_a_delegate_that_a_limit_stopped(self) -> None:
        """The requester reads the limit, and the delegate's findings so far."""
        config = {"max_iterations_per_tick": 1}
        unattended = {"on_limit": {"mode": "unattended"}}
        state.write(self.brass_script, execution_config=config, safety_config=unattended)
        last_word = completion("Six so far.")
        answers = hands_on(), completion(None, ("look", {})), last_word, whispers("Six.")
        self.ask("whisper Ada = count", *answers)
        problem = "Brass could not do it: limit max_iterations; so far: Six so far."
        assert {"success": False, "error": problem} == self.result(3)
        assert [CANNOT.replace("I cannot", "Six")] == self.tom.heard_from(self.ada)

    def test_muting_the_delegate_does_not_drop_what_it_does_for_another(self) -> None:
        """A mute drops only words that were said to it."""
        self.ask("whisper Ada = count", hands_on())
        operations.set_muted(self.brass_script, self.tom, True)
        self.model.answers.append(whispers("Seven."))
        self.model_answers(reports())
        assert ["delegation_begun", "delegation_answered"] == self.names()

    def test_a_delegate_that_is_stopped(self) -> None:
        self.ask("whisper Ada = count", hands_on())
        self.model.answers.append(whispers("I cannot."))
        operations.stop(self.brass_script, "a test")
        pump()
        assert "Brass could not do it: it was stopped" == self.result(2)["error"]
        assert [CANNOT] == self.tom.heard_from(self.ada)

    def test_a_stopped_delegate_returns_messages_and_tasks(self) -> None:
        """Tom's own message is not lost behind the task that is for him, too."""
        self.type(self.tom, "whisper Brass = a riddle")
        self.ask("whisper Ada = count", hands_on())
        self.model.answers.append(whispers("I cannot."))
        operations.stop(self.brass_script, "a test")
        pump()
        assert 1 == sum("I have to break off" in line for line in self.tom.seen)
        assert CANNOT in self.tom.heard_from(self.ada)

    def test_a_delegate_that_is_lost(self) -> None:
        """It is found out within five seconds."""
        losses: list[tuple[str, Any, str]] = [
            ("task gone", self.drop_the_task, "it gave the task up"),
            ("silenced", lambda: operations.set_enabled(self.brass_script, False), "is silenced"),
            ("deleted", lambda: self.brass_script.delete(), "it is gone"),
        ]
        for name, lose, words in losses:
            with self.subTest(name):
                operations.set_enabled(self.brass_script, True)
                self.ask("whisper Ada = count", hands_on())
                lose()
                self.model.answers.append(whispers("I cannot."))
                self.advance(task_waits.LOOK_EVERY_SECONDS)
                assert words in self.facts("delegation_failed")[-1]["why"]
                assert 0 == self.open_tasks()
        assert 3 == self.tom.heard_from(self.ada).count(CANNOT)

    def test_a_stop_goes_on_when_the_task_cannot_be_taken_back(self) -> None:
        """The inbox cannot be stored; the task in memory is dropped all the same."""
        self.ask("whisper Ada = count", hands_on())
        inbox = self.brass_script.work.inbox
        inbox.append({"id": "m1", "kind": "message", "cannot be stored": self.forget})
        state.bump_epoch(self.ada_script)
        self.brass_script.work.inbox = []
        assert (0, 1) == (self.open_tasks(), self.model.cancelled)

    def test_both_are_lost(self) -> None:
        """The requester is stopped when its delegate is gone already."""
        self.ask("whisper Ada = count", hands_on())
        self.brass_script.delete()
        operations.stop(self.ada_script, "a test")
        pump()
        assert 0 == self.open_tasks()

    def drop_the_task(self) -> None:
        """Take the task out of Brass's inbox, as a reset in the middle does."""
        state.discard(self.brass_script, self.brass_script.work.inbox)
        state.bump_epoch(self.brass_script)

    def test_a_requester_that_is_stopped(self) -> None:
        """Its task is taken back, waiting or begun, and no model goes on with it."""
        for name, is_begun in (("begun", True), ("waiting", False)):
            with self.subTest(name):
                if not is_begun:
                    self.type(self.tom, "whisper Brass = a riddle")
                self.model.answers.append(hands_on())
                held = list(self.model.waiting)
                self.model.waiting.clear()
                self.type(self.tom, "whisper Ada = count")
                before = len(self.model.waiting)
                self.model.waiting += held
                operations.stop(self.ada_script, "a test")
                pump()
                assert is_begun is bool(before)
                assert (0, 0) == (self.open_tasks(), self.tasks_of_brass())
                operations.clear(self.ada_script)
                operations.reset_history(self.ada_script)
                state.discard(self.ada_script, self.ada_script.work.inbox)
        assert 1 == self.model.cancelled
        assert 2 == [fact["why"] for fact in self.facts("delegation_failed")].count(
            task_waits.DROPPED
        )

    def tasks_of_brass(self) -> int:
        return sum(item["kind"] == TASK for item in self.brass_script.work.inbox)

    def test_a_task_from_before_a_restart_costs_nothing(self) -> None:
        """Nobody waits for it any more, so it is dropped without a call."""
        event = Event("t1", TASK, "whisper", "#1", "Ada", "count", 0.9, 0, 1, self.clock.seconds())
        self.brass_script.enqueue(event)
        pump()
        assert ([], 0) == (self.brass_script.work.inbox, len(self.model.bodies))
