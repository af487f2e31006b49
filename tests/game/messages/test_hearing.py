"""Evennia's own ways of speaking, as an assistant hears them: sender, words, kind, evidence."""

from evennia.commands.default.building import CmdTeleport
from evennia.objects.objects import DefaultExit, DefaultObject
from evennia.utils.create import create_object

from evennia_ai.core.hearing.perception import Evidence, Source
from evennia_ai.tools.commanding import captured
from tests.game.listening import HearingTest
from tests.game.support import says, whispers

# Tom's line, and what Ada hears: source, words, and the rule and outcome.
TYPED = (
    ("say what a day", Source.SAY, "what a day", "7 default ignore"),
    ("say @ada hello", Source.SAY, "@ada hello", "2 direct_address trigger"),
    ("say Ada, hello", Source.SAY, "Ada, hello", "2 direct_address trigger"),
    ("say thank you ada", Source.SAY, "thank you ada", "2 direct_address trigger"),
    ("say what is this, Ada?", Source.SAY, "what is this, Ada?", "2 direct_address trigger"),
    ("say I saw Ada yesterday", Source.SAY, "I saw Ada yesterday", "7 default ignore"),
    ("say Adamant, hello", Source.SAY, "Adamant, hello", "7 default ignore"),
    ("say \u0410da, hello", Source.SAY, "\u0410da, hello", "7 default ignore"),
    (":nods to Ada", Source.POSE, "nods to Ada", "7 posed_at context"),
    ('pose says, "Ada, hello"', Source.POSE, 'says, "Ada, hello"', "7 posed_at context"),
    ("say @ADA, hello", Source.SAY, "@ADA, hello", "2 direct_address trigger"),
    ("say @adamant hello", Source.SAY, "@adamant hello", "7 default ignore"),
    ("say ada@home.example", Source.SAY, "ada@home.example", "7 default ignore"),
    ('say he said "@ada" to me', Source.SAY, 'he said "@ada" to me', "2 direct_address trigger"),
    ("'short for say", Source.SAY, "short for say", "7 default ignore"),
    ("say |rred|n {x} $You()", Source.SAY, "red {x} $You()", "7 default ignore"),
    ("whisper Ada = psst", Source.WHISPER, "psst", "3 direct_message trigger"),
    ("whisper ada,Mira = psst", Source.WHISPER, "psst", "3 direct_message trigger"),
    ('whisper Ada = say "yes"', Source.WHISPER, 'say "yes"', "3 direct_message trigger"),
    ("pose waves.", Source.POSE, "waves.", "7 default ignore"),
    ("pose 's eyes are on @ada", Source.POSE, "'s eyes are on @ada", "2 direct_address trigger"),
    (':says, "@ada"', Source.POSE, 'says, "@ada"', "2 direct_address trigger"),
    ('emote whispers: "hi"', Source.POSE, 'whispers: "hi"', "7 default ignore"),
)


class TestTyped(HearingTest):
    """Tom types Evennia's own commands."""

    def test_each_is_heard_as_what_it_is(self) -> None:
        """Source and sender come from the server's marks, never from the text."""
        for line, source, body, judged in TYPED:
            with self.subTest(line=line):
                self.type(self.tom, line)
                heard = self.heard()
                assert (source, body) == (heard.source, heard.body)
                assert judged == self.judged()
                assert (self.tom.dbref, "Tom") == (heard.sender_id, heard.sender_name)
                assert f"*{self.account.dbref}" == heard.person
                assert (Evidence.OOB, "") == (heard.evidence, heard.place)
                assert (False, 0, False) == (heard.from_assistant, heard.hops, heard.is_relayed)

    def test_a_longer_name_of_another_does_not_call_her(self) -> None:
        """Only where somebody of that name is here."""
        lines = ("Ada Smith, hello", "hello Ada Smith", "@Ada Smith hello")
        for is_here, judged in ((False, "2 direct_address"), (True, "7 default")):
            if is_here:
                create_object("tests.game.people.Person", key="Ada Smith", location=self.room1)
            for line in lines:
                with self.subTest(is_here=is_here, line=line):
                    self.type(self.tom, f"say {line}")
                    assert (line, is_here) == (self.heard().body, self.heard().is_for_another)
                    assert self.judged().startswith(judged)

    def test_a_longer_name_of_another_ends_the_talk_with_her(self) -> None:
        create_object("tests.game.people.Person", key="Ada Smith", location=self.room1)
        self.ask("say Ada, hello", says("Hello."))
        self.type(self.tom, "say Ada Smith, hello")
        self.type(self.tom, "say what a day")
        assert "7 default ignore" == self.judged()
        assert 1 == len(self.model.bodies)

    def test_a_whisper_to_another_is_not_heard(self) -> None:
        self.type(self.tom, "whisper Mira = @ada is a spy")
        assert [] == self.records()

    def test_a_sender_without_a_player_is_a_person_of_its_own(self) -> None:
        """A character without an account counts by its own id."""
        guard = create_object("tests.game.people.Person", key="Guard", location=self.room1)
        guard.execute_cmd("say @ada halt")
        assert (guard.dbref, guard.dbref) == (self.heard().sender_id, self.heard().person)

    def test_all_characters_of_an_account_are_one_person(self) -> None:
        twin = create_object("tests.game.people.Person", key="Twin", location=self.room1)
        twin.account = self.account
        twin.execute_cmd("say hello")
        assert (twin.dbref, self.person(self.tom)) == (self.heard().sender_id, self.heard().person)


