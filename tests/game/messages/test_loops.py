"""The end of talks between assistants, by every way of talking."""

from typing import Any
from unittest import mock

from evennia.utils import logger

from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from tests.game.listening import HearingTest
from tests.game.support import pump, says

MOST = 3


class LoopTest(HearingTest):
    """Two assistants, Ada and Brass, in one room."""

    def setUp(self) -> None:
        super().setUp()
        self.brass_script, self.brass = self.make("Brass")
        self.brass_script.clock = self.clock

    def talk_until_silent(self, answer: Any) -> int:
        """Answer every call until none waits. Returns their number."""
        for number in range(50):
            pump()
            if not self.model.waiting:
                return number
            self.model.answer(answer(self.speaker()))
        raise AssertionError("they never fall silent")

    def speaker(self) -> str:
        """The assistant whose call waits."""
        bodies = self.model.bodies[len(self.model.bodies) - len(self.model.waiting)]
        return "Ada" if "You are Ada" in bodies["messages"][0]["content"] else "Brass"

    def other(self, name: str) -> str:
        return "Brass" if name == "Ada" else "Ada"

    def audited(self, start: Any, answer: Any) -> tuple[int, list[str]]:
        """The number of answers, and the `hop_limit` lines of the log."""
        with mock.patch.object(logger, "log_info") as log:
            start()
            count = self.talk_until_silent(answer)
        lines = [call.args[0] for call in log.call_args_list]
        return count, [line for line in lines if "[AI_AUDIT] hop_limit " in line]


