"""Rows under a head, as lines show them: cells too wide are cropped, or broken into several lines.

Cropped, a row is one line: for figures at a glance. Broken, nothing is lost: for what staff read.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from evennia.utils.ansi import strip_ansi
from evennia.utils.evtable import fill
from evennia.utils.utils import display_len

from evennia_ai.core.text.cleaning import one_line

GAP = "  "
LONGEST_CELL = 300
PADDING, LEAST_WIDE = 2, 20
# What stands for marks of markup while a table is made, which would take them for such, in one way
# or another in each version of Evennia. `one_line` leaves none of these in a cell.
_MASKED = str.maketrans({"|": "\ue000", "{": "\ue001"})
_UNMASKED = str.maketrans({"\ue000": "|", "\ue001": "{"})


def cropped(text: str, width: int) -> str:
    """A text that fits, with a mark where it was cut."""
    return text if len(text) <= width else f"{text[: width - 2]}.."


def cropped_rows(
    head: Sequence[str], rows: Sequence[Sequence[object]], widest: Sequence[int], line: int
) -> str:
    """Rows of one line each, each column as wide as it has to be and no wider than it may.

    Args:
        widest: the most characters of each column; 0 for the one that gets what is left.
        line: the most characters of a line.
    """
    table = [tuple(map(str, row)) for row in (head, *rows)]
    needed = [max(map(display_len, column)) for column in zip(*table, strict=True)]
    widths = [min(pair) for pair in zip(needed, (most or line for most in widest), strict=True)]
    if 0 in widest:
        rest = widest.index(0)
        others = sum(widths) - widths[rest] + len(GAP) * (len(widths) - 1)
        widths[rest] = min(widths[rest], max(len(head[rest]), line - others))
    return "\n".join(
        GAP.join(
            _filled(cropped(cell, most), most) for cell, most in zip(row, widths, strict=True)
        ).rstrip()
        for row in table
    )


def _filled(cell: str, width: int) -> str:
    """A cell with blanks behind it; signs of some scripts take two columns each."""
    return f"{cell}{' ' * (width - display_len(cell))}"


def broken_rows(head: Sequence[str], rows: Iterable[Sequence[object]], wide: int, line: int) -> str:
    """Rows of plain cells, as Evennia's tables have them.

    Those take a third of a second for all tools of an assistant, for which the game stands still.

    Args:
        wide: the column whose cells are broken where a row is too long.
        line: the most characters of a line.
    """
    cells = [tuple(head), *(tuple(_cell(value) for value in row) for row in rows)]
    widths = [max(map(display_len, column)) for column in zip(*cells, strict=True)]
    left = line - sum(widths) + widths[wide] - PADDING * (len(widths) - 1)
    widths[wide] = min(widths[wide], max(left, LEAST_WIDE) - PADDING)
    lines = [line for row in cells for line in _row(row, widths)]
    lines.insert(1, "~" * (sum(widths) + PADDING * len(widths)))
    return "\n".join(lines).translate(_UNMASKED)


def _row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """The lines of a row, each cell in the middle of them."""
    columns = [_broken(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, columns))
    for column in columns:
        excess = height - len(column)
        column[:0] = [""] * (excess // 2 + excess % 2 * (height % 2))
    for parts in zip_longest(*columns, fillvalue=""):
        gaps = [w - display_len(part) for part, w in zip(parts, widths, strict=True)]
        yield "".join(f" {part}{' ' * gap} " for part, gap in zip(parts, gaps, strict=True))


def _broken(text: str, width: int) -> list[str]:
    """The lines of a cell. How wide signs are that are no letters of ours, Evennia knows."""
    if display_len(text) <= width:
        return [text]
    if text.isascii():
        return textwrap.wrap(text, width, break_on_hyphens=False)
    return [line.rstrip() for line in strip_ansi(str(fill(text, width))).split("\n")]


def _cell(value: object) -> str:
    return one_line(str(value), LONGEST_CELL).translate(_MASKED)
