"""An assistant's body, built on the game's own character class."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from django.test.utils import override_settings
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultCharacter
from evennia.utils import logger
from evennia.utils.create import create_object, create_script
from evennia.utils.utils import class_from_module

import evennia_ai
from evennia_ai import assistant_character, operations
from evennia_ai.assistant_character import AssistantMixin, HearsForAssistant
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.operations.assistants.creation import BODY
from evennia_ai.operations.assistants.lifecycle import clone_assistant
from evennia_ai.runtime.tagged import TAG_CATEGORY, tag_of
from tests.game.docs.test_documents import snippet
from tests.game.game_bodies import Anybody, Brickman, GameCharacter, Statue
from tests.game.listening import HearingTest

OURS = "evennia_ai.assistant_character.AssistantCharacter"
BODIES = "tests.game.game_bodies"


@contextmanager
def process_of_game(base: str) -> Iterator[None]:
    """A process of a game with this character class, in which our body class is built anew."""
    names = vars(assistant_character)
    before = assistant_character.AssistantCharacter
    del names["AssistantCharacter"]
    try:
        with warnings.catch_warnings(), override_settings(BASE_CHARACTER_TYPECLASS=base):
            warnings.filterwarnings("ignore", "Model .* was already registered", RuntimeWarning)
            yield
    finally:
        names["AssistantCharacter"] = before


@override_settings(BASE_CHARACTER_TYPECLASS=f"{BODIES}.GameCharacter")
class BodyTest(HearingTest):
    """A game whose character class is `GameCharacter`."""

    @classmethod
    def setUpClass(cls) -> None:
        """Build our body class on the game's, as in a process of its own."""
        cls.enterClassContext(process_of_game(f"{BODIES}.GameCharacter"))
        super().setUpClass()

    def setUp(self) -> None:
        super().setUp()
        self.tom.cmdset.add_default(AssistantCmdSet)
        self.forget()


class TestDefaultBody(BodyTest):
    def test_hole_a1_it_stands_on_the_games_class(self) -> None:
        assert isinstance(self.ada, GameCharacter)
        assert isinstance(self.ada, AssistantMixin)
        assert (12, 8, 6) == (self.ada.db.strength, self.ada.hit_points, self.ada.satchel.weight())
        assert OURS == self.ada.typeclass_path == type(self.ada).path
        assert evennia_ai.AssistantCharacter is type(self.ada)
        assert "already exists" in GameCharacter.validate_name("ADA", account=self.account)

    def test_the_games_hooks_are_called(self) -> None:
        """A message that the game's hook blocks does not reach her either."""
        self.ada.ndb.heard = 0
        self.type(self.tom, "whisper ada = hello")
        assert (["hello"], 6) == (self.bodies(), self.ada.ndb.heard)
        assert self.ada.ndb.last_sent
        self.ada.db.has_wax = True
        self.type(self.tom, "whisper ada = are you there?")
        assert (["hello"], 12) == (self.bodies(), self.ada.ndb.heard)

    def test_what_breaks_the_games_hook_is_heard_as_everybody_else_hears_it(self) -> None:
        """Evennia logs what such a hook raises, and shows the line."""
        self.ada.ndb.heard = "not a number"
        with mock.patch.object(logger, "log_trace") as log:
            self.type(self.tom, "whisper ada = hello")
        assert (["hello"], 1) == (self.bodies(), log.call_count)

    def test_hole_a1_nobody_enters_it(self) -> None:
        """The loose locks of the game's class do not apply to assistants' bodies."""
        golem = self.make("Brick", typeclass=Brickman)[1]
        copied = clone_assistant(self.ada_script, "Copy").data.character
        for body in (self.ada, golem, copied):
            for account in (self.account, self.account2):
                account.permissions.clear()
                account.permissions.add("Player")
                assert not body.access(account, "puppet"), body
                assert not body.access(self.mira, "get"), body
                assert body not in account.characters
                assert 0 == len(account.characters)
        assert create_object(GameCharacter, key="Roy").access(self.account2, "puppet")

    def test_hole_a1_a_body_of_before_goes_on(self) -> None:
        """A body stored before our class was built on the game's still works."""
        body = create_object(DefaultCharacter, key="Edda", location=self.room1)
        body.locks.add("get:false();puppet:perm(Admin);tool_move:false();control:perm(Builder)")
        ObjectDB.objects.filter(pk=body.pk).update(db_typeclass_path=OURS)
        number = body.pk
        body.flush_from_cache(force=True)
        body = ObjectDB.objects.get(pk=number)
        body.db.strength = 4  # as `typeclass/update` would have it by the game's hook
        script = create_script(
            AssistantScript,
            key="Edda",
            obj=body,
            attributes=[("assistant_key", "Edda")],
            tags=[(tag_of("Edda"), TAG_CATEGORY), ("ai_assistant", TAG_CATEGORY)],
        )
        self.answer_at_once(script)
        assert isinstance(body, GameCharacter)
        self.type(self.tom, "whisper edda = hello")
        assert ["hello"] == [record.heard.body for record in self.records(script)]
        assert not body.access(self.account2, "puppet")


