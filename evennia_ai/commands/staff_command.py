"""The base of the commands of staff: who sees them, and tables longer than a screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from evennia.utils.ansi import strip_ansi
from evennia.utils.evtable import EvTable

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
        table = EvTable(border="header")
        cells = [tuple(head), *(tuple(_cell(value) for value in row) for row in rows)]
        for column in zip(*cells, strict=True):
            table.add_column(*column[1:], header=column[0])
        widths = [max(map(len, column)) + PADDING for column in zip(*cells, strict=True)]
        left = self.client_width() - sum(widths) + widths[wide]
        table.reformat_column(wide, width=min(widths[wide], max(left, LEAST_WIDE)))
        shown = strip_ansi(str(table)).translate(_UNMASKED)
        self.show_long("\n".join(filter(None, (title, shown, foot))))


def _cell(value: object) -> str:
    return one_line(str(value), LONGEST_CELL).translate(_MASKED)
