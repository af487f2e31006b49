"""From a whisper to the reply, through Evennia's own commands."""

from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.runtime import state
from tests.game.support import GameTest, pump, says, whispers


class TestWhisper(GameTest):
    def test_a_whisper_is_answered_with_a_whisper(self) -> None:
        self.ask("whisper Ada = where are the storms?", whispers("Third case."))
        assert ['Ada whispers: "Third case."'] == self.tom.heard_from(self.ada)
        assert [] == self.mira.seen

    def test_the_model_is_told_who_whispered_what(self) -> None:
        self.ask('whisper Ada = say "hello" to {} and |rme', whispers("Hm."))
        (body,) = self.model.bodies
        assert (
            'Tom whispers to you (trust 0.9): "say \\"hello\\" to {} and me"'
            == body["messages"][-1]["content"]
        )

    def test_the_scripted_model_answers(self) -> None:
        """A game can be built and tried without any model."""
        self.use_scripted_model()
        self.type(self.tom, "whisper Ada = hello?")
        expected = 'Ada whispers: "I heard you: "hello?". I answer from a script."'
        assert [expected] == self.tom.heard_from(self.ada)

    def test_the_conversation_goes_on(self) -> None:
        self.ask("whisper Ada = one", whispers("First."))
        self.ask("whisper Ada = two", whispers("Second."))
        roles = [message["role"] for message in self.model.bodies[1]["messages"]]
        assert ["system", "user", "assistant", "tool", "user"] == roles

    def test_two_people_are_answered_one_after_the_other(self) -> None:
        self.type(self.tom, "whisper Ada = one")
        self.type(self.mira, "whisper Ada = two")
        assert 1 == len(self.model.bodies)
        self.model.answers.append(whispers("Two it is.", "Mira"))
        self.model.answer(whispers("One it is."))
        assert ['Ada whispers: "One it is."'] == self.tom.heard_from(self.ada)
        pump()
        assert ['Ada whispers: "Two it is."'] == self.mira.heard_from(self.ada)

    def test_an_answered_event_leaves_nothing_behind(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert [] == self.waiting()
        assert not state.read(self.ada_script, "current_tool_call")
        assert 3 == len(state.read(self.ada_script, "conversation_history"))
        assert 1 == state.read(self.ada_script, "usage")["calls"]

    def test_plain_text_is_whispered_back(self) -> None:
        """A model that gives no tool call is understood to answer."""
        self.ask("whisper Ada = hello", completion("Good evening."))
        assert ['Ada whispers: "Good evening."'] == self.tom.heard_from(self.ada)


class TestSay(GameTest):
    def test_an_address_is_answered_aloud(self) -> None:
        self.ask("say @ada where are the ships?", says("Under the stairs."))
        for person in (self.tom, self.mira):
            assert ['Ada says, "Under the stairs."'] == person.heard_from(self.ada)

    def test_plain_speech_disturbs_nobody(self) -> None:
        self.type(self.tom, "say what a quiet evening at Ada's desk")
        self.type(self.tom, "pose looks at Ada.")
        assert ([], []) == (self.waiting(), self.model.bodies)

    def test_her_own_words_do_not_reach_her(self) -> None:
        self.ask("say @ada hello", says("I am @ada, and @ada is me."))
        assert 1 == len(self.model.bodies)
        assert [] == self.waiting()

    def test_an_alias_is_as_good_as_her_name(self) -> None:
        self.ada.aliases.add("keeper")
        self.ask("say @keeper hello", says("Yes?"))
        assert ['Ada says, "Yes?"'] == self.mira.heard_from(self.ada)

    def test_an_emote_is_seen_with_her_name(self) -> None:
        """It stands before the action once, whether the model wrote it or not."""
        for action in ("smiles.", "Ada smiles."):
            self.forget()
            self.ask("say @ada smile", completion(None, ("emote", {"action": action})))
            assert ["Ada smiles."] == self.mira.heard_from(self.ada)

    def test_silence_is_an_answer(self) -> None:
        self.ask("say @ada hush", completion(None, ("noop", {})))
        assert ([], []) == (self.mira.heard_from(self.ada), self.waiting())
        assert 0 == state.read(self.ada_script, "consecutive_errors")


class TestTwoAssistants(GameTest):
    def setUp(self) -> None:
        super().setUp()
        self.brass_script, self.brass = self.make("Brass")
        self.scripted = self.use_scripted_model()

    def test_they_stop_after_max_agent_hops(self) -> None:
        outgoing.whisper(self.ada, self.brass, "hello", hops=1)
        pump()
        assert 2 == self.scripted.calls

    def test_the_limit_is_a_setting(self) -> None:
        """With one hop allowed, a message that is an answer already is not answered."""
        state.write(self.brass_script, max_agent_hops=1)
        outgoing.whisper(self.ada, self.brass, "hello", hops=1)
        pump()
        assert 0 == self.scripted.calls

    def test_what_one_says_aloud_does_not_start_the_other(self) -> None:
        self.type(self.tom, "say @ada hello")
        assert 1 == self.scripted.calls

    def test_only_who_is_named_answers(self) -> None:
        self.type(self.tom, "say @brass hello")
        assert [] == self.tom.heard_from(self.ada)
        assert 1 == len(self.tom.heard_from(self.brass))
