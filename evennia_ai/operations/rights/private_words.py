"""Private words before people whose they are not: masked, unless to reveal them is asked for.

To reveal is an act: the record keeps who did it, whose words they were and of which kind, and none
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
class Look:
    """A look at what belongs to people.

    Attributes:
        person: whoever looks ("*#3"): their own words are shown to them; "" for nobody.
        is_revealing: others' private words are asked for, too.
        by: the name of whoever looks, for the record.
        shown: how many private words of others were shown, by whose they are.
        hidden: how many were not.
    """

    person: str = ""
    is_revealing: bool = False
    by: str = ""
    shown: Counter[str] = field(default_factory=Counter)
    hidden: int = 0

    @classmethod
    def of(cls, being: Being, *, is_revealing: bool = False) -> Look:
        """A look of a being's."""
        return cls(incoming.person_of(being), is_revealing, str(being.key))

    def may_see(self, audience: str) -> bool:
        """True where what one person alone may know is shown, which is counted."""
        whose = person_audience(self.person)
        if may_leave(WAYS["staff"], frozenset((audience,)) - {whose}).is_allowed:
            return True
        if self.is_revealing:
            self.shown[audience] += 1
        else:
            self.hidden += 1
        return self.is_revealing

    def words(self, text: str, owner: str | None) -> str:
        """A text that is private to a person, "" for nobody, or that is open (None)."""
        if owner is None or not text or self.may_see(person_audience(owner)):
            return text
        return masked(text)

    def rows(self, rows: Iterable[R]) -> list[R]:
        """Rows of memories, of which the private ones tell no words."""
        return [self._row(row) for row in rows]

    def _row(self, row: Any) -> Any:
        if not is_private(row["audience"]) or self.may_see(row["audience"]):
            return dict(row)
        hidden: dict[str, Any] = {"tags": []} if "tags" in row else {}
        return {**row, "text": masked(row["text"]), **hidden}

    def note(self, script: Assistant, kind: str) -> None:
        """Record what was revealed."""
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
        """A line for people, where something was masked."""
        return [f"({self.hidden} {HOW})"] if self.hidden else []
