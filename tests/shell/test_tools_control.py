"""Doing nothing, and looking for tools."""

from __future__ import annotations

from collections.abc import Mapping

from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.tools import control
from tests.core.samples import make_spec
from tests.shell.tool_case import ToolTest, make_turn


class TestNoop(ToolTest):
    """`noop`."""

    def test_nothing_is_done(self) -> None:
        """With and without a reason."""
        assert "nothing done" == self.told("noop")
        assert "not for me" == self.told("noop", reason="not for me")


class TestFindTools(ToolTest):
    """`find_tools`."""

    def find(self, query: str) -> list[str]:
        """Names of what is found, the best first."""
        lines = self.told("find_tools", query=query).splitlines()
        return [line.partition(":")[0] for line in lines]

    def test_by_words_of_name_and_description(self) -> None:
        """A word of the name goes before one of the description; letters count in any case."""
        assert "whisper" == self.find("Whisper to a person")[0]
        assert "get" == self.find("pick something up")[0]
        assert "set_attribute" == self.find("attribute")[0]
        expected = "drop: Put down something that you carry."
        assert expected in self.told("find_tools", query="drop").splitlines()

    def test_what_is_found_is_on_offer_from_then_on(self) -> None:
        """Each name once, in the turn; nothing else is."""
        turn = make_turn()
        self.told("find_tools", query="whisper", turn=turn)
        self.told("find_tools", query="whisper", turn=turn)
        assert ["whisper"] == [name for name in turn.found if name == "whisper"]
        before = list(turn.found)
        assert "no tool does that" == self.told("find_tools", query="juggle", turn=turn)
        assert before == turn.found

    def test_at_most_eight(self) -> None:
        """However many there are."""
        assert 8 == len(self.find("something what that you the room here person"))

    def test_a_query_without_words(self) -> None:
        """The model is told what to say."""
        expected = "say in words of three letters or more what you want to do"
        for query in ("", "a _ b", "!?"):
            with self.subTest(query):
                assert expected == self.refusal("find_tools", query=query)

    def test_neither_itself_nor_what_is_forbidden(self) -> None:
        """A tool that a lock keeps from her is not offered."""
        assert "find_tools" not in self.find("find tools look further")
        self.ada.locks.add("tool_whisper:false()")
        assert "whisper" not in self.find("whisper")

    def test_tools_from_elsewhere_are_found_too(self) -> None:
        """Whoever brings tools adds a catalogue."""

        def catalogue() -> Mapping[str, ToolSpec]:
            return {"juggle": make_spec("juggle")}

        control.CATALOGUES.append(catalogue)
        self.addCleanup(control.CATALOGUES.remove, catalogue)
        assert ["juggle"] == self.find("juggle")
