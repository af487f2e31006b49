"""What tests of the pages of memories share: what Ada remembers of some, and her record."""

from __future__ import annotations

from typing import Any

from evennia_ai import audit
from evennia_ai.core.memory.recollection import WORLD, person_audience
from evennia_ai.memory_store import rows
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import Memory
from tests.shell.memory_case import MemoryTest
from tests.web.support import WebTest

SECRET = "Pia whispered that she loves the miller."
OPEN = "The atlas is in the east tower."


class RememberingPages(MemoryTest, WebTest):
    """Ada knows something open, and something that Pia told her alone.

    Attributes:
        open, secret: both of them, as rows.
        pia: the person of the account.
    """

    def setUp(self) -> None:
        """What she remembers."""
        super().setUp()
        self.pia = person_of(self.people["player"])
        self.open = self.kept(OPEN, tags=("atlas",))
        self.secret_of_pia = self.kept(SECRET, person=self.people["player"], is_private=True)

    def kept(
        self, text: str, *, person: Any = None, is_private: bool = False, **more: Any
    ) -> Memory:
        """A row of what Ada is let know, and can find."""
        audience = person_audience(person_of(person)) if is_private else WORLD
        return Memory.objects.get(key=self.remember(text, audience, person=person, **more))

    def texts(self) -> list[str]:
        """All that Ada remembers, the oldest first."""
        return list(rows.of(self.ada_script.pk).order_by("pk").values_list("text", flat=True))

    def facts(self, event: str, subject: Any = None) -> list[dict[str, Any]]:
        """The details of events of a name in Ada's record, or in another, the newest first."""
        audit.flush()
        found = audit.application().page(subject or self.ada_script, events=(event,))
        return [dict(entry.details) for entry in found]
