"""A fence around long work: it breaks once the assistant is stopped, reset or reloaded."""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.errors import StaleEpochError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.work import Work
from evennia_ai.workers.port import Run


@dataclass(frozen=True, slots=True)
class Fence:
    """The run and the epoch of an assistant in which some work began."""

    script: Assistant
    work: Work
    epoch: int

    @classmethod
    def of(cls, script: Assistant) -> Fence:
        """Make a fence that holds until something stops, resets or reloads the assistant."""
        # Both: a reload replaces `work`, and a stop or reset only raises its epoch.
        return cls(script, script.work, script.work.epoch)

    def check(self) -> None:
        """Raise StaleEpochError if it no longer holds."""
        if self.script.work is not self.work or self.work.epoch != self.epoch:
            raise StaleEpochError(self.epoch, self.script.work.epoch)

    def holds(self) -> bool:
        """True while it holds and no emergency stop is active."""
        is_same = self.script.work is self.work and self.work.epoch == self.epoch
        return is_same and not state.is_stopped(self.script)

    @property
    def run(self) -> Run:
        """The same condition in the form that workers take."""
        return Run(self.script.pk, self.epoch, self.holds)
