"""The test case of the demo world: a new game with the library built into it."""

from typing import Self
from unittest import mock

from evennia import DefaultObject
from evennia.objects.models import ObjectDB
from evennia.utils.search import search_object_by_tag
from evennia.utils.test_resources import EvenniaTest

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.llm import local
from evennia_ai.testing import end_assistants, forget_process, pump
from tests.standing_world import StandingWorld
from world.build import CATEGORY, build_world


def find(tag: str) -> DefaultObject:
    """The one thing that the library built from an entry, by its tag."""
    return search_object_by_tag(tag, category=CATEGORY).get()


def count_objects() -> int:
    return ObjectDB.objects.count()


class LibraryTest(StandingWorld, EvenniaTest):
    """A test in a game whose room #2 was still Limbo when the library was built into it.

    Attributes:
        report: the message of the build.
    """

    report: str

    @classmethod
    def setUpClass(cls) -> None:
        """Without the embedded model, which residents would start to let it read ahead."""
        cls.enterClassContext(mock.patch.object(local, "has_weights", return_value=False))
        super().setUpClass()

    @classmethod
    def build_once(cls, builder: Self) -> None:
        """Build the library on a fresh Limbo."""
        super().build_once(builder)
        forget_process()
        builder.room2.key = "Limbo"
        cls.report = build_world()
        pump()
        for script in AssistantScript.objects.all_family():
            script.ndb._task.stop()
        forget_process()

    def setUp(self) -> None:
        """Let the residents go on, as after the start of a server."""
        super().setUp()
        forget_process()
        self.addCleanup(forget_process)
        for script in AssistantScript.objects.all_family():
            script.at_server_start()

    def tearDown(self) -> None:
        end_assistants()
        super().tearDown()
