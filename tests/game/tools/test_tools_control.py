"""The tools `noop`, `find_tools` and `my_state`."""

import re
from collections.abc import Mapping

from evennia_ai.approvals import store
from evennia_ai.core.hearing.inbox import OWN, Event
from evennia_ai.core.safety.questions import ApprovalRequest, Question
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.messages.incoming import person_of
from evennia_ai.tools import control
from tests.asked import shown_for
from tests.core.samples import make_spec
from tests.game.support import whispers
from tests.game.tools.tool_case import ToolTest, make_turn


class TestNoop(ToolTest):
    def test_nothing_is_done(self) -> None:
        assert "nothing done" == self.told("noop")
        assert "not for me" == self.told("noop", reason="not for me")


class TestFindTools(ToolTest):
    def find(self, query: str) -> list[str]:
        """Names of the tools found, the best first."""
        lines = self.told("find_tools", query=query).splitlines()
        return [line.partition(":")[0] for line in lines]

    def test_by_words_of_name_and_description(self) -> None:
        """A word of the name goes before one of the description."""
        assert "whisper" == self.find("Whisper to a person")[0]
        assert "get" == self.find("pick something up")[0]
        assert "set_attribute" == self.find("attribute")[0]
        expected = "drop: Put down something that you carry."
        assert expected in self.told("find_tools", query="drop").splitlines()

    def test_of_two_with_one_name_the_first_is_found(self) -> None:
        """The game's tool wins where it is run; the other was listed beside it."""
        other = {"drop": make_spec("drop")}
        control.CATALOGUES.append(lambda: other)
        self.addCleanup(control.CATALOGUES.pop)
        assert 1 == self.find("drop").count("drop")

    def test_what_is_found_is_on_offer_from_then_on(self) -> None:
        turn = make_turn()
        self.told("find_tools", query="whisper", turn=turn)
        self.told("find_tools", query="whisper", turn=turn)
        assert ["whisper"] == [name for name in turn.found if name == "whisper"]
        before = list(turn.found)
        assert "no tool does that" == self.told("find_tools", query="juggle", turn=turn)
        assert before == turn.found

    def test_at_most_eight(self) -> None:
        assert 8 == len(self.find("something what that you the room here person"))

    def test_a_query_without_words(self) -> None:
        expected = "say in words of three letters or more what you want to do"
        for query in ("", "a _ b", "!?"):
            with self.subTest(query):
                assert expected == self.refusal("find_tools", query=query)

    def test_neither_itself_nor_what_is_forbidden(self) -> None:
        assert "find_tools" not in self.find("find tools look further")
        self.ada.locks.add("tool_whisper:false()")
        assert "whisper" not in self.find("whisper")

    def test_tools_from_elsewhere_are_found_too(self) -> None:
        """A module that brings tools adds a catalogue."""

        def catalogue() -> Mapping[str, ToolSpec]:
            return {"juggle": make_spec("juggle")}

        control.CATALOGUES.append(catalogue)
        self.addCleanup(control.CATALOGUES.remove, catalogue)
        assert ["juggle"] == self.find("juggle")


class TestMyState(ToolTest):
    def setUp(self) -> None:
        """Set no cap but that of the assistant."""
        super().setUp()
        self.own = Turn(0, (Event("e1", OWN, "autonomous", "", "", "think", 1.0, 0, 0, 0.0),))
        self.ada_script.db.budget_config = {"assistant": {"tokens_per_day": 1_000_000}}

    def test_how_it_stands(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        tokens = self.ada_script.db.estimated_tokens
        self.ada_script.db.consecutive_errors = 2
        asking = ApprovalRequest("k", "tool.x", "may I?")
        for question in (Question(asking, 1), Question(asking, 2, choice="yes")):
            store.begin(self.ada_script, question)
        prompt, budget, errors, waiting = self.told("my_state", turn=self.own).splitlines()
        assert f"prompt: {tokens:,} of 8,192 tokens at the last call" == prompt
        used = re.fullmatch(
            r"budget: ([\d,]+) of 1,000,000 tokens used today \(UTC\), .* left", budget
        )
        assert used is not None, budget
        assert int(used[1].replace(",", "")) > 100
        assert "errors: 2 failed turns in a row, 5 stop you; out of order: nothing" == errors
        assert "waiting: 0 messages, 1 question to people" == waiting

    def test_without_a_cap_and_with_a_service_that_fails(self) -> None:
        self.ada_script.db.budget_config = {"assistant": {"tokens_per_day": 0}}
        self.ada_script.work.breakers.get_or_create("tide").force_open()
        text = self.told("my_state", turn=self.own)
        assert "tokens used today (UTC), without a cap" in text
        assert "out of order: tide" in text

    def test_who_is_told(self) -> None:
        """Only those who control her are told, and others are not even offered the tool."""
        expected = "only whoever may run you is told how you stand"
        assert expected == self.refusal("my_state", turn=make_turn(person_of(self.mira)))
        assert expected == self.refusal("my_state", turn=make_turn(""))
        self.ada.locks.add(f"ai_control:pid({self.tom.account.pk})")
        for person, is_there in ((self.mira, False), (self.tom, True)):
            turn = make_turn(person_of(person))
            self.told("find_tools", query="state", turn=turn)
            assert is_there == ("my_state" in shown_for(self.ada_script, turn))
        assert "prompt: " in self.told("my_state", turn=make_turn(person_of(self.tom)))
