"""Beings of a game with EvAdventure's rules, which know nothing of assistants."""

from __future__ import annotations

from evennia.commands.cmdset import CmdSet
from evennia.commands.command import Command
from evennia.contrib.tutorials.evadventure.npcs import EvAdventureNPC
from evennia.scripts.scripts import DefaultScript


class Guard(EvAdventureNPC):
    """A guard that cannot act when it is dead, and not while the game has put it to sleep."""

    def can_act(self) -> bool | str:
        """Not with no hit points left, and not while a flag of the game is set."""
        if self.db.is_asleep:
            return False
        return self.hp > 0 or "{name} lies dead on the ground."

    def at_object_delete(self) -> bool:
        """Not one that the game keeps."""
        return not self.db.is_kept


class Faulty(EvAdventureNPC):
    """A being whose hook is broken."""

    def can_act(self) -> bool:
        """Never comes to an answer."""
        raise ZeroDivisionError("hit points by none")


class CmdPolish(Command):
    """Something that can be done with a guard."""

    key = "polish"


class GuardCmdSet(CmdSet):
    """Commands that a guard brings along."""

    key = "GuardCmdSet"

    def at_cmdset_creation(self) -> None:
        """Fill the set."""
        self.add(CmdPolish())


class Patrol(DefaultScript):
    """A script that the game has on a guard."""
