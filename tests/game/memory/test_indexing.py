"""Indexing of memories: nothing is lost while the store is down, nothing forgotten stays."""

import math
from unittest import mock

from django.db import connection
from django.test.utils import CaptureQueriesContext

from evennia_ai.core.keys import new_key
from evennia_ai.core.memory.recollection import Recollection, person_audience
from evennia_ai.memory import indexing, saving
from evennia_ai.memory.indexing import BATCH
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.port import MemoryQuery
from evennia_ai.models import Memory, MemoryVector
from evennia_ai.runtime import services, state
from tests.game.memory.memory_case import MemoryTest
from tests.game.support import whispers


class TestIndexing(MemoryTest):
    def keep(self, count: int) -> list[str]:
        """Store new memories that wait for the index, and return their keys."""
        memories = [Recollection(new_key(), "fact", f"fact {n}", "world") for n in range(count)]
        saving.save(self.ada_script, memories)
        return [memory.key for memory in memories]

    def drop(self, key: str) -> None:
        rows.remove(self.ada_script.pk, [key])
        indexing.soon(self.ada_script)

    def test_what_is_kept_is_read_soon_after(self) -> None:
        keys = self.keep(2 * BATCH + 1)
        assert (2 * BATCH + 1, 0) == self.waiting_rows()
        self.catch_up()
        assert set(keys) == self.in_store()
        assert ["add"] * 3 == self.store.calls
        assert {services.memory().signature} == set(
            Memory.objects.values_list("indexed_as", flat=True)
        )

    def test_once_for_many(self) -> None:
        for _ in range(3):
            self.keep(1)
        self.catch_up()
        assert ["add"] == self.store.calls

    def test_a_mere_question_waits_for_nothing(self) -> None:
        """An entry that is only found by its words needs no vector."""
        self.ask("whisper Ada = where are the books?", whispers("Upstairs."))
        assert [rows.NO_VECTOR] == list(Memory.objects.values_list("indexed_as", flat=True))
        with self.assertNumQueries(0):
            self.clock.advance(indexing.QUIET_SECONDS)
        assert ["words"] == self.store.calls

    def test_an_idle_assistant_asks_nothing(self) -> None:
        self.keep(1)
        self.catch_up()
        self.store.calls.clear()
        with self.assertNumQueries(0):
            self.clock.advance(100_000)
        assert [] == self.store.calls

    def test_what_is_forgotten_leaves_the_store_and_the_table(self) -> None:
        """The words go at once, the row when the store has confirmed."""
        first, second = self.keep(2)
        self.catch_up()
        self.drop(first)
        assert ["", "fact 1"] == list(Memory.objects.order_by("id").values_list("text", flat=True))
        self.catch_up()
        assert ({second}, 1) == (self.in_store(), Memory.objects.count())

    def test_a_store_that_is_down_loses_nothing(self) -> None:
        """Waiting memories are retried at growing intervals and with the next memory."""
        self.store.is_down = True
        (key,) = self.keep(1)
        self.catch_up()
        assert (1, 0) == self.waiting_rows()
        assert "unplugged" in indexing.status(self.ada_script).problem
        first, second = self.waits(2)
        assert 2.5 <= first < 5
        assert math.isclose(2 * first, second)
        assert 3 == len(self.store.calls)
        self.store.is_down = False
        services.memory().breaker.reset()
        self.waits(1)
        assert {key} == self.in_store()
        assert ((0, 0), "") == (self.waiting_rows(), indexing.status(self.ada_script).problem)

    def waits(self, count: int) -> list[float]:
        """Let the store be retried `count` times, and return the seconds before each."""
        delays = []
        for _ in range(count):
            began, due = self.clock.seconds(), self.ada_script.work.indexing.retry.getTime()
            self.advance(due - began)
            delays.append(due - began)
        return delays

    def test_many_that_wait_for_the_store_do_not_ask_it_at_once(self) -> None:
        """Retries are spread, though all assistants lost the store at one moment."""
        crowd = [self.ada_script, *(self.make(f"Brass{n}")[0] for n in range(9))]
        self.store.is_down = True
        for script in crowd:
            script.clock = self.clock
            saving.save(script, [Recollection(new_key(), "fact", "a fact", "world")])
        self.catch_up()
        due = sorted(script.work.indexing.retry.getTime() for script in crowd)
        assert len(crowd) == len({round(each, 1) for each in due})
        assert max(due) - min(due) < 2.5

    def test_forgetting_waits_for_a_store_that_is_down(self) -> None:
        (key,) = self.keep(1)
        self.catch_up()
        self.store.is_down = True
        self.drop(key)
        self.catch_up()
        assert ((0, 1), set()) == (self.waiting_rows(), self.in_store()), "its vector is gone"
        self.store.is_down = False
        indexing.soon(self.ada_script)
        self.catch_up()
        assert ((0, 0), set()) == (self.waiting_rows(), self.in_store())

    def test_a_memory_that_changes_while_it_is_read_is_read_again(self) -> None:
        """The store must not hold old words that the table takes for indexed."""
        (key,) = self.keep(1)

        def change() -> None:
            self.store.before_add = None
            rows.change(self.ada_script.pk, key, audience=person_audience("*#3"))

        self.store.before_add = change
        self.catch_up()
        assert ["add", "add"] == self.store.calls
        assert (0, 0) == self.waiting_rows()

    def test_a_memory_that_is_forgotten_while_it_is_read_does_not_stay(self) -> None:
        (key,) = self.keep(1)
        self.store.before_add = lambda: rows.remove(self.ada_script.pk, [key])
        self.catch_up()
        assert (set(), 0) == (self.in_store(), Memory.objects.count())

    def test_lore_is_not_read(self) -> None:
        rows.insert(self.ada_script.pk, [Recollection(new_key(), "lore", "Old.", "world")])
        indexing.soon(self.ada_script)
        self.catch_up()
        assert ([], (0, 0)) == (self.store.calls, self.waiting_rows())

    def test_one_run_at_a_time(self) -> None:
        begun = []
        self.store.before_add = lambda: begun.append(indexing.apply(self.ada_script))
        self.keep(BATCH + 1)
        self.catch_up()
        assert (["add"] * 2, BATCH + 1) == (self.store.calls, len(self.in_store()))
        assert [0, 0] == [run.result for run in begun]

    def test_a_run_that_waited_ends_with_its_assistant(self) -> None:
        """The assistant may be deleted while a run waits."""
        begun, work = [], self.ada_script.work

        def delete() -> None:
            begun.append(indexing.apply(self.ada_script))
            self.ada_script.work = None

        self.store.before_add = delete
        self.keep(1)
        self.catch_up()
        self.ada_script.work = work
        assert [0] == [run.result for run in begun]

    def test_a_stopped_assistant_writes_nothing(self) -> None:
        """Results that arrive after the end of its process life are dropped."""
        self.keep(1)
        self.ada_script.work.is_closing = True
        with self.assertNumQueries(0):
            self.catch_up()
        self.ada_script.work.is_closing = False
        work, self.ada_script.work = self.ada_script.work, None
        indexing.soon(self.ada_script)
        assert 0 == indexing.apply(self.ada_script).result
        self.ada_script.work = work

    def test_who_remembers_nothing_opens_no_store(self) -> None:
        """Earlier memories can still be forgotten."""
        (key,) = self.keep(1)
        self.catch_up()
        self.store.calls.clear()
        state.write(self.ada_script, memory_config={"enabled": False})
        self.keep(1)
        self.catch_up()
        assert [] == self.store.calls
        self.drop(key)
        self.catch_up()
        assert (["remove"], set()) == (self.store.calls, self.in_store())

    def test_what_is_for_no_audience_is_for_nobody(self) -> None:
        """An invalid audience from a caller must block nothing and reveal nothing."""
        wrong = Recollection(new_key(), "fact", "secret", "*", trust=7.0)
        saving.save(self.ada_script, [wrong])
        self.catch_up()
        row = Memory.objects.get()
        assert ("person:nobody", 1.0, {row.key}) == (row.audience, row.trust, self.in_store())

    def test_too_many_are_pruned_now_and_then(self) -> None:
        state.write(self.ada_script, memory_config={"max_memories": 100})
        self.keep(120)
        self.catch_up()
        assert (100, 100) == (Memory.objects.count(), len(self.in_store()))


