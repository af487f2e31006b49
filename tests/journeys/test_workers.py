"""Workers beside a real game on PostgreSQL: vectors, nights, kills, stops, and reports."""

import os
import signal
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.journeys.clients import Player
from tests.journeys.game import Game
from tests.journeys.staging import run
from tests.journeys.worker_bed import Bed, at_work, running_bed, until
from tests.journeys.worker_nights import fall_asleep, morning

# Memories that a game's own code adds, without a speaker.
REMEMBER = """
from evennia_ai.core.memory.recollection import Recollection, place_audience
from evennia_ai.memory import indexing
from evennia_ai.memory_store import rows
from uuid import uuid4
import time
made = [
    Recollection(uuid4().hex, "fact", "The %s boat lies in the harbour." % number,
        place_audience("say", "#2"), person="", place="#2", at=time.time())
    for number in range({count})
]
rows.insert(ada.pk, made)
indexing.soon(ada)
"""
UNREAD = "SELECT count(*) FROM evennia_ai_memory WHERE indexed_as = '' AND kind <> 'lore'"
VECTORS = "SELECT count(*) FROM evennia_ai_memoryvector"
JOBS = "SELECT count(*) FROM evennia_ai_workjob"


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    # Not in pytest's folder, from which another run may take the database user's read access.
    with (
        TemporaryDirectory(prefix="evennia-ai-workers-") as folder,
        running_bed(Path(folder), {}) as result,
    ):
        yield result


@pytest.fixture(scope="module")
def game(bed: Bed) -> Game:
    """The game, for the report of a failure."""
    return bed.game


@pytest.fixture
def owner(bed: Bed) -> Iterator[Player]:
    with bed.game.log_in_admin() as player:
        yield player


def remember(owner: Player, count: int) -> None:
    """Add memories of Ada's, and let their vectors be made."""
    run(owner, REMEMBER.format(count=count))


def test_memories_get_vectors_by_workers(bed: Bed, owner: Player) -> None:
    remember(owner, 100)
    until(lambda: bed.rows(JOBS)[0][0])
    assert [(0,)] == bed.rows(VECTORS)
    bed.start_workers(1)
    until(lambda: bed.rows(UNREAD) == [(0,)], told=bed.log())
    assert [(100,)] == bed.rows(VECTORS)
    until(lambda: bed.rows(JOBS) == [(0,)])


NIGHT_KINDS = ("importance", "facts", "portrait", "questions", "insights")


def killer(bed: Bed, moments: set[str]) -> None:
    """Kill the worker that asks the model, once for each kind of request."""
    left, lock = set(moments), threading.Lock()

    def before(kind: str) -> None:
        with lock:
            if kind in left:
                left.remove(kind)
                assert 3 == sum(each.poll() is None for each in bed.workers)
                bed.kill(until(lambda: at_work(bed))[0])
                bed.start_worker()

    bed.model.before = before


def test_any_worker_is_killed_at_every_step_of_a_night(bed: Bed, owner: Player) -> None:
    """Whichever of three workers dies, nothing is lost and nothing is made twice."""
    bed.start_workers(3 - len(bed.workers))
    fall_asleep(owner)
    undisturbed = morning(bed, owner)
    assert {*NIGHT_KINDS} <= {*bed.model.asked}
    assert {} == undisturbed["put_off"]
    texts = [text for _, text, *_ in undisturbed["memories"]]
    assert len(texts) == len(
        {(text, audience) for _, text, audience, *_ in undisturbed["memories"]}
    )
    calls = len(bed.model.asked)
    killer(bed, {*NIGHT_KINDS})
    try:
        fall_asleep(owner)
        assert undisturbed == morning(bed, owner)
    finally:
        bed.model.before = lambda kind: None
    assert calls + len(NIGHT_KINDS) == len(bed.model.asked) - calls
    assert [(0,)] == bed.rows(JOBS)
    assert bed.model.keys == {f"Bearer {bed.game.env['OPENAI_API_KEY']}"}
    # A call that is sent twice is counted twice, so that a worker's death passes no cap.
    paid = "SELECT state, count(*) FROM evennia_ai_modelcall GROUP BY state"
    assert len(bed.model.asked) == sum(count for _, count in bed.rows(paid))


