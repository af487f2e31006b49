"""Games on contribs of Evennia that bring commands or a world: mux_comms and tutorial_world."""

from tests.journeys.clients import Player
from tests.journeys.game import Game
from tests.journeys.games.visit import Kind, Visit
from tests.journeys.readme import edit_file
from tests.journeys.staging import line_of

# The contrib's own set has a misspelt method and is empty, so a game adds them one by one.
COMMANDS = ("CmdAddCom", "CmdAllCom", "CmdDelCom", "CmdCWho", "CmdChannelCreate", "CmdCdesc")
LEGACY = (
    "from evennia.contrib.base_systems.mux_comms_cmds import mux_comms_cmds",
    "",
    "",
    "class CharacterCmdSet(default_cmds.CharacterCmdSet):",
    "        super().at_cmdset_creation()",
    *(f"        self.add(mux_comms_cmds.{name})" for name in COMMANDS),
)
LOOK = {"calls": [{"tool": "look", "arguments": {}}]}


def add_legacy_comms(game: Game) -> None:
    """Add the contrib's commands to the characters' set."""
    edit_file(game.folder / "commands/default_cmdsets.py", LEGACY)


def by_alias(visit: Visit) -> str:
    """It answers on a channel joined by `addcom`, and the contrib's commands work."""
    visit.owner.ask("assistant channel edda public = trigger", "listens to Public: trigger")
    visit.tom.ask("addcom pu = public", "with the alias 'pu'")
    visit.model.queue({"style": "plain", "content": "I am."})
    visit.tom.ask("pu are you there?", line_of("Public", "I am.", "Edda"))
    visit.bob.expect(line_of("Public", "I am.", "Edda"))
    visit.tom.ask("cwho public", r"Public:\s+.*Tom")
    visit.owner.ask("assistant channel edda public = leave", "no longer listens to Public")
    return "answers on a channel by an alias of `addcom`"


def build_tutorial(owner: Player) -> None:
    """Build the world as its documentation says, and go there."""
    owner.ask("batchcommand contrib.tutorials.tutorial_world.build", "Batchfile.* applied", 120)
    begin(owner)


def begin(player: Player) -> None:
    """Go to the start of the tutorial, or stay there."""
    player.send("tutorial")
    player.ask("look", "Welcome to the Evennia tutorial")


def look_around(visit: Visit) -> str:
    """Its tool sees the tutorial's room, which has a `look` of its own."""
    visit.model.queue(LOOK, {"style": "plain", "content": "A lot."})
    visit.tom.ask("whisper edda = what do you see?", 'Edda whispers: "A lot."')
    assert "Evennia tutorial" in str(visit.model.read_calls()[-1]["body"])
    return "sees the room of the tutorial"


KINDS = (
    Kind(
        "mux comms",
        "`base_systems.mux_comms_cmds`",
        furnish=add_legacy_comms,
        probes=("look", "allcom", "addcom", "cwho"),
        own=by_alias,
    ),
    Kind(
        "tutorial world",
        "`tutorials.tutorial_world`, in its first room",
        build=build_tutorial,
        arrive=begin,
        own=look_around,
    ),
)
