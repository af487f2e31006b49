"""`assistant why`: every reason to speak or to stay silent, to whom it may be told."""

from __future__ import annotations

from typing import Any

from evennia_ai import operations
from evennia_ai.commands import AssistantCmdSet, CmdAssistant
from evennia_ai.errors import ModelReplyError, ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import services, state
from tests.shell.listening import HearingTest
from tests.shell.support import pump, says, whispers

NOOP = completion(None, ("noop", {}))


class WhyTest(HearingTest):
    """Asks as Mira, a player, or as Tom, who is staff."""

    def why(self, rest: str = "", caller: Any = None) -> str:
        """What the caller (Tom) reads."""
        rest = f"{rest.removesuffix('reveal').rstrip()} full{' reveal' * rest.endswith('reveal')}"
        shown: str = self.call(CmdAssistant(), f"why {rest}", caller=caller or self.tom)
        return shown

    def then(self, rest: str = "", caller: Any = None) -> list[str]:
        """The steps alone."""
        lines = self.why(rest, caller).split("\n")
        return [line.split("then")[1].strip() for line in lines if line.startswith("  then")]


class TestReasons(WhyTest):
    """What became of the newest message."""

    def test_an_answer(self) -> None:
        """Words, evidence, rule, trust with its parts, and what she did."""
        self.ask("say @ada hello", says("Good evening."))
        shown = self.why()
        for expected in (
            "Ada, message 1 of Tom, 0:00:00 ago:",
            '  heard     say "@ada hello"',
            "  known by  marks the server passed along",
            "  rule      2 direct_address: trigger",
            "  trust     0.7 (",
            "  then      queued",
            "  then      taken",
            '  then      answered: say "Good evening."',
            "  now       awake; 0 waiting; 0 errors in a row; breakers closed.",
        ):
            assert expected in shown, shown

    def test_nothing_yet(self) -> None:
        """Said so, with how she is."""
        assert self.why().startswith("Ada has no messages on record.\nNow: awake.")
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert self.why(caller=self.mira).startswith("Ada has no messages on record.")

    def test_without_a_name_it_is_the_one_that_was_spoken_to_last(self) -> None:
        """Of several in the room, and of one elsewhere; whoever spoke to none is asked which."""
        brass, body = self.make("Brass")
        brass.clock = self.clock
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.clock.advance(5)
        self.ask("whisper Brass = hello", whispers("Good day."))
        assert "\nBrass, message 1" in self.why()
        body.location = self.room2
        assert "\nBrass, message 1" in self.why()
        self.clock.advance(5)
        self.ask("say @ada hello", says("Good evening."))
        assert "\nAda, message " in self.why()
        body.location = self.room1
        assert "Which assistant? There are: Ada, Brass." in self.why(caller=self.mira)

    def test_silence_by_choice(self) -> None:
        """It was the model's."""
        self.ask("whisper Ada = hello", NOOP)
        assert self.then()[-1].startswith("silent by choice")

    def test_nobody_meant_her(self) -> None:
        """The rule says it."""
        self.type(self.tom, "say what a day")
        assert "  rule      7 default: ignore" in self.why()

    def test_a_mute(self) -> None:
        """Staff can see why she does not answer."""
        operations.set_muted(self.ada_script, self.mira, True)
        self.type(self.mira, "whisper Ada = hello")
        assert "  rule      0 muted: ignore" in self.why()

    def test_switched_off(self) -> None:
        """Stop, disabled and no interaction read differently."""
        for act, expected in (
            (lambda: operations.set_enabled(self.ada_script, False), "silent: it is not enabled"),
            (lambda: operations.stop(self.ada_script, "x"), "silent: an emergency stop is active"),
        ):
            act()
            self.clock.advance(60)
            self.type(self.tom, "whisper Ada = hello")
            assert [expected, "told: that no answer will come"] == self.then()
        self.type(self.tom, "whisper Ada = hello?")
        assert ["silent: an emergency stop is active", "told: that no answer will come"] == (
            self.then()
        )
        assert "an emergency stop is active; 0 waiting" in self.why()
        self.set(interaction_enabled=False)
        self.type(self.tom, "whisper Ada = hello")
        assert "  rule      0 interaction_disabled: ignore" in self.why()

    def test_a_limit(self) -> None:
        """Its name, and where it is set."""
        self.set(hearing_config={"calls_per_player": 1, "queued_per_player": 0, "batch_seconds": 0})
        self.ask("whisper Ada = one", NOOP)
        self.type(self.tom, "whisper Ada = two")
        assert [
            "refused: limit calls_per_player, in hearing_config",
            "told: that no answer will come",
        ] == self.then()

    def test_waiting(self) -> None:
        """Behind whom, and now."""
        self.type(self.mira, "whisper Ada = one")
        self.type(self.tom, "whisper Ada = two")
        assert ["queued: 1 waiting before it"] == self.then()
        assert "2 waiting" in self.why()

    def test_a_failure(self) -> None:
        """Staff read the cause."""
        self.ask("whisper Ada = hello", ModelStatusError(400, "no such model"))
        last = self.then()[-1]
        assert last.startswith("failed: llm_error:")
        assert "no such model" in last
        assert last.endswith("was told")
        assert "1 errors in a row" in self.why()

    def test_an_open_breaker(self) -> None:
        """Named as what holds now."""
        services.pool().breaker_of(services.endpoint()).force_open()
        self.type(self.tom, "whisper Ada = hello")
        assert "failed" in self.then()[-1]
        assert "breaker open: llm:scripted" in self.why()

    def test_cut_off(self) -> None:
        """By a stop, which gives it back; or by a silence, after which it is answered."""
        self.type(self.tom, "whisper Ada = hello")
        operations.stop(self.ada_script, "x")
        cut_off = "cut off: by a stop, a reset or a restart"
        assert [cut_off, "returned: was told"] == self.then()[-2:]
        operations.clear(self.ada_script)
        self.type(self.tom, "whisper Ada = hello again")
        operations.set_enabled(self.ada_script, False)
        assert cut_off == self.then()[-1]
        self.model.answers.append(whispers("Hello."))
        operations.set_enabled(self.ada_script, True)
        pump()
        assert 'answered: whisper "Hello."' == self.then()[-1]

    def test_expired(self) -> None:
        """With who was told."""
        self.set(hearing_config={"expires_seconds": 100, "batch_seconds": 0})
        self.type(self.tom, "whisper Ada = busy")
        self.ada_script.pause()
        self.clock.advance(101)
        self.ada_script.unpause()
        pump()
        assert ("expired: was told", "0:01:41 ago") == (
            self.then()[-1],
            self.why().split("\n")[1].split(", ")[-1].rstrip(":"),
        )

    def test_dropped_from_a_full_inbox(self) -> None:
        """Said so."""
        self.set(max_pending_events=1)
        for words in ("one", "two", "three"):
            self.type(self.tom, f"whisper Ada = {words}")
        steps = [record.steps[-1][0] for record in reversed(self.records())]
        assert ["may do", "dropped", "queued"] == steps

    def test_hops(self) -> None:
        """The talk of two assistants has ended, and by which number."""
        _, brass = self.make("Brass")
        outgoing.whisper(brass, self.ada, "hello", hops=3)
        shown = self.why("ada reveal")
        assert '  heard     whisper "hello", of an assistant, hop 3' in shown
        assert "  rule      4 hop_limit: context" in shown
        assert "then      silent: 3 messages in a row between assistants, of 3" in shown

    def test_marks_beside_the_words(self) -> None:
        """Relayed, and aimed at another."""
        self.set(room_messages="trigger")
        self.type(self.tom, "say Mira, look")
        assert "aimed at somebody else" in self.why()

    def test_evidence(self) -> None:
        """What was only seen in the room without any mark is told so."""
        self.room1.msg_contents("@ada!", from_obj=self.obj1)
        assert "known by  nothing: no mark said what it is" in self.why()


