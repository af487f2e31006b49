"""Import of an assistant's memories from another game, all or nothing.

Rows are inserted in small batches under a reserved script id, where nothing reads them; then the
assistant's script is created with that id. Rows left by a failure or a crash are deleted at once,
or at the next start of the server.
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

# Key of a ServerConfig entry: ids of imports that are running or left rows behind, each with the
# path of a file to delete with them, or "".
ARRIVING = "evennia_ai_arriving"
BATCH_ROWS = 50
# Ids that this process is importing or cleaning up.
_UNDER_WAY: set[int] = set()


def begin() -> int:
    """Reserve a script id for an assistant that is being imported."""
    with transaction.atomic():
        # bulk_create sends no post_save signal, on which Evennia would start a script.
        (row,) = ScriptDB.objects.bulk_create([ScriptDB(db_key=ARRIVING)])
        number = int(row.pk)
        # Django's autoincrement never reuses the id of a deleted row, on any database.
        ScriptDB.objects.filter(pk=number).delete()
        _save_noted({**_noted(), number: ""})
    _UNDER_WAY.add(number)
    return number


def note_file(number: int, path: str) -> bool:
    """Note a file that is about to be written, so that cleaning up a failed import deletes it.

    Returns:
        False if the import was cleaned up in the meantime; then it must not go on.
    """
    paths = _noted()
    _save_noted({**paths, number: path})
    return number in paths


def arrive(number: int, memories: int, profiles: int) -> bool:
    """Complete an import, in the transaction that creates the script with this id.

    Args:
        memories, profiles: numbers of rows that were stored.

    Returns:
        False if any of them has been deleted in the meantime; then no script may be created.
    """
    stored = ((Memory, memories), (EntityProfile, profiles))
    is_whole = all(
        table.objects.filter(assistant=number).count() == count for table, count in stored
    )
    paths = _noted()
    if not is_whole or number not in paths:
        return False
    del paths[number]
    _save_noted(paths)
    return True


def is_busy() -> bool:
    """True while an import or a clean-up is running in this process."""
    return bool(_UNDER_WAY)


def end(number: int) -> None:
    """End an import, after its transaction, and clean up if it failed."""
    _UNDER_WAY.discard(number)
    # After a rollback, Evennia's instance cache still has the value that was not stored.
    ServerConfig.flush_instance_cache(force=True)
    clear_away()


@cache
def after_start() -> None:
    """Clean up imports that the previous process left; once per process."""
    clear_away()


def clear_away() -> None:
    """Delete the rows of failed imports, in small batches."""
    try:
        paths = _noted()
        numbers = paths.keys() - _UNDER_WAY
        # A script with such an id is somebody else's, as `arrive` removes the id: keep its rows.
        others = set(ScriptDB.objects.filter(pk__in=numbers).values_list("pk", flat=True))
        if others:
            _save_noted({number: path for number, path in paths.items() if number not in others})
    except DatabaseError:  # the next start tries again
        logger.log_trace("[assistant] it is not known whether an import left anything")
        return
    for number in numbers - others:
        _UNDER_WAY.add(number)
        paced(_delete_rows(number)).addErrback(_log_failure).addBoth(
            lambda _, number=number: _UNDER_WAY.discard(number)
        )


def _delete_rows(number: int) -> Steps[None]:
    for table in (Memory, EntityProfile):
        keys = table.objects.filter(assistant=number).values_list("pk", flat=True)
        while some := list(keys[:BATCH_ROWS]):
            table.objects.filter(pk__in=some).delete()
            yield
    # Last, so that after a crash the id is still noted and the next start continues.
    paths = _noted()
    if path := paths.pop(number, ""):
        with suppress(OSError):
            Path(path).unlink(missing_ok=True)
    _save_noted(paths)


def _log_failure(_: object) -> None:
    logger.log_warn("[assistant] what an import left could not be taken out; the next start tries")


def _noted() -> dict[int, str]:
    return dict(ServerConfig.objects.conf(ARRIVING, default=()))


def _save_noted(numbers: dict[int, str]) -> None:
    ServerConfig.objects.conf(ARRIVING, numbers, delete=not numbers)
