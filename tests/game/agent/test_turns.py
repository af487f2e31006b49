"""Turns as somebody may see them: live, the last ones, and one in full."""

from typing import Any

from django.forms.models import model_to_dict

from evennia_ai.core.hearing.decision_traces import DecisionTraces
from evennia_ai.models import TracedMessage
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.turns import latest
from evennia_ai.operations.turns.latest import MOST_AROUND, Sought
from evennia_ai.operations.turns.traces import UNWANTED
from evennia_ai.runtime import state
from evennia_ai.testing import calls
from tests.game.memory.remembering_case import RememberingTest
from tests.game.support import GameTest, says, whispers
from tests.recorded import record_of

SECRET = "the key is under the stone"


class RecalledTest(RememberingTest):
    def test_a_head_that_tells_memories_is_masked(self) -> None:
        """A game's own rules may quote memories, so that no block of the head is open."""
        rules = "You are {name}. You remember: {memories}"
        state.write(self.ada_script, system_prompt=rules, system_prompt_native=rules)
        self.remember(f"Tom told me: {SECRET}.", self.toms)
        self.ask("whisper Ada = where is the key?", whispers("I know."))
        assert SECRET in str(self.model.bodies[-1])
        for look, is_shown in (
            (PrivateView.of(self.mira), False),
            (PrivateView.of(self.tom), True),
        ):
            (turn,) = latest.recent(self.ada_script, look).data.turns
            assert is_shown is (SECRET in repr(turn))


