"""A game on EvAdventure, where people fight."""

from __future__ import annotations

from contextlib import ExitStack

from tests.journeys.classes import stand_on
from tests.journeys.game import Game
from tests.journeys.games.visit import Kind, Visit
from tests.journeys.readme import edit_file
from tests.journeys.staging import run

MODULE = "evennia.contrib.tutorials.evadventure"
BASES = {
    "characters": f"{MODULE}.characters.EvAdventureCharacter",
    "objects": f"{MODULE}.objects.EvAdventureObject",
    "rooms": f"{MODULE}.rooms.EvAdventurePvPRoom",
}
COMMANDS = (
    f"from {MODULE}.combat_twitch import TwitchCombatCmdSet",
    f"from {MODULE}.commands import EvAdventureCmdSet",
    "",
    "",
    "class CharacterCmdSet(default_cmds.CharacterCmdSet):",
    "        super().at_cmdset_creation()",
    "        self.add(EvAdventureCmdSet)",
    "        self.add(TwitchCombatCmdSet)",
)
# One blow ends the fight, and it hits.
WEAK = """
tom, edda = search_object("Tom")[0], search_object("Edda")[0]
tom.strength, edda.hp = 30, 1
"""


def found(game: Game, stack: ExitStack) -> None:
    """Characters, objects and rooms are those of EvAdventure, and its commands are there."""
    stand_on(BASES, game.folder / "typeclasses")
    edit_file(game.folder / "commands/default_cmdsets.py", COMMANDS)


def give(visit: Visit) -> str:
    """It has what characters of this game have, and takes part in what they do."""
    run(visit.owner, 'search_object("Tom")[0].coins = 5')
    visit.tom.ask("give 2 coins to edda", "You give Edda 2 coins")
    coins = 'edda = search_object("Edda")[0]\ntold = edda.coins, type(edda).hp_max is not None'
    assert "(2, True)" == run(visit.owner, coins)
    visit.tom.ask("talk edda", "does not seem very talkative")
    return "takes coins, as a character of this game"


def fight(visit: Visit) -> str:
    """A fight with it goes as with anybody, and it talks afterwards."""
    run(visit.owner, WEAK)
    visit.tom.ask("attack edda", "You attack Edda")
    visit.tom.expect("beaten and out of the fight", 60)
    visit.tom.ask("hold", "You hold back")
    visit.whisper(visit.tom, "no hard feelings?")
    return "is attacked, yields, talks on"


KINDS = (
    Kind(
        "evadventure",
        "`tutorials.evadventure`, twitch combat",
        found=found,
        own=give,
        fight_or_leave=fight,
    ),
)
