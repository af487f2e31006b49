"""Text tables, with wide cells cropped or wrapped, and formats of numbers, times and reports."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from evennia.utils.ansi import strip_ansi
from evennia.utils.evtable import fill
from evennia.utils.utils import display_len

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.operations.models.choosing import Report
from evennia_ai.operations.tools.running import ToolRow, arms

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
    room = line - sum(widths) + widths[wide] - PADDING * (len(widths) - 1)
    widths[wide] = min(widths[wide], max(room, LEAST_WIDE) - PADDING)
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


CHECK_FAILED = "The check itself failed"


def short(number: float) -> str:
    """A short form of a number, such as 950, 41.2k or 2M."""
    for size, mark in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if abs(number) >= size:
            text = f"{number / size:.3g}"
            # `g` switches to exponents from 1,000 of the largest unit on.
            return f"{text}{mark}" if "e" not in text else f"{number / size:,.0f}{mark}"
    return f"{number:g}"


def span(seconds: float) -> str:
    """A duration such as 00:02:10; from one day on in days and hours."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, part = divmod(hours, 24)
    return f"{days}d {part:02}h" if days else f"{hours:02}:{minutes:02}:{rest:02}"


def report_lines(report: Report, wrong: str) -> list[str]:
    """The report of a model check as lines.

    Args:
        wrong: advice for a failed check.
    """
    lines = [
        f"  {line.name:<11} {'ok' if line.ok else 'NO':<3} {line.text}" for line in report.lines
    ]
    return [report.title, *lines, "An assistant can work with it." if report.ok else wrong]


def allowed(tool: ToolRow) -> str:
    """A tool's permission in words: "yes", "no", or "after yes" if a person has to approve."""
    if not tool["is_allowed"]:
        return "no"
    return "after yes" if tool["needs_yes"] else "yes"


TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "array": "list",
    "object": "mapping, as JSON",
}


def takes(schema: Mapping[str, Any]) -> str:
    """The names of a tool's arguments, with optional ones in brackets."""
    required = schema.get("required", ())
    names = [name if name in required else f"[{name}]" for name in schema.get("properties", {})]
    return ", ".join(names) or "nothing"


def explain(schema: Mapping[str, Any]) -> list[str]:
    """A tool's arguments, one line each."""
    required = schema.get("required", ())
    return [
        f"  {name:<14} {_explain_one(one, name in required)}"
        for name, one in schema.get("properties", {}).items()
    ] or ["  it takes nothing"]


def _explain_one(given: object, is_required: bool) -> str:
    # A remote server may describe an argument that can be anything by True alone.
    schema: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    allowed_types = {arm["type"] for arm in arms(schema)} - {"null"}
    kinds = sorted(TYPES.get(kind, kind) for kind in allowed_types)
    parts = [" or ".join(kinds) or "anything"]
    if "enum" in schema:
        parts.append(f"one of {', '.join(map(str, schema['enum']))}")
    parts += [
        f"{word} {schema[key]}"
        for key, word in (("minimum", "at least"), ("maximum", "at most"), ("default", "usually"))
        if key in schema
    ]
    needed = "" if is_required else " (may be left out)"
    text = schema.get("description", "")
    return ", ".join(parts) + needed + (f": {text}" if text else "")
