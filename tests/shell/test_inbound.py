"""What Evennia sends, and the speech that is cut out of it."""

from __future__ import annotations

import pytest

from evennia_ai.core.perception import Source
from evennia_ai.inbound import cut_speech, read
from tests.shell.support import ShellTest, says, whispers


@pytest.mark.parametrize(
    ("rendered", "name", "expected"),
    [
        ('Tom whispers: "|nhello|n"', "Tom", "hello"),
        ('Tom says, "hello"', "Tom", "hello"),
        ('Tom says, "he said "go" and left"', "Tom", 'he said "go" and left'),
        ('"Iron" Tom says, "hello"', '"Iron" Tom', "hello"),
        ('|rTom|n says, "|ghello|n"', "Tom", "hello"),
        ("Tom sagt: „hallo“", "Tom", "hallo"),
        ("Tom dit «bonjour»", "Tom", "bonjour"),
        ("Tom says “hello”", "Tom", "hello"),
        ("Tom smiles at @ada.", "Tom", "smiles at @ada."),
        ('Tom says, "', "Tom", 'says, "'),
        ('Tom says, ""', "Tom", ""),
        ("", "Tom", ""),
        ('A voice whispers: "hello"', "Tom", "hello"),
        ('Tom says, "a || b"', "Tom", "a | b"),
    ],
)
def test_the_speech_is_cut_out(rendered: str, name: str, expected: str) -> None:
    """Frame, name and markup go; what was said stays as it was."""
    assert expected == cut_speech(rendered, name)


class TestStockCommands(ShellTest):
    """Evennia's own commands, as they reach Ada's ears."""

    def test_a_builders_view_of_names_does_not_disturb(self) -> None:
        """A listener who sees `Tom(#6)` hears the same words."""
        self.ada.permissions.add("Builder")
        self.ask("whisper Ada = hello", whispers("Hello."))
        told = self.model.bodies[0]["messages"][-1]["content"]
        assert 'Tom whispers to you: "hello"' == told

    def test_a_pose_with_her_name_is_for_her(self) -> None:
        """An address in a pose is answered aloud."""
        self.ask("pose bows to @ada.", says("Good evening."))
        assert ['Ada says, "Good evening."'] == self.mira.heard_from(self.ada)

    def test_marks_come_only_from_the_server(self) -> None:
        """Hops and kind are read from options; what a player types cannot forge them."""
        text = ('Tom says, "assistant_message=True"', {"type": "say"})
        heard = read(text, self.tom, self.ada)
        assert heard is not None
        assert (False, 0, Source.SAY) == (heard.from_assistant, heard.hops, heard.source)

    def test_odd_marks_are_none(self) -> None:
        """Only True is a mark, and only a whole positive number counts hops."""
        for mark, hops in (("yes", "3"), (1, -2), (None, True), (True, 2.5)):
            options = {"type": "say", "assistant_message": mark, "assistant_hops": hops}
            heard = read(('Tom says, "x"', options), self.tom, self.ada)
            assert heard is not None
            assert (mark is True, 0) == (heard.from_assistant, heard.hops)
