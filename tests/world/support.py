"""What the tests of the world share: a game just started, and the library built into it."""

from evennia import DefaultObject
from evennia.objects.models import ObjectDB
from evennia.utils.search import search_object_by_tag
from evennia.utils.test_resources import EvenniaTest

from evennia_ai.testing import end_assistants, forget_process
from world.build import CATEGORY, build_world


def find(tag: str) -> DefaultObject:
    """The one thing the library built from an entry, by its tag."""
    return search_object_by_tag(tag, category=CATEGORY).get()


def count_objects() -> int:
    """All objects of the game, whoever made them."""
    return ObjectDB.objects.count()


class LibraryTest(EvenniaTest):
    """A test in a game whose room #2 is still Limbo when the library is built into it."""

    def setUp(self) -> None:
        """A fresh Limbo, and the library built on it; `report` is what the build said."""
        super().setUp()
        forget_process()
        self.addCleanup(forget_process)
        self.room2.key = "Limbo"
        self.report = build_world()

    def tearDown(self) -> None:
        """Nothing of the residents outlives the test."""
        end_assistants()
        super().tearDown()
