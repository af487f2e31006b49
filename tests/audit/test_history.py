"""The record as a state machine: no gaps, and all ways to read it agree."""

import unittest
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from evennia_ai import audit
from evennia_ai.audit.aggregates import AssistantAggregate
from evennia_ai.audit.events import id_of
from evennia_ai.core.safety.audit_events import EVENTS, AuditEvent, audit_event, storable
from evennia_ai.models import RecordedEvent, RecordedSnapshot
from tests.audit.support import NOON, Clock, Script, UndoneError, subject, undone

NAMES = st.sampled_from([*EVENTS, "message_exceeded", "own"])
WORDS = st.sampled_from(
    [
        *("goal_id", "number", "tool_name", "success", "status", "key", "new_value", "kind", "cap"),
        *("by", "calls", "prompt_tokens", "config", "event", "more", "reason", "timestamp"),
        *("outcome", "originator_id"),
    ]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**20),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["completed", "dropped", "Ada"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["a", "_type_", "_data_"]), st.integers(), max_size=2),
)
FACTS = st.builds(AuditEvent, NAMES, st.dictionaries(WORDS, VALUES, max_size=6))


def wipe() -> None:
    RecordedEvent.objects.all().delete()
    RecordedSnapshot.objects.all().delete()


class Records(RuleBasedStateMachine):
    """One assistant, two server processes, and transactions that may be rolled back."""

    def __init__(self) -> None:
        super().__init__()
        self.ada = subject(Script())
        self.clock = Clock()
        self.writers = [audit.AuditWriter(clock=self.clock), audit.AuditWriter(clock=self.clock)]
        self.kept: Counter[str] = Counter()
        self.recorded: Counter[str] = Counter()
        self.number = 0

    @initialize()
    def begin(self) -> None:
        wipe()

    def teardown(self) -> None:
        wipe()

    def facts(self, names: list[str]) -> list[AuditEvent]:
        """Return events with a mark of their own."""
        self.number += 1
        return [audit_event(name, mark=self.number) for name in names]

    @rule(which=st.integers(0, 1), names=st.lists(NAMES, max_size=3))
    def keep(self, which: int, names: list[str]) -> None:
        """Write a checkpoint; after a conflict the second try must succeed."""
        facts = self.facts(names)
        for _ in range(2):
            with suppress(audit.RecordConflictError), transaction.atomic():
                self.writers[which].save(self.ada, facts)
                break
        else:
            raise AssertionError("two conflicts, with nobody else there")
        self.kept.update(names)

    @rule(which=st.integers(0, 1), names=st.lists(NAMES, min_size=1, max_size=3))
    def undo(self, which: int, names: list[str]) -> None:
        """Roll a checkpoint back."""
        with suppress(audit.RecordConflictError), undone(), transaction.atomic():
            self.writers[which].save(self.ada, self.facts(names))
            raise UndoneError

    @rule(which=st.integers(0, 1), inner=st.lists(NAMES, max_size=2), outer=st.lists(NAMES))
    def undo_inside(self, which: int, inner: list[str], outer: list[str]) -> None:
        """Roll back a savepoint inside a transaction that commits."""
        writer = self.writers[which]
        with suppress(audit.RecordConflictError):
            with transaction.atomic():
                writer.save(self.ada, self.facts(outer))
                with undone(), transaction.atomic():
                    writer.save(self.ada, self.facts(inner))
                    raise UndoneError
                writer.save(self.ada)
            self.kept.update(outer)

    @rule(which=st.integers(0, 1), name=NAMES)
    def record(self, which: int, name: str) -> None:
        """Record an event that waits for the next write."""
        self.writers[which].record(self.ada, self.facts([name])[0])
        self.recorded[name] += 1

    @rule(which=st.integers(0, 1))
    def flush(self, which: int) -> None:
        """Flush, as the timer does."""
        self.writers[which].flush()

    @rule(which=st.integers(0, 1))
    def restart(self, which: int) -> None:
        """Stop one server process and start another."""
        self.writers[which].stop()
        self.writers[which] = audit.AuditWriter(clock=self.clock)

    @invariant()
    def has_no_hole(self) -> None:
        """Check that versions are 1 to n in the order of writing."""
        rows = RecordedEvent.objects.order_by("id")
        versions = list(rows.values_list("originator_version", flat=True))
        assert list(range(1, len(versions) + 1)) == versions

    @invariant()
    def all_ways_agree(self) -> None:
        """Check that replay, snapshots and memory give the same state."""
        app = audit.application()
        if not app.count("Ada"):
            return
        newest = app.newest("Ada")
        events = app.events.get(self.ada.id)
        replayed: Any = None
        for event in events:
            replayed = event.mutate(replayed)  # type: ignore[attr-defined]
        assert newest.as_data() == replayed.as_data()
        for writer in self.writers:
            stream = writer._stream(self.ada)
            stream.settle()
            known = stream.aggregate
            if known is not None:
                assert app.at("Ada", known.version).as_data() == known.as_data()  # type: ignore[attr-defined]

    def flushed(self) -> Counter[str]:
        """Flush all writers, and count the stored events by name."""
        for writer in self.writers:
            writer.flush()
        return Counter(RecordedEvent.objects.values_list("event", flat=True))

    @rule()
    def nothing_is_lost_or_doubled(self) -> None:
        """Check that each kept or recorded event is stored once."""
        expected = Counter(dict.fromkeys(self.kept, 0))
        for name, count in (self.kept + self.recorded).items():
            expected[name] += count
        counts = self.flushed()
        counts.subtract(["AssistantCreated"] * (counts.total() > 0 and self.made_one()))
        assert +expected == +counts

    def made_one(self) -> int:
        """Return the number of AssistantCreated that the record added itself."""
        wanted = self.kept["AssistantCreated"] + self.recorded["AssistantCreated"]
        there = RecordedEvent.objects.filter(event="AssistantCreated").count()
        return there - wanted


