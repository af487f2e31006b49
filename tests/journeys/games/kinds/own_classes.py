"""A game with base classes of its own: account, character, object, room and script."""

from contextlib import ExitStack

from tests.journeys.game import Game
from tests.journeys.games.visit import Kind, Visit
from tests.journeys.staging import run

CLASSES = '''
"""The classes that everything of this game stands on."""

from evennia import DefaultAccount, DefaultCharacter, DefaultObject, DefaultRoom, DefaultScript


class Marked:
    """A mark that each class of this game has."""

    mark = "ours"


class OwnAccount(Marked, DefaultAccount):
    """Somebody who plays."""


class OwnCharacter(Marked, DefaultCharacter):
    """Somebody in the game, who counts what is said to them."""

    def at_object_creation(self):
        super().at_object_creation()
        self.db.strength = 12

    def at_msg_receive(self, text=None, from_obj=None, **kwargs):
        self.ndb.heard = (self.ndb.heard or 0) + 1
        return super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)


class OwnObject(Marked, DefaultObject):
    """A thing."""


class OwnRoom(Marked, DefaultRoom):
    """A place."""


class OwnScript(Marked, DefaultScript):
    """Something that goes on."""
'''
BASES = {
    f"BASE_{name.upper()}_TYPECLASS": f"world.own.Own{name.title()}"
    for name in ("account", "character", "object", "room", "script")
}
SEEN = """
from evennia import search_account
from evennia.utils.create import create_script
edda, tom = search_object("Edda")[0], search_account("Tom")[0]
script = create_script(key="weather")
told = edda.mark, edda.db.strength, (edda.ndb.heard or 0) > 0, tom.mark, script.mark
"""


def found(game: Game, stack: ExitStack) -> None:
    """Set base classes of the game's own."""
    (game.folder / "world/own.py").write_text(CLASSES.lstrip())


def is_of_this_game(visit: Visit) -> str:
    """Its body is of the game's character class and behaves so; other classes are the game's."""
    assert "('ours', 12, True, 'ours', 'ours')" == run(visit.owner, SEEN)
    return "its body stands on the game's own character class"


KINDS = (
    Kind(
        "own classes",
        "own `BASE_*_TYPECLASS` of account, character, object, room, script",
        settings=BASES,
        found=found,
        own=is_of_this_game,
    ),
)