class TestNumbers(WhyTest):
    """`assistant why ada 2`."""

    def setUp(self) -> None:
        """Four messages of two people."""
        super().setUp()
        for person, words in ((self.tom, "one"), (self.mira, "two"), (self.tom, "three")):
            self.type(person, f"say {words}")
        self.ask("whisper Ada = four", NOOP, person=self.mira)

    def test_a_number_is_that_message(self) -> None:
        """Alone, with or without her name, in any way to type it."""
        for rest in ("1", "ada 1", "Ada  1", "ada 01"):
            shown = self.why(rest)
            assert "\nAda, message 1 of Tom," in shown, rest
            assert "Before that" not in shown

    def test_without_a_number_the_newest_and_what_was_before(self) -> None:
        """A line each, with their numbers."""
        shown = self.why("reveal")
        assert "\nAda, message 4 of Mira" in shown
        head, _, before = shown.partition("Before that:\n")
        assert head
        assert ["3", "2", "1"] == [line.split()[0] for line in before.split("\n")]

    def test_a_number_she_does_not_keep(self) -> None:
        """The newest are named."""
        for rest in ("99", "0", "ada 99", "9" * 5000):
            assert self.why(rest).startswith("Ada has no message "), rest[:10]
        assert "The newest: 4, 3, 2, 1." in self.why("99")

    def test_what_is_no_number_is_a_name(self) -> None:
        """And answered as one."""
        for rest in ("edda", "ada two", "-1", "1.5", "\u00b2", "ada -1"):
            assert f"There is no assistant named {rest}." in self.why(rest), rest

    def test_a_player_is_told_of_own_messages_only(self) -> None:
        """Neither words nor numbers of others."""
        shown = self.why(caller=self.mira)
        for word in ("one", "three", "Tom"):
            assert word not in shown
        assert "message 4" in shown
        assert "Ada has no message 1 on record. The newest: 4, 2." == self.why(
            "1", caller=self.mira
        )

    def test_many_messages_are_bounded(self) -> None:
        """The newest are kept; what was answered is not pushed out by talk."""
        for number in range(200):
            self.tom.execute_cmd(f"say {number}")
        assert 121 >= len(self.records())
        assert "\nAda, message 4 of Mira" in self.why("4")


