"""Private words of other people: masked, unless the reader asks to reveal them.

Revealing is an act: the audit log has who did it, whose words they were and of which kind, but none
of the words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evennia_ai import audit
from evennia_ai.core.hearing.audience import WAYS, masked, may_leave
from evennia_ai.core.memory.recollection import is_private, person_audience
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages import incoming
from evennia_ai.operations.settings.changing import signed
from evennia_ai.runtime.assistant import Assistant

HOW = "private words are masked; add reveal to see them, which is recorded"
R = TypeVar("R", bound=Mapping[str, object])


@dataclass(slots=True)
class PrivateView:
    """The view of one reader on private words, with counts of what was shown and masked.

    Attributes:
        person: id of the reader ("*#3"), whose own words are shown; "" for nobody.
        is_revealing: the private words of others are asked for, too.
        by: name of the reader, for the audit log.
        shown: number of private texts of others that were shown, by their audience.
        hidden: number of private texts that were masked.
    """

    person: str = ""
    is_revealing: bool = False
    by: str = ""
    shown: Counter[str] = field(default_factory=Counter)
    hidden: int = 0

    @classmethod
    def of(cls, being: Being, *, is_revealing: bool = False) -> PrivateView:
        """The view of an account or a character."""
        return cls(incoming.person_of(being), is_revealing, str(being.key))

    def may_see(self, audience: str) -> bool:
        """True where a text with this audience is shown; counts it as shown or hidden."""
        whose = person_audience(self.person)
        if may_leave(WAYS["staff"], frozenset((audience,)) - {whose}).is_allowed:
            return True
        if self.is_revealing:
            self.shown[audience] += 1
        else:
            self.hidden += 1
        return self.is_revealing

    def words(self, text: str, owner: str | None) -> str:
        """A text as the reader may see it; `owner` is "" where nobody, None where everybody may."""
        if owner is None or not text or self.may_see(person_audience(owner)):
            return text
        return masked(text)

    def rows(self, rows: Iterable[R]) -> list[R]:
        """Rows of memories, the private ones masked."""
        return [self._row(row) for row in rows]

    def _row(self, row: Any) -> Any:
        if not is_private(row["audience"]) or self.may_see(row["audience"]):
            return dict(row)
        # Tags are words of the text.
        hidden: dict[str, Any] = {"tags": []} if "tags" in row else {}
        return {**row, "text": masked(row["text"]), **hidden}

    def note(self, script: Assistant, kind: str) -> None:
        """Record in the audit log what was revealed so far."""
        with signed(self.by):
            for whose, count in self.shown.items():
                audit.record(
                    "words_revealed",
                    script,
                    kind=kind,
                    person=whose.removeprefix("person:"),
                    count=count,
                )
        self.shown.clear()

    def hint(self) -> list[str]:
        """A line that says how much was masked, or none."""
        return [f"({self.hidden} {HOW})"] if self.hidden else []
