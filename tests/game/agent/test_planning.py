"""The tool `split_goal` without parts, for which the model plans in a separate call."""

import json
from typing import Any

from evennia_ai import operations
from evennia_ai.core.turn.goals import MOST_GOALS
from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.models import ModelCall
from evennia_ai.runtime import turns
from tests.game.agent.test_goals import GoalsTest
from tests.recorded import record_of

PARTS_TEXT = '["ask the binder", "look below the stair"]'
PARTS = completion(PARTS_TEXT)


def used(tokens: int) -> dict[str, int]:
    """The usage of a call with a prompt of so many tokens."""
    return {"prompt_tokens": tokens, "completion_tokens": 10, "total_tokens": tokens + 10}


NOOP = completion(None, ("noop", {}), usage=used(50))
SPLIT = completion(None, ("split_goal", {"number": 1}), usage=used(100))


class PlanningCase(GoalsTest):
    """Ada has a goal that is too large for a step."""

    def setUp(self) -> None:
        super().setUp()
        self.give()

    def plan(self, *answers: bytes | Exception) -> str:
        """Run a turn of her own with these answers. Returns the result of its last call."""
        self.model.answers.extend([*answers, NOOP])
        self.beat(10)
        content = json.loads(self.prompt())
        return str(content.get("result", content.get("error")))

    @property
    def goals(self) -> list[Any]:
        return [row["text"] for row in operations.list_goals(self.ada_script).data.goals]


class TestPlanning(PlanningCase):
    def test_the_model_is_asked_for_the_parts(self) -> None:
        """The request has her persona and goals and no tools, and is paid."""
        assert "goal 1 has the parts 2, 3" == self.plan(SPLIT, PARTS)
        assert ["ask the binder", "look below the stair"] == self.goals[1:]
        asked = self.model.bodies[1]
        assert "tools" not in asked
        system, request = (message["content"] for message in asked["messages"])
        assert system.startswith("Who you are:")
        assert "Split the goal into 2 to 7 parts" in system
        assert 'The goal:\n1: "find the lost atlas"' in request
        assert 1 == ModelCall.objects.filter(purpose="planning").count()

    def test_what_private_talk_held_is_not_shown(self) -> None:
        self.ask("whisper Ada = the wren sails at dawn", NOOP)
        self.plan(SPLIT, PARTS)
        assert "wren" not in str(self.model.bodies[-2])

    def test_a_planning_that_fails(self) -> None:
        rows: tuple[tuple[bytes | Exception, str], ...] = (
            (completion("I would ask."), "the planning gave no parts; name the parts yourself"),
            (completion('["only one"]'), "a goal is split into 2 to 7 parts, not 1"),
            (ModelStatusError(400, "no"), "it could not be planned now"),
        )
        for answer, cause in rows:
            with self.subTest(cause=cause):
                self.clock.advance(7200)
                assert cause in self.plan(SPLIT, answer)
                assert ["find the lost atlas"] == self.goals

    def test_what_cannot_be_split_is_not_asked_about(self) -> None:
        self.plan(SPLIT, PARTS)
        assert operations.add_goal(self.ada_script, "ring the bell", when="daily at 08:00").ok
        assert operations.add_goal(self.ada_script, "level 3", parent=2).ok
        assert operations.add_goal(self.ada_script, "level 4", parent=5).ok
        for number, cause in (
            (9, "no open goal has the number 9"),
            (1, "goal 1 has parts"),
            (4, "goal 4 comes back every day"),
            (6, "goal 6 is 4 deep already"),
        ):
            again = completion(None, ("split_goal", {"number": number}))
            self.clock.advance(7200)
            before = ModelCall.objects.filter(purpose="planning").count()
            with self.subTest(number=number):
                assert cause in self.plan(again)
                assert before == ModelCall.objects.filter(purpose="planning").count()

    def test_fifty_open_goals_leave_no_room(self) -> None:
        for number in range(MOST_GOALS - 2):
            assert operations.add_goal(self.ada_script, f"goal {number}").ok
        assert "there are 49 open goals already, and 50 at most" in self.plan(SPLIT)
        assert 0 == ModelCall.objects.filter(purpose="planning").count()


class TestLimits(PlanningCase):
    """The planning call counts as one of the turn that asks for it."""

    def test_it_is_counted_with_the_turn(self) -> None:
        """The turn, its chain, the audit and the total each count it once."""
        recorded = record_of(self)
        self.plan(SPLIT, completion(PARTS_TEXT, usage=used(1000)))
        (tick,) = [facts for event, _, facts in recorded if event == "TickCompleted"]
        assert (3, 1150) == (tick["calls"], tick["prompt_tokens"])
        assert [] == [facts for event, _, facts in recorded if event == "UsageCounted"]
        work = self.ada_script.work
        assert (3, 1150) == (work.calls, work.usage.prompt_tokens)
        chain = next(reversed(turns.CHAINS._known.values()))
        assert work.usage.total_tokens == chain.tokens

    def test_a_limit_of_the_turn_leaves_nothing(self) -> None:
        """One call has to be left for the rest of the turn."""
        rows = {
            "max_model_calls_per_tick": (2, "model_calls"),
            "max_tokens_per_task": (1200, "task_tokens"),
        }
        for key, (most, kind) in rows.items():
            self.set(safety_config={"loop": {key: most}})
            self.clock.advance(7200)
            with self.subTest(key):
                text = self.plan(SPLIT)
                assert f"it could not be planned now (limit {kind}" in text
                assert "name the parts yourself" in text
                assert 0 == ModelCall.objects.filter(purpose="planning").count()
        self.set(safety_config={"loop": {"max_model_calls_per_tick": 3}})
        self.clock.advance(7200)
        assert "goal 1 has the parts 2, 3" == self.plan(SPLIT, PARTS)
