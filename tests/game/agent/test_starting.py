"""The start of many assistants, whose first data are read for all of them together."""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from evennia_ai.approvals import store
from evennia_ai.audit import flush, record
from evennia_ai.audit.events import subject_of
from evennia_ai.core.safety.questions import ApprovalRequest, Question
from evennia_ai.models import RecordedEvent, RemoteTask
from evennia_ai.runtime.tagged import TAG_CATEGORY, tag_of
from evennia_ai.tasks import remote_tasks
from tests.game.support import GameTest, pump

TABLES = (
    *("scripts_scriptdb_db_attributes", "objects_objectdb", "scripts_scriptdb_db_tags"),
    *(f"evennia_ai_{name}" for name in ("recordedevent", "storedquestion", "remotetask")),
)
MAY_I = ApprovalRequest("call 7", "tool.dig", "may I dig?", actor="Ada")


def end(script: Any) -> None:
    """Let a script be as in a process that has just begun."""
    script.at_server_shutdown()
    script.work = None
    script.attributes.reset_cache()
    script._state.fields_cache.clear()


class TestStarting(GameTest):
    """A new process starts five assistants one after the other, as Evennia does."""

    def setUp(self) -> None:
        super().setUp()
        self.crowd = [self.ada_script, *(self.make(f"Brass{n}")[0] for n in range(4))]
        for script in self.crowd:
            end(script)

    def start(self) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            for script in self.crowd:
                script.at_start()
        return [query["sql"] for query in queries]

    def events(self, script: Any, **which: Any) -> Any:
        """Rows of an assistant's audit log."""
        subject = subject_of(script)
        return RecordedEvent.objects.filter(originator_id=subject.id, **which)

    def test_each_table_is_read_once_for_all(self) -> None:
        statements = self.start()
        counts = [sum(f'FROM "{table}"' in each for each in statements) for table in TABLES]
        assert [1] * len(TABLES) == counts, statements
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

    def test_what_a_restart_interrupted_is_resumed(self) -> None:
        """A question is put again, and a task that nobody waits for is ended."""
        asks, delegates, upgraded, *_ = self.crowd
        question = Question(MAY_I, number=80, call={"tool": "dig", "arguments": {}})
        with transaction.atomic():
            store.insert(asks, question)
        RemoteTask.objects.create(
            id="k",
            assistant=delegates.pk,
            agent="atlas",
            chain="c",
            hops=1,
            task="",
            state=remote_tasks.OPEN,
            began_at=1.0,
            ended_at=0.0,
        )
        upgraded.attributes.add(store.OLD, [replace(question, number=90).as_stored()])
        self.start()
        assert [[MAY_I.key], [], [MAY_I.key], [], []] == [
            [question.asking.key for question in script.work.questions or ()]
            for script in self.crowd
        ]
        assert remote_tasks.FAILED == RemoteTask.objects.get(pk="k").state
        pump()

    def test_an_audit_log_is_begun_only_where_there_is_none(self) -> None:
        """Of an archived log the first event is gone."""
        none, archived, *_ = self.crowd
        self.events(none).delete()
        record("hushed", archived)
        flush()
        self.events(archived, originator_version=1).delete()
        end(archived)
        self.start()
        flush()
        begun = [self.events(script, event="AssistantCreated").count() for script in self.crowd]
        assert [1, 0, 1, 1, 1] == begun
        pump()

    def test_all_start_without_a_table_of_rare_rows(self) -> None:
        """Before `evennia migrate` a table may be missing; then each looks itself."""
        failing = {"side_effect": DatabaseError("no such table")}
        with patch.object(remote_tasks, "unfinished_among", **failing):
            self.start()
        assert all(script.work is not None for script in self.crowd)
        pump()

    def test_locks_of_bodies_are_parsed_after_the_start(self) -> None:
        for script in self.crowd:
            script.obj.__dict__.pop("locks", None)
        self.start()
        parsed = [script.obj for script in self.crowd if "locks" in script.obj.__dict__]
        assert [] == parsed
        pump()
        assert all("locks" in script.obj.__dict__ for script in self.crowd)
