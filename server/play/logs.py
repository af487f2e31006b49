"""Show the last lines of logs, and follow them on a terminal."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

LINES_SHOWN = 50
LOOK_EVERY_SECONDS = 0.5


def show(files: Sequence[Path], say: Callable[[str], None], *, follow: bool) -> None:
    """Print the last lines of each file; optionally follow them until interrupted.

    Args:
        files: the logs; one that does not exist yet counts as empty.
        say: prints a line.
        follow: whether to print new lines as they are written.
    """
    places = {path: size(path) for path in files}
    for path in files:
        last = last_lines(path, LINES_SHOWN)
        say(f"== {path.name}" + ("" if last else ": nothing yet"))
        for line in last:
            say(line)
    if follow:
        _follow(places, say)


def last_lines(path: Path, count: int) -> list[str]:
    """Return up to `count` lines from the end of a file, without their newlines."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, maxlen=count)]
    except OSError:
        return []


def size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_from(path: Path, place: int) -> str:
    """Return the content of a file from an offset in bytes; "" if it does not exist."""
    try:
        with path.open("rb") as file:
            file.seek(place)
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _follow(places: dict[Path, int], say: Callable[[str], None]) -> None:
    while True:
        for path in places:
            places[path] = _say_new(path, places[path], say)
        time.sleep(LOOK_EVERY_SECONDS)


def _say_new(path: Path, place: int, say: Callable[[str], None]) -> int:
    now = size(path)
    # A log that became shorter was rotated.
    place = 0 if now < place else place
    if now > place:
        for line in read_from(path, place).splitlines():
            say(f"{path.stem}: {line}")
    return now
