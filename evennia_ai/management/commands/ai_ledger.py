"""`evennia ai_ledger`: list the games that share this game's ledger, or claim a game's name."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError

from evennia_ai.budget.ledger import names, place
from evennia_ai.errors import ConfigurationError


class Command(BaseCommand):
    """The management command."""

    help = (
        "Lists the games that share this game's ledger. With --claim: the name in "
        "EVENNIA_AI_LEDGER_CONFIG.game, which another database has, is this game's; type it where "
        "a game was moved or restored from a backup, once the other is stopped."
    )
    # The checks import the game's URLs, and with them its typeclasses. Evennia's launcher has not
    # called `evennia._init`, so that `from evennia import DefaultObject` would give None.
    requires_system_checks: ClassVar[list[str]] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--claim", action="store_true", help="take the name for this game")

    def handle(self, *, claim: bool, **_: Any) -> None:
        """List the games, after claiming the name if that was asked for.

        Raises:
            CommandError: that is not possible; the text says why.
        """
        try:
            if not place.is_shared():
                raise CommandError(
                    "this game's ledger is in its own database: no other game shares it"
                )
            if claim:
                was_anothers = names.claim()
                outcome = "is this game's now" if was_anothers else "is this game's already"
                self.stdout.write(f"The name {place.game()!r} {outcome}.")
            for line in names.listed():
                self.stdout.write(line)
        except ConfigurationError as error:
            raise CommandError(str(error)) from error
