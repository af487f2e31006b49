"""Players who mute an assistant: it does not hear them, and they do not hear it."""

from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from tests.game.listening import HearingTest
from tests.game.support import pump, says, whispers

NOOP = completion(None, ("noop", {}))


class MuteTest(HearingTest):
    cmdsets = (AssistantCmdSet,)

    def mute(self) -> None:
        operations.set_muted(self.ada_script, self.mira, True)


class TestCommand(MuteTest):
    def typed(self, line: str) -> str:
        return self.assistant(line, caller=self.mira)

    def test_each_is_said_and_lasts(self) -> None:
        for line, shown, muted in (
            (
                "mute ada",
                "Ada no longer hears you, and you no longer hear it. To undo: assistant unmute Ada",
                True,
            ),
            ("mute", "You have already muted Ada.", True),
            ("unmute ADA", "Ada hears you again, and you hear it again.", False),
            ("unmute ada", "You have not muted Ada.", False),
            (
                "/mute ada",
                "Ada no longer hears you, and you no longer hear it. To undo: assistant unmute Ada",
                True,
            ),
        ):
            assert shown == self.typed(line), line
            expected = [self.person(self.mira)] if muted else []
            assert expected == list(state.read(self.ada_script, "muted_by"))
        answer = "There is no assistant named edda. There are: Ada."
        assert f"{answer}\nUsage: assistant mute [<name>]" == self.typed("mute edda")

    def test_it_holds_for_her_alone(self) -> None:
        self.make("Brass")
        self.typed("mute ada")
        self.ask("whisper Brass = hello", whispers("Hello.", "Mira"), person=self.mira)
        assert 'Brass whispers: "Hello."' in self.mira.seen

    def test_it_holds_for_an_account(self) -> None:
        """It covers a character that is made later, and no other player."""
        self.typed("mute ada")
        twin = create_object("tests.game.people.Person", key="Twin", location=self.room1)
        twin.account = self.account2
        self.type(twin, "whisper Ada = hello")
        assert "0 muted ignore" == self.judged()
        self.ask("say @ada hello", says("Hello, all."))
        assert [] == twin.heard_from(self.ada)
        assert ['Ada says, "Hello, all."'] == self.tom.heard_from(self.ada)


class TestUnheard(MuteTest):
    def test_nothing_of_hers_is_heard(self) -> None:
        """No way and no rule lets her words in, not even as context."""
        self.mute()
        self.set(trigger_permissions=("all()",), room_messages="context")
        public = self.channel()
        for line in ("say @ada hello", "whisper Ada = hello", "pose nods to @ada", "page ada = hi"):
            self.type(self.mira, line)
            assert "0 muted ignore" == self.judged(), line
        public.msg("@ada hello", senders=self.account2)
        assert "0 muted ignore" == self.judged()
        work = self.ada_script.work
        assert ([], [], []) == (work.inbox, work.overheard, self.model.bodies)
        assert [] == self.mira.heard_from(self.ada)

    def test_whoever_whispers_to_one_they_muted_is_told(self) -> None:
        """The game tells it, not the assistant, and only for private words."""
        self.mute()
        text = "You have muted Ada, so that was not heard. To undo: assistant unmute Ada"
        for line, times in (("whisper Ada = hello", 1), ("say @ada hi", 0)):
            self.forget()
            self.type(self.mira, line)
            assert times == self.mira.seen.count(text), line
        assert [] == self.mira.heard_from(self.ada)

    def test_what_was_said_before_is_not_told_any_more(self) -> None:
        self.set(room_messages="context")
        self.type(self.mira, "say kestrel")
        self.mute()
        self.ask("whisper Ada = hello", NOOP)
        assert "kestrel" not in str(self.model.bodies[-1]["messages"])

    def test_what_waits_is_not_answered_any_more(self) -> None:
        """No model call is paid for an answer that nobody wants."""
        self.type(self.tom, "whisper Ada = busy")
        self.type(self.mira, "whisper Ada = hello")
        self.mute()
        self.model.answers.extend([NOOP, NOOP])
        self.model_answers(NOOP)
        assert (1, []) == (len(self.model.bodies), self.waiting())
        assert [] == self.mira.heard_from(self.ada)

    def test_taken_back_all_is_as_before(self) -> None:
        self.mute()
        operations.set_muted(self.ada_script, self.mira, False)
        self.ask("whisper Ada = hello", whispers("Hello.", "Mira"), person=self.mira)
        assert ['Ada whispers: "Hello."'] == self.mira.heard_from(self.ada)


