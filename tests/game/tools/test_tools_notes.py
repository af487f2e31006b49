"""The notebook: kept, bounded, and private where a talk was."""

from dataclasses import replace

from evennia_ai.core.hearing.perception import Overheard
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory import notebook
from evennia_ai.runtime import state
from tests.game.tools.tool_case import ToolTest, make_turn

TOM, MIRA = "*#1", "*#2"


def public(person: str = TOM) -> Turn:
    return make_turn(person, "say")


def private(person: str = TOM) -> Turn:
    return make_turn(person, "whisper")


class TestNotes(ToolTest):
    def test_a_note_is_kept(self) -> None:
        self.clock.advance(86_400)
        assert "noted as number 1" == self.told("write_note", text="Tom likes\n tea.")
        assert "noted as number 2" == self.told("write_note", text='He said "now".')
        self.ada_script.at_pause()
        self.ada_script.at_start()
        expected = '1. "Tom likes tea." (1970-01-02)\n2. "He said \\"now\\"." (1970-01-02)'
        assert expected == self.told("read_notes")

    def test_an_empty_notebook(self) -> None:
        assert "your notebook is empty" == self.told("read_notes")

    def test_what_is_no_note(self) -> None:
        for text in ("", " \n\u200b"):
            with self.subTest(text):
                assert "there is nothing to write down" == self.refusal("write_note", text=text)
        expected = "that has 301 characters; it may have 300 at most"
        assert expected == self.refusal("write_note", text="x" * 301)
        assert self.told("write_note", text="x" * 300)

    def test_a_note_is_written_once(self) -> None:
        """Another person's private note is not known, so it is no repetition."""
        self.told("write_note", text="tea", turn=private(TOM))
        again = self.told("write_note", text=" tea ", turn=private(TOM))
        assert "that is your note 1 already" == again
        assert "noted as number 2" == self.told("write_note", text="tea", turn=private(MIRA))

    def test_a_note_may_be_a_fact_or_a_pattern(self) -> None:
        """The prompt has the newest five of each audience."""
        self.told("write_note", text="Tom likes tea.", kind="fact")
        self.told("write_note", text="Tom asks twice.", kind="pattern")
        expected = (
            '1. "Tom likes tea." (fact, 1970-01-01)\n2. "Tom asks twice." (pattern, 1970-01-01)'
        )
        assert expected == self.told("read_notes")
        assert f"Your notebook:\n{expected}" == self.shown(make_turn())
        for number in range(5):
            self.told("write_note", text=f"thing {number}", turn=private(TOM))
        assert 1 + 5 == len(self.shown(private(TOM)).splitlines())
        assert "thing" not in self.shown(private(MIRA))
        assert "thing" not in self.shown(public(TOM)), "Mira hears the answer"

    def shown(self, turn: Turn) -> str:
        return notebook.prompt_text(notebook.newest(self.ada_script, turn))

    def test_nothing_of_itself_and_nothing_against_a_wish(self) -> None:
        """Facts about itself belong in the persona, and who wants no memory is in no notebook."""
        expected = "you keep nothing about yourself; write down what you learn of others"
        assert expected == self.refusal("write_note", text="Ada is a pirate.")
        state.write(self.ada_script, unremembered=[MIRA])
        expected = "nothing of this talk may be remembered; go on without"
        assert expected == self.refusal("write_note", text="Mira bakes.", turn=private(MIRA))

    def test_a_turn_that_knows_something_private(self) -> None:
        turn = public(TOM)
        turn.hold("person:account-1")
        self.told("write_note", text="a secret", turn=turn)
        assert "your notebook is empty" == self.told("read_notes", turn=public(MIRA))

    def test_a_note_is_struck_out(self) -> None:
        """No other note gets its number, even if it was the last one."""
        for text in ("a", "b"):
            self.told("write_note", text=text)
        assert "note 1 is struck out" == self.told("forget_note", number=1)
        expected = "there is no note 1; read_notes shows what there is"
        assert expected == self.refusal("forget_note", number=1)
        assert "noted as number 3" == self.told("write_note", text="c")
        assert "a" not in self.told("read_notes")
        self.told("forget_note", number=3)
        assert "noted as number 4" == self.told("write_note", text="d")

    def test_what_was_private_stays_private(self) -> None:
        """It is read and struck out only in talks with the same person that nobody else hears."""
        self.told("write_note", text="a secret", turn=private(TOM))
        self.told("write_note", text="the weather", turn=public(TOM))
        for turn, is_known in (
            (private(TOM), True),
            (public(TOM), False),
            (private(MIRA), False),
            (public(MIRA), False),
            (public(""), False),
        ):
            with self.subTest(turn=turn):
                text = self.told("read_notes", turn=turn)
                assert "the weather" in text
                assert is_known is ("a secret" in text)
        expected = "there is no note 1; read_notes shows what there is"
        assert expected == self.refusal("forget_note", number=1, turn=private(MIRA))
        assert "note 1 is struck out" == self.told("forget_note", number=1, turn=private(TOM))

    def test_where_nobody_else_is(self) -> None:
        """A private note may be read aloud to its only hearer, and the turn is private then."""
        self.told("write_note", text="a secret", turn=private(TOM))
        self.mira.location = self.room2
        turn = make_turn(TOM, "say")
        turn = replace(turn, events=(replace(turn.event, sender_id=self.tom.dbref),))
        assert "a secret" in self.told("read_notes", turn=turn)
        assert turn.is_private

    def test_nobody_in_particular_shares_with_nobody(self) -> None:
        """A private note without a person is never read."""
        self.told("write_note", text="a secret", turn=private(""))
        assert "your notebook is empty" == self.told("read_notes", turn=private(""))

    def test_what_was_overheard_in_private_counts(self) -> None:
        """A turn whose model reads a whisper is private, although its message is not."""
        turn = public(TOM)
        turn.overheard = (Overheard("whisper", "#1", "Tom", "psst", 0.9, TOM),)
        self.told("write_note", text="a secret", turn=turn)
        assert "your notebook is empty" == self.told("read_notes", turn=public(MIRA))

    def test_the_notebook_has_fifty_pages(self) -> None:
        """The oldest note of the person who caused the most of them leaves."""
        self.told("write_note", text="Mira's birthday", turn=private(MIRA))
        for number in range(60):
            self.told("write_note", text=f"Tom says {number}", turn=public(TOM))
        stored = state.read(self.ada_script, "notes")
        assert 50 == len(stored)
        text = self.told("read_notes", turn=private(MIRA))
        assert "Mira's birthday" in text
        assert '"Tom says 10"' not in text
        assert '"Tom says 11"' in text
