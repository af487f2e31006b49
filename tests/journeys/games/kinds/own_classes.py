"""A game with base classes of its own: account, character, object, room and script."""

from __future__ import annotations

from contextlib import ExitStack

from tests.journeys.game import Game
from tests.journeys.games.visit import Kind, Visit
from tests.journeys.staging import run

CLASSES = '''
"""The classes that everything of this game stands on."""

from evennia import DefaultAccount, DefaultCharacter, DefaultObject, DefaultRoom, DefaultScript


class Marked:
    """What each class of this game has."""

    mark = "ours"


class Account(Marked, DefaultAccount):
    """Somebody who plays."""


class Character(Marked, DefaultCharacter):
    """Somebody in the game, who counts what is said to them."""

    def at_object_creation(self):
        super().at_object_creation()
        self.db.strength = 12

    def at_msg_receive(self, text=None, from_obj=None, **kwargs):
        self.ndb.heard = (self.ndb.heard or 0) + 1
        return super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)


class Object(Marked, DefaultObject):
    """A thing."""


class Room(Marked, DefaultRoom):
    """A place."""


class Script(Marked, DefaultScript):
    """Something that goes on."""
'''
KINDS_OF_CLASS = ("account", "character", "object", "room", "script")
BASES = {f"BASE_{kind.upper()}_TYPECLASS": f"world.own.{kind.title()}" for kind in KINDS_OF_CLASS}
SEEN = """
from evennia import search_account
from evennia.utils.create import create_script
edda, tom = search_object("Edda")[0], search_account("Tom")[0]
script = create_script(key="weather")
told = edda.mark, edda.db.strength, (edda.ndb.heard or 0) > 0, tom.mark, script.mark
"""


def found(game: Game, stack: ExitStack) -> None:
    """Its settings name classes of its own."""
    (game.folder / "world/own.py").write_text(CLASSES.lstrip())


def is_of_this_game(visit: Visit) -> str:
    """Its body stands on the game's character and does what that does; the rest is the game's."""
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
