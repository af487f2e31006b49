"""The server's side of workers on a real board: charges, jobs given back, and rows removed."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from evennia_ai.core.settings.services import WorkersConfig
from evennia_ai.errors import MemoryStoreError
from evennia_ai.llm.payments import may_be_charged
from evennia_ai.memory_store.hashing import HashingEmbedder
from evennia_ai.memory_store.port import Item
from evennia_ai.models import WorkJob
from evennia_ai.models.statements import unhurried
from evennia_ai.workers import bell, board, kinds
from evennia_ai.workers.port import NotBegunError, NoWorkerError, Run, WorkerError
from evennia_ai.workers.queued import Queued
from evennia_ai.workers.working import Worker

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.usefixtures("on_postgres")
ENDS = {kinds.EMBED: (3, kinds.poison(3)), kinds.ASK: (1, kinds.lost())}
ITEMS = [Item("a" * 32, "a boat", "room:object-2")]
# Longer than any test's time, so that only what is due at once happens.
POLL = 9.0
# Loses the connection at the end of a transaction that writes a job.
LOST = """
CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NULL; END';
CREATE CONSTRAINT TRIGGER lose AFTER INSERT ON evennia_ai_workjob
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lose();
"""


class Desk:
    """A server that asks workers, by a clock of its own.

    Attributes:
        told: the outcome of each request in their order; None: nothing yet.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self.work = Queued(WorkersConfig(poll_seconds=POLL), _no_memory, self.clock)  # type: ignore[arg-type]
        self.told: list[Any] = []

    def ask(
        self,
        kind: str = kinds.ASK,
        given: bytes = b"{}\n",
        *,
        assistant: int = 7,
        seconds: float = 60.0,
    ) -> Deferred[bytes]:
        """Ask for something, without putting it up yet."""
        place = len(self.told)
        self.told.append(None)

        def note(outcome: object) -> None:
            self.told[place] = outcome.value if isinstance(outcome, Failure) else outcome

        run = Run(assistant, 1, lambda: True)
        return self.work.do(run, kind, given, seconds=seconds).addBoth(note)

    def put_up(self, *given: Any, **named: Any) -> Deferred[bytes]:
        """Ask for something, and let it be put up."""
        asked = self.ask(*given, **named)
        self.clock.advance(0)
        return asked

    def look(self) -> None:
        """Let the server look for jobs that are over."""
        self.clock.advance(POLL)


def _no_memory() -> Any:
    raise AssertionError("no test here has memories")


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A server without jobs."""
    result = Desk()
    yield result
    result.work.close()


def key() -> str:
    """The key of the only job."""
    return str(WorkJob.objects.values_list("key", flat=True).get())


def claim(name: str = "one") -> board.Claimed | None:
    """Let a worker begin the only job."""
    return board.claim(key(), name, ENDS, {})


def test_the_games_thread_waits_for_no_disk(desk: Desk) -> None:
    """A job's commits are asynchronous in PostgreSQL."""
    with CaptureQueriesContext(connection) as seen:
        desk.put_up()
        claimed = claim()
        assert claimed is not None
        assert board.finish(claimed, b"{}", is_done=True)
        desk.look()
    assert [b"{}"] == desk.told
    assert 2 == sum("synchronous_commit" in query["sql"] for query in seen)
    with CaptureQueriesContext(connection) as seen, transaction.atomic(), unhurried():
        pass  # the outer transaction keeps its own setting
    assert not any("synchronous_commit" in query["sql"] for query in seen)


# ---- charges: only for what was begun ----------------------------------------------------------


def test_vectors_that_are_given_back_are_begun_by_nobody(desk: Desk) -> None:
    """No worker may start between the word that they cost nothing and the end of their row."""
    desk.put_up(kinds.EMBED, b"{}", seconds=1.0)
    row = key()
    desk.work._late(row)  # the clock would also run whatever else is due
    assert isinstance(desk.told[0], NotBegunError)
    assert board.claim(row, "one", ENDS, {}) is None


