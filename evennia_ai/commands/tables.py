"""Text tables whose wide cells are cropped, for an overview, or wrapped, for reading in full."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from evennia.utils.ansi import strip_ansi
from evennia.utils.evtable import fill
from evennia.utils.utils import display_len

from evennia_ai.core.text.cleaning import one_line

GAP = "  "
# In characters, as all widths here.
LONGEST_CELL = 300
PADDING, LEAST_WIDE = 2, 20
# Placeholders for markup characters, which Evennia's text functions would interpret, differently in
# each version. They are from the private use area, which `one_line` removes from cells.
_MASKED = str.maketrans({"|": "\ue000", "{": "\ue001"})
_UNMASKED = str.maketrans({"\ue000": "|", "\ue001": "{"})


def cropped(text: str, width: int) -> str:
    """A text cut to a width, with ".." at the cut."""
    if display_len(text) <= width:
        return text
    text = text[: width - 2]
    while display_len(text) > width - 2:
        text = text[:-1]
    return f"{text}.."


def cropped_rows(
    head: Sequence[str], rows: Sequence[Sequence[object]], widest: Sequence[int], line: int
) -> str:
    """A table with one line per row. Columns are as wide as needed, up to a maximum.

    Args:
        widest: maximum width of each column; 0 for the one that gets the rest of the line.
        line: maximum width of a line.
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
            _padded(cropped(cell, most), most) for cell, most in zip(row, widths, strict=True)
        ).rstrip()
        for row in table
    )


def _padded(cell: str, width: int) -> str:
    """Pad a cell with blanks, counting wide characters as two columns."""
    return f"{cell}{' ' * (width - display_len(cell))}"


def broken_rows(head: Sequence[str], rows: Iterable[Sequence[object]], wide: int, line: int) -> str:
    """A table in the style of Evennia's EvTable.

    EvTable itself blocks the game for a third of a second with all tools of an assistant.

    Args:
        wide: index of the column whose cells are wrapped if a row is too long.
        line: maximum width of a line.
    """
    cells = [tuple(head), *(tuple(_cell(value) for value in row) for row in rows)]
    widths = [max(map(display_len, column)) for column in zip(*cells, strict=True)]
    left = line - sum(widths) + widths[wide] - PADDING * (len(widths) - 1)
    widths[wide] = min(widths[wide], max(left, LEAST_WIDE) - PADDING)
    lines = [line for row in cells for line in _row(row, widths)]
    lines.insert(1, "~" * (sum(widths) + PADDING * len(widths)))
    return "\n".join(lines).translate(_UNMASKED)


def _row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """The lines of a row, with its cells centred vertically."""
    columns = [_wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, columns))
    for column in columns:
        excess = height - len(column)
        # Like EvTable: an odd blank line goes on top in rows of odd height.
        column[:0] = [""] * (excess // 2 + excess % 2 * (height % 2))
    for parts in zip_longest(*columns, fillvalue=""):
        gaps = [w - display_len(part) for part, w in zip(parts, widths, strict=True)]
        yield "".join(f" {part}{' ' * gap} " for part, gap in zip(parts, gaps, strict=True))


def _wrapped(text: str, width: int) -> list[str]:
    if display_len(text) <= width:
        return [text]
    # textwrap is faster, but only Evennia's `fill` knows the width of non-ASCII characters.
    if text.isascii():
        return textwrap.wrap(text, width, break_on_hyphens=False)
    return [line.rstrip() for line in strip_ansi(str(fill(text, width))).split("\n")]


def _cell(value: object) -> str:
    return one_line(str(value), LONGEST_CELL).translate(_MASKED)
