"""The queue for players who speak more often than their turns per minute."""

from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.errors import ModelReplyError
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from tests.game.messages.test_manners import MannersTest
from tests.game.support import says, whispers

LATER = outgoing.LATER_LINE.replace("{name}", "Ada")
NO_ROOM = outgoing.TOO_MUCH_LINE.replace("{name}", "Ada")
NOOP = completion(None, ("noop", {}))


class QueueTest(MannersTest):
    """Two turns a minute for each, and two messages that may wait."""

    hearing = {"calls_per_player": 2, "queued_per_player": 2, "queued_turns": 3}

    def use_up(self, person: object = None) -> None:
        """Somebody (Tom) uses the turns of a minute; then all that was shown is forgotten."""
        for _ in range(2):
            self.ask("whisper Ada = hello", NOOP, person=person)
        self.forget()

    def wanted(self) -> list[str]:
        return [event.body for event in self.waiting()]


class TestWaiting(QueueTest):
    def test_a_whisper_that_names_it_twice_is_heard_once(self) -> None:
        """Evennia's own `whisper` sends it to each name; it would cost two turns of the minute."""
        self.ada.aliases.add("librarian")
        self.ask("whisper Ada, librarian = hello", NOOP)
        assert 1 == self.prompt(0).count("hello")
        assert "it was sent to me twice" in operations.why(self.ada_script).message
        # Said again later, it is a message of its own.
        self.advance(1)
        self.ask("whisper Ada = hello", NOOP)
        assert 2 == len(self.model.bodies)

    def test_it_waits_for_the_next_minute_and_is_answered(self) -> None:
        self.use_up()
        for words in ("three", "four"):
            self.type(self.tom, f"whisper Ada = {words}")
        assert ([LATER], []) == (self.tom.heard_from(self.ada), self.mira.heard_from(self.ada))
        self.advance(59)
        assert (2, ["three", "four"]) == (len(self.model.bodies), self.wanted())
        self.model.answers.extend([whispers("Three."), whispers("Four.")])
        self.advance(1)
        answers = ['Ada whispers: "Three."', 'Ada whispers: "Four."']
        assert [LATER, *answers] == self.tom.heard_from(self.ada)
        self.advance(120)
        assert (4, []) == (len(self.model.bodies), self.waiting())

    def test_the_queue_is_freed_as_the_minute_goes_on(self) -> None:
        """A turn of thirty seconds ago makes room in thirty seconds, and no sooner."""
        self.ask("whisper Ada = one", NOOP)
        self.advance(30)
        self.ask("whisper Ada = two", NOOP)
        self.ask_often(2)
        self.model.answers.extend([NOOP, NOOP])
        self.advance(30)
        assert 3 == len(self.model.bodies)
        self.advance(29)
        assert 3 == len(self.model.bodies)
        self.advance(1)
        assert 4 == len(self.model.bodies)

    def test_what_finds_no_room_is_refused_in_other_words(self) -> None:
        self.use_up()
        self.ask_often(6)
        assert [LATER, NO_ROOM] == self.tom.heard_from(self.ada)
        assert ["0", "1"] == self.wanted()
        assert ["refused"] == self.steps()[:1]

    def test_everybody_is_told(self) -> None:
        for person in (self.tom, self.mira):
            self.use_up(person)
        self.ask_often(3)
        self.ask_often(3, self.mira)
        for person in (self.tom, self.mira):
            assert [LATER, NO_ROOM] == person.heard_from(self.ada)
        assert 3 == len(self.waiting())

    def test_the_queue_of_all_is_bounded(self) -> None:
        """A person is refused although nothing of theirs waits."""
        self.set(hearing_config=self.stored("hearing_config") | {"queued_turns": 1})
        for person in (self.tom, self.mira):
            self.use_up(person)
        self.ask_often(1)
        self.ask_often(1, self.mira)
        assert [LATER] == self.tom.heard_from(self.ada)
        assert [NO_ROOM] == self.mira.heard_from(self.ada)

    def test_who_need_not_wait_does_not(self) -> None:
        self.use_up()
        self.ask_often(2)
        self.ask("whisper Ada = hello", whispers("Hello.", "Mira"), person=self.mira)
        assert ['Ada whispers: "Hello."'] == self.mira.heard_from(self.ada)

    def test_who_left_is_not_paid_for(self) -> None:
        """No model call is made for somebody who left; it waits until they are back."""
        self.use_up()
        self.ask_often(1)
        self.tom.location = self.room2
        self.advance(60)
        assert 2 == len(self.model.bodies)
        self.model.answers.append(whispers("Hello."))
        self.tom.location = self.room1
        self.fire_timer()
        assert 'Ada whispers: "Hello."' in self.tom.heard_from(self.ada)

    def test_at_0_nothing_waits(self) -> None:
        self.set(hearing_config=self.stored("hearing_config") | {"queued_per_player": 0})
        self.use_up()
        self.ask_often(1)
        assert ([NO_ROOM], []) == (self.tom.heard_from(self.ada), self.waiting())


