"""What a player can type: Evennia's commands, and those of the assistants."""

from evennia import default_cmds

from evennia_ai.commands import AssistantAccountCmdSet, AssistantCmdSet


class CharacterCmdSet(default_cmds.CharacterCmdSet):
    """What a character can do. Add your own commands at the end."""

    key = "DefaultCharacter"

    def at_cmdset_creation(self) -> None:
        """Evennia's commands first, then ours: a later command replaces one of its name."""
        super().at_cmdset_creation()
        self.add(AssistantCmdSet)


class AccountCmdSet(default_cmds.AccountCmdSet):
    """What an account can do, in the game or out of it. Add your own commands at the end."""

    key = "DefaultAccount"

    def at_cmdset_creation(self) -> None:
        """Evennia's commands, and those of assistants that need no character."""
        super().at_cmdset_creation()
        self.add(AssistantAccountCmdSet)
