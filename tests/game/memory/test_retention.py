"""Retention of memories by age, by number and by importance."""

from typing import Any

from evennia_ai.core.keys import new_key
from evennia_ai.core.memory.recollection import DAY_SECONDS, Recollection
from evennia_ai.memory import retention
from evennia_ai.memory_store import rows
from evennia_ai.models import Memory
from evennia_ai.runtime import state
from tests.game.memory.memory_case import MemoryTest

NOW = 1000 * DAY_SECONDS


class TestRetention(MemoryTest):
    def keep(self, text: str, *, days: float = 0, kind: str = "journal", **more: Any) -> None:
        is_consolidated = more.pop("is_consolidated", False)
        at = NOW - days * DAY_SECONDS
        memory = Recollection(new_key(), kind, text, "world", at=at, **more)
        rows.insert(self.ada_script.pk, [memory])
        rows.change(self.ada_script.pk, memory.key, is_consolidated=is_consolidated)

    def overdue(self, **config: Any) -> str:
        """The texts that need not be kept under these settings."""
        state.write(self.ada_script, memory_config=config)
        texts = dict(Memory.objects.values_list("key", "text"))
        return " ".join(texts[key] for key in retention.overdue(self.ada_script, NOW))

    def test_nothing_to_begin_with(self) -> None:
        self.keep("fresh", importance=1)
        assert "" == self.overdue()

    def test_unimportant_entries_go_after_a_month(self) -> None:
        """Important ones, facts, and entries that facts were drawn from stay."""
        self.keep("dull", days=31, importance=3)
        self.keep("dear", days=31, importance=4)
        self.keep("drawn", days=31, importance=3, is_consolidated=True)
        self.keep("fact", days=31, importance=3, kind="fact")
        assert "dull" == self.overdue()
        assert "" == self.overdue(journal_days=32)

    def test_all_go_after_the_days_that_are_set(self) -> None:
        self.keep("fact", days=11, kind="fact", importance=10)
        self.keep("drawn", days=11, is_consolidated=True)
        self.keep("lore", days=11, kind="lore")
        self.keep("new", days=9)
        assert "fact drawn" == self.overdue(retention_days=10)

    def test_nothing_is_named_twice(self) -> None:
        self.keep("dull", days=31, importance=1)
        assert "dull" == self.overdue(retention_days=10)

    def test_more_entries_than_are_kept_as_written(self) -> None:
        """Only entries that facts were drawn from leave, the least important first."""
        for number in range(10):
            self.keep(f"new{number}")
        self.keep("dear", days=3, importance=9, is_consolidated=True)
        self.keep("dull", days=2, importance=4, is_consolidated=True)
        assert "" == self.overdue(journal_entries=12)
        assert "dull" == self.overdue(journal_entries=11)
        assert "dull dear" == self.overdue(journal_entries=10)

    def test_too_many_memories(self) -> None:
        """The least important of the oldest leave, after those that leave anyway."""
        memories = [
            Recollection(new_key(), "fact", f"f{n}", "world", at=NOW + n, importance=5 + n % 2)
            for n in range(110)
        ]
        rows.insert(self.ada_script.pk, memories)
        assert "" == self.overdue(max_memories=110)
        assert "f0 f2 f4" == self.overdue(max_memories=107)
        self.keep("dull", days=31, importance=1)
        self.keep("lore", days=31, kind="lore")
        assert "dull" == self.overdue(max_memories=109)
        assert 1 == retention.prune(self.ada_script, NOW)
        assert "f0" == self.overdue(max_memories=109)

    def test_a_portion_at_a_time(self) -> None:
        """A large backlog must not hold up the game."""
        memories = [
            Recollection(new_key(), "journal", f"f{n}", "world", at=n, importance=1)
            for n in range(250)
        ]
        rows.insert(self.ada_script.pk, memories)
        state.write(self.ada_script, memory_config={})
        counts = [retention.prune(self.ada_script, NOW) for _ in range(3)]
        assert [retention.MOST_AT_ONCE, 50, 0] == counts

    def test_another_assistants_memories_are_no_matter(self) -> None:
        bo, _ = self.make("Bo")
        rows.insert(bo.pk, [Recollection(new_key(), "journal", "x", "world", importance=1)])
        assert "" == self.overdue()

    def test_pruning(self) -> None:
        self.keep("dull", days=31, importance=1)
        self.keep("dear", days=31)
        assert (1, 0) == tuple(retention.prune(self.ada_script, NOW) for _ in range(2))
        assert ["", "dear"] == list(Memory.objects.order_by("id").values_list("text", flat=True))
