"""Models that misbehave, and the outcome, history and notices of each case.

Everything is real but the model: Evennia's objects, the SDK, a socket, and the scripted server.
"""

import json
from dataclasses import replace

from django.test.utils import override_settings

from evennia_ai import operations
from evennia_ai.runtime import state
from tests.fakes.acceptance import acts, complaints
from tests.fakes.handle import FakeModel
from tests.game.agent.misbehaviour import CALLS, HEARD, SORRY, Row, does, look, said, whisper
from tests.game.agent.misbehaviour_case import ASK, MisbehaviourTest
from tests.game.agent.misbehaviour_texts import BODIES, BUSY, SMALL, TEXTS, TOO_LONG, WIRE, refused
from tests.game.support import pump


class TestNative(MisbehaviourTest):
    """A model with the tool calls of the API."""

    def test_calls(self) -> None:
        """Calls that can be run are run, and the model is told what is wrong with the others."""
        self.check_all(CALLS)

    def test_texts(self) -> None:
        self.check_all(TEXTS)

    def test_bodies(self) -> None:
        """Unusual fields around the message do no harm."""
        self.check_all(BODIES)


class TestJson(MisbehaviourTest):
    """A model that is held to a JSON schema, as the demo model is."""

    tool_mode = "json"

    def test_texts(self) -> None:
        self.check_all(SMALL)


class TestContext(MisbehaviourTest):
    """Prompts that are too long for the model."""

    def test_without_the_talk_it_fits(self) -> None:
        """Services name this error differently; each is retried without the conversation."""
        for name, body in TOO_LONG.items():
            with self.subTest(name):
                self.begin()
                self.whispered()
                self.prepare(refused(400, body))
                assert "terminal_tool" == self.whispered()
                calls = self.server.read_calls()[1:]
                assert [5, 2] == [len(each["body"]["messages"]) for each in calls]
                assert [*HEARD, *HEARD] == self.tom.heard_from(self.ada)
                assert ["whisper", "whisper"] == [acts(turn) for turn in self.turns()]
                self.expect_well()

    def test_even_without_any_talk(self) -> None:
        self.check(
            Row(
                "too long",
                (refused(400, TOO_LONG["OpenAI"]),),
                "critical_tokens",
                (SORRY,),
                "",
                detail="maximum context length",
            )
        )

    def test_larger_than_is_allowed(self) -> None:
        self.begin()
        state.write(self.ada_script, max_context_tokens=200)
        assert "critical_tokens" == self.whispered()
        assert (0, [SORRY]) == (self.server.count_calls(), self.tom.heard_from(self.ada))
        assert "and the model reads 200. Let the model read more" in "".join(self.sent_to_staff())
        state.write(self.ada_script, max_context_tokens=None)
        self.expect_well()

    def test_looks_until_it_is_full(self) -> None:
        """Two warnings about the context go before the end of the turn."""
        self.room1.db.desc = "Rain. " * 120
        self.begin()
        self.whispered()
        tokens = self.ada_script.work.context_tokens
        self.begin(then=does(look(), look("call_2", target="Tom")))
        state.write(self.ada_script, max_context_tokens=int(tokens / 0.7))
        assert "critical_tokens" == self.whispered()
        assert [SORRY] == self.tom.heard_from(self.ada)
        last = self.server.read_calls()[-1]["body"]["messages"][-1]["content"]
        assert "final answer" in json.loads(last)["advisory"]
        state.write(self.ada_script, max_context_tokens=None)
        self.expect_well()


class TestWire(MisbehaviourTest):
    def test_refusals_and_breaks(self) -> None:
        """Temporary errors are retried once, others are not."""
        self.check_all(WIRE)


class TestSlow(MisbehaviourTest):
    deadline_seconds = 1.5

    def test_given_up(self) -> None:
        slow = Row("", (), "llm_error", (SORRY,), "", 1, detail="within 1.5 s")
        for kind in ("hang", "drip"):
            with self.subTest(kind):
                self.check(replace(slow, answers=({"kind": kind},)))


class TestFallback(MisbehaviourTest):
    """A second server, which the game's settings name as the fallback."""

    def setUp(self) -> None:
        super().setUp()
        self.other = self.enterContext(FakeModel.in_thread())
        self.other.behave(**self._as_behaviour(does(whisper("I stand in."))))
        named = {"model": "other", "base_url": self.other.base_url}
        self.enterContext(override_settings(EVENNIA_AI_FALLBACK_MODELS=[named]))

    def test_it_answers(self) -> None:
        for first in (refused(401, "no key"), '{"choices": []}', {"kind": "html"}):
            self.check(said("", first, "I stand in."))  # type: ignore[arg-type]
        self.begin(refused(401, "no key"))
        self.whispered()
        (notice,) = [text for step, text in self.records()[0].steps if step == "went another way"]
        assert "other" in notice
        assert "401" in notice

    def test_in_the_middle_of_a_turn(self) -> None:
        """The fallback model is sent the results of the first one's calls."""
        row = Row("", (does(look()), refused(401, "no")), kept="look whisper", asked=2)
        self.check(replace(row, heard=('Ada whispers: "I stand in."',)))
        messages = self.other.read_calls()[0]["body"]["messages"]
        assert ["assistant", "tool"] == [message["role"] for message in messages][-2:]

    def test_both_fail(self) -> None:
        """Staff read the errors of both."""
        row = Row("", (refused(401, "no key"),), "llm_error", (SORRY,), "", 1)
        for detail in ("401", "closed"):
            self.other.queue(refused(403, "closed"))
            self.check(replace(row, detail=detail))


class TestHangingUp(MisbehaviourTest):
    """A request whose socket closes before the turn behind it is cancelled."""

    def test_the_server_sees_the_client_go_while_the_turn_waits(self) -> None:
        """The request is on its second attempt; afterwards a stop finds nothing under way."""
        self.begin({"kind": "status", "status": 503, "body": "busy"}, {"kind": "hang"})
        self.type(self.tom, ASK)
        self.run_until(lambda: self.server.count_calls() == 2)
        (request,) = self.ada_script.work.requests
        request.drop()
        (_, call) = self.server.wait_for_calls(2, closed=2)
        assert call["is_abandoned"]
        pump()
        assert self.ada_script.work.in_flight is not None
        operations.stop(self.ada_script, "test")
        assert (None, set()) == (self.ada_script.work.in_flight, self.ada_script.work.requests)
        self.expect_well()


class TestTwo(MisbehaviourTest):
    def test_each_has_its_own_turn(self) -> None:
        brass_script, brass = self.make("Brass")
        self.begin(BUSY)
        self.server.behave()
        self.tom.execute_cmd(ASK)
        self.type(self.tom, "whisper Brass = good evening")
        self.run_until(self.is_idle)
        assert ['Ada whispers: "I heard: hello"'] == self.tom.heard_from(self.ada)
        assert ['Brass whispers: "I heard: good evening"'] == self.tom.heard_from(brass)
        histories = [self.stored("conversation_history")]
        histories.append(state.read(brass_script, "conversation_history"))
        assert [[], []] == [complaints(history) for history in histories]
        assert 3 == self.server.count_calls()
