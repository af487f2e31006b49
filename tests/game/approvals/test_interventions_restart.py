"""Questions over a restart: asked again under their number, and answered once."""

from dataclasses import replace
from typing import Any

from evennia_ai import approvals
from evennia_ai.approvals import store
from evennia_ai.core.safety.questions import Answer, QuestionOutcome
from tests.game.approvals.interventions_case import QuestionsTest
from tests.game.support import pump

YES = Answer(QuestionOutcome.ANSWERED, "yes", "Tom")


class TestRestart(QuestionsTest):
    """The turn that waited is taken up again and asks the same question."""

    def restart(self) -> None:
        self.ada_script.work.in_flight = self.waits[-1]
        self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        pump()

    def asked(self, **options: Any) -> tuple[list[Any], int]:
        """Put a question; returns its outcomes and its number."""
        came = self.put(**options)
        (number,) = self.open_numbers()
        return came, number

    def test_i7_it_is_shown_again_under_its_number(self) -> None:
        _, number = self.asked()
        self.restart()
        assert [number] == self.open_numbers()
        again = self.put()
        assert [number] == self.open_numbers()
        lines = self.told(self.account)
        assert lines[0] == lines[-1]
        assert 1 < len(lines)
        self.reply(number, "yes")
        assert [YES] == again

    def test_i7_an_answer_before_it_is_asked_again_counts_once(self) -> None:
        """The answer is kept until the turn comes back to it."""
        _, number = self.asked(timeout_seconds=60)
        self.restart()
        assert "when it comes back to this" in self.reply(number, "yes").message
        assert [] == self.open_numbers()
        assert f"No question {number} is open: Tom answered yes" in self.reply(number, "no").message
        self.clock.advance(120)
        assert [YES] == self.put()
        assert () == approvals.stored(self.ada_script)
        later, next_number = self.asked()
        assert [] == later
        assert number < next_number

    def test_i7_it_is_kept_no_longer_than_five_minutes(self) -> None:
        """No turn may ask again."""
        _, number = self.asked()
        self.restart()
        self.clock.advance(299)
        assert [number] == self.open_numbers()
        self.clock.advance(1)
        assert [] == self.open_numbers()
        assert () == approvals.stored(self.ada_script)
        assert "nobody answered in time" in self.reply(number, "yes").message

    def test_i7_an_answer_nobody_uses_goes_too(self) -> None:
        _, number = self.asked()
        self.restart()
        self.reply(number, "yes")
        self.clock.advance(300)
        assert "unused" == self.events()[-1]
        came = self.put()
        assert [] == came

    def test_i7_its_own_time_goes_on(self) -> None:
        """A restart grants no second wait."""
        self.asked(timeout_seconds=60)
        self.clock.advance(50)
        self.restart()
        again = self.put(timeout_seconds=60)
        self.clock.advance(10)
        assert [Answer(QuestionOutcome.TIMEOUT)] == again

    def test_i7_who_was_asked_has_time_to_come_back(self) -> None:
        """Logging in again takes longer than the usual grace of ten seconds."""
        _, number = self.asked()
        self.restart()
        self.log_out(self.account)
        again = self.put()
        self.clock.advance(100)
        self.come_back(self.account)
        self.reply(number, "yes")
        assert [YES] == again

    def test_a_call_that_waits_is_put_again(self) -> None:
        """Its own time is not cut to five minutes."""
        self.asked()
        (asked,) = approvals.stored(self.ada_script)
        self.waits[-1].cancel()
        number, call = store.next_number(), {"tool": "dig", "arguments": {}}
        store.begin(self.ada_script, replace(asked, number=number, call=call, expires_at=900.0))
        self.restart()
        assert "Ada asks" in self.told(self.account)[-1]
        self.clock.advance(899)
        assert [number] == self.open_numbers()
        self.clock.advance(1)
        assert [] == self.open_numbers()
