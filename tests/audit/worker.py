"""A server process that writes events of one assistant in several threads; see `load`.

Its act is `migrate`, or `keep` with a number and the counts of threads and events. It prints
`ready` once it has the database that LEDGER_TEST_DATABASE names, begins at a line on stdin, and
prints `done`.
"""

import sys
from importlib import import_module
from typing import Any

from tests.ledger import worker


def migrate() -> None:
    from django.core.management import call_command

    call_command("migrate", "evennia_ai", interactive=False, verbosity=0, skip_checks=True)


def keep(number: int, threads: int, facts: int) -> None:
    """Write events as checkpoints do; all threads share one writer."""
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connections, transaction

    from evennia_ai import audit
    from evennia_ai.core.safety.audit_events import audit_event
    from tests.audit.support import Script, subject

    writer, ada = audit.AuditWriter(), subject(Script())

    def one(fact: Any) -> None:
        for _ in range(1000):
            try:
                with transaction.atomic():
                    writer.save(ada, [fact])
            except audit.RecordConflictError:
                continue
            return
        raise AssertionError("never its turn")

    def work(thread: int) -> None:
        for count in range(facts):
            name = f"{number} {thread} {count}"
            writer.record(ada, audit_event("recorded", name=name))
            one(audit_event("kept", name=name))
        connections.close_all()

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    writer.stop()


def load() -> None:
    """Load all that processes share before they are forked."""
    worker.load()
    import_module("tests.audit.support")


def main(act: str, *numbers: str) -> None:
    worker.take_settings()
    print("ready", flush=True)
    sys.stdin.readline()
    {"migrate": migrate, "keep": keep}[act](*map(int, numbers))
    print("done", flush=True)
