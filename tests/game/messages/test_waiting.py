"""Questions that wait for their asker, over a restart and while the asker is away."""

import evennia

from evennia_ai import operations
from evennia_ai.agent import requests
from evennia_ai.budget import ledger
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.hearing.inbox import SAVED_TURN, SET_ASIDE
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.models import ModelCall
from evennia_ai.runtime import state, turns
from evennia_ai.tasks import delegations, task_waits
from tests.game.emergency.stopping import SafetyTest
from tests.game.people import Person
from tests.game.support import pump, says, whispers

LOOK = completion(None, ("look", {}))
HELLO = 'Ada whispers: "Hello."'


class WaitingTest(SafetyTest):
    """Tom's player comes and goes."""

    def leave_game(self) -> None:
        """Put the character away, as Evennia does for a player who quits."""
        self.account.unpuppet_object(self.session)
        pump()

    def come_back(self) -> None:
        """Puppet the character, as Evennia does for a player who returns."""
        self.account.puppet_object(self.session, self.tom)
        pump()

    def lose_sessions(self) -> None:
        """Leave the character standing without a player, as after a kill of the server."""
        self.session.puppet = None
        self.session.puid = None

    def kill(self) -> None:
        """Kill the server, and start it before anybody is back."""
        self.lose_sessions()
        self.restart()

    def beat(self, times: int = 3) -> None:
        for _ in range(times):
            self.fire_timer(5)

    def calls(self) -> int:
        return len(self.model.bodies)

    def bill(self) -> int:
        ledger.store().flush()
        return ModelCall.objects.count()


