"""This game's name in a shared ledger, which no other game may have.

A game is known by a number that its own database was given with the first question: the first game
that comes with a name has it. Another one is refused, so that two never share caps and rows unless
its owner says that it is the same, restored or moved.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import uuid4

from django.db import transaction
from django.db.models.functions import Now
from django.db.utils import OperationalError, ProgrammingError

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.processes import is_gone
from evennia_ai.budget.ledger.rows import MISSING, NO_TABLE, tables_wanted, together
from evennia_ai.core.settings.services import OWN_DATABASE, LedgerConfig
from evennia_ai.errors import ConfigurationError
from evennia_ai.models import LedgerGame, missing_tables

COMMAND = "evennia ai_ledger --claim"
# A server shows itself each minute, by the ledger's clock.
ALIVE_SECONDS = 240
TAKEN = (
    "another game has the name {name!r} ({setting}.game) in the ledger that they share: {seen}. No "
    "model call is made. Give this game a name of its own; or, if it is the same game, restored "
    "from a backup or moved, stop the other one and type: {command}"
)
TWICE = (
    "another server with this game's database, or a copy of it, uses the name {name!r} in the "
    "shared ledger: {seen}. Both count towards the same caps; stop one of them, or give it another "
    "name ({setting}.game)"
)
ALIVE = "the game that has the name {name!r} runs: {seen}. Stop it first; then type this again"


@contextmanager
def _own_table() -> Iterator[None]:
    """Say so where the game's own database was not brought up to date."""
    try:
        yield
    except (OperationalError, ProgrammingError) as error:
        is_told = getattr(error.__cause__, "sqlstate", "") == NO_TABLE
        if is_told or missing_tables(LedgerGame):
            raise ConfigurationError(MISSING) from error
        raise


@_own_table()
def identity(*, makes: bool = True) -> str:
    """The number of this game's own database.

    Args:
        makes: one is made where it has none yet; else "" is returned.

    Raises:
        ConfigurationError: its table is missing.
    """
    own = LedgerGame.objects.using(OWN_DATABASE)
    found = own.filter(game="")
    known = found.first()
    if known is None and not makes:
        return ""
    if known is None:
        made = LedgerGame(game="", identity=uuid4().hex)
        # Not inside a transaction that may be undone, as others are told of it.
        with transaction.atomic(using=OWN_DATABASE, durable=True):
            own.bulk_create([made], ignore_conflicts=True)
        # Another process may have been first: its number is the one that counts.
        known = found.get()
    return str(known.identity)


class OwnName:
    """The name of its game, as this server process knows it."""

    def __init__(self) -> None:
        self._own = ""  # its number, once the name is known to be this game's
        self._is_shown = False

    def forget(self) -> None:
        """Ask anew."""
        self._own, self._is_shown = "", False

    def ensure(self, *, takes: bool = False) -> None:
        """Go on unless the name is another's; asked until it is this game's.

        Args:
            takes: it becomes this game's where nobody has it. Reading changes nothing.

        Raises:
            ConfigurationError: another game has it, or the tables are missing.
            LedgerAwayError: a shared ledger does not answer.
        """
        if self._own or not place.is_shared():
            return
        own = identity(makes=takes)
        with tables_wanted:
            if takes:
                made = LedgerGame(game=place.game(), identity=own, seen_at=int(time.time()))
                LedgerGame.objects.bulk_create([made], ignore_conflicts=True)
            # Read back, as the insert does nothing where somebody has the name.
            found = LedgerGame.objects.filter(game=place.game()).first()
        if found is not None and found.identity != own:
            raise ConfigurationError(_told(TAKEN, found))
        self._own = own if found is not None else ""

    def show(self, owner: str) -> str:
        """Show that this server runs, whose name it is known to be.

        Args:
            owner: its process.

        Returns:
            What staff should be told where another server has shown itself since, or "".

        Raises:
            DatabaseError: it cannot be asked now.
        """
        mine = LedgerGame.objects.filter(game=place.game(), identity=self._own)
        before = mine.annotate(now=Now()).first()
        if before is None:  # somebody has claimed it, or all was removed
            self.forget()
            return ""
        seen_at = int(before.now.timestamp())
        mine.update(owner=owner, host=socket.gethostname()[:255], seen_at=seen_at)
        # The first time it is still the row of the server before this one, maybe elsewhere.
        is_twice = self._is_shown and before.owner not in ("", owner) and not is_gone(before.owner)
        self._is_shown = True
        return _told(TWICE, before) if is_twice else ""

    def leave(self, owner: str) -> None:
        """Note that a server which showed itself ended in order.

        Raises:
            LedgerAwayError: a shared ledger does not answer.
        """
        if self._is_shown:
            with tables_wanted:
                LedgerGame.objects.filter(game=place.game(), owner=owner).update(owner="")


OURS = OwnName()


def erase() -> None:
    """Forget the number of this game's database; with the next question it is another game."""
    LedgerGame.objects.using(OWN_DATABASE).filter(game="").delete()
    OURS.forget()


def trouble() -> str:
    """The trouble with this game's name, changing nothing; "" where all is well.

    Raises:
        DatabaseError: it cannot be asked now.
    """
    found = LedgerGame.objects.filter(game=place.game()).first() if place.is_shared() else None
    is_anothers = found is not None and found.identity != identity(makes=False)
    return _told(TAKEN, found) if found is not None and is_anothers else ""


def claim() -> bool:
    """Take this game's name from whichever game has it: they are the same, or it is no more.

    Returns:
        Whether it was another's.

    Raises:
        ConfigurationError: the other one runs, or the tables are missing.
        LedgerAwayError: a shared ledger does not answer.
    """
    own = identity()
    with together():
        row = LedgerGame(game=place.game(), identity=own, seen_at=int(time.time()))
        LedgerGame.objects.bulk_create([row], ignore_conflicts=True)
        # Locked, so that the other game cannot show itself between the look and the write.
        known = LedgerGame.objects.annotate(now=Now()).select_for_update()
        found = known.get(game=place.game())
        if found.identity == own:
            return False
        silent = found.now.timestamp() - found.seen_at
        if found.owner and not is_gone(found.owner) and silent < ALIVE_SECONDS:
            raise ConfigurationError(_told(ALIVE, found))
        row.save()
    return True


def listed() -> list[str]:
    """The games that share the ledger, one a line.

    Raises:
        ConfigurationError, LedgerAwayError: as of `OwnName.ensure`.
    """
    own = identity(makes=False)
    with tables_wanted:
        found = list(LedgerGame.objects.order_by("game"))
    return [f"{each.game}: {_seen(each, own)}" for each in found]


def _seen(found: LedgerGame, own: str = "") -> str:
    """The time and place at which a game was last seen, in words."""
    whose = ", this game" if found.identity == own else ""
    when = f"{datetime.fromtimestamp(found.seen_at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"last seen {when}{f' on {found.host}' if found.host else ''}{whose}"


def _told(text: str, found: LedgerGame) -> str:
    return text.format(
        name=found.game, setting=LedgerConfig.NAME, seen=_seen(found), command=COMMAND
    )
