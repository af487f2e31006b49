"""What an assistant of another game remembers, stored before it is here: all of it, or nothing.

Rows are put into the tables a few at a time under a number that no script has or gets, so that
nothing looks at them; then the assistant is made, with that number. What a fault or a stop leaves
of them is taken out: at once, or after the next start.
"""

from __future__ import annotations

from functools import cache

from django.db import DatabaseError, transaction
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.utils import logger

from evennia_ai.models import EntityProfile, Memory
from evennia_ai.runtime.portions import Steps, paced

# The numbers of those that are on their way, and of which something may be left.
ARRIVING = "evennia_ai_arriving"
AT_ONCE = 50
# Those that this process is at.
_UNDER_WAY: set[int] = set()


def begin() -> int:
    """A number for an assistant that is on its way; no other script gets it any more."""
    with transaction.atomic():
        (row,) = ScriptDB.objects.bulk_create([ScriptDB(db_key=ARRIVING)])
        number = int(row.pk)
        ScriptDB.objects.filter(pk=number).delete()
        _note(_noted() | {number})
    _UNDER_WAY.add(number)
    return number


def end(number: int) -> None:
    """Let go of a number, whether its assistant has arrived or not; after its transaction."""
    _UNDER_WAY.discard(number)
    clear_away()


@cache
def after_start() -> None:
    """Clear away what the process before left."""
    clear_away()


def clear_away() -> None:
    """Take out what is left of those that did not arrive, a little at a time."""
    try:
        left = _noted() - _UNDER_WAY
        arrived = set(ScriptDB.objects.filter(pk__in=left).values_list("pk", flat=True))
        if arrived:
            _note(_noted() - arrived)
    except DatabaseError:  # then the next start tries
        logger.log_trace("[assistant] it is not known whether an import left anything")
        return
    for number in left - arrived:
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
    _note(_noted() - {number})


def _complain(_: object) -> None:
    logger.log_warn("[assistant] what an import left could not be taken out; the next start tries")


def _noted() -> set[int]:
    return set(ServerConfig.objects.conf(ARRIVING, default=()))


def _note(numbers: set[int]) -> None:
    ServerConfig.objects.conf(ARRIVING, sorted(numbers), delete=not numbers)
