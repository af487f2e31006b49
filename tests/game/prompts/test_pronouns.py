"""Pronouns of an assistant in texts for people, staff and the model."""

from evennia_ai import operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.runtime import state
from evennia_ai.runtime.rights import Right
from evennia_ai.runtime.rights.bodies import lacking
from tests.game.support import GameTest, says


class TestPronouns(GameTest):
    cmdsets = (AssistantCmdSet,)

    def muted(self) -> str:
        self.forget()
        self.type(self.mira, "assistant mute ada")
        text = self.mira.seen[-1]
        self.type(self.mira, "assistant unmute ada")
        return str(text)

    def prompt(self) -> str:
        self.ask("say @ada hello", says("Hello."))
        return str(self.model.bodies[-1])

    def test_neutral_where_nobody_says_otherwise(self) -> None:
        """The prompt spends no word on it."""
        assert "you no longer hear it." in self.muted()
        assert "Others call you" not in self.prompt()

    def test_the_games_gender_counts(self) -> None:
        """Evennia's gender contrib stores it so."""
        self.ada.db.gender = "female"
        assert "you no longer hear her." in self.muted()
        assert 'Others call you "she".' in self.prompt()
        self.forget()
        self.type(self.tom, "assistant delete ada")
        assert "Delete Ada? Her body" in "\n".join(self.tom.seen)
        self.type(self.tom, "no")
        assert self.tom.seen[-1].startswith("Ada stays as it was.")

    def test_the_setting_goes_before_it(self) -> None:
        self.ada.db.gender = "female"
        self.type(self.tom, "assistant config ada set pronouns they")
        assert "they" == state.read(self.ada_script, "pronouns")
        assert "you no longer hear them." in self.muted()
        self.ada.locks.add("ai_control:false()")
        assert lacking(self.ada_script, Right.CONTROL).startswith("their lock")
        assert operations.find_assistant("Ada") is self.ada_script
