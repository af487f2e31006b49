"""Procrastinate as a doorbell: it tells workers that a job is on the board, and nothing more.

The package is imported by the functions in here, and only where workers are set. Its jobs carry one
of our keys; they are deferred and cancelled in the transaction that writes our row.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.db import DatabaseError, connection

from evennia_ai.memory_store.troubles import explained

QUEUE, TASK = "evennia_ai", "evennia_ai.work"
URGENT, USUAL = 10, 0  # priorities: Procrastinate begins higher ones first
PACKAGE = "procrastinate"
NOT_INSTALLED = (
    "the package procrastinate is not installed; install it with: pip install 'evennia-ai[workers]'"
)
NOT_POSTGRESQL = (
    "the game's database is {vendor}, and workers need PostgreSQL; set DATABASES as docs/scale.md "
    "says, or take EVENNIA_AI_WORKERS_CONFIG out"
)
NO_TABLES = "the tables of Procrastinate are not made; type: evennia ai_worker --make-tables"
OTHER_TABLES = (
    "the tables of Procrastinate are of another version than the package; its documents say how "
    "they are brought up to date"
)
# SQL functions that this version of the package calls; older schemas lack one of them.
_REQUIRED_FUNCTIONS = (
    "procrastinate_defer_jobs_v1",
    "procrastinate_fetch_job_v2",
    "procrastinate_retry_job_v2",
)


class RungError(DatabaseError):
    """A job with that lock already waits in the queue; the queue itself works."""


def is_installed() -> bool:
    """True where the package is installed."""
    return importlib.util.find_spec(PACKAGE) is not None


def obstacle_of_setting() -> str:
    """The reason workers cannot be used in this game, or ""; without a query."""
    if not is_installed():
        return NOT_INSTALLED
    if connection.vendor != "postgresql":
        return NOT_POSTGRESQL.format(vendor=connection.display_name)
    return ""


def obstacle() -> str:
    """The reason nothing can be left for workers now, and what to do about it, or ""."""
    if problem := obstacle_of_setting():
        return problem
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT to_regclass('procrastinate_jobs') IS NOT NULL")
            is_made = cursor.fetchone()[0]
            conditions = [f"to_regproc('{name}') IS NOT NULL" for name in _REQUIRED_FUNCTIONS]
            cursor.execute(f"SELECT {' AND '.join(conditions)}")
            is_ours = cursor.fetchone()[0]
    except DatabaseError as error:
        return explained(error)
    if not is_made:
        return NO_TABLES
    return "" if is_ours else OTHER_TABLES


def make_tables() -> None:
    """Create Procrastinate's tables in the game's database, all or none.

    Raises:
        DatabaseError: the database refuses.
    """
    schema = importlib.import_module("procrastinate.schema")
    with connection.cursor() as cursor:
        cursor.execute(schema.SchemaManager.get_schema())


@lru_cache(maxsize=1)
def _manager() -> Any:
    """The package's job manager, which is given the game's own connection at each call."""
    manager = importlib.import_module("procrastinate.manager")
    connector = importlib.import_module("procrastinate.sync_psycopg_connector")
    return manager.JobManager(connector.SyncPsycopgConnector())


def load() -> None:
    """Import the package now, because that takes a moment."""
    _manager()
    importlib.import_module("procrastinate.jobs")


def ring(key: str, lock: str | None, priority: int, wait_seconds: float = 0.0) -> int:
    """Queue a bell for a job; call it within a transaction.

    Args:
        lock: of jobs with the same lock, only one waits at a time.
        priority: higher ones are begun first.
        wait_seconds: no worker begins it earlier.

    Returns:
        The number by which it can be taken back.

    Raises:
        RungError: another job with that lock waits.
        DatabaseError: the queue could not be written.
    """
    jobs = importlib.import_module("procrastinate.jobs")
    job = jobs.Job(
        queue=QUEUE,
        task_name=TASK,
        task_kwargs={"key": key},
        lock=None,
        queueing_lock=lock,
        priority=priority,
        scheduled_at=_time_in(wait_seconds) if wait_seconds else None,
    )
    return int(_call(_manager().defer_job, job).id)


def _time_in(seconds: float) -> Any:
    """A time in so many seconds, by the database's clock, since machines differ."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now() + %s", [timedelta(seconds=seconds)])
        return cursor.fetchone()[0]


def silence(bells: Iterable[int]) -> None:
    """Take back bells that no worker has begun; a job under way finds its row gone."""
    for bell in bells:
        _call(_manager().cancel_job_by_id, bell, delete_job=True)


def _call(ask: Callable[..., object], *given: Any, **named: Any) -> Any:
    """Call the package on the game's own connection, within its transaction."""
    # The package takes the driver's connection, which Django opens only at the first statement.
    connection.ensure_connection()
    errors = importlib.import_module("procrastinate.exceptions")
    try:
        return ask(*given, connection=connection.connection, **named)
    except errors.AlreadyEnqueued as error:
        raise RungError(str(error)) from error
    except errors.ProcrastinateException as error:
        # With the driver's error as its cause, from which `troubles.explained` works out advice.
        raise DatabaseError(str(error)) from error.__cause__ or error
