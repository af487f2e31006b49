"""Command sets of players: Evennia's commands, and those of the assistants."""

from evennia import default_cmds

from evennia_ai.commands import AssistantAccountCmdSet, AssistantCmdSet


class CharacterCmdSet(default_cmds.CharacterCmdSet):
    """Commands of a character. Add your own at the end."""

    key = "DefaultCharacter"

    def at_cmdset_creation(self) -> None:
        """Add Evennia's commands first, then ours: a later command replaces one of its name."""
        super().at_cmdset_creation()
        self.add(AssistantCmdSet)


class AccountCmdSet(default_cmds.AccountCmdSet):
    """Commands of an account, in character or out of it. Add your own at the end."""

    key = "DefaultAccount"

    def at_cmdset_creation(self) -> None:
        """Add Evennia's commands, and those of the assistants that need no character."""
        super().at_cmdset_creation()
        self.add(AssistantAccountCmdSet)