class TestRecords(Records.TestCase):  # type: ignore[name-defined, misc]
    """Runs the state machine."""


@given(st.lists(FACTS, max_size=8))
def test_no_fact_spoils_a_record(facts: list[AuditEvent]) -> None:
    """Replaying stored events gives the same state as applying them live."""
    app = audit.application()
    live = AssistantAggregate.create(id_of("Ada"), "Ada", {}, NOON)
    for fact in facts:
        live.add(fact.event, storable(fact.details), NOON)
    replayed: Any = None
    for event in live.collect_events():
        read = app.mapper.to_domain_event(app.mapper.to_stored_event(event))
        replayed = read.mutate(replayed)  # type: ignore[attr-defined]
    assert live.as_data() == replayed.as_data()
    snapshot = app.mapper.to_stored_event(live.Snapshot.take(live))
    again: Any = app.mapper.to_domain_event(snapshot)
    assert live.as_data() == again.mutate(None).as_data()


@pytest.mark.parametrize(
    ("event", "name"),
    [
        pytest.param("ToolExecuted", "tool_name", id="tools"),
        pytest.param("GoalCreated", "goal_id", id="goals"),
        pytest.param("question_asked", "number", id="questions"),
        pytest.param("limit_denied", "kind", id="limits"),
        pytest.param("ConfigurationChanged", "key", id="settings"),
        pytest.param("own", "x", id="notes"),
    ],
)
def test_no_state_grows_without_end(event: str, name: str) -> None:
    """After 3,000 events of a kind the state is as large as after 1,000."""
    live = AssistantAggregate.create(id_of("Ada"), "Ada", {}, NOON)
    sizes = []
    for number in range(3_000):
        own = event if event != "own" else f"own {number:05}"
        live.add(own, {name: f"{number:05}", "new_value": 1, "description": "x" * 30_000}, NOON)
        live.collect_events()
        if number % 1_000 == 999:
            sizes.append(len(str(live.as_data())))
    assert sizes[0] == pytest.approx(sizes[-1], rel=0.05)
    assert sizes[-1] < 300_000


class TestKinds(unittest.TestCase):
    def setUp(self) -> None:
        self.live = AssistantAggregate.create(id_of("Ada"), "Ada", {"tick_rate": 5}, NOON)

    def tell(self, event: str, **details: Any) -> None:
        """Add an event."""
        self.live.add(event, storable(details), NOON)

    def test_tools_and_ticks(self) -> None:
        self.tell("ToolExecuted", tool_name="say")
        self.tell("ToolExecuted", tool_name="look", success=False)
        self.tell("TickCompleted", calls=2, prompt_tokens=30, completion_tokens=4)
        self.tell("UsageCounted", purpose="summary", calls=1, prompt_tokens=5)
        assert (2, {"say": 1, "look": 1}, {"look": 1}, "look") == (
            self.live.tool_count,
            self.live.tool_stats,
            self.live.tool_errors,
            self.live.last_tool,
        )
        expected = {"calls": 3, "prompt_tokens": 35, "completion_tokens": 4}
        assert (1, expected) == (self.live.tick_count, self.live.usage)

    def test_goals(self) -> None:
        for number in (1, 2, 3):
            self.tell("GoalCreated", goal_id=number, description=f"goal {number}")
        self.tell("GoalUpdated", goal_id=3, status="dropped")
        self.tell("GoalUpdated", goal_id=2, priority=9)
        self.tell("GoalCompleted", goal_id=1, outcome="done")
        self.tell("GoalUpdated", goal_id=7, status="completed")
        assert ["2"] == list(self.live.goals)
        assert ("goal 2", 9) == tuple(
            self.live.goals["2"][name] for name in ("description", "priority")
        )
        assert [1, 7] == [goal["goal_id"] for goal in self.live.completed_goals]
        assert "done" == self.live.completed_goals[0]["outcome"]

    def test_stops(self) -> None:
        """The cause is known until the stop is cleared."""
        self.tell(
            "EmergencyStopTriggered", cause="loop", reason="again and again", by="Tom", at=3.0
        )
        expected = {"cause": "loop", "reason": "again and again", "by": "Tom"}
        assert (True, expected) == (self.live.is_stopped, self.live.lockout)
        self.tell("EmergencyStopCleared", cleared_by="Tom", cause="loop")
        assert (False, {}) == (self.live.is_stopped, self.live.lockout)

    def test_questions(self) -> None:
        """A question stays open until it is answered or times out."""
        for number in range(1, 4):
            self.tell("question_asked", number=number, kind="limit steps", key="k", people=["*#3"])
        self.tell("question_answered", number=1, choice="yes")
        self.tell("question_timeout", number=2)
        assert {"3": {"kind": "limit steps", "key": "k", "people": ["*#3"]}} == self.live.questions
        assert {"question_answered": 1, "question_timeout": 1} == self.live.noted

    def test_settings_and_the_rest(self) -> None:
        self.tell("ConfigurationChanged", key="tick_rate", old_value=5, new_value=9)
        self.tell("limit_denied", kind="steps", used=5, cap=5)
        self.tell("budget_raised", cap="tokens_per_day", amount=5)
        self.tell("HistoryReset")
        self.tell("ReflectionRecorded", content="hm")
        self.tell("AssistantArchived", reason="deleted")
        assert {"tick_rate": 9} == self.live.settings
        assert {"steps": 1} == self.live.limits
        assert {"budget_raised": 1, "HistoryReset": 1} == self.live.noted
        assert (1, True) == (self.live.reflection_count, self.live.is_archived)
