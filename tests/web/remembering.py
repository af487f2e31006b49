"""Memories of Ada, open and private, shared by tests of the pages about memories."""

from typing import Any

from evennia_ai import audit
from evennia_ai.core.memory.recollection import WORLD, person_audience
from evennia_ai.memory_store import rows
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import Memory
from tests.game.memory.memory_case import MemoryTest
from tests.web.support import WebTest

SECRET = "Pia whispered that she loves the miller."
OPEN = "The atlas is in the east tower."


class RememberingPages(MemoryTest, WebTest):
    """Ada has one open memory, and one that Pia told her in private.

    Attributes:
        open, secret_of_pia: both of them, as rows.
        pia: Pia as the memories name her.
    """

    def setUp(self) -> None:
        super().setUp()
        self.pia = person_of(self.people["player"])
        self.open = self.kept(OPEN, tags=("atlas",))
        self.secret_of_pia = self.kept(SECRET, person=self.people["player"], is_private=True)

    def kept(
        self, text: str, *, person: Any = None, is_private: bool = False, **more: Any
    ) -> Memory:
        """Store a memory that Ada can also find, and return its row."""
        audience = person_audience(person_of(person)) if is_private else WORLD
        return Memory.objects.get(key=self.remember(text, audience, person=person, **more))

    def texts(self) -> list[str]:
        return list(rows.of(self.ada_script.pk).order_by("pk").values_list("text", flat=True))

    def facts(self, event: str, subject: Any = None) -> list[dict[str, Any]]:
        """Return the details of events of a name, the newest first.

        The record is Ada's by default.
        """
        audit.flush()
        page = audit.application().page(subject or self.ada_script, events=(event,))
        return [dict(entry.details) for entry in page]