class TestMerged(QueueTest):
    """Waiting messages of one person are one turn."""

    hearing = QueueTest.hearing | {"batch_messages": 10}

    def test_they_are_one_turn_and_one_place_in_the_queue(self) -> None:
        self.use_up()
        self.ask_often(5)
        self.model.answers.append(whispers("All five."))
        self.advance(60)
        assert 5 == len(self.prompt().split("\n"))
        assert [LATER, 'Ada whispers: "All five."'] == self.tom.heard_from(self.ada)

    def test_a_whisper_is_never_in_one_turn_with_open_talk(self) -> None:
        self.use_up()
        self.type(self.tom, "whisper Ada = the key is under the mat")
        self.type(self.tom, "say @ada who is here?")
        self.type(self.tom, "whisper Ada = tell nobody")
        self.model.answers.extend([whispers("I will not."), says("Mira.")])
        self.advance(60)
        private, public = self.prompt(2), self.prompt(3)
        assert ("under the mat" in private, "tell nobody" in private) == (True, True)
        assert ("mat" in public, "who is here" in private) == (False, False)


class TestOrder(QueueTest):
    hearing = QueueTest.hearing | {"calls_per_player": 10, "cooldown_seconds": 0}

    def test_one_who_asks_much_does_not_keep_others_waiting(self) -> None:
        """Tom's second turn comes after Mira's first, although he asked before."""
        self.type(self.tom, "whisper Ada = one")
        for words in ("two", "three"):
            self.type(self.tom, f"whisper Ada = {words}")
        self.type(self.mira, "whisper Ada = mine")
        self.model.answers.extend([NOOP, NOOP])
        self.model_answers(NOOP)
        lines = [self.prompt(number).rsplit('"', 2)[1] for number in range(4)]
        assert ["one", "mine", "two", "three"] == lines


class TestClockSetBack(QueueTest):
    hearing = QueueTest.hearing | {"calls_per_player": 10, "cooldown_seconds": 2}

    def test_who_was_answered_before_does_not_wait_for_the_old_time(self) -> None:
        """For an hour, each beat found that the pause after the last answer was not over."""
        self.ask("whisper Ada = hello", NOOP)
        self.clock.rightNow -= 3600
        self.ask("whisper Ada = are you there?", NOOP)
        self.advance(3)
        assert 2 == len(self.model.bodies)


class TestEnds(QueueTest):
    """Tom and Mira wait for their next minute."""

    def setUp(self) -> None:
        super().setUp()
        for person in (self.tom, self.mira):
            self.use_up(person)
        self.ask_often(2)
        self.ask_often(1, self.mira)
        self.forget()

    def test_a_stop(self) -> None:
        operations.stop(self.ada_script, "test")
        assert [] == self.waiting()
        for person in (self.tom, self.mira):
            (line,) = person.heard_from(self.ada)
            assert "break off" in line
        operations.clear(self.ada_script)
        self.advance(120)
        assert 4 == len(self.model.bodies)

    def test_a_cap_that_is_used_up(self) -> None:
        """The first turn meets the cap; the others are told without a call for each."""
        unattended = {"on_limit": {"mode": "unattended"}}
        self.set(safety_config=unattended, budget_config={"assistant": {"tokens_per_day": 1}})
        self.advance(60)
        assert (4, []) == (len(self.model.bodies), self.waiting())
        for person in (self.tom, self.mira):
            (line,) = person.heard_from(self.ada)
            assert "Ask me in 24 hours" in line

    def test_what_waited_too_long(self) -> None:
        """Each person is told once, however many messages expire."""
        self.set(hearing_config=self.stored("hearing_config") | {"expires_seconds": 30})
        self.advance(31)
        self.fire_timer()
        assert (4, []) == (len(self.model.bodies), self.waiting())
        for person in (self.tom, self.mira):
            assert 1 == len(person.heard_from(self.ada))

    def test_it_outlives_a_restart(self) -> None:
        self.model.answers.extend([whispers("One."), whispers("Hi.", "Mira"), whispers("Two.")])
        self.restart()
        assert ['Ada whispers: "Hi."'] == self.mira.heard_from(self.ada)
        answers = ['Ada whispers: "One."', 'Ada whispers: "Two."']
        assert answers == self.tom.heard_from(self.ada)
        assert [] == self.waiting()

    def test_a_failure_of_one_leaves_the_others(self) -> None:
        self.model.answers.extend([ModelReplyError("no"), whispers("Hi.", "Mira"), NOOP])
        self.advance(60)
        assert 'Ada whispers: "Hi."' in self.mira.heard_from(self.ada)
        assert [] == self.waiting()

    def test_a_mute(self) -> None:
        state.mute(self.ada_script, self.person(self.tom), is_muted=True)
        assert ["Mira"] == [event.sender_name for event in self.waiting()]


class TestOthers(QueueTest):
    def test_who_did_not_speak_to_her_waits_without_a_word(self) -> None:
        """A person who did not address her gets no notice."""
        self.set(room_messages="trigger")
        for _ in range(4):
            self.ask("say what a day", NOOP)
        assert ([], 2) == (self.tom.heard_from(self.ada), len(self.waiting()))

    def test_all_characters_of_a_player_share_the_minute(self) -> None:
        twin = create_object("tests.game.people.Person", key="Twin", location=self.room1)
        twin.account = self.account
        self.put_online(twin, 3)
        self.use_up()
        for words in ("hello", "hello again"):
            self.type(twin, f"whisper Ada = {words}")
        self.ask_often(1)
        assert (2, [NO_ROOM]) == (len(self.waiting()), self.tom.heard_from(self.ada))
