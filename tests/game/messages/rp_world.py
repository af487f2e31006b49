"""A game with Evennia's rpsystem: short descriptions, masks and recognition."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

from evennia.contrib.rpg.rpsystem import ContribRPCharacter, ContribRPObject, ContribRPRoom
from twisted.internet.defer import Deferred, succeed

from evennia_ai.assistant_character import AssistantMixin
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.llm.scripted import ScriptedModel
from tests.game.people import Person
from tests.game.support import GameTest, pump


class RolePlayer(Person, ContribRPCharacter):
    """A player's character of an rpsystem game, which keeps every message."""

    def process_language(self, text: str, speaker: Any, language: str, **kwargs: Any) -> str:
        """Show speech in an unknown language by first letters only."""
        if language and language not in (self.db.languages or ()):
            text = f'"{"".join(word[0] for word in text.strip(chr(34)).split())}"'
        return str(super().process_language(text, speaker, language, **kwargs))


class RoleGolem(AssistantMixin, RolePlayer):
    """An assistant's body of the same class."""


class RoleThing(ContribRPObject):
    """An object of the game."""


class RolePlace(ContribRPRoom):
    """A room of the game."""


class Talkative(ScriptedModel):
    """A model that gives its answers round and round."""

    def __init__(self, *answers: bytes) -> None:
        super().__init__()
        self._all = answers
        self._round: Iterator[bytes] = cycle(answers)

    def begin(self) -> None:
        self._round = cycle(self._all)

    def post(self, body: Any) -> Deferred[bytes]:
        self.bodies.append(body)
        return succeed(next(self._round))


def prompt_of(body: Any) -> str:
    """Everything that a call sends to the model, its own earlier calls included."""
    return repr(body["messages"])


class RolePlayTest(GameTest):
    """Tom ("a tall man") and Mira ("a short woman") stand with Golem ("a stone giant"), and Ada.

    Golem has a body of the game's own class, Ada one that knows of no descriptions. Nobody was
    introduced to anybody, and nobody is staff.

    Attributes:
        golem_key: Golem's real key.
    """

    character_typeclass = RolePlayer
    golem_key = "Golem"
    object_typeclass = RoleThing
    room_typeclass = RolePlace

    def setUp(self) -> None:
        super().setUp()
        self.account.permissions.clear()
        self.account.is_superuser = False
        self.account.save()
        self.mira.account = self.account2
        for person, sdesc in ((self.tom, "a tall man"), (self.mira, "a short woman")):
            person.sdesc.add(sdesc)
            person.cmdset.add(AssistantCmdSet)
        self.golem_script, self.golem = self.make(self.golem_key, typeclass=RoleGolem)
        self.golem_script.clock = self.clock
        self.golem.sdesc.add("a stone giant")
        pump()
        self.forget()

    def forget(self) -> None:
        super().forget()
        self.model.bodies.clear()

    def prompts(self) -> list[str]:
        """Everything sent to the model since the last `forget`, call by call."""
        return [prompt_of(body) for body in self.model.bodies]

    def heard(self, script: Any = None) -> DecisionTrace:
        """The last record of an assistant (Golem)."""
        return (script or self.golem_script).work.decisions.newest()[0]

    def settle(self) -> None:
        for _ in range(2):
            self.advance(1)
