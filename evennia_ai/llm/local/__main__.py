"""Command line of the embedded model: start, stop, status, fetch."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from evennia_ai.errors import LocalModelError
from evennia_ai.llm.local import control, weights

# As `systemctl status` and LSB init scripts report a service that does not run.
_NOT_RUNNING_EXIT = 3
# A log or a pipe gets fewer lines than a terminal gets updates.
_TTY_SECONDS = 0.2
_LINE_SECONDS = 3.0


class Progress:
    """Writes progress: one changing line on a terminal, new lines elsewhere.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._stage = ""
        self._shown_at = 0.0
        self._width = 0

    def __call__(self, stage: str, done_bytes: int, total_bytes: int) -> None:
        """Take one report; show it if the stage is new or the last one is old enough."""
        is_tty = self._out.isatty()
        pause = _TTY_SECONDS if is_tty else _LINE_SECONDS
        is_new_stage = stage != self._stage
        if not is_new_stage and self._clock() - self._shown_at < pause:
            return
        if is_new_stage:
            self.finish()
        text = stage[:1].upper() + stage[1:] + _share(done_bytes, total_bytes)
        if is_tty:
            # Padded to the last width, so that nothing of a longer line stays visible.
            self._out.write(f"\r{text:<{self._width}}")
            self._width = len(text)
        else:
            self._out.write(f"{text}\n")
        self._out.flush()
        self._stage, self._shown_at = stage, self._clock()

    def finish(self) -> None:
        """End the changing line, if there is one."""
        if self._width:
            self._out.write("\n")
            self._width = 0


def _share(done_bytes: int, total_bytes: int) -> str:
    if not total_bytes:
        return ""
    percent = 100 * done_bytes // total_bytes
    return f": {done_bytes / 1e6:,.0f} of {total_bytes / 1e6:,.0f} MB ({percent} %)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    options = _parser().parse_args(arguments)
    progress = Progress(sys.stderr)
    try:
        code, text = options.run(options, progress)
    except LocalModelError as error:
        code, text = 1, str(error)
    except KeyboardInterrupt:
        code, text = 130, "Interrupted."  # 128 + SIGINT, as shells report it
    progress.finish()
    (sys.stdout if code == 0 else sys.stderr).write(f"{text}\n")
    return int(code)


def _start(options: argparse.Namespace, progress: Progress) -> tuple[int, str]:
    control.ensure_running(options.state_dir, stop_with=options.stop_with, report=progress)
    return 0, control.describe(options.state_dir)


def _stop(options: argparse.Namespace, progress: Progress) -> tuple[int, str]:
    was_running = control.stop(options.state_dir)
    return 0, "The embedded model is stopped." if was_running else "It was not running."


def _status(options: argparse.Namespace, progress: Progress) -> tuple[int, str]:
    is_running = control.find_running(options.state_dir) is not None
    return 0 if is_running else _NOT_RUNNING_EXIT, control.describe(options.state_dir)


def _fetch(options: argparse.Namespace, progress: Progress) -> tuple[int, str]:
    return 0, f"The weights are in {weights.find_or_fetch(report=progress)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evennia_ai.llm.local", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="start|stop|status|fetch")
    for run, text in (
        (_start, "start the model, fetching its weights if need be, and wait until it answers"),
        (_stop, "stop the model"),
        (_status, f"say how the model is; exit code {_NOT_RUNNING_EXIT} when it does not answer"),
        (_fetch, "fetch and check the weights only"),
    ):
        verb = verbs.add_parser(run.__name__.strip("_"), help=text)
        verb.set_defaults(run=run)
        verb.add_argument("--state-dir", type=Path, required=run is not _fetch, metavar="DIR")
        if run is _start:
            verb.add_argument("--stop-with", type=Path, metavar="PIDFILE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