# Such a result is written slowly, and not at all once its worker is gone.
LINGER = """
CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN PERFORM pg_sleep(30); RETURN NEW; END';
CREATE TRIGGER linger BEFORE UPDATE ON evennia_ai_workjob FOR EACH ROW
WHEN (NEW.kind = 'embed' AND NEW.state = 'done') EXECUTE FUNCTION linger();
"""


def test_a_worker_is_killed_with_vectors_in_its_hands(bed: Bed, owner: Player) -> None:
    bed.end_workers()
    (name,) = bed.rows("SELECT current_database()")[0]
    bed.change(f"ALTER DATABASE {name} SET client_connection_check_interval = '100ms'")
    bed.change(LINGER)
    bed.start_workers(3)
    before = bed.rows(VECTORS)[0][0]
    remember(owner, 10)
    bed.kill(until(lambda: at_work(bed))[0])
    bed.change("DROP FUNCTION linger CASCADE")
    until(lambda: bed.rows(UNREAD) == [(0,)], told=bed.log())
    assert [(before + 10,)] == bed.rows(VECTORS)
    assert [(0,)] == bed.rows(JOBS)


def whisper_of_model() -> str:
    return "They spoke about the weather"


def test_without_workers_health_says_so_and_talk_goes_on(bed: Bed, owner: Player) -> None:
    """Memories without vectors are still found by their words."""
    bed.end_workers()
    remember(owner, 20)
    until(lambda: bed.rows(JOBS)[0][0])
    owner.ask("assistant status ada", r"workers +0 at work; \d+ jobs? waiting.*evennia ai_worker")
    url = f"http://127.0.0.1:{bed.game.ports.web}/api/ai/health/"
    with urllib.request.urlopen(url) as answer:
        assert b'"workers":"failed"' in answer.read().replace(b" ", b"")
    owner.ask("whisper ada = what lies in the harbour?", whisper_of_model())
    text = run(owner, FOUND, 30)
    assert "boat" in text.casefold()
    bed.start_workers(1)
    until(lambda: bed.rows(UNREAD) == [(0,)], told=bed.log())
    owner.ask("assistant status ada", r"workers +1 at work; 0 jobs waiting")


FOUND = """
from evennia_ai.core.memory.recollection import place_audience
from evennia_ai.memory_store.port import MemoryQuery
from evennia_ai.runtime import services
store = services.memory()._open_once()
sought = MemoryQuery(ada.pk, "boat harbour", (place_audience("say", "#2"),), 3)
hits = store.search_words(sought).hits
told = " ".join(m.text for m in __import__("evennia_ai.memory_store.rows").memory_store.rows
    .by_keys(ada.pk, [hit.key for hit in hits]).values())
"""


class Gate:
    """Holds the model's answers of one kind until it is opened."""

    def __init__(self, bed: Bed, kind: str) -> None:
        self.is_asked, self.is_open = threading.Event(), threading.Event()

        def before(asked: str) -> None:
            if asked == kind:
                self.is_asked.set()
                self.is_open.wait(60)

        self._model = bed.model
        bed.model.before = before

    def wait(self, bed: Bed) -> None:
        """Wait until the model is asked.

        Raises:
            AssertionError: it is not; the message has the output of game and workers.
        """
        is_asked = self.is_asked.wait(120)
        assert is_asked, f"{bed.log()}\n{bed.game.describe_logs()}"

    def open(self) -> None:
        self._model.before = lambda kind: None
        self.is_open.set()


def test_a_worker_that_is_asked_to_end_finishes_what_it_is_at(bed: Bed, owner: Player) -> None:
    """After a SIGTERM in mid-call the answer is still used, and the exit code is 0."""
    bed.end_workers()
    bed.start_workers(1)
    gate = Gate(bed, "facts")
    fall_asleep(owner)
    gate.wait(bed)
    asked = bed.model.asked.count("facts")
    process = bed.workers.pop()
    os.kill(process.pid, signal.SIGTERM)
    gate.open()
    assert 0 == process.wait(30)
    bed.start_workers(2)
    assert {} == morning(bed, owner)["put_off"]
    assert asked + 1 == bed.model.asked.count("facts")  # for the other audience
    assert "has ended" in bed.log()


