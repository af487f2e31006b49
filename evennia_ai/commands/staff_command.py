"""The base of the commands of staff: who sees them, and tables longer than a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any

from evennia.utils.ansi import strip_ansi
from evennia.utils.evtable import fill
from evennia.utils.utils import display_len

from evennia_ai.commands.base import AssistantCommand
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Being
from evennia_ai.operations.rights import is_staff

LONGEST_CELL = 300
PADDING, LEAST_WIDE = 2, 20
# What stands for marks of markup while a table is made, which would take them for such, in one way
# or another in each version of Evennia. `one_line` leaves none of these in a cell.
_MASKED = str.maketrans({"|": "\ue000", "{": "\ue001"})
_UNMASKED = str.maketrans({"\ue000": "|", "\ue001": "{"})


def shown_time(at: object) -> str:
    """A point in time as staff read it, from what an operation gives."""
    return f"{at:%Y-%m-%d %H:%M:%S}" if isinstance(at, datetime) else str(at)[:19].replace("T", " ")


class StaffCommand(AssistantCommand):
    """Base of the commands that only staff have: for others they are neither there nor in help."""

    locks = "cmd:all()"

    def access(self, srcobj: Being, *args: Any, **kwargs: Any) -> bool:
        """True where somebody has the command: EVENNIA_AI_STAFF_LOCK says who is staff."""
        return bool(super().access(srcobj, *args, **kwargs)) and is_staff(srcobj)

    def line(self) -> str:
        """All that was typed; switches count as the first words."""
        return " ".join([*self.switches, self.args.strip()]).strip()

    def show_table(
        self,
        title: str,
        head: Sequence[str],
        rows: Iterable[Sequence[object]],
        foot: str = "",
        *,
        wide: int,
    ) -> None:
        """Show rows of plain cells, a screen at a time.

        Args:
            wide: the column whose cells are broken where a row is too long for the client.
        """
        cells = [tuple(head), *(tuple(_cell(value) for value in row) for row in rows)]
        widths = [max(map(display_len, column)) for column in zip(*cells, strict=True)]
        left = self.client_width() - sum(widths) + widths[wide] - PADDING * (len(widths) - 1)
        widths[wide] = min(widths[wide], max(left, LEAST_WIDE) - PADDING)
        lines = [line for row in cells for line in _row(row, widths)]
        lines.insert(1, "~" * (sum(widths) + PADDING * len(widths)))
        shown = "\n".join(lines).translate(_UNMASKED)
        self.show_long("\n".join(filter(None, (title, shown, foot))))


def _row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """The lines of a row, each cell in the middle of them, as Evennia's tables have it.

    Those take a third of a second for all tools of an assistant, for which the game stands still.
    """
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
