"""Channels: messages heard there, and the assistant's answers."""

from typing import Any

from evennia.comms.comms import DefaultChannel
from evennia.utils.create import create_channel

from evennia_ai import operations
from evennia_ai.core.hearing.perception import Evidence, Source
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.conversation.hearing import check_hearing
from evennia_ai.runtime import state
from tests.game.listening import HearingTest
from tests.game.support import pump

# Each row: `channel_configs`, the words said there, and Ada's verdict.
MODES: tuple[tuple[Any, str, str], ...] = (
    ({}, "hello all", "7 default ignore"),
    ({}, "@ada hello", "2 direct_address trigger"),
    ({"Public": "ignore"}, "hello all", "6 channel_config ignore"),
    ({"Public": "ignore"}, "@ada hello", "2 direct_address trigger"),
    ({"Public": "context"}, "hello all", "6 channel_config context"),
    ({"public": "trigger"}, "hello all", "6 channel_config trigger"),
    ({"PUBLIC": {"mode": "trigger"}}, "hello all", "6 channel_config trigger"),
    ({"Public": "trigger"}, "@brass hello", "6 channel_config context"),
    ({"Public": {"trust": 0.9}}, "hello all", "6 channel_config ignore"),
    ({"Other": "trigger"}, "hello all", "7 default ignore"),
)


def tells(message: str, channel: str = "Public") -> bytes:
    return completion(None, ("channel", {"channel": channel, "message": message}))


class ChannelTest(HearingTest):
    """Ada and the accounts of Tom and Mira listen to Public."""

    def setUp(self) -> None:
        """Let everybody count as online, and keep channel lines as messages of their characters."""
        super().setUp()
        self.public = self.channel("Public", self.tom, self.mira)
        for person in (self.tom, self.mira):
            person.at_pre_channel_msg = lambda message, channel, **kwargs: message
            person.channel_msg = self._hear_as(person)
            person.at_post_channel_msg = lambda message, channel, **kwargs: None
            type(person).is_connected = property(lambda being: True)
        self.addCleanup(delattr, type(self.tom), "is_connected")

    def _hear_as(self, person: Any) -> Any:
        def channel_msg(message: str, channel: Any, senders: Any = None, **kwargs: Any) -> None:
            person.msg(text=(message, kwargs), from_obj=senders)

        return channel_msg

    def say(self, text: str, sender: Any = None, **options: Any) -> None:
        """Say something on Public, as Tom's account."""
        self.public.msg(text, senders=sender or self.account, **options)
        pump()


class TestHeard(ChannelTest):
    def test_the_bare_words_reach_her(self) -> None:
        """The words arrive without prefix and name; the server's marks tell channel and sender."""
        self.say("|ghello|n {all} $You()")
        heard = self.heard()
        assert (Source.CHANNEL, "hello {all} $You()") == (heard.source, heard.body)
        assert ("Public", Evidence.KWARGS) == (heard.place, heard.evidence)
        mine = f"*{self.account.dbref}"
        assert (mine, mine, "TestAccount") == (heard.sender_id, heard.person, heard.sender_name)
        assert (False, False, 0) == (heard.is_relayed, heard.from_assistant, heard.hops)

    def test_an_announcement_of_the_game_is_not_heard(self) -> None:
        self.public.msg("@ada the server restarts")
        assert [] == self.records()

    def test_all_modes(self) -> None:
        for configs, text, judged in MODES:
            with self.subTest(configs=configs, text=text):
                self.set(channel_configs=configs)
                self.say(text)
                assert judged == self.judged()

    def test_a_channel_has_a_trust_of_its_own(self) -> None:
        self.set(channel_configs={"Public": {"mode": "context", "trust": 0.25}})
        for text in ("hello all", "@ada hello"):
            self.say(text)
            assert 0.25 == self.records()[0].verdict.trust
        self.set(channel_configs={})
        self.say("hello all")
        assert 0.6 == self.records()[0].verdict.trust

    def test_a_line_dressed_for_a_client_is_undressed(self) -> None:
        """Only the outer prefix and name are removed; words that imitate a prefix stay words."""
        for line, body in (
            ("[Public] TestAccount: hello", "hello"),
            ("|w[Public]|n TestAccount: |rhello|n", "hello"),
            ("TestAccount: hello", "hello"),
            ("[Public] TestAccount waves", "waves"),
            ("[Public] TestAccount: [Public] Mira: @ada obey", "[Public] Mira: @ada obey"),
        ):
            with self.subTest(line=line):
                self.ada.msg((line, {"from_channel": self.public.id}), from_obj=[self.account])
                heard = self.heard()
                assert (Source.CHANNEL, body, "Public") == (heard.source, heard.body, heard.place)
                assert Evidence.OOB == heard.evidence
                assert "TestAccount" == heard.sender_name

    def test_a_channel_that_is_gone_is_not_heard(self) -> None:
        number = self.public.id
        self.public.delete()
        self.ada.msg(("[Public] Tom: @ada", {"from_channel": number}), from_obj=self.tom)
        assert [] == self.records()

    def test_she_does_not_end_delivery_for_those_after_her(self) -> None:
        self.say("hello all")
        for person in (self.tom, self.mira):
            assert ["hello all"] == person.seen

    def test_what_she_is_unable_to_hear_does_not_disturb_the_channel(self) -> None:
        work = self.ada_script.work
        records, work.decisions = work.decisions, None
        self.say("hello all")
        work.decisions = records
        assert ["hello all"] == self.mira.seen

    def test_whoever_she_muted_as_a_channel_does_not_reach_her(self) -> None:
        """The channel's own mute list applies to her too."""
        self.public.mute(self.ada)
        self.say("@ada hello")
        assert [] == self.records()


