"""`evennia_ai.testing`, with which a game tests its assistants."""

import unittest
from typing import Any

import pytest
from evennia.utils.test_resources import BaseEvenniaTest
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from evennia_ai.testing import AssistantTestMixin, calls, connect, pump, says, whispers
from evennia_ai.tools import TOOL_REGISTRY, tool
from tests.game.docs.test_documents import snippet


class TestOfAGame(AssistantTestMixin, BaseEvenniaTest):
    """A game's own test, over Evennia's own classes."""

    def setUp(self) -> None:
        super().setUp()
        self.ada = self.make_assistant("Ada")

    def test_everybody_in_the_room_hears_an_answer(self) -> None:
        """This includes a person without a client."""
        self.char2.location = self.room1
        self.model.answers.append(says("Good evening."))
        self.type(self.char1, "say @ada hello")
        for person in (self.char1, self.char2):
            self.assert_heard(person, 'Ada says, "Good evening."', speaker=self.ada)
        assert [] == self.heard(self.room2)

    def test_only_one_hears_a_whisper(self) -> None:
        """Markup is shown as a client shows it."""
        self.char2.location = self.room1
        self.model.answers.append(whispers(self.char1.key, "|rRed|n."))
        self.type(self.char1, "whisper Ada = hello")
        self.assert_heard(self.char1, "|rRed|n.", speaker=self.ada)
        assert [] == self.heard(self.char2, speaker=self.ada)

    def test_what_a_hook_keeps_back_is_not_heard(self) -> None:
        self.char2.at_msg_receive = lambda **kwargs: False
        self.char2.msg("hello")
        assert [] == self.heard(self.char2)

    def test_an_account_hears_too(self) -> None:
        self.account.msg("|rhello|n", options={"type": "page"})
        assert ["hello"] == self.heard(self.account)

    def test_a_failed_assertion_tells_what_was_heard(self) -> None:
        """The message also says that the model was asked and had no answer."""
        self.char1.msg("rain")
        self.type(self.char1, "whisper Ada = hello")
        regex = "did not hear 'Good evening', but .*'rain'.*asked 1 times more than it has answers"
        with pytest.raises(AssertionError, match=regex):
            self.assert_heard(self.char1, "Good evening")

    def test_time_is_moved_by_hand(self) -> None:
        self.answer_at_once(self.ada.assistant_script)
        begun = self.clock.seconds()
        self.advance(3600)
        assert 3600 == self.clock.seconds() - begun

    def test_a_tool_that_waits_is_done_when_the_test_says_so(self) -> None:
        answer: Deferred[str] = Deferred()

        @tool
        def ask_the_tide_office(character: Any) -> Deferred[str]:
            """Ask the tide office."""
            return answer

        self.addCleanup(TOOL_REGISTRY.pop, ask_the_tide_office.__name__)
        self.model.answers.extend([calls(ask_the_tide_office.__name__), says("At noon.")])
        self.type(self.char1, "say @ada when is the tide?")
        assert [] == self.heard(self.char1, speaker=self.ada)
        answer.callback("noon")
        self.advance(0)
        self.assert_heard(self.char1, "At noon.", speaker=self.ada)

    def test_who_comes_online_is_there(self) -> None:
        first, second = self.put_online(self.char2), connect()
        assert first.sessid + 1 == second.sessid
        assert [first] == self.char2.sessions.all()

    def test_a_circle_is_told(self) -> None:
        """A call that schedules itself again ends the test instead of hanging it."""

        def again() -> None:
            self.call = reactor.callLater(0, again)

        again()
        with pytest.raises(AssertionError, match="schedules in a circle"):
            pump()
        self.call.cancel()


def test_the_example_of_the_documents() -> None:
    """The tests in docs/testing.md pass, by unittest's own runner."""
    kind = snippet("# world/tests.py", of="testing")["TestAda"]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(kind)
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    assert (4, []) == (result.testsRun, [*result.failures, *result.errors])
