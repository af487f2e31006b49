"""`evennia ai_move_memories`: copy the vectors in server/ai_memory to the database."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError

from evennia_ai.errors import ConfigurationError, MemoryStoreError
from evennia_ai.memory_store import moving
from evennia_ai.memory_store.moving import Left, Moved
from evennia_ai.runtime import services

HERE = ("embedded", "inline")


class Command(BaseCommand):
    """The management command."""

    help = (
        "Copies the vectors of memories from the folder of games made before into the database. "
        "Stop the game first. The folder stays as it is; may be typed again at any time."
    )
    # The checks import the game's URLs, and with them its typeclasses. Evennia's launcher has not
    # called `evennia._init`, so that `from evennia import DefaultObject` would give None.
    requires_system_checks: ClassVar[list[str]] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--from", dest="folder", type=Path, help="the folder; without it, server/ai_memory"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="only say what would be copied; change nothing"
        )

    def handle(self, *, folder: Path | None, dry_run: bool, **_: Any) -> None:
        """Copy the vectors, and report the outcome.

        Raises:
            CommandError: the vectors cannot be copied, or not all; the text says why.
        """
        try:
            settings = services.memory_settings()
            if settings.store not in HERE:
                raise CommandError(
                    f"this game's vectors are not in its database, but in {settings.store!r} "
                    "(EVENNIA_AI_MEMORY_STORE): type in the game: aimemory <assistant> reindex"
                )
            moved = moving.move(folder or settings.folder, self._report, is_trial=dry_run)
        except (ConfigurationError, MemoryStoreError) as error:
            raise CommandError(str(error)) from error
        for line in _told(moved, moving.left(), is_trial=dry_run):
            self.stdout.write(line)

    def _report(self, name: str, place: int, count: int, done: int) -> None:
        self.stdout.write(f"{name} ({place} of {count}): {done} vectors read")


def _told(moved: Moved, left: Left, *, is_trial: bool) -> list[str]:
    would = "would be " if is_trial else ""
    # A trial copies nothing, so what it would have copied still counts as missing.
    anew = left.missing - (moved.copied + moved.questions if is_trial else 0)
    lines = [f"{moved.copied} vectors {would}copied."]
    counts = (
        (moved.there, "were in the database already."),
        (moved.questions, "are of entries that only ask: those are found by their words alone."),
        (moved.changed, "are out of date: their memories changed since, or wait to be read again."),
        (moved.strangers, "belong to nobody: their memories or assistants are gone."),
        (moved.unreadable, "cannot be read, and were left out."),
        (left.waiting, "memories wait to be read: the game makes their vectors when it is quiet."),
        (anew, "memories have no vector here: the game makes them anew when it is quiet."),
    )
    lines += [f"{number} {text}" for number, text in counts if number]
    lines += [f"Skipped, since it is damaged: {each}" for each in moved.damaged]
    lines.append("The folder is as it was; once all is well in the game, it may be deleted.")
    return lines
