"""A fence around what takes a while: void once the assistant was stopped, reset or reloaded."""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.errors import StaleEpochError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.work import Work
from evennia_ai.workers.port import Run


@dataclass(frozen=True, slots=True)
class Fence:
    """The life and the epoch in which something began that the model is asked for."""

    script: Assistant
    work: Work
    epoch: int

    @classmethod
    def of(cls, script: Assistant) -> Fence:
        """One that holds as long as nothing stops or resets the assistant."""
        return cls(script, script.work, script.work.epoch)

    def check(self) -> None:
        """Raise StaleEpochError when that is over."""
        if self.script.work is not self.work or self.work.epoch != self.epoch:
            raise StaleEpochError(self.epoch, self.script.work.epoch)

    def holds(self) -> bool:
        """True while it is not over, and no stop is active."""
        is_same = self.script.work is self.work and self.work.epoch == self.epoch
        return is_same and not state.is_stopped(self.script)

    @property
    def run(self) -> Run:
        """The same for what workers do."""
        return Run(self.script.pk, self.epoch, self.holds)
