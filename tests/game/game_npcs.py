"""NPCs of a game with EvAdventure's rules, which know nothing of assistants."""

from evennia.commands.cmdset import CmdSet
from evennia.commands.command import Command
from evennia.contrib.tutorials.evadventure.npcs import EvAdventureNPC
from evennia.scripts.scripts import DefaultScript


class Guard(EvAdventureNPC):
    """A guard that cannot act when it is dead, and not while the game has put it to sleep."""

    def can_act(self) -> bool | str:
        """Refuse without hit points, and while a flag of the game is set."""
        if self.db.is_asleep:
            return False
        return self.hp > 0 or "{name} lies dead on the ground."

    def at_object_delete(self) -> bool:
        return not self.db.is_kept


class Faulty(EvAdventureNPC):
    def can_act(self) -> bool:
        raise ZeroDivisionError("hit points by none")


class CmdPolish(Command):
    """A command about a guard."""

    key = "polish"


class GuardCmdSet(CmdSet):
    key = "GuardCmdSet"

    def at_cmdset_creation(self) -> None:
        self.add(CmdPolish())


class Patrol(DefaultScript):
    """A script of the game on a guard."""
