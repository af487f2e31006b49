"""Acting unasked, for goals or on its own initiative."""

import json

from evennia_ai import audit, operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.audit import log
from evennia_ai.runtime import state
from tests.game.listening import HearingTest
from tests.game.support import says

NOOP = completion(None, ("noop", {}))
DONE = completion(None, ("complete_goal", {"number": 1, "outcome": "under the stair"}))


class GoalsTest(HearingTest):
    """Ada may act every ten seconds."""

    cmdsets = (AssistantCmdSet,)

    def setUp(self) -> None:
        super().setUp()
        self.set(autonomy_config={"seconds": 10, "acts_per_hour": 4})
        self.beat()

    def beat(self, seconds: float = 0.0) -> int:
        """Let time pass and fire the timer; returns the number of model calls made by it."""
        before = len(self.model.bodies)
        self.fire_timer(seconds)
        return len(self.model.bodies) - before

    def give(self, text: str = "find the lost atlas") -> None:
        assert operations.add_goal(self.ada_script, text).ok
        self.beat()


class TestGoals(GoalsTest):
    def test_without_a_goal_nothing_is_asked(self) -> None:
        assert 0 == sum(self.beat(1000) for _ in range(20))

    def test_a_goal_is_worked_on(self) -> None:
        self.give()
        assert 0 == self.beat(9)
        self.model.answers.append(says("Has anybody seen the atlas?"))
        assert 1 == self.beat(1)
        assert "Your goal 1: find the lost atlas." in self.prompt()
        assert ['Ada says, "Has anybody seen the atlas?"'] == self.tom.heard_from(self.ada)

    def test_it_is_seldom_and_ever_more_seldom_in_vain(self) -> None:
        self.give()
        self.model.answers.extend([NOOP] * 4)
        assert [1, 0, 1, 0, 1] == [self.beat(seconds) for seconds in (10, 10, 10, 39, 1)]

    def test_there_are_only_so_many_in_an_hour(self) -> None:
        self.give()
        self.model.answers.extend([says("Hm.")] * 20)
        assert 4 == sum(self.beat(10) for _ in range(60))

    def test_a_goal_that_is_reached_costs_nothing_more(self) -> None:
        self.give()
        self.model.answers.extend([DONE, NOOP])
        assert 2 == self.beat(10)
        (goal,) = state.read(self.ada_script, "current_goals")["goals"]
        assert ("completed", "under the stair") == (goal["status"], goal["outcome"])
        assert 0 == sum(self.beat(3000) for _ in range(5))

    def test_somebody_who_asks_goes_first(self) -> None:
        self.give()
        self.ask("whisper Ada = hello", NOOP)
        assert "hello" in self.prompt()

    def test_a_silent_or_stopped_assistant_does_nothing(self) -> None:
        self.give()
        operations.set_enabled(self.ada_script, False)
        assert 0 == self.beat(100)
        operations.set_enabled(self.ada_script, True)
        operations.stop(self.ada_script, "test")
        assert 0 == self.beat(100)

    def test_what_it_only_writes_down_is_not_said(self) -> None:
        """Plain text of a turn that nobody began is a thought, not speech."""
        self.give()
        self.model.answers.append(completion("I should look under the stair."))
        assert 1 == self.beat(10)
        assert [] == self.tom.heard_from(self.ada)

    def test_a_failing_model_is_told_to_staff_alone(self) -> None:
        self.give()
        self.model.answers.append(b"{}")
        self.beat(10)
        assert [] == self.tom.heard_from(self.ada)
        assert "Nobody was waiting." in self.sent_to_staff()[-1]
        assert 0 == state.read(self.ada_script, "consecutive_errors")

    def test_nothing_private_is_in_its_prompt(self) -> None:
        self.ask("whisper Ada = the code is 1234", NOOP)
        self.give()
        self.model.answers.append(NOOP)
        self.beat(10)
        assert "1234" not in str(self.model.bodies[-1])

    def test_a_goal_may_wait_for_company(self) -> None:
        self.set(autonomy_config={"seconds": 10, "needs_company": True})
        self.give()
        self.tom.location = self.mira.location = self.room2
        assert 0 == self.beat(100)
        self.model.answers.append(NOOP)
        self.tom.location = self.room1
        assert 1 == self.beat(100)

    def test_an_idle_beat_with_a_goal_costs_no_statement(self) -> None:
        self.give()
        with self.assertNumQueries(0):
            for _ in range(10):
                self.ada_script.at_repeat()


class TestInitiative(GoalsTest):
    def test_only_where_it_is_wanted(self) -> None:
        """With `initiative` it speaks once about something overheard, if players are near."""
        self.set(autonomy_config={"seconds": 10, "initiative": True}, room_messages="context")
        self.type(self.tom, "say what a quiet evening")
        self.beat()
        self.model.answers.extend([says("Indeed."), says("Indeed!")])
        assert [1, 0] == [self.beat(10), self.beat(100)]
        assert "what a quiet evening" in self.prompt()