class TestRestart(WaitingTest):
    """The server ends while the model has a question."""

    def test_hole_d27_after_a_kill_it_waits_for_its_person(self) -> None:
        """Nothing is asked or whispered for an empty body; whoever returns is answered once."""
        self.type(self.tom, "whisper Ada = hello")
        self.kill()
        self.beat()
        assert (1, ["hello"]) == (self.calls(), [event.body for event in self.waiting()])
        assert "waits" in self.steps()
        self.model.answers.append(whispers("Hello."))
        self.come_back()
        assert (2, [HELLO], []) == (self.calls(), self.tom.heard_from(self.ada), self.waiting())
        self.beat()
        assert 2 == self.calls()

    def test_hole_d27_after_an_orderly_restart_too(self) -> None:
        """Evennia puts characters away whose players have gone."""
        self.type(self.tom, "whisper Ada = hello")
        self.leave_game()
        assert self.tom.location is None
        self.restart()
        self.beat()
        assert 1 == self.calls()
        self.model.answers.append(whispers("Hello."))
        self.come_back()
        assert (2, [HELLO]) == (self.calls(), self.tom.heard_from(self.ada))

    def test_hole_d27_who_never_comes_back_costs_nothing(self) -> None:
        """The inbox gives the question up after its own time, and nobody counts as told."""
        self.type(self.tom, "whisper Ada = hello")
        self.kill()
        bill = self.bill()
        self.clock.advance(901)
        self.beat()
        assert (1, bill, []) == (self.calls(), self.bill(), self.waiting())
        assert ("expired", "could not be told") == self.records()[0].steps[-1]

    def test_hole_d27_meanwhile_others_are_answered(self) -> None:
        """Her own goals go on as well."""
        self.type(self.tom, "whisper Ada = hello")
        self.kill()
        self.ask("whisper Ada = hi", whispers("Hi.", "Mira"), person=self.mira)
        assert 'Ada whispers: "Hi."' in self.mira.heard_from(self.ada)
        self.set(autonomy_config={"seconds": 10})
        operations.add_goal(self.ada_script, "find the atlas")
        self.beat(1)
        self.model.answers.append(says("Where is the atlas?"))
        self.beat(2)
        assert 'Ada says, "Where is the atlas?"' in self.mira.heard_from(self.ada)
        assert ["hello"] == [event.body for event in self.waiting()]

    def test_hole_d27_a_turn_that_was_set_down_waits_with_what_it_came_to(self) -> None:
        """Its acts are not repeated, though somebody else is answered in between."""
        note = completion(None, ("write_note", {"text": "Tom is back"}))
        self.ask("whisper Ada = note that", note)
        self.kill()
        self.beat()
        (stored,) = self.stored("pending_events")
        assert stored["id"] == stored[SET_ASIDE] == stored[SAVED_TURN]["events"][0]
        self.ask("whisper Ada = hi", whispers("Hi.", "Mira"), person=self.mira)
        self.type(self.mira, "whisper Ada = and?")
        self.model_answers(whispers("Nothing.", "Mira"))
        self.model.answers.append(whispers("Noted."))
        self.come_back()
        assert 'Ada whispers: "Noted."' == self.tom.heard_from(self.ada)[-1]
        assert 1 == len(self.stored("notes"))
        assert "Tom is back" in str(self.model.bodies[-1]["messages"][-2:])
        assert ([], None) == (self.waiting(), self.stored("current_tool_call"))

    def test_what_a_full_inbox_pushes_out_is_remembered(self) -> None:
        """She has told Tom something before he left: his messages count as answered."""
        self.set(hearing_config={"batch_seconds": 0, "batch_messages": 5})
        self.type(self.mira, "whisper Ada = hi")
        self.type(self.tom, "whisper Ada = the map,")
        self.type(self.tom, "whisper Ada = the old one")
        begin = ("whisper", {"target": "Tom", "message": "Let me see."})
        self.model.answers.append(completion(None, begin, ("look", {})))
        self.model_answers(whispers("Hi.", "Mira"))
        self.leave_game()
        self.model_answers(whispers("There."))
        assert ["the map,", "the old one"] == [event.body for event in self.waiting()]
        self.set(max_pending_events=2)
        self.type(self.mira, "whisper Ada = hello?")
        assert ["hello?"] == [event.body for event in self.waiting()]
        assert "Let me see." in str(self.stored("conversation_history"))

    def test_hole_d27_it_waits_over_a_second_restart(self) -> None:
        """A stop gives the stored turn back like any other message."""
        self.ask("whisper Ada = look around", LOOK)
        self.kill()
        self.beat()
        self.restart()
        assert SAVED_TURN in self.stored("pending_events")[0]
        operations.stop(self.ada_script, "test")
        assert [] == self.stored("pending_events")
        operations.clear(self.ada_script)
        self.come_back()
        assert [] == self.waiting()

    def test_hole_d27_a_page_waits_for_its_account(self) -> None:
        """A pager need not be in any room, only in the game."""
        self.mira.cmdset.add(AssistantCmdSet)
        self.type(self.mira, "page Ada = hello")
        self.beat()
        self.restart()
        assert (0, ["hello"]) == (self.calls(), [event.body for event in self.waiting()])
        session = self.put_online(self.mira, 3)
        session.account, session.uid = self.account2, self.account2.id
        page = completion(None, ("page", {"target": self.account2.key, "message": "Hello."}))
        self.model.answers.append(page)
        self.beat(1)
        assert (1, []) == (self.calls(), self.waiting())

    def test_hole_d27_what_was_said_aloud_waits_too(self) -> None:
        """Others in the room are not answered in Tom's place."""
        self.type(self.tom, "say @ada hello")
        self.kill()
        self.beat()
        assert 1 == self.calls()
        self.model.answers.append(says("Hello, Tom."))
        self.come_back()
        assert ['Ada says, "Hello, Tom."'] == self.tom.heard_from(self.ada)

    def test_hole_d27_what_nobody_plays_is_answered_at_once(self) -> None:
        """A shopkeeper of the game has no player who could be away."""
        keeper = evennia.create_object(Person, key="Keeper", location=self.room1)
        self.type(keeper, "whisper Ada = hello")
        self.model.answers.append(whispers("Hello.", "Keeper"))
        self.restart()
        assert [HELLO] == keeper.heard_from(self.ada)

    def test_hole_d27_nor_does_a_bot_need_a_player(self) -> None:
        """A message relayed from another network is answered on its channel."""
        channel = self.channel("Public", self.tom)
        state.write(self.ada_script, channel_configs={"Public": "trigger"})
        says_there = completion(None, ("channel", {"channel": "Public", "message": "Hello."}))
        self.model.answers.append(says_there)
        channel.msg("hello", relayed=True)
        pump()
        assert (1, []) == (self.calls(), self.waiting())

    def test_hole_d27_a_program_waits_for_itself(self) -> None:
        """A question over REST in somebody's name needs nobody in the game."""
        self.leave_game()
        answers: list[str] = []
        self.model.answers.append(completion(None, ("report", {"message": "Fine."})))
        requests.ask(self.ada_script, "how are you?", asker=self.tom).addCallback(answers.append)
        pump()
        assert ["Fine."] == answers

    def test_hole_d27_in_a_room_without_people_it_is_given_up_kindly(self) -> None:
        """The asker, who walked off, is told so where he is once it is too old."""
        self.type(self.tom, "say @ada hello")
        self.tom.location = self.room2
        self.mira.location = self.room2
        self.restart()
        self.beat()
        assert 1 == self.calls()
        self.clock.advance(901)
        self.beat(1)
        line = outgoing.FAILURE_LINE.replace("{name}", "Ada")
        assert ([line], []) == (self.tom.heard_from(self.ada), self.waiting())


