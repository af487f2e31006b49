"""This game's name in a shared ledger, which no other game may have.

A game is known by a number that its own database was given with the first question: the first game
that comes with a name has it. Another one is refused, so that two never share caps and rows unless
its owner says that it is the same, restored or moved.
"""

from __future__ import annotations

import socket
import time
from datetime import UTC, datetime
from uuid import uuid4

from django.db import transaction

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.processes import is_gone
from evennia_ai.budget.ledger.rows import tables_wanted, together
from evennia_ai.core.settings.services import OWN_DATABASE, LedgerConfig
from evennia_ai.errors import ConfigurationError
from evennia_ai.models import LedgerGame

COMMAND = "evennia ai_ledger --claim"
# A server shows itself each minute; clocks of two machines differ by less than another.
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


def identity() -> str:
    """The number of this game's own database, made where it has none yet."""
    own = LedgerGame.objects.using(OWN_DATABASE)
    found = own.filter(game="")
    known = found.first()
    if known is None:
        made = LedgerGame(game="", identity=uuid4().hex)
        # Not inside a transaction that may be undone, as others are told of it.
        with transaction.atomic(using=OWN_DATABASE, durable=True):
            own.bulk_create([made], ignore_conflicts=True)
        known = found.get()
    return str(known.identity)


class OwnName:
    """What this server process knows of its game's name."""

    def __init__(self) -> None:
        self._is_ours = False
        self._is_shown = False

    def forget(self) -> None:
        """Ask anew."""
        self._is_ours = self._is_shown = False

    def ensure(self) -> None:
        """Take the name where nobody has it; asked once, and again as long as it is another's.

        Raises:
            ConfigurationError: another game has it, or the tables are missing.
            LedgerAwayError: a shared ledger does not answer.
        """
        if self._is_ours or not place.is_shared():
            return
        own = identity()
        with tables_wanted():
            made = LedgerGame(game=place.game(), identity=own, seen_at=int(time.time()))
            LedgerGame.objects.bulk_create([made], ignore_conflicts=True)
            found = LedgerGame.objects.get(game=place.game())
        if found.identity != own:
            raise ConfigurationError(_told(TAKEN, found))
        self._is_ours = True

    def show(self, owner: str, now: float) -> str:
        """Show that this server runs.

        Args:
            owner: its process.

        Returns:
            What staff should be told where another server has shown itself since, or "".

        Raises:
            ConfigurationError, LedgerAwayError: as of `ensure`.
        """
        self.ensure()
        with tables_wanted():
            mine = LedgerGame.objects.filter(game=place.game(), identity=identity())
            before = mine.first()
            mine.update(owner=owner, host=socket.gethostname()[:255], seen_at=int(now))
        if before is None:  # somebody has claimed it, or all was removed
            self.forget()
            self.ensure()
            return ""
        is_twice = self._is_shown and before.owner not in ("", owner) and not is_gone(before.owner)
        self._is_shown = True
        return _told(TWICE, before) if is_twice else ""

    def leave(self, owner: str) -> None:
        """Note that a server which showed itself ended in order.

        Raises:
            LedgerAwayError: a shared ledger does not answer.
        """
        if self._is_shown:
            with tables_wanted():
                LedgerGame.objects.filter(game=place.game(), owner=owner).update(owner="")


OURS = OwnName()


def erase() -> None:
    """Forget the number of this game's database; with the next question it is another game."""
    LedgerGame.objects.using(OWN_DATABASE).filter(game="").delete()
    OURS.forget()


def trouble() -> str:
    """What is wrong with this game's name, changing nothing; "" where all is well.

    Raises:
        DatabaseError: it cannot be asked now.
    """
    found = LedgerGame.objects.filter(game=place.game()).first() if place.is_shared() else None
    own = LedgerGame.objects.using(OWN_DATABASE).filter(game="").first()
    is_ours = found is None or (own is not None and own.identity == found.identity)
    return "" if is_ours or found is None else _told(TAKEN, found)


def claim(now: float) -> bool:
    """Take this game's name from whichever game has it: they are the same, or it is no more.

    Returns:
        Whether it was another's.

    Raises:
        ConfigurationError: the other one runs, or the tables are missing.
        LedgerAwayError: a shared ledger does not answer.
    """
    own = identity()
    with together():
        row = LedgerGame(game=place.game(), identity=own, seen_at=int(now))
        LedgerGame.objects.bulk_create([row], ignore_conflicts=True)
        found = LedgerGame.objects.select_for_update().get(game=place.game())
        if found.identity == own:
            return False
        if found.owner and not is_gone(found.owner) and now - found.seen_at < ALIVE_SECONDS:
            raise ConfigurationError(_told(ALIVE, found))
        row.save()
    return True


def listed() -> list[str]:
    """The games that share the ledger, one a line.

    Raises:
        ConfigurationError, LedgerAwayError: as of `OwnName.ensure`.
    """
    own = identity()
    with tables_wanted():
        found = list(LedgerGame.objects.order_by("game"))
    return [f"{each.game}: {_seen(each, own)}" for each in found]


def _seen(found: LedgerGame, own: str = "") -> str:
    """When and where a game was last seen, in words."""
    whose = ", this game" if found.identity == own else ""
    when = f"{datetime.fromtimestamp(found.seen_at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"last seen {when}{f' on {found.host}' if found.host else ''}{whose}"


def _told(text: str, found: LedgerGame) -> str:
    return text.format(
        name=found.game, setting=LedgerConfig.NAME, seen=_seen(found), command=COMMAND
    )
