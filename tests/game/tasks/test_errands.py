"""A program's question to an assistant: its answer, and that nobody else notices it."""

from typing import Any

from evennia_ai import operations
from evennia_ai.agent import requests
from evennia_ai.agent.requests import Reason
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.runtime import state
from tests.game.support import pump, says, whispers
from tests.game.tasks.delegating import hands_on
from tests.game.tasks.errand_case import ErrandTest, reports_of


class TestAsking(ErrandTest):
    def test_the_answer_is_the_report(self) -> None:
        """Body and script both offer `ask`."""
        for door in (self.ada, self.ada_script):
            with self.subTest(door=type(door).__name__):
                self.model.answers.append(reports_of())
                assert ["An hour past noon."] == self.outcome(door.ask("When is the tide?"))
        assert ([], []) == (self.tom.seen, self.mira.seen)
        assert "The game hands you a task (trust 1)" in self.prompt(0)
        assert '"When is the tide?"' in self.prompt(0)

    def test_plain_text_is_the_answer(self) -> None:
        self.model.answers.append(completion("An hour past noon."))
        assert ["An hour past noon."] == self.outcome(self.ada.ask("When is the tide?"))
        assert [] == self.mira.seen

    def test_nothing_that_others_notice_is_on_offer(self) -> None:
        answers = says("Hear me!"), completion(None, ("get", {"item": "lamp"})), reports_of()
        self.model.answers.extend(answers)
        lamp = self.make_thing("lamp")
        assert ["An hour past noon."] == self.outcome(self.ada.ask("When is the tide?"))
        assert {"say", "whisper", "page", "channel", "emote", "get", "move"}.isdisjoint(
            self.tools_of(0)
        )
        assert {"report", "look"} <= self.tools_of(0)
        assert ([], self.room1) == (self.mira.seen, lamp.location)
        assert "there is no tool" in self.result(1)["error"]

    def test_a_lock_keeps_even_a_report_from_it(self) -> None:
        """The locks of its body hold for programs too."""
        self.ada.locks.add("tool_report:false()")
        self.model.answers.append(says("An hour past noon."))
        self.ada.ask("When is the tide?")
        pump()
        assert "report" not in self.tools_of(0)
        assert "look" in self.tools_of(0)

    def test_who_is_asked_by_way_of_it_is_as_quiet(self) -> None:
        """A specialist that gets the question delegated cannot speak either."""
        script, brass = self.make("Brass")
        script.clock = self.clock
        script.tags.add("specialist")
        state.write(self.ada_script, execution_config={"sub_agents_enabled": True})
        answers = hands_on("Ask the sea."), says("Hear me!"), reports_of("Noon."), reports_of()
        self.model.answers.extend(answers)
        assert ["An hour past noon."] == self.outcome(self.ada.ask("When is the tide?"))
        assert "say" not in self.tools_of(1)
        assert [] == self.mira.heard_from(brass)

    def test_a_long_answer_is_cut_at_a_sentence(self) -> None:
        self.model.answers.append(reports_of("It is so. " * 1000))
        (answer,) = self.outcome(self.ada.ask("Tell me all."))
        assert (True, True) == (3980 < len(answer) <= 4000, answer.endswith("so."))

    def test_questions_wait_for_each_other(self) -> None:
        first, second = self.ada.ask("One?"), self.ada.ask("Two?")
        pump()
        self.model.answers.append(reports_of("Two."))
        self.model.answer(reports_of("One."))
        assert [["One."], ["Two."]] == [self.outcome(first), self.outcome(second)]

    def test_it_is_on_record(self) -> None:
        """Only the person in whose name it was asked can read the words."""
        self.model.answers.append(reports_of())
        self.outcome(self.ada.ask("When is the tide?", asker=self.mira))
        (asked,), (answered,) = self.facts("asked"), self.facts("errand_answered")
        assert ("Mira", 17, 18) == (asked["by"], asked["characters"], answered["characters"])
        assert asked["number"] == answered["number"]
        for person, answer in (
            (self.mira, 'report "An hour past noon."'),
            (self.tom, "(27 characters)"),
        ):
            why = operations.why(self.ada_script, look=PrivateView.of(person))
            assert "message 1 of Mira" in why.message
            assert "asked by the game: 17 characters" in why.message
            assert f"answered: {answer}" in why.message
            assert (person is self.mira) is ("An hour past noon." in why.message)