def test_a_call_that_is_given_back_is_begun_by_nobody(desk: Desk) -> None:
    asked = desk.put_up()
    row = key()
    asked.cancel()
    assert isinstance(desk.told[0], NoWorkerError)
    assert board.claim(row, "one", ENDS, {}) is None


def test_what_a_worker_began_is_not_given_back(desk: Desk) -> None:
    """It may have been charged for; its row goes in a moment."""
    desk.put_up(kinds.EMBED, b"{}", seconds=1.0)
    assert claim() is not None
    desk.clock.advance(1.0)
    assert type(desk.told[0]) is MemoryStoreError
    desk.clock.advance(0)
    assert not WorkJob.objects.exists()


def test_a_worker_that_came_first_is_waited_for(desk: Desk) -> None:
    """A server that gives a job back while a worker begins it hears that it has begun."""
    asked = desk.put_up()
    row, given = key(), connection.get_connection_params()
    options = {name: given[name] for name in ("dbname", "host", "port", "user") if name in given}
    with psycopg.connect(**options) as other:
        other.execute("UPDATE evennia_ai_workjob SET state = 'running', attempts = 1")
        ends = threading.Timer(0.5, other.commit)
        ends.start()
        asked.cancel()
        ends.join()
    assert type(desk.told[0]) is CancelledError
    desk.clock.advance(0)
    assert not WorkJob.objects.filter(key=row).exists()


def test_what_was_never_put_up_costs_nothing(desk: Desk) -> None:
    desk.ask().cancel()
    assert isinstance(desk.told[0], NoWorkerError)


def test_a_commit_that_was_lost_may_have_been_charged(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whether the job was written; it counts, and is taken back all the same."""
    with connection.cursor() as cursor:
        cursor.execute(LOST)
    taken: set[str] = set()
    drop = board.drop
    monkeypatch.setattr(board, "drop", lambda keys: (taken.update(keys), drop(keys)))
    desk.ask()
    desk.ask(kinds.EMBED, b"{}")
    asked = set(desk.work._open)
    desk.clock.advance(0)
    assert may_be_charged(desk.told[0])
    assert type(desk.told[1]) is MemoryStoreError
    assert asked == taken
    assert not desk.work._dropped


def test_a_table_that_is_gone_costs_nothing(desk: Desk) -> None:
    """A job that cannot be written was not sent."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE evennia_ai_workjob RENAME TO elsewhere")
    try:
        desk.put_up()
        desk.put_up(kinds.EMBED, b"{}")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE elsewhere RENAME TO evennia_ai_workjob")
    assert isinstance(desk.told[0], WorkerError)
    assert not may_be_charged(desk.told[0])
    assert isinstance(desk.told[1], NotBegunError)


# ---- unfit workers -----------------------------------------------------------------------------


async def _do(worker: Worker, row: str, times: int) -> None:
    try:
        for _ in range(times):
            await worker._do_job(row)
    finally:
        await worker._tools.close()
        await worker._threads.close()


def let_try(times: int) -> Worker:
    """Let a worker without any key, and with plain embeddings, come to the only job."""
    worker = Worker(WorkersConfig(), HashingEmbedder(), {}, 1000)
    asyncio.run(_do(worker, key(), times))
    return worker


GIVEN = [
    (kinds.ASK, kinds.ask_given("http://m/v1", "another", {}, b"{}")),
    (kinds.EMBED, kinds.embed_given("another/9", ITEMS)),
]


@pytest.mark.parametrize(("kind", "given"), GIVEN, ids=["ask", "embed"])
def test_an_unfit_worker_leaves_a_job_to_others(desk: Desk, kind: str, given: bytes) -> None:
    """It waits again as if nobody had begun it, with a new bell."""
    desk.put_up(kind, given)
    worker = let_try(1)
    row = WorkJob.objects.get()
    assert (board.WAITING, 0, given) == (row.state, row.attempts, bytes(row.given))
    with connection.cursor() as cursor:
        cursor.execute("SELECT args FROM procrastinate_jobs WHERE id = %s", [row.bell])
        assert row.key in str(cursor.fetchone())
    assert list(worker._problems) == [kind]
    claimed = claim("another")
    assert claimed is not None
    board.finish(claimed, b"made", is_done=True)
    desk.look()
    assert [b"made"] == desk.told


