"""The notebook: kept, bounded, and private where a talk was."""

from __future__ import annotations

from evennia_ai import state
from evennia_ai.core.overheard import Overheard
from evennia_ai.core.turn import Turn
from tests.shell.tool_case import ToolTest, make_turn

TOM, MIRA = "*#1", "*#2"


def public(person: str = TOM) -> Turn:
    """A turn for what somebody says aloud."""
    return make_turn(person, "say")


def private(person: str = TOM) -> Turn:
    """A turn for what somebody whispers."""
    return make_turn(person, "whisper")


class TestNotes(ToolTest):
    """`write_note`, `read_notes` and `forget_note`."""

    def test_a_note_is_kept(self) -> None:
        """It is numbered, dated and quoted, and it outlives a restart."""
        self.clock.advance(86_400)
        assert "noted as number 1" == self.told("write_note", text="Tom likes\n tea.")
        assert "noted as number 2" == self.told("write_note", text='He said "now".')
        self.ada_script.at_pause()
        self.ada_script.at_start()
        expected = '1. "Tom likes tea." (1970-01-02)\n2. "He said \\"now\\"." (1970-01-02)'
        assert expected == self.told("read_notes")

    def test_an_empty_notebook(self) -> None:
        """It says so."""
        assert "your notebook is empty" == self.told("read_notes")

    def test_what_is_no_note(self) -> None:
        """Nothing, and too much."""
        for text in ("", " \n\u200b"):
            with self.subTest(text):
                assert "there is nothing to note" == self.refusal("write_note", text=text)
        expected = "a note has at most 300 characters, not 301"
        assert expected == self.refusal("write_note", text="x" * 301)
        assert self.told("write_note", text="x" * 300)

    def test_a_note_is_written_once(self) -> None:
        """The same again is no new note; another person's private one is not known."""
        self.told("write_note", text="tea", turn=private(TOM))
        again = self.told("write_note", text=" tea ", turn=private(TOM))
        assert "that is your note 1 already" == again
        assert "noted as number 2" == self.told("write_note", text="tea", turn=private(MIRA))

    def test_a_note_is_struck_out(self) -> None:
        """By its number, which no other note gets while a later one is there."""
        for text in ("a", "b"):
            self.told("write_note", text=text)
        assert "note 1 is struck out" == self.told("forget_note", number=1)
        expected = "there is no note 1; read_notes shows what there is"
        assert expected == self.refusal("forget_note", number=1)
        assert "noted as number 3" == self.told("write_note", text="c")
        assert "a" not in self.told("read_notes")

    def test_what_was_private_stays_private(self) -> None:
        """Read, and struck out, only in talks with the same person, of whatever kind."""
        self.told("write_note", text="a secret", turn=private(TOM))
        self.told("write_note", text="the weather", turn=public(TOM))
        for turn, is_known in (
            (private(TOM), True),
            (public(TOM), True),
            (private(MIRA), False),
            (public(MIRA), False),
            (public(""), False),
        ):
            with self.subTest(turn=turn):
                told = self.told("read_notes", turn=turn)
                assert "the weather" in told
                assert is_known is ("a secret" in told)
        expected = "there is no note 1; read_notes shows what there is"
        assert expected == self.refusal("forget_note", number=1, turn=private(MIRA))
        assert "note 1 is struck out" == self.told("forget_note", number=1, turn=private(TOM))

    def test_nobody_in_particular_shares_with_nobody(self) -> None:
        """A private note without a person behind it is never read."""
        self.told("write_note", text="a secret", turn=private(""))
        assert "your notebook is empty" == self.told("read_notes", turn=private(""))

    def test_what_was_overheard_in_private_counts(self) -> None:
        """A turn that tells the model of a whisper is private, although its message is not."""
        turn = public(TOM)
        turn.overheard = (Overheard("whisper", "#1", "Tom", "psst", 0.9, TOM),)
        self.told("write_note", text="a secret", turn=turn)
        assert "your notebook is empty" == self.told("read_notes", turn=public(MIRA))

    def test_the_notebook_has_fifty_pages(self) -> None:
        """When it is full the oldest note of whoever caused the most of them leaves."""
        self.told("write_note", text="Mira's birthday", turn=private(MIRA))
        for number in range(60):
            self.told("write_note", text=f"Tom says {number}", turn=public(TOM))
        stored = state.read(self.ada_script, "notes")
        assert 50 == len(stored)
        told = self.told("read_notes", turn=private(MIRA))
        assert "Mira's birthday" in told
        assert '"Tom says 10"' not in told
        assert '"Tom says 11"' in told