class TestOwnBody(BodyTest):
    """A body of a class that staff name."""

    def test_hole_a1_a_class_is_named(self) -> None:
        self.type(self.tom, f"assistant create Brick:{BODIES}.Brickman = A golem of few words.")
        assert "Brick is awake" in self.tom.seen[-1]
        assert type(operations.find_assistant("Brick").obj) is Brickman

    def test_hole_a1_a_class_that_will_not_do(self) -> None:
        count = ObjectDB.objects.count()
        for path, why in (
            ("evennia.objects.objects.DefaultRoom", "is a class of rooms or exits"),
            (f"{BODIES}.Nothing", f"There is no class {BODIES}.Nothing"),
            ("no.such.module.Golem", "There is no class no.such.module.Golem"),
            ("Golem", "There is no class Golem; give its full path"),
            (f"{BODIES}.Satchel", "is not a typeclass of objects"),
            ("os.getcwd", "is not a typeclass of objects"),
        ):
            self.type(self.tom, f"assistant create Brick:{path}")
            assert why in self.tom.seen[-1], path
        assert count == ObjectDB.objects.count()

    def test_the_menu_takes_one_too(self) -> None:
        self.type(self.tom, "assistant create")
        self.type(self.tom, f"Brick:{BODIES}.Satchel")
        assert any("is not a typeclass of objects" in line for line in self.tom.seen)
        for line in (f"Brick:{BODIES}.Brickman", "", "", "", "here", "1", "next"):
            self.type(self.tom, line)
        assert f"{BODIES}.Brickman" in self.tom.seen[-1]
        self.type(self.tom, "create")
        assert type(operations.find_assistant("Brick").obj) is Brickman

    def test_the_menu_asks_for_a_class(self) -> None:
        """A body of a class without our mixin gets hearing, and its class stays."""
        self.type(self.tom, "assistant create")
        for line in ("Grim", f"{BODIES}.Satchel"):
            self.type(self.tom, line)
        assert any("is not a typeclass of objects" in line for line in self.tom.seen)
        for line in (f"{BODIES}.Statue", "", "", "here", "1", "next", "create"):
            self.type(self.tom, line)
        body = operations.find_assistant("Grim").obj
        assert f"{BODIES}.Statue" == body.typeclass_path
        assert body.__class__ is Statue
        self.type(self.tom, "whisper grim = hello")
        assert ["hello"] == [record.heard.body for record in self.records(body.assistant_script)]

    def test_the_three_lines_of_the_docs(self) -> None:
        """The example in the documentation makes a class that hears."""
        game = ModuleType("typeclasses.characters")
        game.Character = GameCharacter  # type: ignore[attr-defined]
        modules = {"typeclasses": ModuleType("typeclasses"), game.__name__: game}
        with mock.patch.dict(sys.modules, modules):
            golem = snippet("# typeclasses/golems.py")["Golem"]
        assert issubclass(golem, AssistantMixin)
        assert issubclass(golem, GameCharacter)

    def test_the_name_of_before(self) -> None:
        """Games may import the mixin by its first name."""
        assert HearsForAssistant is AssistantMixin


class TestBuilding(HearingTest):
    """The base of the default body, in games of every kind."""

    def base_of(self, path: str) -> tuple[Any, list[str]]:
        """Our body class in a game with this character class, and the warnings logged."""
        lines: list[str] = []
        with process_of_game(path), mock.patch.object(logger, "log_warn", lines.append):
            return class_from_module(BODY), lines

    def test_a_base_with_ears_needs_no_more(self) -> None:
        built, _ = self.base_of(f"{BODIES}.Anybody")
        assert issubclass(built, Anybody)

    def test_hole_a1_a_game_that_imports_ours_first(self) -> None:
        """A half-imported module is not waited for: Evennia's class is used, with a warning."""
        half = ModuleType("half_imported")
        half.__spec__ = mock.Mock(_initializing=True)
        with mock.patch.dict(sys.modules, half_imported=half):
            built, lines = self.base_of("half_imported.Character")
        assert issubclass(built, DefaultCharacter)
        assert "while half_imported is still being imported" in lines[-1]
        assert "Import `AssistantMixin` there" in lines[-1]

    def test_a_base_that_cannot_be_had(self) -> None:
        """Evennia's class is used, as Evennia itself does."""
        built, _ = self.base_of("no.such.Character")
        assert issubclass(built, DefaultCharacter)

    def test_a_game_whose_characters_are_all_ours(self) -> None:
        """Our class cannot be built on itself, so it is built on Evennia's."""
        built, _ = self.base_of(OURS)
        assert issubclass(built, AssistantMixin)

    def test_nothing_else_is_made_up(self) -> None:
        with pytest.raises(AttributeError, match="AssistantCharacters"):
            _ = assistant_character.AssistantCharacters
