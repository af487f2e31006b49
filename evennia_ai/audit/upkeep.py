"""Upkeep of the audit log: archives the old events of each stream once a day, in small steps."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from uuid import UUID

from evennia.utils import logger

from evennia_ai.audit.archive import Steps, steps_of
from evennia_ai.audit.events import Subject
from evennia_ai.audit.reading import application

EVERY_SECONDS = 86_400
PAUSE_SECONDS = 0.2  # between two steps, in which the game's thread does other work
Later = Callable[[float, Callable[[], None]], Any]


class Upkeep:
    """Archives the events that the policy does not keep, in steps with pauses between them.

    Args:
        clock: monotonic seconds.
        later: calls a function after some seconds; None: callers must call `step` themselves.
    """

    def __init__(
        self, later: Later | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._later = later
        self._clock = clock
        self._looked_at: dict[UUID, float] = {}
        self._due: deque[Subject] = deque()
        self._steps: Steps | None = None
        self._timer: Any = None

    def look(self, subjects: Iterable[Subject]) -> None:
        """Queue the streams that were not checked for a day."""
        now = self._clock()
        for subject in subjects:
            if now - self._looked_at.get(subject.id, -EVERY_SECONDS) >= EVERY_SECONDS:
                self._looked_at[subject.id] = now
                self._due.append(subject)
        if self._due and self._timer is None and self._later is not None:
            self._timer = self._later(PAUSE_SECONDS, self._go_on)

    def _go_on(self) -> None:
        self._timer = None
        self.step()
        if self._later is not None and (self._steps or self._due):
            self._timer = self._later(PAUSE_SECONDS, self._go_on)

    def step(self) -> bool:
        """Do one step; True if more are left."""
        if self._steps is None and self._due:
            self._steps = steps_of(self._due.popleft(), application())
        if self._steps is not None:
            try:
                next(self._steps)
            except StopIteration:
                self._steps = None
            except Exception:  # a full disk, say, must not stop the other streams
                self._steps = None
                logger.log_trace("[assistant] a record could not be archived; tomorrow again")
        return bool(self._steps or self._due)

    def stop(self) -> None:
        """Drop the queue and cancel the timer."""
        self._due.clear()
        self._steps = None
        if self._timer is not None:
            with suppress(Exception):  # it may have fired already
                self._timer.cancel()
            self._timer = None
