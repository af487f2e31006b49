"""Once a day and stream: what is too old goes into an archive, a little at a time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from uuid import UUID

from evennia.utils import logger

from evennia_ai.audit.archive import Steps, steps_of
from evennia_ai.audit.reading import application
from evennia_ai.audit.streams import Subject

EVERY_SECONDS = 86_400
PAUSE_SECONDS = 0.2
Later = Callable[[float, Callable[[], None]], Any]


class Upkeep:
    """Archives what the policy does not keep, in steps with pauses between them.

    Args:
        later: calls something after some seconds; None: nothing happens by itself.
        clock: seconds that only ever go up.
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

    def look(self, whom: Iterable[Subject]) -> None:
        """Begin with those streams that nobody looked at for a day."""
        now = self._clock()
        for subject in whom:
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
        """Do a little of it. Returns whether there is more."""
        if self._steps is None and self._due:
            self._steps = steps_of(self._due.popleft(), application())
        if self._steps is not None:
            try:
                next(self._steps)
            except StopIteration:
                self._steps = None
            except Exception:
                self._steps = None
                logger.log_trace("[assistant] a record could not be archived; tomorrow again")
        return bool(self._steps or self._due)

    def stop(self) -> None:
        """Leave the rest to another day; no timer stays behind."""
        self._due.clear()
        self._steps = None
        if self._timer is not None:
            with suppress(Exception):  # it may be over already
                self._timer.cancel()
            self._timer = None