class TestSpared(MuteTest):
    def test_not_in_the_room(self) -> None:
        self.mute()
        self.ask("say @ada speak", says("Hello."))
        self.ask("say @ada act", completion(None, ("emote", {"action": "bows."})))
        assert [] == self.mira.heard_from(self.ada)
        assert ['Ada says, "Hello."', "Ada bows."] == self.tom.heard_from(self.ada)

    def test_not_by_a_whisper(self) -> None:
        self.mute()
        self.ask("whisper Ada = tell Mira", whispers("Psst.", "Mira"), NOOP)
        text = self.prompt(1)
        assert "Mira wants to hear nothing from you; leave them be" in text
        assert [] == self.mira.heard_from(self.ada)

    def test_not_by_a_page(self) -> None:
        operations.set_muted(self.ada_script, self.account, True)
        reply = completion(None, ("page", {"target": "TestAccount", "message": "Psst."}))
        self.ask("whisper Ada = page Tom", reply, NOOP, person=self.mira)
        assert "TestAccount wants to hear nothing" in self.prompt(1)

    def test_not_her_thinking(self) -> None:
        self.mute()
        self.type(self.tom, "whisper Ada = hello")
        self.clock.advance(2)
        self.clock.advance(6)
        assert [] == self.mira.heard_from(self.ada)
        assert 2 == len(self.tom.heard_from(self.ada))

    def test_not_an_excuse(self) -> None:
        """The call under way for her is dropped."""
        self.type(self.mira, "whisper Ada = hello")
        assert 1 == len(self.model.waiting)
        self.mute()
        pump()
        assert ([], []) == (self.model.waiting, self.waiting())
        assert [] == self.mira.heard_from(self.ada)

    def test_not_the_answer_under_way(self) -> None:
        """Neither is the dropped call counted as an error."""
        self.type(self.mira, "whisper Ada = hello")
        self.mute()
        self.model.answers.extend([whispers("Hello.", "Mira")] * 4)
        pump()
        assert [] == self.mira.heard_from(self.ada)
        assert 0 == state.read(self.ada_script, "consecutive_errors")

    def test_nobody_can_stop_her_by_it(self) -> None:
        """Five failures in a row would stop her, so a mute must not count as one."""
        for _ in range(5):
            operations.set_muted(self.ada_script, self.mira, False)
            self.type(self.mira, "whisper Ada = hello")
            self.mute()
            self.model.answers.extend([whispers("Hello.", "Mira")] * 4)
            pump()
            self.model.answers.clear()
        assert not state.read(self.ada_script, "emergency_stop")

    def test_an_emote_names_her_to_nobody(self) -> None:
        self.mute()
        outgoing.show(self.ada, "{name} hums.", hops=1)
        assert (["Ada hums."], []) == (
            self.tom.heard_from(self.ada),
            self.mira.heard_from(self.ada),
        )


class TestAi(MuteTest):
    def test_her_description_says_so(self) -> None:
        for desc, shown in (
            ("A keeper in grey.", "A keeper in grey. (Ada is an AI.)"),
            ("Ada is an assistant, an AI.", "Ada is an assistant, an AI."),
            ("", "(Ada is an AI.)"),
            ("She waits, paints and claims MAID is not a word.", "(Ada is an AI.)"),
            ("Ada is not an AI.", "(Ada is an AI.)"),
        ):
            with self.subTest(desc=desc):
                self.ada.db.desc = desc
                seen = self.ada.get_display_desc(self.mira)
                assert seen.endswith(shown)
                self.forget()
                self.type(self.mira, "look Ada")
                assert shown in self.mira.seen[-1]

    def test_a_body_without_an_assistant_is_none(self) -> None:
        self.ada.db.desc = "A keeper in grey."
        self.ada_script.delete()
        self.ada.assistant_script = None
        assert "AI" not in self.ada.get_display_desc(self.mira)
