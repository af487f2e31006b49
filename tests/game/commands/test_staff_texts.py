"""The first lines that staff read: of each kind of notice, and of each overview.

`GameTest.tearDown` holds the notices of every other test to the same rule.
"""

from collections.abc import Callable, Mapping

from django.test.utils import override_settings

from evennia_ai import operations
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.emergency import trigger_emergency_stop
from evennia_ai.errors import ModelReplyError, ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.conversation.talk import tell
from evennia_ai.runtime import services
from tests.game.listening import HearingTest
from tests.game.support import whispers
from tests.wording import MACHINE, first_line

LOOKS = [completion(None, ("look", {"target": f"thing {n}"})) for n in range(9)]


class TestNotices(HearingTest):
    def _ask(self, *answers: bytes | Exception) -> None:
        self.ask("whisper Ada = hello", *answers)

    def _limit(self) -> None:
        self.set(safety_config={"on_limit": {"mode": "unattended"}})
        self._ask(*LOOKS[:5], whispers("So far."))

    def _wait(self) -> None:
        for _ in range(3):
            self._ask(completion(" "))

    def _lose_body(self) -> None:
        self.ada.delete()

    def test_every_producer_begins_like_a_person(self) -> None:
        """Plain words come first; technical names may follow."""
        producers: Mapping[str, Callable[[], object]] = {
            "Ada could not answer Tom": lambda: self._ask(ModelStatusError(400, "no_model x.y")),
            "holds nothing to say": lambda: self._ask(completion(" ")),
            "Ada reached the limit of 5 steps a tick": self._limit,
            "Ada's model does not answer. Nothing is locked": lambda: self._ask(
                ModelStatusError(401, "no key_x")
            ),
            "Ada ignores Tom": self._wait,
            "Ada has locked itself: its whole budget": lambda: trigger_emergency_stop(
                self.ada_script, "tokens_total", cause=Cause.BUDGET
            ),
            "Ada is stopped: a fire.": lambda: operations.stop(self.ada_script, "a fire"),
            "Ada has lost its body": self._lose_body,
        }
        self._ask(whispers("Hello."))
        for expected, provoke in producers.items():
            with self.subTest(expected):
                self._begin_anew()
                provoke()
                lines = list(map(first_line, self.sent_to_staff()))
                assert [line for line in lines if expected in line], lines
                assert [] == [line for line in lines if MACHINE.search(line)]

    def _begin_anew(self) -> None:
        self.forget()
        services.pool().troubles.clear()
        services.pool().breakers.reset_all()
        operations.clear(self.ada_script)
        operations.reset_history(self.ada_script)
        self.clock.advance(3_600)

    def test_the_model_answers_again(self) -> None:
        self._ask(ModelReplyError("x_y.z"))
        self._ask(ModelStatusError(401, "no key_x"))
        self._ask(whispers("Hello."))
        assert first_line(self.sent_to_staff()[-1]).endswith("its model answers again.")


class TestCommands(HearingTest):
    def line(self, typed: str) -> str:
        """The first line that Tom, who is staff, reads."""
        shown: str = self.assistant(typed)
        return shown.split("\n")[0]

    def test_why_begins_with_what_a_person_would_say(self) -> None:
        self.set(safety_config={"on_limit": {"mode": "unattended"}})
        for answers in (
            [whispers("Hello.")],
            [completion(None, ("noop", {}))],
            [ModelStatusError(400, "no_model")],
            [*LOOKS[:5], whispers("So far.")],
        ):
            self.clock.advance(600)
            self.ask("whisper Ada = hello", *answers)
            for typed in ("why", "why full"):
                line = self.line(typed)
                assert line.startswith("Ada: Tom whispered to me at ")
                assert not MACHINE.search(line), line
        for typed in ("say what a day", "pose yawns", "say @ada and you"):
            self.type(self.tom, typed)
            assert not MACHINE.search(self.line("why")), typed

    def test_what_was_turned_away_is_said_plainly(self) -> None:
        """Only `why full` names the limit."""
        self.set(hearing_config={"calls_per_player": 1, "queued_per_player": 0, "batch_seconds": 0})
        self.ask("whisper Ada = one", whispers("Yes."))
        self.type(self.tom, "whisper Ada = two")
        assert "I refused it because it was over a limit" in self.line("why")
        assert "calls_per_player" in self.assistant("why full")

    def test_an_order_to_a_silent_assistant_was_over_no_limit(self) -> None:
        """It was turned away for another reason, which `why full` names."""
        self.set(enabled=False)
        refused = tell(self.ada_script, self.tom, "Count the lamps.")
        refused.addErrback(lambda _: None)
        assert self.line("why").endswith("; I refused it.")
        assert "it is silenced" in self.assistant("why full")

    def test_status_begins_with_how_it_is(self) -> None:
        assert "Ada: awake. It stands in Room; nobody waits for an answer." == self.line("status")
        trigger_emergency_stop(self.ada_script, "why", cause=Cause.CONSECUTIVE_ERRORS)
        line = self.line("status")
        assert line.endswith("To let it go on: assistant emergency clear Ada.")
        assert not MACHINE.search(line)
        operations.clear(self.ada_script)
        operations.set_enabled(self.ada_script, False)
        assert self.line("status").endswith("To let it answer: assistant start Ada.")

    def test_a_wrong_setting_is_told_below_what_it_means(self) -> None:
        """In the list of all assistants the words come first, then the path."""
        with override_settings(EVENNIA_AI_SAFETY_CONFIG={"loop": {"no_such": 1}}):
            self.ada_script.work.drop_cached_settings()
            assert "no_such" in self.ada_script.silence_for_staff
            shown = self.assistant("list")
            status = self.assistant("status")
        text = (
            "Ada does nothing because a setting is wrong. It is in the game's settings; correct it "
            "there, then type: evennia reload\n    "
        )
        assert text in shown
        assert "no_such" in shown.partition(text)[2]
        assert 1 == status.count("no_such")

    def test_a_wrong_price_is_a_wrong_setting(self) -> None:
        """It counts as no failure of the model, so it locks nobody, and ends with a reload."""
        with override_settings(EVENNIA_AI_PRICES={"scripted": {"input": "0.15", "output": 1}}):
            self.ada_script.work.drop_cached_settings()
            self.type(self.tom, "whisper Ada = hello")
            shown = self.assistant("list")
        assert "setting is wrong. It is in the game's settings" in shown
        assert "EVENNIA_AI_PRICES['scripted']['input'] is '0.15'" in shown
        assert (0, []) == (self.ada_script.db.consecutive_errors, self.model.bodies)

    def test_a_budget_that_is_wrong_is_no_amount(self) -> None:
        """Its error must not stand in place of the tokens of today."""
        with override_settings(EVENNIA_AI_BUDGET_CONFIG={"assistants": {}}):
            self.ada_script.work.drop_cached_settings()
            status = self.assistant("status")
        assert "today     ? tokens" in status
        assert "no key 'assistants'" not in status.partition("today")[2]
