"""How staff are spoken to: the first line is a person's, whatever a test provokes."""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = "[assistant]"
# A dotted name, as settings have, or a word that has an underscore.
MACHINE = re.compile(r"\w+_\w+|\b[a-z]\w*\.[a-z]\w*")


def first_line(notice: str) -> str:
    """What people read first of a notice, without the mark and colours in front of it."""
    return notice.partition(MARK)[2].removeprefix("|n").strip().partition("\n")[0]


def machine_words(notices: Iterable[str]) -> list[str]:
    """First lines that have words of machines in them."""
    return [line for line in map(first_line, notices) if MACHINE.search(line)]
