"""`assistant why`: every reason to speak or to stay silent, and who may be told."""

from typing import Any

from evennia_ai import operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.consolidation import put_to_sleep
from evennia_ai.errors import ModelReplyError, ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import services, state
from tests.game.listening import HearingTest
from tests.game.support import pump, says, whispers

NOOP = completion(None, ("noop", {}))


class WhyTest(HearingTest):
    """Asks as Mira, a player, or as Tom, who is staff."""

    def why(self, rest: str = "", caller: Any = None) -> str:
        rest = f"{rest.removesuffix('reveal').rstrip()} full{' reveal' * rest.endswith('reveal')}"
        return self.assistant(f"why {rest}", caller=caller or self.tom)

    def then(self, rest: str = "", caller: Any = None) -> list[str]:
        lines = self.why(rest, caller).split("\n")
        return [line.split("then")[1].strip() for line in lines if line.startswith("  then")]


class TestReasons(WhyTest):
    def test_an_answer(self) -> None:
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
        assert self.why().startswith("Ada has no messages on record.\nNow: awake.")
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert self.why(caller=self.mira).startswith("Ada has no messages on record.")

    def test_without_a_name_it_is_the_one_that_was_spoken_to_last(self) -> None:
        """A player who spoke to none of several is asked which."""
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
        self.ask("whisper Ada = hello", NOOP)
        assert self.then()[-1].startswith("silent by choice")

    def test_nobody_meant_her(self) -> None:
        self.type(self.tom, "say what a day")
        assert "  rule      7 default: ignore" in self.why()

    def test_a_mute(self) -> None:
        operations.set_muted(self.ada_script, self.mira, True)
        self.type(self.mira, "whisper Ada = hello")
        assert "  rule      0 muted: ignore" in self.why()

    def test_switched_off(self) -> None:
        for act, expected in (
            (lambda: operations.set_enabled(self.ada_script, False), "silent: it is silenced"),
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
        self.set(hearing_config={"calls_per_player": 1, "queued_per_player": 0, "batch_seconds": 0})
        self.ask("whisper Ada = one", NOOP)
        self.type(self.tom, "whisper Ada = two")
        assert [
            "refused: limit calls_per_player, in hearing_config",
            "told: that no answer will come",
        ] == self.then()

    def test_waiting(self) -> None:
        self.type(self.mira, "whisper Ada = one")
        self.type(self.tom, "whisper Ada = two")
        assert ["queued: 1 waiting before it"] == self.then()
        assert "2 waiting" in self.why()

    def test_a_failure(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.ask("whisper Ada = hello", ModelStatusError(400, "no such model"))
        last = self.then()[-1]
        assert last.startswith("failed: llm_error:")
        assert "no such model" in last
        assert last.endswith("was told")
        assert "1 errors in a row" in self.why()

    def test_an_open_breaker(self) -> None:
        services.pool().breaker_of(services.endpoint()).force_open()
        self.type(self.tom, "whisper Ada = hello")
        assert "failed" in self.then()[-1]
        assert "breaker open: llm:scripted" in self.why()

    def test_cut_off(self) -> None:
        """A stop gives the message back; after a silence it is answered."""
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
        self.set(max_pending_events=1)
        for words in ("one", "two", "three"):
            self.type(self.tom, f"whisper Ada = {words}")
        steps = [record.steps[-1][0] for record in reversed(self.records())]
        assert ["may do", "dropped", "queued"] == steps

    def test_hops(self) -> None:
        """It names the end of the talk of two assistants, and its limit."""
        _, brass = self.make("Brass")
        outgoing.whisper(brass, self.ada, "hello", hops=3)
        shown = self.why("ada reveal")
        assert '  heard     whisper "hello", of an assistant, hop 3' in shown
        assert "  rule      4 hop_limit: context" in shown
        assert "then      silent: 3 messages in a row between assistants, of 3" in shown

    def test_marks_beside_the_words(self) -> None:
        self.set(room_messages="trigger")
        self.type(self.tom, "say Mira, look")
        assert "aimed at somebody else" in self.why()

    def test_evidence(self) -> None:
        """Text sent to the room carries no mark of speech."""
        self.room1.msg_contents("@ada!", from_obj=self.obj1)
        assert "known by  nothing: no mark said what it is" in self.why()


class TestNumbers(WhyTest):
    def setUp(self) -> None:
        """Send four messages of two people."""
        super().setUp()
        for person, words in ((self.tom, "one"), (self.mira, "two"), (self.tom, "three")):
            self.type(person, f"say {words}")
        self.ask("whisper Ada = four", NOOP, person=self.mira)

    def test_a_number_is_that_message(self) -> None:
        for rest in ("1", "ada 1", "Ada  1", "ada 01"):
            shown = self.why(rest)
            assert "\nAda, message 1 of Tom," in shown, rest
            assert "Before that" not in shown

    def test_without_a_number_the_newest_and_what_was_before(self) -> None:
        shown = self.why("reveal")
        assert "\nAda, message 4 of Mira" in shown
        head, _, before = shown.partition("Before that:\n")
        assert head
        assert ["3", "2", "1"] == [line.split()[0] for line in before.split("\n")]

    def test_a_number_she_does_not_keep(self) -> None:
        for rest in ("99", "0", "ada 99", "9" * 5000):
            assert self.why(rest).startswith("Ada has no message "), rest[:10]
        assert "The newest: 4, 3, 2, 1." in self.why("99")

    def test_what_is_no_number_is_a_name(self) -> None:
        for rest in ("edda", "ada two", "-1", "1.5", "\u00b2", "ada -1"):
            assert f"There is no assistant named {rest}." in self.why(rest), rest

    def test_a_player_is_told_of_own_messages_only(self) -> None:
        shown = self.why(caller=self.mira)
        for word in ("one", "three", "Tom"):
            assert word not in shown
        assert "message 4" in shown
        assert "Ada has no message 1 on record. The newest: 4, 2." == self.why(
            "1", caller=self.mira
        )

    def test_many_messages_are_bounded(self) -> None:
        """Chatter does not push out what was answered."""
        for number in range(200):
            self.tom.execute_cmd(f"say {number}")
        assert 121 >= len(self.records())
        assert "\nAda, message 4 of Mira" in self.why("4")


class TestTold(WhyTest):
    def test_a_player_is_not_told_what_is_for_staff(self) -> None:
        """This covers the cause of a failure and wrong settings."""
        self.set(channel_configs={"Secret staff": "loud"})
        self.ask("whisper Ada = hello", ModelReplyError("key sk-1 at 10.0.0.1"), person=self.mira)
        shown = self.why(caller=self.mira)
        assert "failed" in shown
        for word in ("10.0.0.1", "Secret staff", "sk-1"):
            assert word not in shown, shown
        staff = self.why()
        assert "10.0.0.1" in staff
        assert "Secret staff" in staff

    def test_sleep_is_told(self) -> None:
        put_to_sleep(self.ada_script, "a test")
        assert "Now: asleep." in self.why()

    def test_which_setting_is_wrong_is_for_staff(self) -> None:
        state.write(self.ada_script, safety_config={"limits": {}})
        self.ada_script.work.drop_cached_settings()
        for person, reason in (
            (self.mira, "its settings are wrong"),
            (self.tom, "safety_config has"),
        ):
            for line in ("why ada", "why ada full"):
                shown = self.assistant(line, caller=person)
                assert f"Now: {reason}" in shown or f"now       {reason}" in shown

    def test_names_and_words_are_shown_as_text(self) -> None:
        self.tom.key = "|rTom\n  now       broken"
        public = self.channel("Pub|glic\n  now       broken")
        self.type(self.tom, "whisper Ada = |lcquit|ltx|le")
        public.msg("@ada\nnow broken", senders=self.tom)
        shown = self.why().split("\n")
        assert 1 == sum(line.startswith("  now") for line in shown), shown
        assert all(line[:6].strip() for line in shown[shown.index("Before that:") + 1 :]), shown

    def test_it_asks_nobody_and_changes_nothing(self) -> None:
        """The two statements read the message and the newest answer."""
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.why()
        with self.assertNumQueries(2):
            operations.why(self.ada_script)
        assert 1 == len(self.model.bodies)
        assert [] == self.waiting()

    def test_where_several_could_be_meant_they_are_named(self) -> None:
        self.make("Brass")
        assert self.why().startswith("Which assistant? There are: Ada, Brass.\nUsage: ")

    def test_it_is_still_told_after_a_restart(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        before = self.why()
        self.restart()
        assert before == self.why()

    def test_it_works_as_typed(self) -> None:
        self.mira.cmdset.add(AssistantCmdSet)
        self.ask("whisper Ada = hello", whispers("Hello.", "Mira"), person=self.mira)
        self.forget()
        self.type(self.mira, "assistant why")
        assert self.mira.seen[0].startswith("Ada: You whispered to me at ")
        assert state.read(self.ada_script, "enabled")