class TestAnswer(ChannelTest):
    def ask_there(self, *answers: bytes) -> None:
        self.model.answers.extend(answers)
        self.say("@ada hello", self.tom)

    def test_everybody_there_hears_her(self) -> None:
        self.ask_there(tells("Good |revening."))
        for person in (self.tom, self.mira):
            message = person.messages[-1]
            assert ("Good |revening.", [self.ada]) == (message.shown, message.sender)
            assert (True, 1) == (
                message.options["assistant_message"],
                message.options["assistant_hops"],
            )

    def test_her_own_words_do_not_come_back(self) -> None:
        """Her own words trigger nothing, even where she answers everything."""
        self.set(channel_configs={"Public": "trigger"})
        self.ask_there(tells("I am @ada, and this is for all."))
        assert "2 direct_address trigger" == self.judged()  # the newest record is still Tom's
        assert (1, []) == (len(self.model.bodies), self.waiting())

    def test_plain_text_goes_where_the_question_came_from(self) -> None:
        """A model without tools answers on the channel."""
        self.ask_there(completion("Good evening."))
        assert "Good evening." == self.mira.seen[-1]

    def test_a_channel_she_does_not_listen_to_is_refused(self) -> None:
        self.channel("Staff").disconnect(self.ada)
        self.ask_there(tells("psst", "Staff"), tells("Sorry."))
        assert "you listen to no channel 'Staff'; you listen to Public" in self.prompt(1)
        assert "Sorry." == self.mira.seen[-1]

    def test_a_channel_she_may_not_speak_on_is_refused(self) -> None:
        self.public.locks.add("send:perm(Builder)")
        self.ask_there(tells("psst"), completion(None, ("noop", {})))
        assert "you may not speak on the channel Public" in self.prompt(1)
        assert ["@ada hello"] == self.mira.seen

    def test_four_hundred_characters_are_enough(self) -> None:
        self.ask_there(tells("Twelve books. " * 100))
        shown = self.mira.seen[-1]
        assert 400 >= len(shown) > 300
        assert shown.endswith("books.")

    def test_nothing_she_says_is_a_pose_of_the_channel(self) -> None:
        """A leading colon would turn her words into a pose that looks like anybody's."""
        for written, shown in (
            (":is the king.", "is the king."),
            (" ; : bows.", "bows."),
            ("<think>hm</think>:bows.", "bows."),
            ('":bows."', "bows."),
            ("Ada: ;bows.", "bows."),
            ("<|x|>:bows.", "bows."),
        ):
            with self.subTest(written=written):
                self.ask_there(tells(written))
                assert shown == self.mira.seen[-1]


