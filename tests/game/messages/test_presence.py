"""Assistants that may not act, senders that are gone, and bodies that are taken."""

from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from tests.game.people import AttentivePerson
from tests.game.support import NOT_A_COMPLETION, GameTest, pump, whispers

DEAF = "Ada does not seem to hear you."
SORRY = outgoing.FAILURE_LINE.replace("{name}", "Ada")


class TestSilent(GameTest):
    def test_whoever_whispers_is_told(self) -> None:
        for silence in (
            lambda: operations.set_enabled(self.ada_script, False),
            lambda: operations.stop(self.ada_script, "test"),
        ):
            silence()
            self.forget()
            self.clock.advance(60)
            self.type(self.tom, "whisper Ada = hello")
            self.type(self.mira, "say @ada hello")
            assert [DEAF] == self.tom.heard_from(self.ada)
            assert [DEAF] == self.mira.heard_from(self.ada)
            assert ([], []) == (self.waiting(), self.model.bodies)

    def test_plain_speech_is_not_answered_with_it(self) -> None:
        operations.set_enabled(self.ada_script, False)
        self.type(self.tom, "say what a quiet evening")
        assert [] == self.tom.heard_from(self.ada)

    def test_a_sender_in_a_list_is_told_too(self) -> None:
        """Evennia allows several senders; the first counts."""
        operations.set_enabled(self.ada_script, False)
        heard = ('Tom whispers: "hello"', {"type": "whisper"})
        self.ada.at_msg_receive(text=heard, from_obj=[self.tom])
        assert [DEAF] == self.tom.heard_from(self.ada)

    def test_two_silent_assistants_do_not_echo_each_other(self) -> None:
        """The notice is not speech, so it is not answered."""
        brass_script, brass = self.make("Brass")
        for script in (self.ada_script, brass_script):
            operations.set_enabled(script, False)
        outgoing.whisper(self.ada, brass, "hello", hops=1)
        pump()
        assert [] == self.model.bodies

    def test_interaction_can_be_switched_off_altogether(self) -> None:
        """Rule 0 comes before all other rules of hearing."""
        state.write(self.ada_script, interaction_enabled=False)
        self.type(self.tom, "whisper Ada = hello")
        assert ([], []) == (self.tom.heard_from(self.ada), self.waiting())

    def test_what_waited_is_answered_when_she_may_again(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        operations.set_enabled(self.ada_script, False)
        self.model.answers.append(whispers("Hello."))
        operations.set_enabled(self.ada_script, True)
        pump()
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)


class TestGone(GameTest):
    def test_a_sender_who_left_the_room_is_not_whispered_to(self) -> None:
        """The answer is not said aloud either, and no further call is made."""
        self.type(self.tom, "whisper Ada = hello")
        self.tom.location = self.room2
        self.model_answers(whispers("Hello."))
        assert 1 == len(self.model.bodies)
        assert [] == self.tom.heard_from(self.ada) + self.mira.heard_from(self.ada)

    def test_walking_off_does_not_lock_her_up(self) -> None:
        """Five errors in a row would stop her, so this is none."""
        for number in range(6):
            self.tom.location = self.room1
            self.type(self.tom, f"whisper Ada = hello {number}")
            self.tom.location = self.room2
            self.model_answers(whispers("Hello."))
        assert 0 == state.read(self.ada_script, "consecutive_errors")
        assert not state.read(self.ada_script, "emergency_stop")

    def test_who_was_renamed_meanwhile_is_whispered_to(self) -> None:
        """The model knows the old name, which another character has by now."""
        self.type(self.tom, "whisper Ada = hello")
        self.tom.key, self.mira.key = "Thomas", "Tom"
        self.model_answers(whispers("Hello."))
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
        assert [] == self.mira.heard_from(self.ada)

    def test_a_name_is_found_however_its_accents_are_written(self) -> None:
        """A client may send letter and accent apart; models write them as one character."""
        self.mira.key = "Zoe\u0308"
        self.ask("whisper Ada = hi", whispers("Hello.", "Zo\u00eb"), person=self.mira)
        assert ['Ada whispers: "Hello."'] == self.mira.heard_from(self.ada)
        create_object("tests.game.people.Person", key="Cafe\u0301", location=self.room1)
        look = completion(None, ("look", {"target": "caf\u00e9"}))
        self.ask("whisper Ada = look", look, whispers("Hm."))
        assert '"success": true' in self.prompt()

    def test_what_is_given_goes_to_who_was_renamed_meanwhile(self) -> None:
        coin = create_object("evennia.objects.objects.DefaultObject", key="coin", location=self.ada)
        self.type(self.tom, "whisper Ada = a coin, please")
        self.tom.key, self.mira.key = "Thomas", "Tom"
        self.model_answers(completion(None, ("give", {"item": "coin", "target": "Tom"})))
        assert self.tom == coin.location

    def test_a_room_is_not_whispered_to(self) -> None:
        self.ask("whisper Ada = hello", whispers("Psst.", "here"), completion(None, ("noop", {})))
        assert "a room has no ears" in self.prompt(1)

    def test_a_deleted_sender_is_not_said_to_be_told(self) -> None:
        self.type(self.mira, "whisper Ada = hello")
        self.mira.delete()
        self.model_answers(NOT_A_COMPLETION)
        assert "Mira could not be told." in self.sent_to_staff()[-1]
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)

    def test_the_answer_of_an_assistant_without_a_place_waits_until_it_has_one(self) -> None:
        """Rooms of Evennia's wilderness lose what is in them while no player is there."""
        for line in ("whisper Ada = hello", "say Ada, hello"):
            with self.subTest(line):
                self.type(self.tom, line)
                self.ada.location = None
                self.clock.advance(2)
                self.model_answers(completion("Hello."))
                assert [] == self.tom.heard_from(self.ada)
                assert (1, "") == (len(self.waiting()), self.ada_script.silence)
                self.ada.location = self.room1
                self.model.answers.append(completion("Hello."))
                self.fire_timer(1)
                assert "Hello." in self.tom.heard_from(self.ada)[-1]
                self.tom.ndb.messages = []

    def test_of_two_namesakes_the_asker_is_answered(self) -> None:
        other = create_object("tests.game.people.Person", key="Tom", location=self.room1)
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
        assert [] == other.heard_from(self.ada)

    def test_a_namesake_is_not_guessed_at(self) -> None:
        other = create_object("tests.game.people.Person", key="Tom", location=self.room1)
        self.ask("whisper Ada = hello", whispers("Hi."), whispers("Hm.", "Mira"), person=self.mira)
        assert "there are several named Tom" in self.prompt(1)
        assert [] == other.heard_from(self.ada)


