"""The start of many assistants, whose first data are read for all of them together."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from evennia_ai.agent.starting import TAG_CATEGORY, tag_of
from tests.shell.support import ShellTest, pump

TABLES = ("scripts_scriptdb_db_attributes", "objects_objectdb", "typeclasses_tag")


def end(script: Any) -> None:
    """Let a script be as in a process that has just begun."""
    script.at_server_shutdown()
    script.work = None
    script.attributes.reset_cache()
    script._state.fields_cache.clear()


class TestStarting(ShellTest):
    """A new process starts five assistants one after the other, as Evennia does."""

    def setUp(self) -> None:
        super().setUp()
        self.crowd = [self.ada_script, *(self.make(f"Brass{n}")[0] for n in range(4))]
        for script in self.crowd:
            end(script)

    def start(self) -> list[str]:
        """The statements that a start of all of them takes."""
        with CaptureQueriesContext(connection) as queries:
            for script in self.crowd:
                script.at_start()
        return [query["sql"] for query in queries]

    def test_attributes_bodies_and_tags_are_read_once_for_all(self) -> None:
        statements = self.start()
        counts = [sum(f'FROM "{table}"' in each for each in statements) for table in TABLES]
        assert [1, 1, 1] == counts
        assert all(script.work is not None for script in self.crowd)
        pump()

    def test_what_was_read_ahead_counts_at_the_start_alone(self) -> None:
        """A script that loses its tag afterwards is an assistant no longer."""
        self.start()
        script = self.crowd[-1]
        assert not script.is_stray
        script.tags.remove(tag_of(script.key), category=TAG_CATEGORY)
        assert script.is_stray
        pump()

    def test_a_stray_among_them_does_not_start(self) -> None:
        """The tags of the others do not count for it."""
        script = self.crowd[2]
        script.tags.remove(tag_of(script.key), category=TAG_CATEGORY)
        self.start()
        assert [None] == [each.work for each in self.crowd if each.work is None]
        assert None is script.work
        pump()
