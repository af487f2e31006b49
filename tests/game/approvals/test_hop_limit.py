"""L4, the hop limit: consecutive answers between assistants, and permission for more."""

from collections.abc import Callable
from typing import Any

from evennia_ai import approvals, operations
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.messages.incoming import GRANTED_MARK, read
from evennia_ai.runtime import state
from evennia_ai.testing import UNHURRIED, pump, says
from tests.game.listening import HearingTest
from tests.recorded import record_of

# The default limit, and the hops that one yes adds: a message and its reply.
BASE, EXCHANGE = 3, 2
NOOP = completion(None, ("noop", {}))
WORDS = "What does @Ada think, and @Brass?"


def whispers_back(name: str) -> bytes:
    return completion(None, ("whisper", {"target": other(name), "message": "And you?"}))


def other(name: str) -> str:
    return "Brass" if name == "Ada" else "Ada"


class HopTest(HearingTest):
    """Ada and Brass answer each other without end; Tom may decide for both."""

    def setUp(self) -> None:
        super().setUp()
        self.brass_script, self.brass = self.make("Brass")
        self.brass_script.clock = self.clock
        self.scripts = [self.ada_script, self.brass_script]
        self.answers = 0
        for body in (self.ada, self.brass):
            body.locks.add("ai_control:perm(Builder)")
        self.recorded = record_of(self)

    def mode(self, mode: str, **on_limit: Any) -> None:
        config = {"on_limit": {"modes": {"agent_hops": mode}, **on_limit}}
        for script in self.scripts:
            state.write(script, safety_config=config)

    def begin(self, hops: int = 1) -> None:
        outgoing.whisper(self.ada, self.brass, "hello", hops=hops)

    def talk(self, answer: Callable[[str], bytes] = whispers_back, most: int = 50) -> int:
        """Answer every model call until there is no more, and return their number."""
        for number in range(most):
            pump()
            if not self.model.waiting:
                return number
            waiting = self.model.bodies[len(self.model.bodies) - len(self.model.waiting)]
            is_ada = "You are Ada" in waiting["messages"][0]["content"]
            self.model.answer(answer("Ada" if is_ada else "Brass"))
        return most

    def questions(self) -> list[Any]:
        return [q for script in self.scripts for q in approvals.pending(script)]

    def answer(self, text: str) -> None:
        (question,) = self.questions()
        operations.answer(question.number, self.account, text, is_staff=True)

    def facts(self, event: str) -> list[dict[str, Any]]:
        return [facts for name, _, facts in self.recorded if name == event]


class TestRefused(HopTest):
    def test_l4_the_third_goes_and_the_fourth_does_not(self) -> None:
        """By default nobody is asked."""
        self.begin()
        assert BASE - 1 == self.talk()
        assert "4 hop_limit context" == self.judged(self.brass_script)
        assert [] == self.questions()

    def test_l4_a_refusal_names_its_key_and_is_recorded(self) -> None:
        self.begin(hops=BASE)
        (step, detail), *_ = self.records(self.brass_script)[0].steps
        assert "silent" == step
        assert "3 messages in a row between assistants, of 3; limit agent_hops" in detail
        assert "raise max_agent_hops" in detail
        (checkpoint,) = self.facts("safety_limit_checkpoint")
        assert ("agent_hops", "unattended", 3, 3) == tuple(
            checkpoint[key] for key in ("kind", "reason", "used", "cap")
        )
        assert [{"sender": "Ada", "hops": 3, "cap": 3}] == self.facts("hop_limit")
        assert ["hello"] == [item.body for item in self.brass_script.work.overheard]

    def test_l4_a_no_and_silence_end_it_too(self) -> None:
        self.mode("interactive")
        for end, reason in (
            (lambda: self.answer("no"), "user_refused"),
            (lambda: self.clock.advance(60), "ask_timeout"),
        ):
            self.begin(hops=BASE)
            end()
            assert (0, []) == (self.talk(), self.questions())
            assert reason == self.facts("limit_denied")[-1]["reason"]