class TestInSomebodysName(ErrandTest):
    """Questions that a program asks in a player's name."""

    def test_it_is_paid_and_kept_for_that_player(self) -> None:
        self.model.answers.extend([reports_of(), whispers("Aye.", "Mira"), whispers("Aye.")])
        self.outcome(self.ada.ask("When is my tide?", asker=self.mira))
        self.type(self.mira, "whisper Ada = and?")
        self.type(self.tom, "whisper Ada = what did she ask?")
        prompts = [str(body["messages"]) for body in self.model.bodies]
        assert [True, True, False] == ["my tide" in text for text in prompts]
        assert "(trust 0.9)" in self.prompt(0)
        spent = operations.budget_of(self.ada_script).data
        assert "Mira" in str(spent) or "*#" in str(spent)

    def test_what_the_game_asks_is_nobodys(self) -> None:
        self.model.answers.extend([reports_of("The crown is in the well."), whispers("Aye.")])
        self.outcome(self.ada.ask("Where is the crown?"))
        self.type(self.tom, "whisper Ada = what did they ask?")
        assert "crown" not in str(self.model.bodies[1]["messages"])

    def test_it_counts_as_one_of_the_players_questions(self) -> None:
        """The game's own questions have no such limit."""
        config = state.read(self.ada_script, "hearing_config") | {"calls_per_player": 1}
        state.write(self.ada_script, hearing_config=config)
        self.model.answers.extend([reports_of()] * 3)
        self.outcome(self.ada.ask("One?", asker=self.mira))
        self.refused(self.ada.ask("Two?", asker=self.mira), Reason.BUSY, "limit calls_per_player")
        assert ["An hour past noon."] == self.outcome(self.ada.ask("Two?"))
        assert ["An hour past noon."] == self.outcome(self.ada.ask("Two?"))

    def test_a_trust_of_the_owners_counts(self) -> None:
        state.write(self.ada_script, trust_overrides={"Developer": 0.55})
        self.model.answers.append(reports_of())
        self.outcome(self.ada.ask("When?", asker=self.tom.account))
        assert "(trust 0.55)" in self.prompt(0)


class TestRefusals(ErrandTest):
    """Questions that are refused before any model is asked."""

    def test_each_refusal_says_why(self) -> None:
        wordless: dict[str, Any] = {"question": " \n\x00"}
        late: dict[str, Any] = {"timeout_seconds": 0}
        long: dict[str, Any] = {"question": "x" * 2001}
        hers: dict[str, Any] = {"asker": self.ada}
        tom: dict[str, Any] = {"asker": self.tom}
        cases: list[tuple[str, Any, dict[str, Any], Reason, str]] = [
            ("no words", None, wordless, Reason.INVALID, "not a word"),
            ("no time", None, late, Reason.INVALID, "seconds above 0"),
            ("too long", self.deny_long, long, Reason.INVALID, "2,001 characters are too many"),
            ("itself", None, hers, Reason.REFUSED, "cannot ask itself"),
            ("muted", self.mute, tom, Reason.REFUSED, "has muted it"),
            ("disabled", self.disable, {"asker": self.mira}, Reason.REFUSED, "is off"),
            ("wrong", self.break_settings, {}, Reason.STOPPED, "its settings are wrong"),
            ("silent", lambda: self.set(enabled=False), {}, Reason.STOPPED, "it is silenced"),
            ("stopped", lambda: operations.stop(self.ada_script, "x"), {}, Reason.STOPPED, "stop"),
        ]
        for name, change, more, reason, words in cases:
            with self.subTest(name):
                if change is not None:
                    change()
                self.refused(self.ada.ask(**{"question": "When?"} | more), reason, words)
        assert ([], []) == (self.model.bodies, self.waiting())
        self.ada_script.delete()
        self.refused(requests.ask(self.ada_script, "When?"), Reason.STOPPED, "it is not running")
        self.refused(requests.ask(None, "When?"), Reason.STOPPED, "it is not running")

    def deny_long(self) -> None:
        """Refuse what is too long; a program does not wait for a person's confirmation."""
        self.set(safety_config={"size": {"on_oversize": "ask"}})

    def break_settings(self) -> None:
        """Which setting is wrong is told to staff only."""
        self.set(safety_config={"limits": {}})

    def disable(self) -> None:
        self.set(interaction_enabled=False)

    def mute(self) -> None:
        state.mute(self.ada_script, "*#1", is_muted=True)

    def set(self, **values: Any) -> None:
        state.write(self.ada_script, **values)

    def test_what_is_too_long_is_cut_where_that_is_set(self) -> None:
        self.model.answers.append(reports_of())
        self.outcome(self.ada.ask("It is so. " * 300))
        assert "so. (cut)" in self.prompt(0)
        self.model.answers.append(reports_of())
        self.set(safety_config={"size": {"on_oversize": "allow"}})
        self.outcome(self.ada.ask("It is so. " * 300))
        assert "(cut)" not in self.prompt(1)

    def test_a_refusal_is_on_record(self) -> None:
        self.mute()
        (error,) = self.outcome(self.ada.ask("When?", asker=self.tom))
        record = self.ada_script.work.decisions.find(error.number)
        assert ("refused", "Tom has muted it, and so gets nothing of it") == record.steps[-1]