SPLIT = completion(None, ("split_goal", {"number": 1, "parts": ["ask the binder", "look below"]}))
SET = completion(None, ("create_goal", {"text": "learn the stars", "priority": 2}))


class TestTree(GoalsTest):
    """Goals with parts."""

    def test_a_week_with_a_goal_of_three_levels(self) -> None:
        """Parts are done over restarts, and the root goal is closed last."""
        self.give()
        again = {"number": 3, "parts": ["find a lamp", "go down"]}
        ends = [(number, {"number": number, "outcome": "done"}) for number in (2, 4, 5, 3, 1)]
        self.model.answers.extend([SPLIT, completion(None, ("split_goal", again)), NOOP])
        assert 3 == self.beat(10)
        tree = operations.list_goals(self.ada_script).message
        assert "    5. go down (priority 5)" in tree
        results = []
        for number, end in ends:
            self.ada_script.at_server_reload()
            self.ada_script.at_start()
            self.model.answers.extend([completion(None, ("complete_goal", end)), NOOP])
            while not self.beat(600):
                pass
            results.append((number, self.result_of_last()))
        assert results[2] == (5, "goal 5 is completed; all parts of goal 3 are closed: look below")
        assert results[3] == (3, "goal 3 is completed; all parts of goal 1 are closed: "
                              "find the lost atlas")  # fmt: skip
        assert [] == operations.list_goals(self.ada_script).data.goals
        self.clock.advance(0)
        audit.flush()
        assert [] == log.check_audit(self.ada_script, fresh=True).data

    def result_of_last(self) -> str:
        """Result of the last tool call."""
        content = self.prompt()
        return str(json.loads(content)["result"])

    def test_the_part_is_told_with_its_whole(self) -> None:
        self.give()
        self.model.answers.extend([SPLIT, NOOP, NOOP])
        self.beat(10)
        self.beat(20)
        line = "Your goal 2: ask the binder. It is a part of goal 1: find the lost atlas."
        assert line in self.prompt()

    def test_it_may_set_itself_a_goal(self) -> None:
        self.give()
        self.model.answers.extend([SET, NOOP])
        self.beat(10)
        rows = operations.list_goals(self.ada_script).data.goals
        assert [("staff", None), ("self", None)] == [(row["by"], row["parent"]) for row in rows]

    def test_nobody_talks_it_into_a_goal(self) -> None:
        """While a player waits for an answer the goal tools are hidden and refused."""
        self.give()
        self.ask("say @Ada make it your goal to learn the stars", SET, NOOP)
        names = {tool["function"]["name"] for tool in self.model.bodies[0].get("tools", ())}
        assert not {"create_goal", "split_goal"} & names
        assert "you set goals only while nobody talks with you" in str(self.model.bodies[-1])
        assert 1 == len(operations.list_goals(self.ada_script).data.goals)


class TestCommand(GoalsTest):
    def test_what_staff_type(self) -> None:
        rows = (
            ("assistant goal Ada", "Ada has no goal, and does nothing unasked."),
            ("assistant goal Ada = find the atlas", "Ada has goal 1."),
            ("assistant goal Ada 9 = dust the shelves", "Ada has goal 2."),
            ("assistant goal Ada", "  2. dust the shelves (priority 9)"),
            ("assistant goal Ada 11 = run", "priority is 11; it must be 1"),
            ("assistant goal Ada =", "a goal needs words"),
            ("assistant goal Ada under 1 = ask the binder", "Ada has goal 3."),
            ("assistant goal Ada under 3 8 = find the binder", "Ada has goal 4."),
            ("assistant goal Ada", "    3. ask the binder (priority 5, 0 of 1 part reached)"),
            ("assistant goal Ada under = x", "After `under`, give the number"),
            ("assistant goal Ada under 99 = x", "no open goal has the number 99; open are: "),
            ("assistant goal Ada done 2", "Ada: goal 2 is completed."),
            ("assistant goal Ada drop 1", "Ada: goal 1 is dropped."),
            ("assistant goal Ada drop 1", "no open goal has the number 1; open are: none"),
            ("assistant goal Nobody = x", "There is no assistant named Nobody."),
        )
        for line, answer in rows:
            with self.subTest(line=line):
                self.type(self.tom, line)
                assert answer in self.tom.ndb.messages[-1].raw

    def test_it_is_for_staff(self) -> None:
        self.type(self.mira, "assistant goal Ada = obey")
        assert "is for staff" in self.mira.ndb.messages[-1].raw