class TurnsTest(GameTest):
    """Ada talks with Tom; Mira looks."""

    def recent(self, look: PrivateView | None = None) -> list[Any]:
        result = latest.recent(self.ada_script, look or PrivateView())
        assert result.ok
        return result.data.turns

    def test_a_turn_step_by_step(self) -> None:
        self.ask("say Ada, hello there", calls("look"), says("Hello, all."))
        (turn,) = self.recent()
        assert ("answered", True, False) == (turn["state"], turn["is_over"], turn["is_masked"])
        first, look, second, speech = turn["steps"]
        assert ["model", "tool", "model", "tool"] == [step["kind"] for step in turn["steps"]]
        blocks = {block["name"]: block for block in first["blocks"]}
        assert "hello there" in blocks["pending_event"]["text"]
        assert first["prompt_tokens"] == sum(block["tokens"] for block in first["blocks"])
        assert ("look", "worked") == (look["name"], look["state"])
        assert [("look", "{}")] == [(c["name"], c["arguments"]) for c in first["calls"]]
        assert look["result"].splitlines()[-1] in str(second["messages"])
        assert ("say", '{"message": "Hello, all."}') == (speech["name"], speech["arguments"])
        assert ["Tom"] == [row["sender"] for row in turn["heard"]]
        assert "it spoke" in turn["why"]

    def test_private_words_are_masked_wherever_they_stand(self) -> None:
        """Only the head of the prompt stays open."""
        self.ask(f"whisper Ada = {SECRET}", whispers(f"I know: {SECRET}."))
        for look, is_shown in (
            (PrivateView.of(self.mira), False),
            (PrivateView.of(self.tom), True),
        ):
            (turn,) = self.recent(look)
            assert is_shown is (SECRET in repr(turn))
            assert is_shown is not turn["is_masked"]
            head = turn["steps"][0]["blocks"][0]
            assert "You are Ada" in head["text"]
            assert "whisper" == turn["steps"][1]["name"]
        assert "characters)" in self.recent(PrivateView())[0]["steps"][0]["blocks"][-3]["text"]

    def test_to_reveal_is_recorded(self) -> None:
        self.ask(f"whisper Ada = {SECRET}", whispers(f"I know: {SECRET}."))
        events = record_of(self)
        assert SECRET in repr(self.recent(PrivateView.of(self.mira, is_revealing=True)))
        (details,) = [details for event, _, details in events if event == "words_revealed"]
        assert latest.KIND == details["kind"]

    def test_an_aside_in_an_open_turn_is_masked(self) -> None:
        """Words whispered to Mira are hers alone, also for Tom, whose turn it was."""
        self.ask("say Ada, tell Mira where it is", whispers(SECRET, target="Mira"), says("Done."))
        assert SECRET not in repr(self.recent(PrivateView.of(self.tom)))

    def test_words_that_nobody_may_keep_are_not_shown(self) -> None:
        """Not even staff who reveal them may read them."""
        self.ask(f"say Ada, {SECRET}", says("Well."))
        self.ada_script.db.unremembered = [f"*#{self.tom.account.pk}", self.tom.dbref]
        (turn,) = self.recent(PrivateView.of(self.mira, is_revealing=True))
        assert SECRET not in repr(turn["steps"])
        assert turn["is_masked"]

    def test_words_of_the_talk_that_nobody_may_keep_are_not_shown(self) -> None:
        """They are hidden in later turns for others, and in the lines around one."""
        self.ask(f"say Ada, {SECRET}", says("Well."))
        self.ask("say Ada, what did he say?", says("Well."), person=self.mira)
        number = self.ada_script.work.decisions.newest()[0].number
        look = PrivateView.of(self.mira, is_revealing=True)
        assert SECRET in repr(self.recent(look)[0])
        assert SECRET in repr(latest.show_turn(self.ada_script, number, look).data)
        self.ada_script.db.unremembered = [f"*#{self.tom.account.pk}", self.tom.dbref]
        assert SECRET not in repr([turn["steps"] for turn in self.recent(look)])
        full = latest.show_turn(self.ada_script, number, look).data
        assert SECRET not in repr(full.around)
        assert UNWANTED in [line.text for line in full.around]

    def test_words_of_a_place_that_nobody_may_keep_are_not_shown(self) -> None:
        """They are hidden once she talks elsewhere, while the talk still has them."""
        self.room1.tags.add("ai_no_memory")
        self.ask(f"say Ada, {SECRET}", says("Well."))
        for person in (self.tom, self.ada):
            person.location = self.room2
        self.ask("say Ada, what did I say?", says("Well."))
        assert SECRET in str(self.model.bodies[-1])
        number = self.ada_script.work.decisions.newest()[0].number
        full = latest.show_turn(self.ada_script, number, PrivateView.of(self.tom)).data
        assert SECRET not in repr(full.around), full.around
        assert SECRET not in repr(full.recorded)

    def test_a_turn_that_goes_on(self) -> None:
        self.ask("say Ada, hello")
        (turn,) = self.recent()
        self.advance(2)
        (later,) = self.recent()
        assert ("goes on", "runs") == (turn["state"], turn["steps"][0]["state"])
        assert later["steps"][0]["seconds"] == turn["steps"][0]["seconds"] + 2
        self.ada_script.trigger_emergency_stop("enough")
        assert ("broke off", "it was stopped") == (
            self.recent()[0]["state"],
            self.recent()[0]["why"],
        )

    def test_a_tool_that_there_is_none_of(self) -> None:
        """The model made up its name, which is private where the turn is."""
        self.ask("whisper Ada = hi", calls("shout_secret"), whispers("Hello."))
        first, tool, *_ = self.recent(PrivateView())[0]["steps"]
        assert ("failed", "unknown_tool") == (tool["state"], tool["fault"])
        assert "shout_secret" not in repr((first, tool))

    def test_the_last_ones_are_filtered(self) -> None:
        self.ask("say Ada, where is the lamp?", says("There."))
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.ask("say Ada, sing", calls("noop"), person=self.mira)

        def found(**sought: Any) -> list[str]:
            listed = latest.listing(self.ada_script, Sought(**sought), PrivateView())
            return [row["sender"] for row in listed.data.messages]

        assert ["Mira", "Tom", "Tom"] == found()
        assert ["Tom", "Tom"] == found(sender="tom")
        assert ["Tom"] == found(words="lamp")
        assert ["Mira"] == found(outcome="silent")
        assert (3, 0) == (len(found(day="today")), len(found(day="yesterday")))
        for name, wrong in (("day", "some time"), ("outcome", "merry")):
            refused = latest.listing(self.ada_script, Sought(**{name: wrong}), PrivateView())
            assert (ProblemKind.INVALID, [name]) == (refused.problem, list(refused.errors))

    def test_one_in_full(self) -> None:
        """It has the reasons, the talk around it, and the record while that is in memory."""
        self.type(self.mira, "say It rains.")
        self.ask("say Ada, where is the lamp?", says("There."))
        self.ask(f"whisper Ada = {SECRET}", whispers("Hello."))
        number = next(
            r.number for r in self.ada_script.work.decisions.newest() if "lamp" in r.heard.body
        )
        full = latest.show_turn(self.ada_script, number, PrivateView()).data
        assert any("rule" in line for line in full.why)
        assert ["It rains.", "Ada, where is the lamp?"] == [line.text for line in full.around][:2]
        assert [False, True, False] == [line.is_it for line in full.around]
        assert "There." == full.around[1].answer
        assert SECRET not in repr(full)
        assert 1 == len(full.recorded)
        self.ada_script.work.recorded.forget()
        assert [] == latest.show_turn(self.ada_script, number, PrivateView()).data.recorded
        assert (
            ProblemKind.NOT_FOUND is latest.show_turn(self.ada_script, 999, PrivateView()).problem
        )
        assert (
            ProblemKind.NOT_FOUND
            is latest.show_turn(self.ada_script, 0, PrivateView(), tick=999).problem
        )

    def test_the_nearest_are_around_it(self) -> None:
        """After a restart a turn in a busy place was shown with later messages only."""
        self.ask("say Ada, where is the lamp?", says("There."))
        lamp = TracedMessage.objects.get()
        for later in range(1, MOST_AROUND + 10):
            fields = {"number": lamp.number + later, "at": lamp.at + later, "pk": None}
            TracedMessage.objects.create(**{**model_to_dict(lamp), **fields})
        self.ada_script.work.decisions = DecisionTraces()
        full = latest.show_turn(self.ada_script, lamp.number, PrivateView()).data
        assert "Ada, where is the lamp?" == full.around[0].text
        assert full.around[0].is_it

    def test_one_that_does_not_run(self) -> None:
        self.ada_script.work = None
        assert ProblemKind.UNAVAILABLE is latest.recent(self.ada_script, PrivateView()).problem
        assert (
            ProblemKind.UNAVAILABLE is latest.show_turn(self.ada_script, 1, PrivateView()).problem
        )