class TestQuestions(MemoryTest):
    """Queries of the table, which may hold 100,000 memories of an assistant."""

    def test_no_question_reads_all_that_an_assistant_has(self) -> None:
        """Each query uses more columns of an index than the assistant's."""
        key = self.ada_script.pk
        with CaptureQueriesContext(connection) as asked:
            rows.waiting(key, 16)
            rows.count_waiting(key)
            rows.other_models([key], "new/8")
            rows.spoken_at(key, "*#3", 16)
        for query in asked.captured_queries:
            assert self.is_found_by_index(query["sql"]), query["sql"]

    def is_found_by_index(self, sql: str) -> bool:
        """True if the plan uses an index by more than the assistant's column."""
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
                return "(assistant=? AND " in cursor.fetchall()[0][-1]
            # With the few rows of a test PostgreSQL would choose a sequential scan.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN {sql}")
            plan = " ".join(row[0] for row in cursor.fetchall())
            return "Index Cond: (" in plan or "Index Scan" in plan


class TestReindex(MemoryTest):
    """Another embedding model, or a store that lost its vectors."""

    def setUp(self) -> None:
        """Forty memories have vectors of an older model."""
        super().setUp()
        for number in range(40):
            self.remember(f"fact {number}")
        Memory.objects.update(indexed_as="old/8")
        MemoryVector.objects.update(model="old/8")
        self.ada_script.work.indexing = None
        self.told: list[tuple[int, int]] = []

    def report(self, done: int, total: int) -> None:
        self.told.append((done, total))

    def test_a_changed_model_is_told(self) -> None:
        status = indexing.status(self.ada_script)
        assert (0, 40) == (status.waiting, status.stale)
        expected = (
            f"the embedding model changed (old/8 to {status.model}): 40 memories have to be read "
            "again; aimemory Ada reindex"
        )
        assert expected == status.problem == indexing.stale_problem(self.ada_script)
        assert "" == services.memory().absence, "words find them"

    def test_it_is_asked_once(self) -> None:
        """Two queries for any number of assistants, and then none."""
        brass, _ = self.make("Brass")
        with self.assertNumQueries(2):
            problem = indexing.stale_problem(brass, self.ada_script)
        assert "40 memories have to be read again; aimemory Ada reindex" in problem
        with self.assertNumQueries(0):
            assert problem == indexing.stale_problem(self.ada_script)
            assert "" == indexing.stale_problem(brass)

    def test_reindex_reads_everything_again(self) -> None:
        assert 40 == indexing.reindex(self.ada_script, self.report).result
        assert [(n, 40) for n in range(BATCH, 40, BATCH)] + [(40, 40)] == self.told
        assert (40, "") == (len(self.in_store()), indexing.stale_problem(self.ada_script))

    def test_a_reindex_that_is_cut_off_goes_on(self) -> None:
        """The table holds the progress, so nothing is indexed twice."""
        done = []

        def unplug() -> None:
            self.store.is_down = bool(done)
            done.append(1)
            self.store._asked("middle")

        self.store.before_add = unplug
        assert BATCH == indexing.reindex(self.ada_script).result
        assert ((40 - BATCH, 0), BATCH) == (self.waiting_rows(), len(self.in_store()))
        self.store.is_down, self.store.before_add = False, None
        self.ada_script.work.indexing = None
        assert 40 - BATCH == indexing.apply(self.ada_script).result
        assert 40 == len(self.in_store())

    def test_what_the_store_lost_is_put_in_again(self) -> None:
        """A restored backup may lack the vectors."""
        signature = services.memory().signature
        Memory.objects.update(indexed_as=signature)
        MemoryVector.objects.update(model=signature)
        lost = next(iter(self.in_store()))
        MemoryVector.objects.filter(memory__key=lost).delete()
        assert 1 == indexing.reindex(self.ada_script).result
        assert set(Memory.objects.values_list("key", flat=True)) == self.in_store()

    def test_a_game_of_before_loses_nothing(self) -> None:
        """An older version kept vectors in a folder; they are made anew."""
        signature = services.memory().signature
        Memory.objects.update(indexed_as=signature)
        MemoryVector.objects.all().delete()
        last = Memory.objects.latest("id")
        Memory.objects.filter(pk=last.pk).update(text="the smith owes Tom a lantern")
        sought = MemoryQuery(self.ada_script.pk, "who has my lantern?", ("world",), 1)
        assert [last.key] == [hit.key for hit in self.store.search_words(sought).hits]
        self.ada_script.work.indexing = None
        assert 40 == indexing.apply(self.ada_script).result
        assert set(Memory.objects.values_list("key", flat=True)) == self.in_store()

    def test_a_server_that_lost_vectors_and_has_others(self) -> None:
        """Their number is as before where a restored server has those of forgotten memories."""
        signature = services.memory().signature
        Memory.objects.update(indexed_as=signature)
        MemoryVector.objects.update(model=signature)
        there = self.in_store()
        lost = there.pop()
        MemoryVector.objects.filter(memory__key=lost).delete()
        self.enterContext(mock.patch.object(services.memory(), "_kind", "qdrant"))
        keys = mock.patch.object(self.store, "keys", return_value={*there, "f" * 32})
        self.enterContext(keys)
        self.ada_script.work.indexing = None
        assert 1 == indexing.apply(self.ada_script).result
        assert lost in self.in_store()

    def test_a_start_looks_once_at_what_has_vectors(self) -> None:
        """One statement counts rows, one counts vectors, two read what waits."""
        self.ada_script.work.indexing = None
        assert 40 == indexing.reindex(self.ada_script).result
        self.ada_script.work.indexing = None
        self.store.calls.clear()
        with self.assertNumQueries(4):
            assert 0 == indexing.apply(self.ada_script).result
        assert ["keys"] == self.store.calls
        with self.assertNumQueries(2):
            assert 0 == indexing.apply(self.ada_script).result

    def test_a_store_that_is_down_is_not_asked_to_forget_what_was_read(self) -> None:
        self.store.is_down = True
        assert 0 == indexing.reindex(self.ada_script).result
        assert 40 == indexing.status(self.ada_script).stale
