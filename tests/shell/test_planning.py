"""`split_goal` without parts: the model plans in a call of its own, in a context of its own."""

from __future__ import annotations

import json
from typing import Any

from evennia_ai import operations
from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.models import ModelCall
from tests.shell.test_goals import GoalsTest

NOOP = completion(None, ("noop", {}))
SPLIT = completion(None, ("split_goal", {"number": 1}))
PARTS = completion('["ask the binder", "look below the stair"]')


class TestPlanning(GoalsTest):
    """Ada has a goal that is too large for a step."""

    def setUp(self) -> None:
        """The lost atlas."""
        super().setUp()
        self.give()

    def plan(self, *answers: bytes | Exception) -> str:
        """A turn of her own with these answers; what the model was told of the last call."""
        self.model.answers.extend([*answers, NOOP])
        self.beat(10)
        content = json.loads(self.model.bodies[-1]["messages"][-1]["content"])
        return str(content.get("result", content.get("error")))

    @property
    def goals(self) -> list[Any]:
        """What is open, by words."""
        return [row["text"] for row in operations.list_goals(self.ada_script).data.goals]

    def test_the_model_is_asked_for_the_parts(self) -> None:
        """It is shown the goals and who she is, no tools; the parts are hers, and it is paid."""
        assert "goal 1 has the parts 2, 3" == self.plan(SPLIT, PARTS)
        assert ["ask the binder", "look below the stair"] == self.goals[1:]
        asked = self.model.bodies[1]
        assert "tools" not in asked
        system, told = (message["content"] for message in asked["messages"])
        assert system.startswith("Who you are:")
        assert "Split the goal into 2 to 7 parts" in system
        assert 'The goal:\n1: "find the lost atlas"' in told
        assert 1 == ModelCall.objects.filter(purpose="planning").count()

    def test_what_private_talk_held_is_not_shown(self) -> None:
        """The call is made of goals alone."""
        self.ask("whisper Ada = the wren sails at dawn", NOOP)
        self.plan(SPLIT, PARTS)
        assert "wren" not in str(self.model.bodies[-2])

    def test_a_planning_that_fails(self) -> None:
        """The goal is as it was, and the model may name the parts itself."""
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
        """No open goal of that number, or one that has parts: no call, no money."""
        self.plan(SPLIT, PARTS)
        for number, cause in ((9, "no open goal has the number 9"), (1, "goal 1 has parts")):
            again = completion(None, ("split_goal", {"number": number}))
            self.clock.advance(7200)
            before = ModelCall.objects.filter(purpose="planning").count()
            with self.subTest(number=number):
                assert cause in self.plan(again)
                assert before == ModelCall.objects.filter(purpose="planning").count()
