"""A test case of stops: many waiting messages, the log, and the record."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from evennia.utils import logger

from evennia_ai import audit
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.emergency import RETURNED_LINE
from evennia_ai.messages import incoming
from tests.game.listening import HearingTest

RETURNED = RETURNED_LINE.replace("{name}", "Ada")
DEAF = "Ada does not seem to hear you."

Records = list[tuple[str, dict[str, Any]]]


class SafetyTest(HearingTest):
    """A test case with many messages waiting for Ada."""

    @contextmanager
    def audited(self) -> Iterator[Records]:
        records: Records = []

        def listen(event: str, _: str, facts: dict[str, Any]) -> None:
            records.append((event, facts))

        audit.LISTENERS.append(listen)
        try:
            yield records
        finally:
            audit.LISTENERS.remove(listen)

    @contextmanager
    def logged(self) -> Iterator[list[str]]:
        lines: list[str] = []
        with mock.patch.object(logger, "log_err", lines.append):
            yield lines

    def queue(self, count: int, person: Any = None) -> None:
        """Put this many messages of a person (Tom) into the inbox."""
        person = person or self.tom
        for number in range(count):
            self.ada_script.enqueue(self.event(f"m{person.id}-{number}", person))

    def event(self, event_id: str, person: Any) -> Event:
        return Event(
            id=event_id,
            kind="message",
            source="whisper",
            sender_id=incoming.id_of(person),
            sender_name=person.key,
            body="hello",
            trust=0.9,
            rule=3,
            hops=0,
            at=self.clock.seconds(),
            person=self.person(person),
        )

    def returns(self, person: Any) -> int:
        """The number of times a person was told that no answer will come."""
        return int(person.heard_from(self.ada).count(RETURNED))
