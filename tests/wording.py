"""Checks of notices to staff: the first line must be in plain words."""

import re
from collections.abc import Iterable

MARK = "[assistant]"
# A dotted name, like a setting, or a word with an underscore.
MACHINE = re.compile(r"\w+_\w+|\b[a-z]\w*\.[a-z]\w*")


def first_line(notice: str) -> str:
    """Return the first line of a notice, without the mark and colours in front of it."""
    return notice.partition(MARK)[2].removeprefix("|n").strip().partition("\n")[0]


def machine_words(notices: Iterable[str]) -> list[str]:
    """Return first lines that contain identifiers."""
    return [line for line in map(first_line, notices) if MACHINE.search(line)]
