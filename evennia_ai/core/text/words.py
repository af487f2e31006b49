"""Words: what is one in a text, counts and amounts for people, names that explain themselves."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Self

# A word with its apostrophe: "don't", "Ada's".
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# Somebody's words within a text; an opening mark that is never closed quotes nothing.
QUOTED = re.compile(r'"[^"]*"|“[^“”]*”|«[^«»]*»')


class ExplainedEnum(StrEnum):
    """Words that programs use, each with a text for people beside it.

    A member is written as its value and its text: `LOOP = "loop", "one task took too many steps"`.
    """

    _value_: str
    text: str

    def __new__(cls, value: str, text: str = "") -> Self:
        """Make a member; a member is looked up by its value alone."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.text = text
        return member


def number(value: float) -> str:
    """An amount as people read it, to a millionth: 1,200 or 0.35 or 0.0025."""
    value = round(value, 6)
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.2f}" if value == round(value, 2) else f"{value:,.6f}".rstrip("0")


def counted(value: float, unit: str) -> str:
    """An amount with its unit, which is given as a plural: 1 step, 5 steps, 1 memory."""
    if value == 1:
        unit = f"{unit[:-3]}y" if unit.endswith("ies") else unit.removesuffix("s")
    return f"{number(value)} {unit}"
