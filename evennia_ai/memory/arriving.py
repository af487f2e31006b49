"""Memories of an assistant of another game, stored before it is here: all of them, or none.

Rows are put into the tables a few at a time under a number that no script has or gets, so that
nothing looks at them; then the assistant is made, with that number. What a fault or a stop leaves
of them is taken out: at once, or when the game's server starts.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

from django.db import DatabaseError, transaction
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.utils import logger

from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime.game_thread import Steps, paced

# The numbers of those that are on their way, and of which something may be left; by each the path
# of a file that goes with it, or "".
ARRIVING = "evennia_ai_arriving"
AT_ONCE = 50
# Those that this process is at.
_UNDER_WAY: set[int] = set()


def begin() -> int:
    """A number for an assistant that is on its way; no other script gets it any more."""
    with transaction.atomic():
        # It sends no signal, at which Evennia would make a living script of it.
        (row,) = ScriptDB.objects.bulk_create([ScriptDB(db_key=ARRIVING)])
        number = int(row.pk)
        # The number of a row that is gone is given to no other.
        ScriptDB.objects.filter(pk=number).delete()
        _note({**_noted(), number: ""})
    _UNDER_WAY.add(number)
    return number


def note_file(number: int, path: str) -> bool:
    """Note a file that is about to be written: it goes with what is left, if nobody arrives.

    Returns:
        False where somebody cleared the number away meanwhile: then nobody may arrive by it.
    """
    noted = _noted()
    _note({**noted, number: path})
    return number in noted


def arrive(number: int, memories: int, profiles: int) -> bool:
    """Let all that is there belong to a script; in the transaction in which that is made.

    Args:
        memories, profiles: how many were stored.

    Returns:
        False where somebody took any of it out meanwhile: then no script may be made.
    """
    stored = ((Memory, memories), (EntityProfile, profiles))
    is_whole = all(
        table.objects.filter(assistant=number).count() == count for table, count in stored
    )
    noted = _noted()
    if not is_whole or number not in noted:
        return False
    del noted[number]
    _note(noted)
    return True


def is_busy() -> bool:
    """True while one is on its way, or what is left of one is taken out."""
    return bool(_UNDER_WAY)


def end(number: int) -> None:
    """Let go of a number, whether its assistant has arrived or not; after its transaction."""
    _UNDER_WAY.discard(number)
    ServerConfig.flush_instance_cache(force=True)  # it may have what was rolled back
    clear_away()


@cache
def after_start() -> None:
    """Clear away what the process before left."""
    clear_away()


def clear_away() -> None:
    """Take out what is left of those that did not arrive, a little at a time."""
    try:
        noted = _noted()
        left = noted.keys() - _UNDER_WAY
        # Not one of ours: what arrives is noted no more.
        others = set(ScriptDB.objects.filter(pk__in=left).values_list("pk", flat=True))
        if others:
            _note({number: path for number, path in noted.items() if number not in others})
    except DatabaseError:  # then the next start tries
        logger.log_trace("[assistant] it is not known whether an import left anything")
        return
    for number in left - others:
        _UNDER_WAY.add(number)
        paced(_taken_out(number)).addErrback(_complain).addBoth(
            lambda _, number=number: _UNDER_WAY.discard(number)
        )


def _taken_out(number: int) -> Steps[None]:
    for table in (Memory, EntityProfile):
        found = table.objects.filter(assistant=number).values_list("pk", flat=True)
        while some := list(found[:AT_ONCE]):
            table.objects.filter(pk__in=some).delete()
            yield
    # Last: a crash before leaves the number noted, and the next start goes on.
    noted = _noted()
    if path := noted.pop(number, ""):
        with suppress(OSError):
            Path(path).unlink(missing_ok=True)
    _note(noted)


def _complain(_: object) -> None:
    logger.log_warn("[assistant] what an import left could not be taken out; the next start tries")


def _noted() -> dict[int, str]:
    return dict(ServerConfig.objects.conf(ARRIVING, default=()))


def _note(numbers: dict[int, str]) -> None:
    ServerConfig.objects.conf(ARRIVING, numbers, delete=not numbers)