class TestGranted(HopTest):
    """More hops, granted by a person or by `auto_extend`."""

    def test_l4_after_a_yes_it_goes_and_its_reply_comes_back(self) -> None:
        """A yes covers one exchange; the next question follows it."""
        self.mode("interactive")
        self.begin()
        assert BASE - 1 == self.talk()
        (question,) = self.questions()
        assert "I have used my 3 hops on a talk with Ada. May I have 2 hops more?" == (
            question.asking.prompt
        )
        self.answer("yes")
        assert EXCHANGE == self.talk()
        heard = [record.heard for record in self.records(self.ada_script)]
        assert (4, EXCHANGE) == (heard[0].hops, heard[0].hops_granted)
        assert "direct_message" == self.records(self.ada_script)[0].verdict.name
        (again,) = self.questions()
        assert "I have used my 5 hops" in again.asking.prompt
        self.answer("no")
        assert 0 == self.talk()

    def test_l4_by_itself_as_often_as_is_set(self) -> None:
        """Each chain of messages has its own count."""
        for times in (0, 1, 3):
            self.mode("auto_extend", auto_extend_times=times)
            for script in self.scripts:
                operations.reset_history(script)
            for _ in range(2):
                with self.subTest(times=times):
                    self.begin()
                    assert BASE - 1 + EXCHANGE * times == self.talk()
                    assert "auto_extend_spent" == self.facts("limit_denied")[-1]["reason"]
        assert [{}, {}] == [script.work.extensions.counts for script in self.scripts]

    def test_l4_a_grant_outlasts_a_restart(self) -> None:
        self.mode("interactive")
        self.begin(hops=BASE)
        self.answer("yes")
        self.brass_script.at_server_shutdown()
        self.brass_script.at_start()
        assert EXCHANGE == self.talk()

    def test_l4_who_hits_it_together_is_answered_together(self) -> None:
        """One line that addresses both causes one question."""
        self.mode("interactive")
        _, carol = self.make("Carol")
        outgoing.say(carol, "@ada and @brass, go on", hops=BASE)
        self.answer("yes")
        assert 2 == self.talk(lambda _: completion(None, ("noop", {})))

    def test_l4_other_limits_hold_for_a_granted_one(self) -> None:
        self.mode("interactive")
        state.write(self.brass_script, hearing_config=UNHURRIED | {"calls_per_player": 1})
        for _ in range(2):
            self.begin(hops=BASE)
            self.answer("yes")
            self.advance(1)
        assert ["granted", "refused"] == self.steps(self.brass_script)

    def test_l4_zero_is_no_limit(self) -> None:
        for script in self.scripts:
            state.write(script, max_agent_hops=0)
        self.begin()
        assert 12 == self.talk(most=12)
        self.talk(lambda _: completion(None, ("noop", {})))


class TestMarks(HopTest):
    """The mark of granted hops travels with speech, and only the server can set it."""

    def test_it_goes_with_every_way_to_speak(self) -> None:
        self.mode("interactive")
        state.write(self.ada_script, private_words="free")
        self.channel("Public", self.brass)
        message = completion(None, ("channel", {"channel": "Public", "message": WORDS}))
        for name, reply in (
            ("say", says(WORDS)),
            ("whisper", completion(None, ("whisper", {"target": "Brass", "message": "Hm?"}))),
            ("pose", completion(None, ("emote", {"action": f"wonders: {WORDS}"}))),
            ("channel", message),
        ):
            with self.subTest(name):
                outgoing.whisper(self.brass, self.ada, "hello", hops=BASE)
                self.answer("yes")
                self.talk(lambda who, reply=reply: reply if who == "Ada" else NOOP)
                heard = self.records(self.brass_script)[0].heard
                assert (name, BASE + 1, EXCHANGE) == (
                    heard.source.value,
                    heard.hops,
                    heard.hops_granted,
                )

    def test_what_is_no_number_grants_nothing(self) -> None:
        for value in (True, -1, 2.0, "9", None):
            line = ("Tom whispers: x", {"type": "whisper", GRANTED_MARK: value})
            heard = read(line, self.tom, self.ada)
            assert 0 == heard.hops_granted

    def test_marks_of_its_own_are_not_changed(self) -> None:
        more = {"type": "pose", "assistant_message": False, "assistant_hops": 0, GRANTED_MARK: 2}
        outgoing.say(self.ada, "hello", hops=2, more=more)
        heard = self.records(self.brass_script)[0].heard
        assert ("say", True, 2, 2) == (
            heard.source.value,
            heard.from_assistant,
            heard.hops,
            heard.hops_granted,
        )
