"""The table of the games that share a ledger, by name. `budget.ledger.names` fills it."""

from __future__ import annotations

from django.db import models

SHORT, LONG = 64, 255


class LedgerGame(models.Model):
    """A game and its name in a shared ledger; in a game's own database its identity, with no name.

    Attributes:
        game: the name; "" in a game's own database.
        identity: of the game's database: a number that no other has, unless it is a copy.
        owner: the server process that showed itself last; "" after one that ended in order.
        host: the machine of it, as it calls itself.
        seen_at: seconds since 1970 at which it did, by the ledger's clock.
    """

    game = models.CharField(max_length=SHORT, primary_key=True)
    identity = models.CharField(max_length=SHORT)
    owner = models.CharField(max_length=SHORT, blank=True)
    host = models.CharField(max_length=LONG, blank=True)
    seen_at = models.BigIntegerField(default=0)

    class Meta:
        """A table of the package, though the module is not its `models`."""

        app_label = "evennia_ai"
