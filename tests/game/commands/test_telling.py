"""`assistant tell`: staff tell an assistant what to do, and hear what came of it."""

from typing import Any

from django.test import override_settings
from twisted.internet.defer import CancelledError

from evennia_ai import operations
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.conversation.talk import Told, ask, tell
from evennia_ai.operations.result import ProblemKind
from tests.game.support import pump, says
from tests.game.tasks.errand_case import ErrandTest, confirm, reports_of


@override_settings(EVENNIA_AI_MAX_TOOLS_OFFERED=100)
class TestTelling(ErrandTest):
    """Tom is staff. Tools of other test files must not push any tool out of the offer."""

    def told(self, words: str = "Count the lamps.") -> Any:
        (result,) = self.outcome(tell(self.ada_script, self.tom, words))
        return result

    def test_what_she_reports_comes_back(self) -> None:
        """The result has the number for `why`, and the task her full trust."""
        self.model.answers.append(reports_of("Seven lamps."))
        result = self.told()
        assert (True, "Ada: Seven lamps.") == (result.ok, result.message)
        assert Told("Seven lamps.", 1) == result.data
        assert "Tom hands you a task (trust 1)" in self.prompt(0)
        why = operations.why(self.ada_script, number=1).message
        assert "told by staff: 16 characters" in why
        assert "rule      0 told: trigger" in why

    def test_she_may_speak_and_act(self) -> None:
        """Without a report the last thing that she did is told."""
        self.model.answers.append(says("Dinner!"))
        result = self.told("Call them to dinner.")
        assert ['Ada says, "Dinner!"'] == self.mira.heard_from(self.ada)
        assert 'Ada: (no report; the last thing it did was: say "Dinner!")' == result.message

    def test_what_asks_first_asks_as_ever(self) -> None:
        """A dangerous tool that needs a yes still asks for one."""
        confirm(self.ada_script)
        lamp = self.make_thing("lamp")
        self.model.answers.extend(
            [completion(None, ("get", {"item": "lamp"})), reports_of("I asked.")]
        )
        assert "Ada: I asked." == self.told("Take the lamp.").message
        assert self.room1 == lamp.location
        assert 1 == len(self.facts("question_asked"))

    def test_the_record_says_who(self) -> None:
        """The record has the length of the words, never the words."""
        self.model.answers.append(reports_of())
        self.told("The vault's word is kestrel.")
        (fact,) = self.facts("told")
        assert ("Tom", 1, 28) == (fact["by"], fact["number"], fact["characters"])
        assert "kestrel" not in str(self.happened)

    def test_what_comes_to_nothing(self) -> None:
        """Each problem has its kind, and a number where she heard the words."""
        cases: list[tuple[str, Any, Any, ProblemKind, int, str]] = [
            ("no words", None, " ", ProblemKind.INVALID, 0, "not a word"),
            ("nothing", completion(None, ("noop", {})), "x", ProblemKind.CONFLICT, 1, "do nothing"),
            ("no sense", completion(""), "x", ProblemKind.UNAVAILABLE, 2, "nothing to say or do"),
        ]
        for name, answer, words, problem, number, why in cases:
            with self.subTest(name):
                self.model.answers.extend([answer] if answer else [])
                result = self.told(words)
                assert (False, problem) == (result.ok, result.problem)
                assert Told("", number) == result.data
                assert why in result.message
        operations.set_muted(self.ada_script, self.tom, True)
        assert ProblemKind.FORBIDDEN is self.told().problem
        operations.set_muted(self.ada_script, self.tom, False)
        operations.stop(self.ada_script, "a test")
        result = self.told()
        assert (ProblemKind.CONFLICT, 4) == (result.problem, result.data.number)
        assert "Ada gives no answer: an emergency stop is active." == result.message

    def test_cancelling_takes_it_back(self) -> None:
        """It happens when whoever told her has left."""
        running = tell(self.ada_script, self.tom, "Count the lamps.")
        pump()
        running.cancel()
        (error,) = self.outcome(running)
        assert isinstance(error, CancelledError)
        assert ([], 1) == (self.waiting(), self.model.cancelled)

    def test_asking_is_quiet(self) -> None:
        """A question of a program, in somebody's name or not, offers no tool for speaking."""
        self.model.answers.extend([reports_of("Seven."), reports_of("Eight.")])
        (first,) = self.outcome(ask(self.ada_script, "How many?"))
        (second,) = self.outcome(ask(self.ada_script, "How many?", person=self.mira))
        assert ("Ada: Seven.", "Eight.") == (first.message, second.data.answer)
        assert "say" not in self.tools_of(0) | self.tools_of(1)
        assert "of Mira" in operations.why(self.ada_script, number=2).message