class TestTold(WhyTest):
    """What is told to whom."""

    def test_a_player_is_not_told_what_is_for_staff(self) -> None:
        """Neither why a model failed nor what the owner set wrongly."""
        self.set(channel_configs={"Secret staff": "loud"})
        self.ask("whisper Ada = hello", ModelReplyError("key sk-1 at 10.0.0.1"), person=self.mira)
        shown = self.why(caller=self.mira)
        assert "failed" in shown
        for word in ("10.0.0.1", "Secret staff", "sk-1"):
            assert word not in shown, shown
        staff = self.why()
        assert "10.0.0.1" in staff
        assert "Secret staff" in staff

    def test_names_and_words_are_shown_as_text(self) -> None:
        """No colour, no link, no line of its own."""
        self.tom.key = "|rTom\n  now       broken"
        public = self.channel("Pub|glic\n  now       broken")
        self.type(self.tom, "whisper Ada = |lcquit|ltx|le")
        public.msg("@ada\nnow broken", senders=self.tom)
        shown = self.why().split("\n")
        assert 1 == sum(line.startswith("  now") for line in shown), shown
        assert all(line[:6].strip() for line in shown[shown.index("Before that:") + 1 :]), shown

    def test_it_asks_nobody_and_changes_nothing(self) -> None:
        """Looking costs two statements that read: of the message, and of the newest answer."""
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.why()
        with self.assertNumQueries(2):
            operations.why(self.ada_script)
        assert 1 == len(self.model.bodies)
        assert [] == self.waiting()

    def test_where_several_could_be_meant_they_are_named(self) -> None:
        """As with every word of the command."""
        self.make("Brass")
        assert self.why().startswith("Which assistant? There are: Ada, Brass.\nUsage: ")

    def test_it_is_still_told_after_a_restart(self) -> None:
        """What came to something was stored."""
        self.ask("whisper Ada = hello", whispers("Hello."))
        before = self.why()
        self.restart()
        assert before == self.why()

    def test_it_works_as_typed(self) -> None:
        """By a player at the prompt."""
        self.mira.cmdset.add(AssistantCmdSet)
        self.ask("whisper Ada = hello", whispers("Hello.", "Mira"), person=self.mira)
        self.forget()
        self.type(self.mira, "assistant why")
        assert self.mira.seen[0].startswith("Ada: You whispered to me at ")
        assert state.read(self.ada_script, "enabled")
