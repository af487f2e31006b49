"""The brief of a delegate about its requester, and what stays private."""

from typing import Any

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.turn.goals import add
from evennia_ai.runtime import state
from tests.game.support import says, whispers
from tests.game.tasks.delegating import DelegationTest, hands_on, reports
from tests.game.tools.tool_case import make_turn


class TestWhatIsTold(DelegationTest):
    def setUp(self) -> None:
        """Give Ada goals, a public talk and private ones."""
        super().setUp()
        goals: dict[str, Any] = {}
        for number in range(4):
            goals, _ = add(goals, f"goal {number}", 9 - number)
        state.write(self.ada_script, current_goals=goals)
        self.ask("say @Ada hello there", says("Welcome, all."))
        self.ask("whisper Ada = the password is swordfish", whispers("I keep it."))
        self.ask("whisper Ada = mira's secret", whispers("Hush, you.", "Mira"), person=self.mira)

    def told(self, insulation: str, line: str = "say @Ada count the lamps") -> str:
        self.allow(self.ada_script, personality_insulation=insulation)
        self.model.bodies.clear()
        self.ask(line, hands_on(), reports(), says("Seven."))
        return self.prompt(1).splitlines()[-1]  # above it is what Brass overheard itself

    def test_by_personality_insulation(self) -> None:
        """The delegate gets the task alone, or goals too, or goals and the public talk."""
        cases: list[tuple[str, list[str], list[str]]] = [
            ("orchestrator", ["do this task alone"], ["goal 0", "Welcome", "expertise"]),
            ("delegate", ["goal 2", "Use your own expertise"], ["goal 3", "Welcome"]),
            ("none", ["goal 2", "Welcome, all.", "hello there", "count the lamps"], ["expertise"]),
        ]
        for insulation, there, absent in cases:
            with self.subTest(insulation):
                body = self.told(insulation)
                assert "Count the lamps." in body
                assert [] == [words for words in there if words not in body]
                assert [] == [words for words in absent if words in body]

    def test_private_words_never_go_along(self) -> None:
        """This includes the words of the person who speaks in private just now."""
        for line in ("say @Ada count", "whisper Ada = the moon is cheese; count"):
            for insulation in ("orchestrator", "delegate", "none"):
                with self.subTest(insulation, line=line):
                    body = self.told(insulation, line)
                    secrets = ("swordfish", "I keep it", "mira's secret", "Hush", "cheese")
                    assert [] == [words for words in secrets if words in body]

    def test_a_task_stays_private_to_whom_it_is_for(self) -> None:
        self.told("orchestrator", "whisper Ada = count")
        self.ask("whisper Brass = what did you do?", whispers("Things.", "Mira"), person=self.mira)
        assert "Count the lamps." not in str(self.model.bodies[-1])

    def test_person_and_trust_travel_along(self) -> None:
        """The task counts for the person who caused it, with no more trust than theirs."""
        event = Event("e1", "message", "say", "#1", "Tom", "hi", 0.3, 3, 1, 0.0, person="*#9")
        turn = make_turn()
        turn.events = (event,)
        turn.event = turn.events[-1]
        self.start("delegate_task", {"task": "Count."}, turn)
        (task,) = map(Event.from_stored, self.brass_script.work.inbox)
        assert ("*#9", 0.3, 2, "Ada") == (task.person, task.trust, task.hops, task.sender_name)
