"""Advice for errors of the game's database: one sentence for each kind.

Drivers report a code or a few words, but a game's owner has to know what to do. None of these
errors loses memories: indexing is retried, and other writes fail as a whole and are reported.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from evennia_ai.core.text.cleaning import one_line

LONGEST_TOLD = 300


@dataclass(frozen=True, slots=True)
class Trouble:
    """A kind of error, and how to recognise it.

    Attributes:
        sentence: what happened and what to do.
        sqlite: prefixes of SQLite's error names.
        states: prefixes of PostgreSQL's SQLSTATEs.
        numbers: error numbers of the operating system.
        words: parts of messages without a code, in lower case.
    """

    sentence: str
    sqlite: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    words: tuple[str, ...] = ()


LOCKED = (
    "the game's database is locked by another program: end what else has it open (a second server, "
    "a database browser, a backup); what waits is tried again by itself"
)
FULL = (
    "the disk of the game's database is full: make room on it; what waits is tried again by itself"
)
DAMAGED = (
    "the game's database is damaged: stop the game and put a backup in its place, or save what can "
    "be read with: sqlite3 <file> .recover"
)
DESCRIPTORS = (
    "the server has no file descriptor left: see what holds them open, or let it have "
    "more (ulimit -n, or LimitNOFILE of its service) and start it anew"
)
NOT_OPENED = (
    "the game's database cannot be opened: its file and folder have to be there, and to belong to "
    "whoever runs the server"
)
READ_ONLY = "the game's database may only be read: whoever runs the server has to be let write it"
DISK = (
    "the disk of the game's database fails: look into the system's log, and at limits for the size "
    "of a file (ulimit -f)"
)
NOT_THERE = (
    "the database server does not answer: see that it runs, and that DATABASES in the game's "
    "settings names it; what waits is tried again by itself"
)
CROWDED = (
    "the database server takes no more connections: let others end theirs, or raise its "
    "max_connections"
)
NO_TABLES = "the tables of evennia_ai are not made: type evennia migrate, and start the game anew"
OTHER = "the game's database failed ({kind}: {text})"

# The first match is used.
TROUBLES = (
    Trouble(DESCRIPTORS, numbers=(errno.EMFILE, errno.ENFILE)),
    Trouble(FULL, ("SQLITE_FULL",), ("53100",), (errno.ENOSPC, errno.EDQUOT), ("no space left",)),
    Trouble(LOCKED, ("SQLITE_BUSY", "SQLITE_LOCKED"), ("40P01", "55P03", "57014")),
    Trouble(DAMAGED, ("SQLITE_CORRUPT", "SQLITE_NOTADB"), ("XX001", "XX002")),
    Trouble(NOT_OPENED, ("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")),
    Trouble(READ_ONLY, ("SQLITE_READONLY",), ("25006", "42501"), (errno.EROFS,)),
    Trouble(DISK, ("SQLITE_IOERR",), ("58030",), (errno.EIO, errno.EFBIG)),
    Trouble(CROWDED, states=("53300",), words=("too many clients", "too many connections")),
    Trouble(
        NOT_THERE,
        states=("08", "57P"),
        numbers=(errno.ECONNREFUSED,),
        words=(
            "connection refused",
            "connection failed",
            "connection is closed",
            "connection already closed",
        ),
    ),
    Trouble(NO_TABLES, states=("42P01", "42703"), words=("no such table", "no such column")),
)


def explained(error: BaseException) -> str:
    """One sentence that explains a database error and says what to do."""
    chain = list(_causes(error))
    trouble = next((row for row in TROUBLES for each in chain if _matches(row, each)), None)
    if trouble is None:
        return OTHER.format(kind=type(error).__name__, text=one_line(str(error), LONGEST_TOLD))
    # SQLite only reports that it could not open a file, so running out of descriptors is tested.
    is_unseen = trouble.sentence == NOT_OPENED and _is_out_of_descriptors()
    return DESCRIPTORS if is_unseen else trouble.sentence


def renew(database: BaseDatabaseWrapper = connection) -> None:
    """Close a broken connection, so that the next query opens a new one.

    Django does this at the end of a request, but a game has none. Does nothing in a transaction.
    """
    if not database.in_atomic_block:
        database.close()


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    # Django wraps the driver's error, which has the code, and keeps it as the cause.
    while error is not None:
        yield error
        error = error.__cause__


def _matches(trouble: Trouble, error: BaseException) -> bool:
    name = str(getattr(error, "sqlite_errorname", None) or "")
    state = str(getattr(error, "sqlstate", None) or "")
    number = error.errno if isinstance(error, OSError) else None
    text = str(error).casefold()
    return (
        name.startswith(trouble.sqlite)
        or state.startswith(trouble.states)
        or number in trouble.numbers
        or any(words in text for words in trouble.words)
    )


def _is_out_of_descriptors() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False
