"""A recorded turn for a template: words for its numbers, and the bars of its waterfall.

The drawing is made here, so that no script is needed; the table beside it says the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evennia_ai.core.safety.notices import limit_words
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.operations.turns.recorded import Recorded, RecordedStep
from evennia_ai.operations.turns.traces import cost_of

# In the units of the drawing: the room for names, the whole, a row, and what is seen of a moment.
NAMES, WIDTH, ROW, LEAST = 190, 800, 22, 3
LONGEST_NAME = 26
LEVELS = {"answered": "good", "silent": "quiet", "failed": "bad", "broke off": "bad"}


@dataclass(frozen=True, slots=True)
class Bar:
    """A step in the drawing.

    Attributes:
        y, middle: the top of its row, and the line of its text.
        x, width: of the bar.
    """

    name: str
    kind: str
    y: int
    middle: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step, with its number, its place among all steps of a page and its cost in words."""

    number: int
    anchor: str
    cost: str
    row: RecordedStep


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn as a page draws it.

    Attributes:
        anchor: its place on a page, the same each time that it is drawn.
        level: a colour and a sign, as of cards.
        who, how: of what it answers, in words.
        number: of the newest message that it answers; 0 of a turn of its own.
        height, names, width: of the drawing.
    """

    row: Recorded
    anchor: str
    level: str
    who: str
    how: str
    number: int
    cost: str
    limits: tuple[str, ...]
    steps: tuple[ShownStep, ...]
    bars: tuple[Bar, ...]
    height: int
    names: int = NAMES
    width: int = WIDTH


def shown_turn(turn: Recorded) -> ShownTurn:
    """A recorded turn as a page draws it."""
    newest = turn["heard"][-1] if turn["heard"] else None
    return ShownTurn(
        row=turn,
        anchor=_anchor(turn),
        level=LEVELS.get(turn["state"], "busy"),
        who=newest["sender"] if newest else "",
        how=newest["source"] if newest else "",
        number=newest["number"] if newest else 0,
        cost=_cost(turn["cost_nano"], turn["unpriced_calls"]),
        limits=tuple(map(limit_words, turn["limits"])),
        steps=tuple(_steps(turn)),
        bars=tuple(_bars(turn)),
        height=ROW * len(turn["steps"]) + 4,
    )


def _cost(nano: int, unpriced: int = 0) -> str:
    told = cost_of({"cost_nano": nano, "unpriced_calls": unpriced})
    return told.removeprefix("for ")


def _anchor(turn: Recorded) -> str:
    """A name that selectors can hold; a crash may have used the number of a turn twice."""
    when = "".join(filter(str.isalnum, turn["at"]))
    return f"turn-{turn['tick']}-{when}"


def _steps(turn: Recorded) -> Iterable[ShownStep]:
    for number, step in enumerate(turn["steps"], start=1):
        unpriced = int(not step["is_priced"])
        cost = _cost(step["cost_nano"], unpriced) if step["kind"] == "model" else ""
        yield ShownStep(number, f"{_anchor(turn)}-{number}", cost, step)


def _bars(turn: Recorded) -> Iterable[Bar]:
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
