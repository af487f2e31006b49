"""A game with a `say`, a `tell` and a `history` of its own, as DIKU-like games have them."""

from importlib.metadata import version

import pytest

from tests.journeys.game import Game
from tests.journeys.games.visit import Kind, Visit
from tests.journeys.readme import edit_file

COMMANDS = '''
"""Speech as players of old games know it."""

from evennia import Command


class CmdSay(Command):
    """Say something to the room."""

    key = "say"
    aliases = ["'"]

    def func(self):
        words = self.args.strip()
        if not words:
            self.caller.msg("|rSay what?|n")
            return
        self.caller.msg(f"|cYou say '|w{words}|c'|n")
        heard = f"|c{self.caller.key} says '|w{words}|c'|n"
        room = self.caller.location
        room.msg_contents((heard, {"type": "say"}), exclude=self.caller, from_obj=self.caller)


class CmdTell(Command):
    """Tell somebody something, wherever they are."""

    key = "tell"
    aliases = ["t"]

    def func(self):
        name, _, words = self.args.strip().partition(" ")
        found = self.caller.search(name, global_search=True, quiet=True) if name else []
        if not found or not words:
            self.caller.msg("|MTell whom what?|n")
            return
        self.caller.msg(f"|mYou tell {found[0].key} '{words}'|n")
        found[0].msg(f"|m{self.caller.key} tells you '{words}'|n")
        found[0].db.told = [*(found[0].db.told or []), f"{self.caller.key}: {words}"][-2:]


class CmdHistory(Command):
    """Show the newest that you were told."""

    key = "history"

    def func(self):
        told = self.caller.db.told or []
        lines = ["|yTold to you last:|n", *told] if told else ["|yNothing yet.|n"]
        self.caller.msg("\\n".join(lines))
'''
ADDED = (
    "from commands.speech import CmdHistory, CmdSay, CmdTell",
    "",
    "",
    "class CharacterCmdSet(default_cmds.CharacterCmdSet):",
    "        super().at_cmdset_creation()",
    "        self.add(CmdSay)",
    "        self.add(CmdTell)",
    "        self.add(CmdHistory)",
)
# Lines that players of such a game type, mistakes too.
LINES = (
    *("say hello, all", "'and good night", "say", "tell bob the tide turns at |rnine"),
    *("t tom hm", "t tom so"),
    *("tell bob", "tell nobody hi", "tell bob = hello", "tell", "history", "@history", "say |gaha"),
)


def furnish(game: Game) -> None:
    """Write the commands and add them to the characters' set."""
    # Where sets are merged, it keeps both of two commands that share only an alias.
    if version("evennia").startswith("6.1."):
        pytest.skip("Evennia 6.1 asks which `tell` is meant, also before the install")
    (game.folder / "commands/speech.py").write_text(COMMANDS.lstrip())
    edit_file(game.folder / "commands/default_cmdsets.py", ADDED)


def own(visit: Visit) -> str:
    """The game's own commands send the same bytes as before, to speaker and hearers."""
    visit.expect_as_before()
    visit.owner.ask("assistant history edda", "good evening")
    return f"`say`, `tell`, `history`: {len(LINES)} lines, the same bytes as before"


KINDS = (
    Kind(
        "own words",
        "own `say`, `tell` and `history`",
        furnish=furnish,
        probes=LINES,
        own=own,
        is_quick=True,
    ),
)