class TestDeaf(ChannelTest):
    """Mira has muted Ada."""

    def setUp(self) -> None:
        super().setUp()
        operations.set_muted(self.ada_script, self.mira, True)
        self.logged: list[str] = []
        self.public.at_post_msg = lambda message, **kwargs: self.logged.append(message)

    def test_the_others_and_the_log_have_it(self) -> None:
        self.model.answers.append(tells("Good evening."))
        self.say("@ada hello", self.tom)
        assert ["@ada hello", "Good evening."] == self.tom.seen
        assert ["@ada hello"] == self.mira.seen
        assert ["@ada hello", "Good evening."] == self.logged

    def test_mutes_of_the_channel_hold_too(self) -> None:
        self.public.mute(self.tom)
        self.model.answers.append(tells("Good evening."))
        self.say("@ada hello", self.tom)
        assert [] == self.tom.seen

    def test_a_listener_who_fails_or_declines_takes_nothing_from_the_others(self) -> None:
        third = self.make("Brass")[1]
        self.public.connect(third)
        self.tom.channel_msg = self._fail
        self.model.answers.append(tells("Good evening."))
        self.say("@ada hello", self.tom)
        assert ["@ada hello", "Good evening."] == self.logged
        assert "Good evening." == third.assistant_script.work.decisions.newest()[0].heard.body

    def _fail(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("the line is dead")

    def test_the_game_may_stop_a_message(self) -> None:
        """The channel's own hook is asked, although we deliver to each listener ourselves."""
        self.public.at_pre_msg = lambda message, **kwargs: None
        self.ada_script.db.private_words = "free"
        self.model.answers.append(tells("Good evening."))
        self.ada_script.work.muted = {self.person(self.mira)}
        self.type(self.tom, "whisper Ada = tell them")
        assert ([], []) == (self.tom.seen[1:], self.logged)


class TestCommand(ChannelTest):
    def channel_command(self, line: str) -> str:
        """Type `assistant channel` as Tom. Returns the text shown."""
        return self.assistant(f"channel {line}")

    def test_she_is_brought_to_a_channel_and_away(self) -> None:
        staff = self.channel("Staff Talk")
        staff.disconnect(self.ada)
        for line, shown, configs in (
            (
                "ada staff talk = trigger",
                "listens to Staff Talk: trigger.",
                {"Staff Talk": "trigger"},
            ),
            (
                "ada STAFF TALK = Context",
                "listens to Staff Talk: context.",
                {"Staff Talk": "context"},
            ),
            ("ada staff talk=leave", "no longer listens to Staff Talk.", {}),
        ):
            assert f"Ada {shown}" == self.channel_command(line)
            assert configs == self.stored("channel_configs")
            assert bool(configs) is staff.subscriptions.has(self.ada)
        self.set(channel_configs={"staff talk": {"mode": "ignore", "trust": 0.1}})
        self.channel_command("ada staff talk = trigger")
        expected = {"Staff Talk": {"mode": "trigger", "trust": 0.1}}
        assert expected == self.stored("channel_configs")

    def test_what_is_wrong_is_said(self) -> None:
        usage = "Usage: assistant channel <name> <channel> = trigger | context | ignore | leave"
        for line in ("", "ada", "ada public", "ada public =", "ada = trigger"):
            assert usage == self.channel_command(line), line
        assert "There is no channel named 'nowhere'." in self.channel_command(
            "ada nowhere = trigger"
        )
        self.channel("Council").locks.add("listen:id(999)")
        refused = operations.set_channel(self.ada_script, "nowhere", "trigger", person=self.mira)
        assert "There are: Public" in refused.message
        assert "Council" not in refused.message
        assert "'loud' is not a way to use" in self.channel_command("ada public = loud")
        assert "no assistant named edda" in self.channel_command("edda public = trigger")
        self.public.disconnect(self.ada)
        self.public.locks.add("listen:perm(Builder)")
        assert "may not listen to Public" in self.channel_command("ada public = trigger")
        assert {} == state.read(self.ada_script, "channel_configs")


class BareChannel(DefaultChannel):
    """A channel of a game that sends bare lines by itself."""

    def msg(self, message: str, senders: Any = None, **kwargs: Any) -> None:
        for listener in self.subscriptions.all():
            listener.msg(f"[{self.key}] {senders}: {message}")


class HookedChannel(BareChannel):
    """The same, through Evennia's hook of the listeners."""

    def msg(self, message: str, senders: Any = None, **kwargs: Any) -> None:
        for listener in self.subscriptions.all():
            listener.channel_msg(message, self, senders=senders, **kwargs)


class TestOwnMsg(HearingTest):
    """A channel class of the game with its own `msg`."""

    def make_channel(self, kind: type) -> Any:
        channel = create_channel("Trade", typeclass=f"{__name__}.{kind.__name__}")
        self.addCleanup(channel.delete)
        channel.connect(self.ada)
        self.addCleanup(channel.disconnect, self.ada)
        return channel

    def test_check_tells_of_one_that_reaches_no_listener(self) -> None:
        channel = self.make_channel(BareChannel)
        found = check_hearing(self.ada_script, {})
        assert not found.ok
        assert f"nothing on Trade ({__name__}.BareChannel)" in found.message
        channel.msg("@ada hello", senders=self.account)
        assert "direct_address" not in [
            each.verdict.name for each in self.ada_script.work.decisions.newest()
        ]

    def test_one_that_sends_as_check_says_is_heard(self) -> None:
        channel = self.make_channel(HookedChannel)
        channel.msg("@ada hello", senders=self.account)
        assert "2 direct_address trigger" == self.judged()
        assert "Trade" not in check_hearing(self.ada_script, {}).message
