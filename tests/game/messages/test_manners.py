"""Limits on how people use an assistant: bursts, cooldown, quotas, talks and expiry."""

from unittest import mock

from evennia.utils import logger
from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.agent.failure_notices import BUSY_LINE, LOG_INTERVAL_SECONDS
from evennia_ai.core.turn.toolspec import ToolCall
from evennia_ai.errors import ModelReplyError
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state, turns
from tests.game.listening import HearingTest
from tests.game.support import pump, says, whispers

WAIT = outgoing.TOO_MUCH_LINE.replace("{name}", "Ada")
BUSY = BUSY_LINE.replace("{name}", "Ada")
SORRY = outgoing.FAILURE_LINE.replace("{name}", "Ada")


class MannersTest(HearingTest):
    """An assistant with a clock that is advanced by hand."""

    def ask_often(self, times: int, person: object = None) -> None:
        """Somebody (Tom) whispers again and again; nobody answers yet."""
        for number in range(times):
            self.type(person or self.tom, f"whisper Ada = {number}")


class TestBurst(MannersTest):
    hearing = {"batch_seconds": 0.1, "batch_messages": 3}

    def test_a_burst_is_one_turn(self) -> None:
        for words in ("one", "two", "three"):
            self.type(self.tom, f"whisper Ada = {words}")
        assert [] == self.model.bodies
        self.model.answers.append(whispers("All three."))
        self.advance(0.1)
        lines = [f'Tom whispers to you (trust 0.9): "{word}"' for word in ("one", "two", "three")]
        assert "\n".join(lines) == self.prompt()
        assert (1, []) == (len(self.model.bodies), self.waiting())
        assert ['Ada whispers: "All three."'] == self.tom.heard_from(self.ada)

    def test_it_is_bounded(self) -> None:
        self.ask_often(5)
        self.model.answers.extend([whispers("Three."), whispers("Two.")])
        self.advance(0.1)
        assert [3, 2] == [len(self.prompt(number).split("\n")) for number in (0, 1)]

    def test_only_what_belongs_together_is_joined(self) -> None:
        """Words of other people or by another way stay apart."""
        self.type(self.tom, "whisper Ada = one")
        self.type(self.mira, "whisper Ada = two")
        self.type(self.tom, "say @ada three")
        self.type(self.tom, "whisper Ada = four")
        self.model.answers.extend([completion(None, ("noop", {}))] * 3)
        self.advance(0.1)
        prompts = [self.prompt(number) for number in range(3)]
        firsts = [text.split(": ")[1].split("\n")[0] for text in prompts]
        assert ['"one"', '"two"', '"three"'] == firsts
        assert prompts[0].endswith('"four"')

    def test_a_question_is_stored_before_the_wait(self) -> None:
        """A process that dies within the wait still has it."""
        self.type(self.tom, "whisper Ada = one")
        assert ["one"] == [event.body for event in self.waiting()]

    def test_all_of_them_are_settled_after_a_crash(self) -> None:
        self.type(self.tom, "whisper Ada = one")
        self.type(self.tom, "whisper Ada = two")
        self.type(self.mira, "whisper Ada = three")
        self.advance(0.1)
        turn = turns.load(self.ada_script, self.ada_script.work.inbox[0], 3)
        assert ["one", "two"] == [event.body for event in turn.events]
        turns.write_ahead_intent(self.ada_script, turn, ToolCall("c1", "say", {"message": "Yes."}))
        self.ada_script.work = None
        self.ada_script.at_start()
        self.model.answers.append(whispers("Three.", "Mira"))
        pump()
        assert self.prompt().endswith('"three"')
        assert [] == self.waiting()

    def test_a_failure_settles_and_tells_once(self) -> None:
        self.ask_often(3)
        self.model.answers.append(ModelReplyError("no"))
        self.advance(0.1)
        assert ([SORRY], []) == (self.tom.heard_from(self.ada), self.waiting())


class TestCooldown(MannersTest):
    hearing = {"cooldown_seconds": 10}

    def test_the_next_turn_waits(self) -> None:
        self.ask("whisper Ada = one", whispers("One."))
        self.type(self.tom, "whisper Ada = two")
        self.advance(9)
        assert 1 == len(self.model.bodies)
        self.ask("whisper Ada = mine", whispers("Yours.", "Mira"), person=self.mira)
        assert ['Ada whispers: "Yours."'] == self.mira.heard_from(self.ada)
        self.model.answers.append(whispers("Two."))
        self.advance(1.1)
        assert 'Ada whispers: "Two."' == self.tom.heard_from(self.ada)[-1]

    def test_waiting_does_not_multiply_beats(self) -> None:
        """However often somebody asks, few calls are scheduled."""
        self.ask("whisper Ada = one", whispers("One."))
        self.ask_often(15)
        for _ in range(20):
            self.ada_script.at_repeat()
        assert 60 >= len(self.clock.getDelayedCalls())
        self.advance(9)
        assert 1 == len(self.model.bodies)
        self.advance(2)
        assert 2 == len(self.model.bodies)


