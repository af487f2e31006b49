"""Progress report of a start: one dotted line for each step.

On a terminal a line is redrawn while its step goes on. Elsewhere a line is printed when its step is
done, and a long step prints its progress in between.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

LABEL_WIDTH = 50
PLAIN_PROGRESS_EVERY_SECONDS = 10.0


class Step:
    """One line of the report; `label` may be changed until the step is done."""

    def __init__(self, label: str, report: Report, began: float | None = None) -> None:
        self.label = label
        self.result = ""
        self._report = report
        self._spoke = report.clock()
        self._began = self._spoke if began is None else began

    @property
    def elapsed(self) -> str:
        """Minutes and seconds since the step began, such as `00:38`."""
        minutes, seconds = divmod(int(self._report.clock() - self._began), 60)
        return f"{minutes:02d}:{seconds:02d}"

    def show(self, progress: str) -> None:
        """Show the progress of the step, in a few words."""
        now = self._report.clock()
        if self._report.is_terminal:
            self._report.redraw(f"{dotted(self.label)} {self.elapsed}  {progress}")
        elif now - self._spoke >= PLAIN_PROGRESS_EVERY_SECONDS:
            self._spoke = now
            self._report.say(f"    {self.label}: {progress} ({self.elapsed})")


class Report:
    """Writes steps and sentences to one stream.

    Args:
        stream: where to write; standard output by default.
        is_terminal: whether lines may be redrawn; by default as the stream says.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        is_terminal: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream or sys.stdout
        self.is_terminal = self._stream.isatty() if is_terminal is None else is_terminal
        self.clock = clock

    def say(self, text: str = "") -> None:
        """Print one line."""
        print(text, file=self._stream, flush=True)

    def redraw(self, text: str) -> None:
        """Replace the line under the cursor."""
        # A line that wraps could not be cleared by the next carriage return.
        self._stream.write(f"\r\x1b[K{text[:100]}")
        self._stream.flush()

    @contextmanager
    def step(self, label: str, began: float | None = None) -> Iterator[Step]:
        """Report one step: its label, its progress, and at the end its result or its time.

        Args:
            label: the step in a few words.
            began: its start by the clock, if it began during other steps; else now.
        """
        step = Step(label, self, began)
        if self.is_terminal:
            self.redraw(dotted(label))
        try:
            yield step
        except BaseException:
            self._finish(step, "failed")
            raise
        self._finish(step, step.result or step.elapsed)

    def _finish(self, step: Step, result: str) -> None:
        if self.is_terminal:
            self._stream.write("\r\x1b[K")
        self.say(f"{dotted(step.label)} {result}")


def dotted(label: str) -> str:
    """Return an indented label, with dots up to the column of results."""
    return f"  {label} {'.' * max(3, LABEL_WIDTH - len(label))}"
