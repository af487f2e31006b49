"""Formats a recorded turn for a template, with the geometry of its waterfall diagram.

The diagram is computed here, so that pages need no script; the table beside it says the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evennia_ai.core.safety.notices import limit_words
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.operations.turns.recorded import Recorded
from evennia_ai.operations.turns.traces import cost_of
from evennia_ai.web.rows import Shown

# In units of the drawing: the widths of the column of names and of the whole, the height of a row,
# and the least width of a bar, so that a very short step is still visible.
NAMES, WIDTH, ROW, LEAST = 190, 800, 22, 3
LONGEST_NAME = 26
LEVELS = {"answered": "good", "silent": "quiet", "failed": "bad", "broke off": "bad"}


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar of a step.

    Attributes:
        y, middle: the top of its row, and the baseline of its text.
        x, width: position and width of the bar.
    """

    name: str
    kind: str
    y: int
    middle: int
    x: float
    width: float


def shown_turn(turn: Recorded) -> Shown:
    """Format a recorded turn for a page.

    Its `anchor` is its element id, the same each time that it is rendered; `level` selects a colour
    and a sign, as for cards; `who`, `how` and `number` are those of the newest message that it
    answers, or empty and 0.
    """
    newest = turn["heard"][-1] if turn["heard"] else None
    return {
        "row": turn,
        "anchor": _anchor(turn),
        "level": LEVELS.get(turn["state"], "busy"),
        "who": newest["sender"] if newest else "",
        "how": newest["source"] if newest else "",
        "number": newest["number"] if newest else 0,
        "cost": _cost(turn["cost_nano"], turn["unpriced_calls"]),
        "limits": list(map(limit_words, turn["limits"])),
        "steps": list(_steps(turn)),
        "bars": list(_bars(turn)),
        "height": ROW * len(turn["steps"]) + 4,
        "names": NAMES,
        "width": WIDTH,
    }


def _cost(nano: int, unpriced: int = 0) -> str:
    text = cost_of({"cost_nano": nano, "unpriced_calls": unpriced})
    return text.removeprefix("for ")


def _anchor(turn: Recorded) -> str:
    # With the time, since a crash may cause a turn's number to be used twice; only characters that
    # a CSS selector can have.
    when = "".join(filter(str.isalnum, turn["at"]))
    return f"turn-{turn['tick']}-{when}"


def _steps(turn: Recorded) -> Iterable[Shown]:
    """The steps of a turn, each with its number, its anchor on the page and its cost in words."""
    for number, step in enumerate(turn["steps"], start=1):
        unpriced = int(not step["is_priced"])
        cost = _cost(step["cost_nano"], unpriced) if step["kind"] == "model" else ""
        anchor = f"{_anchor(turn)}-{number}"
        yield {"number": number, "anchor": anchor, "cost": cost, "row": step}


def _bars(turn: Recorded) -> Iterable[Bar]:
    # Never 0, by which it divides.
    whole, room = max(turn["seconds"], 0.001), WIDTH - NAMES
    for place, step in enumerate(turn["steps"]):
        x = NAMES + room * min(1.0, step["begin"] / whole)
        width = max(LEAST, room * step["seconds"] / whole)
        yield Bar(
            name=f"{place + 1} {one_line(step['name'], LONGEST_NAME)}",
            kind=f"{step['kind']} {step['state']}",
            y=place * ROW + 4,
            middle=place * ROW + 17,
            x=round(min(x, WIDTH - LEAST), 1),
            width=round(min(width, max(LEAST, WIDTH - x)), 1),
        )