class TestLimits(MannersTest):
    hearing = {"calls_per_player": 2, "pending_per_player": 3, "queued_per_player": 0}

    def test_more_turns_a_minute_are_refused_with_one_line(self) -> None:
        """The line is whispered once a minute; other people are not affected."""
        for _ in range(2):
            self.ask("whisper Ada = hello", completion(None, ("noop", {})))
        for _ in range(3):
            self.type(self.tom, "whisper Ada = hello")
        assert ([WAIT], []) == (self.tom.heard_from(self.ada), self.mira.heard_from(self.ada))
        assert (2, []) == (len(self.model.bodies), self.waiting())
        self.ask("whisper Ada = hello", whispers("Hello.", "Mira"), person=self.mira)
        assert ['Ada whispers: "Hello."'] == self.mira.heard_from(self.ada)
        self.advance(59)
        self.type(self.tom, "whisper Ada = hello")
        assert [WAIT] == self.tom.heard_from(self.ada)
        self.advance(1)
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert [WAIT, 'Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)

    def test_more_waiting_messages_are_refused(self) -> None:
        self.set(
            hearing_config=state.read(self.ada_script, "hearing_config") | {"calls_per_player": 99}
        )
        self.type(self.mira, "whisper Ada = first")
        self.ask_often(5)
        assert ["first", "0", "1", "2"] == [event.body for event in self.waiting()]
        assert [WAIT] == self.tom.heard_from(self.ada)

    def test_other_characters_and_other_ways_do_not_help(self) -> None:
        """The limit counts per account."""
        twin = create_object("tests.game.people.Person", key="Twin", location=self.room1)
        twin.account = self.account
        self.put_online(twin, 3)
        public = self.channel()
        for act in (
            lambda: self.type(self.tom, "whisper Ada = one"),
            lambda: self.type(twin, "say @ada two"),
            lambda: public.msg("@ada three", senders=self.account),
            lambda: self.type(twin, "pose nods to @ada"),
        ):
            self.model.answers.append(completion(None, ("noop", {})))
            act()
            pump()
        assert 2 == len(self.model.bodies)
        assert "refused" in self.steps()

    def test_what_was_not_said_to_her_is_refused_without_a_word(self) -> None:
        self.set(room_messages="trigger")
        for _ in range(4):
            self.ask("say what a day", completion(None, ("noop", {})))
        assert [] == self.tom.heard_from(self.ada)
        assert "refused" in self.steps()

    def test_a_full_inbox_costs_whoever_fills_it(self) -> None:
        """The sender with the most messages loses their oldest."""
        self.set(
            hearing_config={"batch_seconds": 0, "pending_per_player": 99, "calls_per_player": 99}
        )
        self.set(max_pending_events=4)
        other = create_object("tests.game.people.Person", key="Otto", location=self.room1)
        self.type(other, "whisper Ada = busy")
        self.ask_often(3)
        self.type(self.mira, "whisper Ada = mine")
        bodies = [event.body for event in self.waiting()]
        assert ["busy", "1", "2", "mine"] == bodies
        assert ([BUSY], []) == (self.tom.heard_from(self.ada), self.mira.heard_from(self.ada))

    def test_many_that_are_turned_away_do_not_fill_the_log(self) -> None:
        """The log has one line a minute, with the count and the setting."""
        self.set(hearing_config={"pending_per_player": 99, "calls_per_player": 99})
        self.set(max_pending_events=2)
        lines: list[str] = []
        with mock.patch.object(logger, "log_warn", lines.append):
            for count in (9, 3):
                self.ask_often(count)
                self.clock.advance(LOG_INTERVAL_SECONDS)
        reasons = [line.partition("dropped: ")[2].partition(".")[0] for line in lines]
        assert ["1 message", "7 messages"] == reasons
        assert all("(max_pending_events)" in line for line in lines)


class TestExpiry(MannersTest):
    hearing = {"expires_seconds": 100}

    def test_an_old_question_is_given_up_and_its_asker_told(self) -> None:
        self.type(self.mira, "whisper Ada = busy")
        self.type(self.tom, "whisper Ada = old")
        self.ada_script.pause()
        self.clock.advance(101)
        self.ada_script.unpause()
        self.type(self.tom, "whisper Ada = new")
        assert [SORRY] == self.tom.heard_from(self.ada)
        assert [SORRY] == self.mira.heard_from(self.ada)
        assert ["new"] == [event.body for event in self.waiting()]
        record = next(r for r in self.records() if r.heard.body == "old")
        assert "expired" == record.steps[-1][0]


class TestEngaged(MannersTest):
    hearing = {"engagement_seconds": 60}

    def begin(self) -> None:
        self.ask("say @ada hello", says("Hello, Tom."))
        self.model.answers.clear()

    def judge(self, line: str, person: object = None) -> str:
        self.type(person or self.tom, line)
        return self.judged()

    def test_the_talk_goes_on(self) -> None:
        self.begin()
        assert "2 continued_address trigger" == self.judge("say and how are you?")
        assert "2 continued_address trigger" == self.judge("pose smiles.")

    def test_it_ends_after_a_minute(self) -> None:
        self.begin()
        self.advance(59)
        self.ask("say still there?", says("I am."))
        self.advance(59)
        assert "2 continued_address trigger" == self.judge("say good")
        self.advance(60)
        assert "7 default ignore" == self.judge("say hm")

    def test_it_ends_when_another_speaks(self) -> None:
        """She does not answer within a talk of two others."""
        self.begin()
        assert "7 default ignore" == self.judge("say Tom, dinner!", self.mira)
        assert "7 default ignore" == self.judge("say coming")

    def test_it_ends_when_he_turns_to_another(self) -> None:
        for line in ("say Mira, look at this", "say @mira look", "pose nods to @mira"):
            with self.subTest(line=line):
                self.begin()
                assert "7 default ignore" == self.judge(line)
                assert "7 default ignore" == self.judge("say and then?")

    def test_a_pose_that_names_another_is_for_them(self) -> None:
        for line, judged in (
            ("pose waves at Mira.", "7 default ignore"),
            ("pose and Mira laugh.", "7 default ignore"),
            ("pose looks from Mira to Ada.", "2 continued_address trigger"),
            ("pose (Tom by name) waves.", "2 continued_address trigger"),
        ):
            with self.subTest(line=line):
                self.begin()
                assert judged == self.judge(line)
                self.model.waiting.clear()

    def test_nobody_else_has_it(self) -> None:
        self.begin()
        assert "7 default ignore" == self.judge("say and me?", self.mira)

    def test_it_does_not_end_by_what_is_no_speech(self) -> None:
        public = self.channel()
        coin = create_object(
            "evennia.objects.objects.DefaultObject", key="coin", location=self.mira
        )
        for name, act in (
            ("leaves", lambda: self.mira.move_to(self.room2)),
            ("comes", lambda: self.mira.move_to(self.room1)),
            ("drops a coin", lambda: self.type(self.mira, "drop coin")),
            ("a thing makes a noise", lambda: self.room1.msg_contents("Click.", from_obj=coin)),
            ("whispers", lambda: self.type(self.mira, "whisper Ada = psst")),
            ("on a channel", lambda: public.msg("hello", senders=self.account2)),
            ("looks", lambda: self.type(self.mira, "look Ada")),
        ):
            with self.subTest(name):
                self.begin()
                act()
                assert "2 continued_address trigger" == self.judge("say and then?")
                operations.reset_history(self.ada_script)
                self.model.waiting.clear()
                state.write(self.ada_script, pending_events=[])
                self.ada_script.work.inbox = []

    def test_the_words_of_who_muted_her_change_nothing(self) -> None:
        operations.set_muted(self.ada_script, self.mira, True)
        self.begin()
        self.judge("say hello", self.mira)
        assert "2 continued_address trigger" == self.judge("say and then?")

    def test_a_whisper_begins_none(self) -> None:
        """Open words after a private talk are not taken as addressed to her."""
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert "7 default ignore" == self.judge("say what a day")

    def test_silence_begins_none(self) -> None:
        self.ask("say @ada hello", completion(None, ("noop", {})))
        assert "7 default ignore" == self.judge("say what a day")

    def test_it_stays_where_it_was(self) -> None:
        public = self.channel()
        self.begin()
        public.msg("what a day", senders=self.account)
        assert "7 default ignore" == self.judged()
        for being in (self.tom, self.ada):
            being.location = self.room2
        assert "7 default ignore" == self.judge("say what a day")

    def test_on_a_channel_it_goes_on_there(self) -> None:
        public = self.channel()
        answer = ("channel", {"channel": "Public", "message": "Hello."})
        self.model.answers.append(completion(None, answer))
        public.msg("@ada hello", senders=self.account)
        pump()
        public.msg("and then?", senders=self.account)
        assert "2 continued_address trigger" == self.judged()
        public.msg("what a day", senders=self.account2)
        public.msg("hm", senders=self.account)
        assert "7 default ignore" == self.judged()

    def test_with_an_assistant_there_is_none(self) -> None:
        """Assistants have to address each other in every message."""
        brass_script, _ = self.make("Brass")
        self.ask(
            "say @ada greet Brass", says("@brass hello"), says("@ada hello, Ada"), says("Yes.")
        )
        assert {} == brass_script.work.conversations.by_place