@pytest.mark.parametrize(("kind", "given"), GIVEN, ids=["ask", "embed"])
def test_what_all_leave_costs_nothing(desk: Desk, kind: str, given: bytes) -> None:
    """After the most refusals the requester is told, and gets back what was reserved."""
    desk.put_up(kind, given)
    let_try(board.MOST_REFUSALS)
    assert board.WAITING == WorkJob.objects.get().state
    let_try(1)
    desk.look()
    (error,) = desk.told
    if kind == kinds.ASK:
        assert isinstance(error, WorkerError)
        assert not may_be_charged(error)
    else:
        assert isinstance(error, NotBegunError)
    assert "give it the settings" in str(error) or "start it anew" in str(error)


def test_what_one_worker_began_and_others_leave_may_have_been_charged(desk: Desk) -> None:
    """The killed worker may have sent it."""
    desk.put_up(kinds.EMBED, kinds.embed_given("another/9", ITEMS))
    assert claim() is not None
    let_try(board.MOST_REFUSALS + 1)
    desk.look()
    assert type(desk.told[0]) is MemoryStoreError


def test_memories_that_changed_cost_nothing(desk: Desk) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE evennia_ai_memory (key text, text text, is_removed boolean)")
    desk.put_up(kinds.EMBED, kinds.embed_given(HashingEmbedder().signature, ITEMS))
    let_try(1)
    desk.look()
    assert isinstance(desk.told[0], NotBegunError)
    assert kinds.CHANGED in str(desk.told[0])


# ---- removal -----------------------------------------------------------------------------------


def test_a_stop_takes_jobs_back_at_once(desk: Desk) -> None:
    desk.put_up()
    desk.work.drop(7)
    desk.clock.advance(0)
    assert not WorkJob.objects.exists()


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_dead_servers_words_go(desk: Desk, is_begun: bool) -> None:
    """The requester is gone: no worker begins or continues the job, and its row goes."""
    desk.put_up(seconds=0.0)
    begun = claim() if is_begun else None
    with connection.cursor() as cursor:
        cursor.execute("UPDATE evennia_ai_workjob SET until = now() - interval '1 second'")
    if begun is not None:
        assert not board.is_wanted(begun)
        assert 1 == board.drop_late()
    else:
        assert claim() is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM procrastinate_jobs")
        assert (0,) == cursor.fetchone()
    assert not WorkJob.objects.exists()


def test_a_living_servers_words_stay(desk: Desk) -> None:
    desk.put_up()
    assert 0 == board.drop_late()
    begun = claim()
    assert begun is not None
    assert board.is_wanted(begun)


def test_what_hinders_one_job_hinders_no_other(desk: Desk) -> None:
    """A call left in the queue fails only the next call of that assistant."""
    with transaction.atomic():
        bell.ring("left over", f"{kinds.ASK}:7", bell.URGENT)
    desk.ask(assistant=7)
    desk.ask(kinds.EMBED, b"{}", assistant=8)
    desk.clock.advance(0)
    assert isinstance(desk.told[0], WorkerError)
    assert not may_be_charged(desk.told[0])
    assert desk.told[1] is None
    assert [8] == list(WorkJob.objects.values_list("assistant", flat=True))
    desk.put_up(assistant=9)
    assert 2 == WorkJob.objects.count()
    assert "queue" not in desk.work.standing().problem


def test_what_is_superseded_goes_though_the_next_cannot_be_put_up(desk: Desk) -> None:
    """No worker may send what nobody waits for."""
    desk.put_up()
    WorkJob.objects.update(bell=0)  # its bell is not found any more
    desk.put_up()
    desk.clock.advance(0)
    assert not WorkJob.objects.exists()