class TestBody(GameTest):
    def test_she_does_not_act_as_a_superuser(self) -> None:
        """Every tool is refused while a superuser puppets her."""
        self.type(self.tom, "whisper Ada = hello")
        self.account2.is_superuser = True
        self.ada.account = self.account2
        self.model.answers.append(completion(None, ("noop", {})))
        self.model_answers(whispers("Hello."))
        text = self.prompt(1)
        assert "an assistant does not act while a superuser is in its body" in text
        assert [] == self.tom.heard_from(self.ada)

    def test_whose_player_was_cut_off_by_a_crash_is_herself_again(self) -> None:
        """Evennia keeps the account on the body, and with it the rights that locks check."""
        self.account.is_superuser = True
        self.account.puppet_object(self.session, self.ada)
        self.ada_script.at_start()
        assert self.account == self.ada.account, "it is played: nothing is taken back"
        self.ada.sessions.clear()  # as after a kill; no hook of Evennia's ran
        self.ada_script.at_start()
        assert (None, "") == (self.ada.account, self.ada_script.silence)
        assert not self.ada.access(self.ada, "tool_move")

    def test_an_account_of_the_games_own_stays_on_her_body(self) -> None:
        self.ada.account = self.account2
        self.ada_script.at_start()
        assert self.account2 == self.ada.account

    def test_any_body_may_have_her_ears(self) -> None:
        """One mixin makes an assistant of a game's typeclass."""
        _, body = self.make("Edda", typeclass=AttentivePerson)
        self.ask("whisper Edda = hello", whispers("Hello."))
        assert ['Edda whispers: "Hello."'] == self.tom.heard_from(body)
        assert any("Tom whispers" in line for line in body.seen)

    def test_players_cannot_take_her_or_wear_her(self) -> None:
        assert not self.ada.access(self.mira, "get")
        assert not self.ada.access(self.account2, "puppet")
        assert self.ada.access(self.account, "puppet")

    def test_odd_messages_do_no_harm(self) -> None:
        odd = (
            None,
            "",
            "bare",
            7,
            [],
            ("one",),
            ("one", None),
            (None, {"type": "whisper"}),
            ("x", {"type": ["whisper"]}),
            ("x", {"type": "say"}),
            ('Tom whispers: ""', {"type": "whisper"}),
        )
        for text in odd:
            with self.subTest(text=text):
                assert self.ada.at_msg_receive(text=text, from_obj=self.tom)
                assert self.ada.at_msg_receive(text=text, from_obj=None)
        assert ([], []) == (self.waiting(), self.model.bodies)
