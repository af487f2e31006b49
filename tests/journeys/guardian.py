"""Kills a game's processes when the test run that started them is gone, for any reason.

    python -m tests.journeys.guardian FOLDER

waits for the end of its standard input, which comes when the process at the other side closes it or
dies, even by SIGKILL; then it kills every process whose command line names FOLDER.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from tests.journeys.processes import kill_processes

ROOT = Path(__file__).resolve().parents[2]
DISMISSED = b"dismissed"
# A process that was started a moment before has no command line yet.
STARTING_SECONDS = 0.5


class Guardian:
    """A process that outlives this one just long enough to clean up after it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @classmethod
    def watch(cls, folder: Path) -> Self:
        """Start watching; `dismiss` ends it."""
        command = [sys.executable, "-m", "tests.journeys.guardian", str(folder)]
        return cls(
            subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True)
        )

    def dismiss(self, timeout_seconds: float = 20.0) -> None:
        """Let it clean up now, and wait until it has."""
        self._process.communicate(DISMISSED, timeout=timeout_seconds)


def main() -> None:
    if sys.stdin.buffer.read() != DISMISSED:
        time.sleep(STARTING_SECONDS)
    kill_processes(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