class TestTwo(LoopTest):
    def test_in_whispers(self) -> None:
        count, lines = self.audited(
            lambda: outgoing.whisper(self.ada, self.brass, "hello", hops=1),
            lambda name: completion(
                None, ("whisper", {"target": self.other(name), "message": "And you?"})
            ),
        )
        assert (MOST - 1, 1) == (count, len(lines))
        assert 'hop_limit Brass {"sender": "Ada", "hops": 3, "cap": 3}' in lines[0]

    def test_in_the_room(self) -> None:
        count, lines = self.audited(
            lambda: self.type(self.tom, "say @ada and @brass, talk!"),
            lambda name: says(f"@{self.other(name)} and you?"),
        )
        assert 2 * MOST >= count
        assert 1 <= len(lines) <= 2
        assert ([], []) == (self.waiting(), list(self.brass_script.work.inbox))

    def test_by_name_only_the_one_named_answers(self) -> None:
        for line in (
            "say Brass, hello",
            "say hello brass",
            "say Brass, do you know Ada",
            "say hm, Brass",
        ):
            with self.subTest(line=line):
                asked = len(self.model.bodies)
                self.type(self.tom, line)
                pump()
                assert asked + 1 == len(self.model.bodies)
                assert "Brass" == self.speaker()
                self.model_answers(says("Yes?"))
                self.clock.advance(100)

    def test_by_name_the_talk_of_another_ends(self) -> None:
        """A person who talks with Ada and then thanks Brass is answered by Brass alone."""
        self.ask("say Ada, hello", says("Hello."))
        self.clock.advance(5)
        asked = len(self.model.bodies)
        self.type(self.tom, "say thank you Brass")
        pump()
        assert (asked + 1, "Brass") == (len(self.model.bodies), self.speaker())

    def test_by_bare_names_they_do_not_call_each_other(self) -> None:
        count, _ = self.audited(
            lambda: self.type(self.tom, "say Ada, talk to Brass"),
            lambda name: says(f"{self.other(name)}, and you?"),
        )
        assert 1 == count

    def test_in_the_room_with_all_doors_open(self) -> None:
        """The most open settings of an owner do not make it endless."""
        for script in (self.ada_script, self.brass_script):
            state.write(
                script,
                room_messages="trigger",
                trigger_permissions=["all()"],
                trust_overrides={"all()": 1.0},
            )
        count, _ = self.audited(
            lambda: self.type(self.tom, "say @ada hello"),
            lambda name: says(f"@{self.other(name)} and you?"),
        )
        assert 2 * MOST >= count

    def test_on_a_channel_that_both_answer(self) -> None:
        """Channel mode `trigger` does not go around the limit."""
        public = self.channel("Public", self.brass)
        for script in (self.ada_script, self.brass_script):
            state.write(script, channel_configs={"Public": "trigger"})
        count, lines = self.audited(
            lambda: public.msg("hello all", senders=self.account),
            lambda name: completion(
                None, ("channel", {"channel": "Public", "message": f"@{self.other(name)} and you?"})
            ),
        )
        assert 2 * MOST >= count
        assert 1 <= len(lines) <= 2

    def test_from_one_way_to_another(self) -> None:
        """The count follows the talk from a whisper to a channel to the room."""
        for script in (self.ada_script, self.brass_script):
            state.write(script, private_words="free")
        assert (MOST - 1, 1) == self.from_way_to_way()
        assert ["say", "pose", "whisper"] == self.ways()

    def test_what_is_whispered_in_place_of_another_way(self) -> None:
        """With `private_words` at its default the same answers are whispered, and counted."""
        assert (MOST - 1, 1) == self.from_way_to_way()
        assert ["whisper"] * 3 == self.ways()
        assert [] == self.mira.heard_from(self.ada) + self.mira.heard_from(self.brass)

    def ways(self) -> list[str]:
        """The ways by which Ada and Brass heard each other, newest first."""
        records = self.records() + self.records(self.brass_script)
        return [record.heard.source.value for record in records]

    def from_way_to_way(self) -> tuple[int, int]:
        """Start a talk whose answers change their way. Returns counts of answers and limits."""
        self.channel("Public", self.brass)
        ways = [
            lambda name: completion(
                None, ("channel", {"channel": "Public", "message": f"@{self.other(name)} hm"})
            ),
            lambda name: says(f"@{self.other(name)} hm"),
            lambda name: completion(None, ("emote", {"action": f"nods to @{self.other(name)}."})),
        ]
        count, lines = self.audited(
            lambda: outgoing.whisper(self.ada, self.brass, "hello", hops=1),
            lambda name: ways[len(self.model.bodies) % len(ways)](name),
        )
        return count, len(lines)

    def test_the_count_survives_a_restart(self) -> None:
        outgoing.whisper(self.ada, self.brass, "hello", hops=2)
        self.brass_script.at_server_shutdown()
        self.brass_script.at_start()
        count = self.talk_until_silent(
            lambda name: completion(None, ("whisper", {"target": "Ada", "message": "Hm."}))
        )
        assert 1 == count
        assert (3, "4 hop_limit context") == (self.heard().hops, self.judged())

    def test_a_batch_counts_as_its_longest(self) -> None:
        state.write(self.brass_script, hearing_config={"batch_seconds": 0, "batch_messages": 5})
        outgoing.whisper(self.ada, self.brass, "one", hops=2)
        outgoing.whisper(self.ada, self.brass, "two", hops=1)
        self.talk_until_silent(
            lambda name: completion(None, ("whisper", {"target": "Ada", "message": "Hm."}))
        )
        assert 3 == max(record.heard.hops for record in self.records())

    def test_a_player_may_begin_anew(self) -> None:
        answer = lambda name: says(f"@{self.other(name)} and you?")  # noqa: E731
        for _ in range(2):
            count, _ = self.audited(lambda: self.type(self.tom, "say @ada go on"), answer)
            assert 1 <= count <= 2 * MOST

    def test_lines_of_fiction_start_nobody(self) -> None:
        """Assistants see such lines, as thinking, excuses and refusals, but do not answer them."""
        outgoing.show(self.ada, "{name} thinks of Brass.", hops=1)
        outgoing.tell(self.ada, self.brass, "{name} coughs at Brass.", hops=1)
        assert 0 == self.talk_until_silent(lambda name: says("Yes?"))

    def test_two_that_are_silent_do_not_excuse_themselves_to_each_other(self) -> None:
        for script in (self.ada_script, self.brass_script):
            script.trigger_emergency_stop("test")
        self.forget()
        outgoing.whisper(self.ada, self.brass, "hello", hops=1)
        outgoing.whisper(self.brass, self.ada, "hello", hops=1)
        assert [] == [step for step in self.steps() if step == "told"]
