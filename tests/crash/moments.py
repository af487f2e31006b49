"""The moments at which a process can be killed: around each write, commit and effect."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from django.db import connection

WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER")
LONGEST_LABEL = 120
UNDONE = "(undone) "
Keep = Callable[[int], None]


def is_write(sql: str) -> bool:
    """Return True for a statement that changes stored data."""
    return sql.lstrip().upper().startswith(WRITES)


def is_begun(label: str) -> bool:
    """Return True where something is about to happen that outlives a kill.

    The moment after one effect is the moment before the next. A kill inside a transaction leaves
    the same as a kill before its COMMIT.
    """
    return label.startswith("before ") and not label.startswith(f"before {UNDONE}")


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody lives on after a SIGKILL")


@dataclass(slots=True)
class Moments:
    """Counts the moments as they come.

    Attributes:
        fatal: the number of the moment that ends the process; 0 for none.
        keep: called with the number of each moment at which something begins.
        labels: the descriptions of the moments, the oldest first.
        unseen: writes of SQLite that were no moment: there should be none.
    """

    fatal: int = 0
    keep: Keep | None = None
    labels: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    _is_inside: bool = False

    def come(self, label: str) -> None:
        """Count one more moment."""
        self.labels.append(label[:LONGEST_LABEL])
        if self.keep is not None and is_begun(label):
            self.keep(len(self.labels))
        if len(self.labels) == self.fatal:
            die()

    @contextmanager
    def around(self, label: str) -> Iterator[None]:
        """Count the moments before and after something."""
        self.come(f"before {label}")
        was_inside, self._is_inside = self._is_inside, True
        try:
            yield
        finally:
            self._is_inside = was_inside
        self.come(f"after {label}")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Make moments of this process's writes and commits in the block."""
        commit = connection.commit
        connection.ensure_connection()
        is_traced = connection.vendor == "sqlite"
        if is_traced:
            connection.connection.set_trace_callback(self._trace)
        connection.commit = lambda: self._commit(commit)
        try:
            with connection.execute_wrapper(self._execute):
                yield
        finally:
            connection.commit = commit
            if is_traced and connection.connection is not None:
                connection.connection.set_trace_callback(None)

    def _commit(self, commit: Callable[[], None]) -> None:
        with self.around("COMMIT"):
            commit()

    def _execute(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        if not is_write(sql):
            return execute(sql, params, many, context)
        # A kill undoes all writes of an open transaction.
        label = UNDONE + sql if connection.in_atomic_block else sql
        with self.around(label):
            return execute(sql, params, many, context)

    def _trace(self, sql: str) -> None:
        """Note what SQLite itself starts to do outside of the moments."""
        if not self._is_inside and (is_write(sql) or sql.upper().startswith("COMMIT")):
            self.unseen.append(sql[:LONGEST_LABEL])


# The counter of this process; it is inactive until a scene begins.
NOW = Moments()
