"""Work with the memories under way, by night or by day: whom it may ask, and how it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from evennia_ai.core.memory import night as rules
from evennia_ai.core.memory.extraction import Request
from evennia_ai.core.safety.audit_events import Fact
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.memory import modes
from evennia_ai.memory.evidence import ShownMemories
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.runtime.state import ExtraWrites
from evennia_ai.tools.inner_calls import Asker, PutOffError

NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(slots=True)
class MemoryWork:
    """Work with the memories that nobody waits for, and the one way its results are stored.

    Attributes:
        asker: whom it asks; None: no model is there for it.
        absence: why there is none.
    """

    script: Assistant
    fence: Fence
    asker: Asker | None = None
    absence: str = ""

    async def ask(
        self,
        request: Request,
        context_type: ContextType,
        purpose: str,
        evidence: ShownMemories | None = None,
    ) -> str:
        """The model's answer, as `Asker.ask`."""
        if self.asker is None:
            raise PutOffError(self.absence)
        return await self.asker.ask(request, context_type, purpose, evidence)

    def keep(
        self,
        *facts: Fact,
        extra_writes: ExtraWrites | None = None,
        counted: Mapping[str, int] = NOTHING,
        **values: Any,
    ) -> None:
        """Store a piece's results, all or none of them.

        Args:
            extra_writes: writes rows, in the same transaction.
            counted: what was done, for people.

        Raises:
            StaleEpochError: it was stopped or reset meanwhile.
        """
        self.fence.check()
        state.write(self.script, *facts, extra_writes=extra_writes, **values)


@dataclass(slots=True)
class NightWork(MemoryWork):
    """One piece of a night's work.

    Attributes:
        progress: how far the night is; see `core.memory.night`.
        is_changed: the progress is not stored yet.
    """

    progress: rules.NightProgress = field(default_factory=rules.NightProgress)
    is_changed: bool = False

    @property
    def cursor(self) -> dict[str, Any]:
        """The progress of the step, as the step itself understands it."""
        return dict(self.progress["cursor"])

    async def ask(
        self,
        request: Request,
        context_type: ContextType,
        purpose: str,
        evidence: ShownMemories | None = None,
    ) -> str:
        """The model's answer, as `Asker.ask`; what it used is counted with the night."""
        try:
            return await MemoryWork.ask(self, request, context_type, purpose, evidence)
        finally:
            # Also of a call that failed, which may have used some.
            self._count_tokens()

    def _count_tokens(self) -> None:
        if self.asker is not None and self.asker.tokens != self.progress["tokens"]:
            self.progress = {**self.progress, "tokens": self.asker.tokens}
            self.is_changed = True

    def keep(
        self,
        *facts: Fact,
        extra_writes: ExtraWrites | None = None,
        counted: Mapping[str, int] = NOTHING,
        cursor: Mapping[str, object] | None = None,
        **values: Any,
    ) -> None:
        """Store a piece's results together with how far the night is then, all or none of it.

        Args:
            cursor: how far the step is then; None: as far as before.

        Raises:
            StaleEpochError: it was stopped or reset meanwhile.
        """
        values |= self.moved(cursor, counted)
        MemoryWork.keep(self, *facts, extra_writes=extra_writes, **values)
        # Only once it is stored: what a stop cut off is done anew.
        self.note_kept(values)

    def moved(
        self, cursor: Mapping[str, object] | None = None, counted: Mapping[str, int] = NOTHING
    ) -> dict[str, Any]:
        """The night's progress after a piece, as values to be stored with its results."""
        self._count_tokens()
        progress = rules.counted(self.progress, counted)
        if cursor is not None:
            progress["cursor"] = dict(cursor)
        values: dict[str, Any] = {"consolidation_progress": progress}
        step = rules.step_of(progress)
        if step is not None and modes.is_asleep(self.script):
            values["sleep_phase"] = step.phase
        return values

    def note_kept(self, values: Mapping[str, Any]) -> None:
        """Take up the progress that `moved` gave, which is stored."""
        self.progress, self.is_changed = values["consolidation_progress"], False

    def put_off(self, why: str) -> None:
        """Leave the rest of this step for another night."""
        self.progress = rules.put_off(self.progress, why)
        self.is_changed = True

    def go_on(self) -> None:
        """Begin the next step."""
        self.progress = rules.moved(self.progress)
        self.is_changed = True
