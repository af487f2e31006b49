"""Stored events stay readable after the code has moved."""

import subprocess
import sys
from pathlib import Path

from evennia_ai import audit
from evennia_ai.audit.aggregates import GameAggregate
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.models import RecordedEvent
from tests.audit.support import AuditTest, notes

MOVED = """
import importlib.util, json, sys
from uuid import UUID
from eventsourcing.domain import datetime_now_with_tzinfo
from eventsourcing.utils import resolve_topic
spec = importlib.util.spec_from_file_location("somewhere.quite.different", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
found = None
for version, topic, state in json.loads(sys.argv[2]):
    event = object.__new__(resolve_topic(topic))
    told = {"originator_id": UUID(int=7), "originator_version": version, **state}
    event.__dict__.update(told, timestamp=datetime_now_with_tzinfo())
    found = event.mutate(found)
print(type(found).__module__, found.tool_stats, found.noted, "evennia_ai.audit" in sys.modules)
"""


class TestTopics(AuditTest):
    def test_no_topic_names_a_module(self) -> None:
        for aggregate in (audit.AssistantAggregate, GameAggregate):
            for name, kind in aggregate.kinds.items():
                assert f"{aggregate.TOPIC}:{name}" == kind.TOPIC
        self.fill(100)
        topics = set(RecordedEvent.objects.values_list("topic", flat=True))
        assert {"assistant:AssistantCreated", "assistant:TickCompleted"} == topics
        stored = audit.application().snapshots.recorder.select_events(self.ada.id)  # type: ignore[union-attr]
        assert "snapshot" == stored[0].topic
        assert b"evennia_ai" not in stored[0].state

    def test_moved_code_opens_what_is_stored(self) -> None:
        """Another interpreter loads the same code as another module and reads the history."""
        self.writer.save(self.ada, [audit_event("ToolExecuted", tool_name="say"), *notes("own")])
        rows = RecordedEvent.objects.order_by("id").values_list(
            "originator_version", "topic", "state"
        )
        records = ", ".join(
            f'[{version}, "{topic}", {bytes(s).decode()}]' for version, topic, s in rows
        )
        path = Path(sys.modules[audit.AssistantAggregate.__module__].__file__ or "")
        run = subprocess.run(
            [sys.executable, "-c", MOVED, str(path), f"[{records}]"],
            capture_output=True,
            text=True,
            check=True,
            cwd=path.parents[2],
        )
        assert "somewhere.quite.different {'say': 1} {'own': 1} False\n" == run.stdout

    def test_what_a_later_version_wrote_opens_as_a_note(self) -> None:
        """After a downgrade, the older version still reads the record."""
        self.writer.save(self.ada, [audit_event("ToolExecuted", tool_name="say")])
        RecordedEvent.objects.filter(originator_version=2).update(topic="assistant:ToolImagined")
        assistant = audit.application().newest("Ada")
        assert ({"ToolImagined": 1}, 0) == (assistant.noted, assistant.tool_count)
        audit.start_anew()
        audit.save(self.script, notes("own"))
        assert ["AssistantCreated", "ToolExecuted", "own"] == self.events()
