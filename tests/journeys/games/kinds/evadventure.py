"""A game on EvAdventure, with combat."""

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
    """Use the classes and commands of EvAdventure."""
    stand_on(BASES, game.folder / "typeclasses")
    edit_file(game.folder / "commands/default_cmdsets.py", COMMANDS)


def give(visit: Visit) -> str:
    """It has the attributes of this game's characters, and takes part in their trade."""
    run(visit.owner, 'search_object("Tom")[0].coins = 5')
    visit.tom.ask("give 2 coins to edda", "You give Edda 2 coins")
    seen = run(visit.owner, 'edda = search_object("Edda")[0]\ntold = edda.coins, edda.hp_max')
    assert "(2, 4)" == seen, seen
    visit.tom.ask("talk edda", "does not seem very talkative")
    return "takes coins, as a character of this game"


def fight(visit: Visit) -> str:
    """A fight with it goes as with anybody, and it talks afterwards."""
    run(visit.owner, WEAK)
    visit.tom.ask("attack edda", "You attack Edda")
    visit.tom.expect("The combat is over", 60)
    visit.whisper(visit.tom, "no hard feelings?")
    return "attacked and beaten; talks on, as long as the game has no `can_act`"


KINDS = (
    Kind(
        "evadventure",
        "`tutorials.evadventure`, twitch combat",
        found=found,
        own=give,
        fight_or_leave=fight,
    ),
)
