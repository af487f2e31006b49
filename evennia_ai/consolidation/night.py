"""The context of consolidation work, by night or day: its model, and the storage of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from evennia.utils import logger

from evennia_ai.core.memory import night as rules
from evennia_ai.core.memory.extraction import Request
from evennia_ai.core.safety.audit_events import AuditEvent
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.errors import ModelStatusError
from evennia_ai.memory import modes
from evennia_ai.memory.evidence import ShownMemories
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.fence import Fence
from evennia_ai.runtime.state import ExtraWrites
from evennia_ai.tools.inner_calls import Asker, PutOffError

NOTHING: Mapping[str, int] = MappingProxyType({})
# Refused requests of a night that are passed over; more are no matter of what is in them.
MOST_REFUSED = 5
REFUSED = "[assistant] {name}: the model's service refuses one request about its memories: {why}"


@dataclass(slots=True)
class MemoryWork:
    """Consolidation work in the background, and the only way to store its results.

    Attributes:
        asker: the model to ask; None if none is available.
        refused: number of requests that were refused and passed over.
    """

    script: Assistant
    fence: Fence
    asker: Asker | None = None
    absence: str = ""
    refused: int = 0

    async def ask(
        self,
        request: Request,
        context_type: ContextType,
        purpose: str,
        evidence: ShownMemories | None = None,
    ) -> str:
        """Ask the model; see `Asker.ask`.

        Returns:
            "" where the service refuses this very request, as for the words in it: like an answer
            that cannot be read, it must not keep a step from all others.
        """
        if self.asker is None:
            raise PutOffError(self.absence)
        try:
            return await self.asker.ask(request, context_type, purpose, evidence)
        except ModelStatusError as error:
            if not error.is_of_request or self.refused >= MOST_REFUSED:
                raise
            self.refused += 1
            logger.log_warn(REFUSED.format(name=self.script.key, why=error))
            return ""
        finally:
            # Also after a failed call, which may have used tokens.
            self.count_tokens()

    def save(
        self,
        *audit_events: AuditEvent,
        extra_writes: ExtraWrites | None = None,
        counted: Mapping[str, int] = NOTHING,
        skipped: Sequence[int | str] = (),
        **values: Any,
    ) -> None:
        """Store the results of a piece, and the progress of a night, in one transaction.

        Args:
            counted: counts of what was done, for people.
            skipped: what a night's step leaves out from now on.

        Raises:
            StaleEpochError: the assistant was stopped or reset in the meantime.
        """
        progress = self.moved(counted, skipped)
        self.fence.check()
        state.write(self.script, *audit_events, extra_writes=extra_writes, **values, **progress)
        # After the commit: a piece that a stop cut off has to be repeated.
        self.note_kept(progress)

    def count_tokens(self) -> None:
        """Count the tokens of the calls for the night."""

    def moved(
        self, counted: Mapping[str, int], skipped: Sequence[int | str] = ()
    ) -> dict[str, Any]:
        """The night's progress after a piece, as values to store; by day there is none."""
        return {}

    def note_kept(self, values: Mapping[str, Any]) -> None:
        """Adopt the progress from `moved` after it was stored."""


@dataclass(slots=True)
class NightWork(MemoryWork):
    """One piece of a night's work.

    Attributes:
        progress: progress of the night; see `core.memory.night`.
        is_changed: True if the progress is not stored yet.
    """

    progress: rules.NightProgress = field(default_factory=rules.NightProgress)
    is_changed: bool = False

    @property
    def skipped(self) -> list[Any]:
        """Ids of what the step leaves out, since it was tried already."""
        return list(self.progress["cursor"].get("skipped", ()))

    def count_tokens(self) -> None:
        """Count the tokens of the calls for the night."""
        if self.asker is not None and self.asker.tokens != self.progress["tokens"]:
            self.progress = {**self.progress, "tokens": self.asker.tokens}
            self.is_changed = True

    def moved(
        self, counted: Mapping[str, int], skipped: Sequence[int | str] = ()
    ) -> dict[str, Any]:
        """The night's progress after a piece, as values to store."""
        self.count_tokens()
        progress = rules.counted(self.progress, counted)
        progress["refused"] = self.refused
        if skipped:
            progress["cursor"] = {"skipped": [*self.skipped, *skipped]}
        values: dict[str, Any] = {"consolidation_progress": progress}
        step = rules.step_of(progress)
        if step is not None and modes.is_asleep(self.script):
            values["sleep_phase"] = step.phase
        return values

    def note_kept(self, values: Mapping[str, Any]) -> None:
        """Adopt the progress from `moved` after it was stored."""
        self.progress, self.is_changed = values["consolidation_progress"], False

    def put_off(self, why: str) -> None:
        """Postpone the rest of this step to another night."""
        self.progress = rules.put_off(self.progress, why)
        self.is_changed = True

    def go_on(self) -> None:
        """Advance to the next step."""
        self.progress = rules.moved(self.progress)
        self.is_changed = True
