"""This game's name in a shared ledger, which no other game may use.

A game is identified by a random number, which is stored in its own database on first use. The first
game that uses a name owns it. Another game is refused, so that two never share caps and rows,
unless its owner declares that it is the same game, restored or moved.
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
from evennia_ai.budget.ledger.rows import MISSING, NO_TABLE, together, translated_errors
from evennia_ai.core.settings.services import OWN_DATABASE, LedgerConfig
from evennia_ai.errors import ConfigurationError
from evennia_ai.models import LedgerGame, missing_tables

COMMAND = "evennia ai_ledger --claim"
# A running server updates its row each minute; after four missed updates it counts as ended.
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
    """Raise ConfigurationError if the table is missing in the game's own database."""
    try:
        yield
    except (OperationalError, ProgrammingError) as error:
        # Only PostgreSQL says so by a code; for other databases the tables are listed.
        is_missing = getattr(error.__cause__, "sqlstate", "") == NO_TABLE
        if is_missing or missing_tables(LedgerGame):
            raise ConfigurationError(MISSING) from error
        raise


@_own_table()
def identity(*, makes: bool = True) -> str:
    """The random number that identifies this game, from its own database.

    Args:
        makes: create it if there is none; else "" is returned.
    """
    own = LedgerGame.objects.using(OWN_DATABASE)
    unnamed = own.filter(game="")
    known = unnamed.first()
    if known is None and not makes:
        return ""
    if known is None:
        fresh = LedgerGame(game="", identity=uuid4().hex)
        # Durable: a number already used in the shared ledger must not be rolled back here.
        with transaction.atomic(using=OWN_DATABASE, durable=True):
            own.bulk_create([fresh], ignore_conflicts=True)
        # Another process may have been faster; the number it has stored counts.
        known = unnamed.get()
    return str(known.identity)


class OwnName:
    """The ownership of this game's name, cached in this server process once it is confirmed."""

    def __init__(self) -> None:
        self._own = ""  # the game's number, once its name is known to be its own
        self._is_shown = False

    def forget(self) -> None:
        """Check again with the next use."""
        self._own, self._is_shown = "", False

    def ensure(self, *, takes: bool = False) -> None:
        """Raise if another game has this game's name.

        Args:
            takes: take the name if no game has it. Callers that only read must not.
        """
        # The database is asked until the name is known to be this game's, then no more.
        if self._own or not place.is_shared():
            return
        own = identity(makes=takes)
        with translated_errors:
            if takes:
                own_game = LedgerGame(game=place.game(), identity=own, seen_at=int(time.time()))
                LedgerGame.objects.bulk_create([own_game], ignore_conflicts=True)
            # Read back, because the insert does nothing if another game has the name.
            game = LedgerGame.objects.filter(game=place.game()).first()
        if game is not None and game.identity != own:
            raise ConfigurationError(_text(TAKEN, game))
        self._own = own if game is not None else ""

    def show(self, owner: str) -> str:
        """Update the row that shows that this server runs. The name must be known to be its own.

        Returns:
            A warning for staff if another server has updated the row since, or "".
        """
        mine = LedgerGame.objects.filter(game=place.game(), identity=self._own)
        before = mine.annotate(now=Now()).first()
        if before is None:  # another game has claimed the name, or all rows were removed
            self.forget()
            return ""
        seen_at = int(before.now.timestamp())
        mine.update(owner=owner, host=socket.gethostname()[:255], seen_at=seen_at)
        # At the first update the row is still that of the previous server, which proves nothing.
        is_twice = self._is_shown and before.owner not in ("", owner) and not is_gone(before.owner)
        self._is_shown = True
        return _text(TWICE, before) if is_twice else ""

    def leave(self, owner: str) -> None:
        """Mark the row as that of a server that has ended."""
        if self._is_shown:
            with translated_errors:
                LedgerGame.objects.filter(game=place.game(), owner=owner).update(owner="")


OWN_NAME = OwnName()


def erase() -> None:
    """Delete this game's number; with the next use it counts as a new game."""
    LedgerGame.objects.using(OWN_DATABASE).filter(game="").delete()
    OWN_NAME.forget()


def trouble() -> str:
    """The error text if another game has this game's name, or "". Changes nothing."""
    game = LedgerGame.objects.filter(game=place.game()).first() if place.is_shared() else None
    is_anothers = game is not None and game.identity != identity(makes=False)
    return _text(TAKEN, game) if game is not None and is_anothers else ""


def claim() -> bool:
    """Take this game's name over from the game that has it; True if another one had it."""
    own = identity()
    with together():
        row = LedgerGame(game=place.game(), identity=own, seen_at=int(time.time()))
        LedgerGame.objects.bulk_create([row], ignore_conflicts=True)
        # Locked, so that the other game cannot update its row between the check and the write.
        known = LedgerGame.objects.annotate(now=Now()).select_for_update()
        game = known.get(game=place.game())
        if game.identity == own:
            return False
        silent = game.now.timestamp() - game.seen_at
        if game.owner and not is_gone(game.owner) and silent < ALIVE_SECONDS:
            raise ConfigurationError(_text(ALIVE, game))
        row.save()
    return True


def listed() -> list[str]:
    """A line about each game that shares the ledger."""
    own = identity(makes=False)
    with translated_errors:
        games = list(LedgerGame.objects.order_by("game"))
    return [f"{each.game}: {_seen(each, own)}" for each in games]


def _seen(game: LedgerGame, own: str = "") -> str:
    """The phrase for when and where a game was last seen."""
    whose = ", this game" if game.identity == own else ""
    when = f"{datetime.fromtimestamp(game.seen_at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"last seen {when}{f' on {game.host}' if game.host else ''}{whose}"


def _text(text: str, game: LedgerGame) -> str:
    return text.format(name=game.game, setting=LedgerConfig.NAME, seen=_seen(game), command=COMMAND)
