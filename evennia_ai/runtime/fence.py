"""A fence around what takes a while: void once the assistant was stopped, reset or reloaded."""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.errors import StaleEpochError
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.work import Work


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
