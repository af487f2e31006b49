"""What the tests of the world share: a game just started, and the library built into it."""

from typing import Self

from evennia import DefaultObject
from evennia.objects.models import ObjectDB
from evennia.utils.search import search_object_by_tag
from evennia.utils.test_resources import EvenniaTest

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.testing import end_assistants, forget_process, pump
from tests.standing_world import StandingWorld
from world.build import CATEGORY, build_world


def find(tag: str) -> DefaultObject:
    """The one thing the library built from an entry, by its tag."""
    return search_object_by_tag(tag, category=CATEGORY).get()


def count_objects() -> int:
    """All objects of the game, whoever made them."""
    return ObjectDB.objects.count()


class LibraryTest(StandingWorld, EvenniaTest):
    """A test in a game whose room #2 was still Limbo when the library was built into it.

    Attributes:
        report: what the build said.
    """

    report: str

    @classmethod
    def build_once(cls, builder: Self) -> None:
        """A fresh Limbo, and the library built on it."""
        super().build_once(builder)
        forget_process()
        builder.room2.key = "Limbo"
        cls.report = build_world()
        pump()
        for script in AssistantScript.objects.all_family():
            script.ndb._task.stop()
        forget_process()

    def setUp(self) -> None:
        """The residents go on, as after the start of a server."""
        super().setUp()
        forget_process()
        self.addCleanup(forget_process)
        for script in AssistantScript.objects.all_family():
            script.at_server_start()

    def tearDown(self) -> None:
        """Nothing of the residents outlives the test."""
        end_assistants()
        super().tearDown()
