"""`evennia ai_worker`: run a worker for embeddings and nights, beside the game's server."""

from __future__ import annotations

import logging
from argparse import ArgumentParser
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from evennia_ai.core.settings.services import WorkersConfig
from evennia_ai.errors import ConfigurationError
from evennia_ai.memory_store.opening import make_embedder
from evennia_ai.memory_store.troubles import explained
from evennia_ai.models import WorkerSeen, WorkJob, missing_tables
from evennia_ai.runtime import services
from evennia_ai.workers import bell
from evennia_ai.workers.working import Worker

OFF = (
    f"{WorkersConfig.NAME} sets no engine, so that the game does this work itself; set it in "
    "server/conf/settings.py: {'engine': 'procrastinate'}"
)
TABLES = "the tables of evennia_ai are not made ({names}); type: evennia migrate"


class Command(BaseCommand):
    """The management command."""

    help = (
        "Makes vectors of memories and asks models for nights, until SIGTERM or Ctrl-C, which let "
        "it finish what it is at. Several may run at once, on several machines."
    )
    # The checks import the game's URLs and typeclasses, and a worker needs neither.
    requires_system_checks: ClassVar[list[str]] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--make-tables",
            action="store_true",
            help="make Procrastinate's tables in the game's database, and end",
        )

    def handle(self, *, make_tables: bool, **_: Any) -> None:
        """Run the worker, or create the queue's tables.

        Raises:
            CommandError: something is missing; the text says what to do.
        """
        if problem := bell.obstacle_of_setting():
            raise CommandError(problem)
        if make_tables:
            self._make_tables()
            return
        try:
            worker = self._worker()
        except (ConfigurationError, DatabaseError) as error:
            is_of_data = isinstance(error, DatabaseError)
            raise CommandError(explained(error) if is_of_data else str(error)) from error
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
        # At INFO it logs each job twice, with its arguments.
        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        self.stdout.write(f"Worker {worker.name} is at work; Ctrl-C or SIGTERM ends it.")
        self.stdout.flush()
        # The worker's threads open their own; this one would idle until the database drops it.
        connection.close()
        worker.run()
        self.stdout.write(f"Worker {worker.name} has ended.")

    def _make_tables(self) -> None:
        problem = bell.obstacle()
        if not problem:
            self.stdout.write("The tables of Procrastinate are there already.")
            return
        if problem != bell.NO_TABLES:
            raise CommandError(problem)
        try:
            bell.make_tables()
        except DatabaseError as error:
            raise CommandError(f"the tables could not be made: {explained(error)}") from error
        self.stdout.write("The tables of Procrastinate are made.")

    def _worker(self) -> Worker:
        config = services.workers_config()
        if not config.engine:
            raise CommandError(OFF)
        if problem := bell.obstacle():
            raise CommandError(problem)
        if missing := missing_tables(WorkJob, WorkerSeen):
            raise CommandError(TABLES.format(names=", ".join(missing)))
        settings = services.memory_settings()
        return Worker(
            config, make_embedder(settings), services.model_keys(), services.reply_bytes()
        )