def test_a_stop_takes_back_what_workers_are_at(bed: Bed, owner: Player) -> None:
    """No result for a stopped assistant is used, and none of its jobs stays on the board."""
    bed.start_workers(2 - len(bed.workers))
    gate = Gate(bed, "facts")
    fall_asleep(owner)
    gate.wait(bed)
    facts = "SELECT count(*) FROM evennia_ai_memory WHERE kind = 'fact' AND NOT is_removed"
    before = bed.rows(facts)
    owner.ask("assistant emergency stop ada", r"(?i)stopped")
    until(lambda: bed.rows(JOBS) == [(0,)])
    gate.open()
    until(lambda: not at_work(bed))
    remember(owner, 5)
    assert before[0][0] + 5 == bed.rows(facts)[0][0]
    assert [(0,)] == bed.rows(JOBS)
    owner.ask("assistant emergency clear ada", r"(?i)clear|may act")
    until(lambda: bed.rows(UNREAD) == [(0,)], told=bed.log())
    assert {} == morning(bed, owner)["put_off"]


def test_a_night_goes_on_over_a_reload(bed: Bed, owner: Player) -> None:
    """Jobs of the previous server are withdrawn, and facts exist once."""
    bed.start_workers(2 - len(bed.workers))
    gate = Gate(bed, "facts")
    fall_asleep(owner)
    gate.wait(bed)
    first = bed.rows("SELECT run FROM evennia_ai_workjob")
    bed.game.reload()
    gate.open()
    owner.come_back()
    report = morning(bed, owner)
    texts = [(text, audience) for _, text, audience, *_ in report["memories"]]
    assert len(texts) == len(set(texts))
    assert {} == report["put_off"]
    assert not set(first) & set(bed.rows("SELECT run FROM evennia_ai_workjob"))


def test_what_ends_every_worker_is_given_up_in_words(bed: Bed, owner: Player) -> None:
    """A memory that crashes every worker is found only by its words from then on."""
    bed.end_workers()
    remember(owner, 1)
    until(lambda: bed.rows(JOBS)[0][0])
    bed.change("UPDATE evennia_ai_workjob SET attempts = 3, state = 'running', worker = 'gone'")
    bed.start_workers(1)
    until(lambda: bed.rows(UNREAD) == [(0,)], told=bed.log())
    assert [(1,)] == bed.rows("SELECT count(*) FROM evennia_ai_memory WHERE indexed_as = '-'")
    owner.ask("assistant status ada", r"1 given up")


def test_a_worker_without_the_key_says_so(bed: Bed, owner: Player) -> None:
    """The night postpones its model steps with a reason, and the model is not blamed."""
    bed.end_workers()
    bed.start_worker(OPENAI_API_KEY="sk-of-somebody-else")
    bed.wait_for_workers()
    asked = len(bed.model.asked)
    fall_asleep(owner)
    assert "no key for" in str(morning(bed, owner)["put_off"])
    assert asked == len(bed.model.asked)
    assert "sk-of" not in bed.log()
    owner.ask("assistant status ada", r"the worker .* says: a worker has no key for")
    owner.ask("whisper ada = are you there?", whisper_of_model())
    bed.end_workers()


def test_a_worker_outlives_its_connections(bed: Bed, owner: Player) -> None:
    bed.start_workers(1)
    ended = bed.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'evennia_ai.work' AND datname = current_database()"
    )
    assert ended
    remember(owner, 40)
    until(lambda: bed.rows(UNREAD) == [(0,)], told=bed.log())
    assert bed.workers[0].poll() is None


def test_whoever_is_deleted_leaves_nothing_on_the_board(bed: Bed, owner: Player) -> None:
    run(owner, REMEMBER.replace("ada", "brass").format(count=5))
    until(lambda: bed.rows(JOBS)[0][0])
    owner.ask("assistant delete brass", r"(?i)sure|yes|y/n|delete")
    owner.ask("yes", r"(?i)deleted|gone")
    until(lambda: bed.rows(JOBS) == [(0,)])


def test_a_missing_thing_is_said_in_words(bed: Bed) -> None:
    assert "there already" in bed.game.launch("ai_worker", "--make-tables")
    bed.change("ALTER TABLE procrastinate_jobs RENAME TO elsewhere")
    try:
        assert "--make-tables" in refusal(bed)
    finally:
        bed.change("ALTER TABLE elsewhere RENAME TO procrastinate_jobs")
    bed.game.settings["EVENNIA_AI_WORKERS_CONFIG"] = {}
    bed.game.write_settings()
    assert "sets no engine" in refusal(bed)


def refusal(bed: Bed) -> str:
    """The output of a worker that must fail to start."""
    process = bed.start_worker()
    bed.workers.remove(process)
    assert 0 != process.wait(60)
    return bed.log()