class TestLeaving(WaitingTest):
    """The asker leaves while the model works."""

    def test_hole_d29_who_leaves_the_game_is_not_paid_for(self) -> None:
        """No further step is made and no error counted; the question waits."""
        self.type(self.tom, "whisper Ada = look around")
        self.model.answers.extend([LOOK] * 5)
        self.leave_game()
        self.model_answers(LOOK)
        assert (1, 0) == (self.calls(), self.stored("consecutive_errors"))
        record = self.ada_script.work.decisions.find(self.waiting()[0].number)
        step, detail = record.steps[-2]
        assert ("broke off", True) == (step, detail.startswith("Tom had left; nobody was told"))
        assert [] == [line for line in self.sent_to_staff() if "was told" in line]
        assert ["look around"] == [event.body for event in self.waiting()]
        self.model.answers.clear()
        self.model.answers.append(whispers("I looked."))
        self.come_back()
        assert 'Ada whispers: "I looked."' in self.tom.heard_from(self.ada)

    def test_hole_d29_who_leaves_the_room_too(self) -> None:
        """The turn goes on from the last step when the whisperer returns."""
        self.type(self.tom, "whisper Ada = look around")
        self.model_answers(LOOK)
        assert 2 == self.calls()
        self.tom.location = self.room2
        self.model_answers(LOOK)
        assert 2 == self.calls()
        self.tom.location = self.room1
        self.model.answers.append(whispers("I looked."))
        self.beat(1)
        assert (3, ['Ada whispers: "I looked."']) == (self.calls(), self.tom.heard_from(self.ada))
        assert "tool" in [message["role"] for message in self.model.bodies[-1]["messages"]]

    def test_hole_d29_what_others_hear_is_said(self) -> None:
        """Tom asked aloud and went on, but Mira is there to hear the answer."""
        self.type(self.tom, "say @ada what is here?")
        self.tom.location = self.room2
        self.model.answers.append(says("Books."))
        self.model_answers(LOOK)
        assert ['Ada says, "Books."'] == self.mira.heard_from(self.ada)

    def test_hole_d29_with_nobody_left_in_the_room_nothing_is_said(self) -> None:
        """Assistants do not count as people."""
        self.make("Brass")
        self.type(self.tom, "say @ada what is here?")
        for person in (self.tom, self.mira):
            person.location = self.room2
        self.model.answers.extend([LOOK] * 4)
        self.model_answers(LOOK)
        assert 1 == self.calls()

    def test_hole_d29_no_last_word_is_paid_for(self) -> None:
        """A limit ends the turn of an absent asker in silence."""
        self.set(safety_config={"on_limit": {"mode": "interactive"}})
        self.type(self.tom, "whisper Ada = look around")
        for number in range(5):
            self.model_answers(completion(None, ("write_note", {"text": str(number)})))
        assert 5 == self.calls()
        self.leave_game()
        self.advance(60)
        assert 5 == self.calls()

    def test_hole_d29_a_delegate_of_somebody_who_left_stops_too(self) -> None:
        """No model down the chain is asked any more."""
        brass_script, _ = self.make("Brass")
        brass_script.clock = self.clock
        self.type(self.tom, "whisper Ada = find the atlas")
        turn = turns.by_hand(self.ada_script, self.waiting()[0])
        held = delegations.begin(self.ada_script, brass_script, turn, "find the atlas")
        failures: list[str] = []
        held.answer.addErrback(lambda failure: failures.append(str(failure.value)))
        brass_script.enqueue(held.event)
        pump()
        assert 2 == self.calls()
        self.leave_game()
        self.model.answers.extend([LOOK] * 5)
        self.model.waiting.pop(1).callback(LOOK)
        pump()
        assert 2 == self.calls()
        assert ["Brass could not do it: nobody is there any more to hear it"] == failures
        assert ([], False) == (brass_script.work.inbox, task_waits.of(held.event) is not None)

    def test_hole_d29_why_tells_the_truth_of_a_failure_too(self) -> None:
        """The last call fails for an absent asker, and `why` does not claim that they were told."""
        self.tom.cmdset.add(AssistantCmdSet)
        self.type(self.tom, "page Ada = hello")
        self.leave_game()
        evennia.SESSION_HANDLER.session_from_sessid(1).logged_in = False
        self.addCleanup(setattr, self.session, "logged_in", True)
        self.model_answers(b"{}")
        (record,) = [each for each in self.records() if each.heard.body == "hello"]
        assert record.steps[-1][1].endswith("could not be told")