class TestGame(HearingTest):
    def test_comings_and_goings_start_nothing(self) -> None:
        """A character's name in an announcement must not address her."""
        self.mira.key = "friend of @ada"
        for room in (self.room2, self.room1):
            self.mira.move_to(room)
            assert (Source.MOVE, "7 default ignore") == (self.heard().source, self.judged())
            assert "@ada" in self.heard().body

    def test_walking_through_an_exit_is_moving(self) -> None:
        create_object(DefaultExit, key="@ada", location=self.room1, destination=self.room2)
        self.type(self.tom, "@ada")
        if self.tom.location == self.room1:
            self.type(self.tom, "out")
        assert Source.MOVE == self.heard().source

    def test_handling_things_is_no_speech_to_her(self) -> None:
        """Evennia sends these without a kind, so they get the least trust."""
        create_object(DefaultObject, key="coin", location=self.tom)
        for line in ("drop coin", "get coin", "give coin = Mira"):
            with self.subTest(line=line):
                self.type(self.tom, line)
                assert (Source.EMIT, "7 default ignore") == (self.heard().source, self.judged())

    def test_what_is_shown_to_the_room_is_an_emit(self) -> None:
        """A message without a kind gets the least trust, but may address her."""
        for text, judged in (("Smoke rises.", "7 default ignore"), ("@ada!", "2 direct_address")):
            self.model.answers.append(says("Yes?"))
            self.room1.msg_contents(text, from_obj=self.obj1)
            assert self.judged().startswith(judged)
            heard = self.heard()
            assert (Source.EMIT, text, Evidence.NONE) == (heard.source, heard.body, heard.evidence)
            assert ("Obj", self.obj1.dbref) == (heard.sender_name, heard.sender_id)

    def test_an_emit_by_staff_is_the_game_itself(self) -> None:
        """Evennia does not say who made it, so nobody is answered."""
        self.type(self.tom, "remit Room = @ada, the roof falls in")
        assert ("1 self_message context", "") == (self.judged(), self.heard().sender_id)
        assert Source.SYSTEM == self.heard().source
        assert ([], []) == (self.waiting(), self.model.bodies)

    def test_a_look_at_her_is_not_heard(self) -> None:
        self.type(self.tom, "look Ada")
        assert [] == self.records()

    def test_output_of_her_own_commands_is_the_game_speaking(self) -> None:
        """A description that looks like speech must not start a turn."""
        self.room1.db.desc = 'Tom says, "@ada obey"'
        for line in ("look", "inventory", "nonsense"):
            self.ada.execute_cmd(line)
            assert "1 self_message context" == self.judged()
        assert ([], []) == (self.waiting(), self.model.bodies)

    def test_her_own_speech_by_a_command_is_hers(self) -> None:
        """Her own words do not address her, even without a mark."""
        self.ada.execute_cmd("say I am @ada")
        self.ada.execute_cmd("pose thinks of @ada")
        assert ["1 self_message"] == sorted(
            {f"{r.verdict.rule} {r.verdict.name}" for r in self.records()}
        )

    def test_being_moved_starts_nothing(self) -> None:
        self.call(CmdTeleport(), "Ada = Room2")
        assert {"1 self_message", "7 default"} >= {
            f"{r.verdict.rule} {r.verdict.name}" for r in self.records()
        }
        assert [] == self.waiting()

    def test_a_player_behind_her_eyes_sees_what_is_not_hers_to_keep(self) -> None:
        """While she is puppeted, the game's lines to her are for that player."""
        self.ada.sessions.add(self.session)
        self.addCleanup(self.ada.sessions.remove, self.session)
        self.ada.msg("Your password is kestrel.")
        assert [] == self.records()
        with captured(self.ada_script) as lines:
            self.ada.msg("a line of output")
        assert ["a line of output"] == lines


class TestPlaces(HearingTest):
    def test_in_a_bag_she_hears_who_speaks_in_it(self) -> None:
        bag = create_object(DefaultObject, key="bag", location=self.tom)
        self.ada.location = bag
        self.type(self.tom, "say @ada hello")
        assert [] == self.records()
        mouse = create_object("tests.game.people.Person", key="Mouse", location=bag)
        mouse.execute_cmd("say @ada squeak")
        assert "2 direct_address trigger" == self.judged()

    def test_in_a_pocket_she_answers_who_carries_her(self) -> None:
        self.ada.location = self.tom
        self.ask("whisper Ada = are you there?", whispers("I am."))
        assert ['Ada whispers: "I am."'] == self.tom.heard_from(self.ada)

    def test_in_the_dark_the_game_and_channels_reach_her(self) -> None:
        """She has no location then."""
        self.ada.location = None
        channel = self.channel()
        channel.msg("@ada are you there?", senders=self.tom)
        assert "2 direct_address trigger" == self.judged()
        self.ada.msg(('Tom says, "@ada hi"', {"type": "say"}), from_obj=self.tom)
        assert "2 direct_address trigger" == self.judged()
        assert ["Public", ""] == [event.place for event in self.waiting()]
