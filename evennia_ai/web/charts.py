"""The geometry of bar charts, which a template draws as SVG, beside a table with the same figures.

Nothing here is markup: the template escapes all text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# In the units of the drawing's viewBox.
WIDTH, HEIGHT = 720, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 32, 12, 28
# The style sheet has as many colours for series, and one for the sum of all others.
MOST_SERIES = 5
OTHERS = "all others"
# The gap between two bars, as a part of a day's width.
GAP = 0.2
NOTHING = "Nothing was used in this time."
TICKS = 4
# Dates below the axis, at most.
LABELS = 6


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A rectangle: one series on one day.

    Attributes:
        look: number of the series, 0 to 5, which selects its colour.
        told: the text of the tooltip.
    """

    x: float
    y: float
    width: float
    height: float
    look: int
    told: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A label of an axis, and its position."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Legend:
    """A series in the legend: its name and the number of its colour."""

    name: str
    look: int


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart of days.

    Attributes:
        key: prefix of its element ids; one word.
        title: its heading.
        desc: its contents in a sentence, for screen readers.
        cap: y of the line of a cap; None if there is none, or it is far above all bars.
        is_empty: there is nothing to draw.
        nothing: a sentence that is shown instead of an empty chart.
    """

    key: str
    title: str
    desc: str
    blocks: tuple[Rectangle, ...]
    ticks: tuple[Mark, ...]
    labels: tuple[Mark, ...]
    legend: tuple[Legend, ...]
    cap: float | None
    is_empty: bool
    nothing: str = NOTHING
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    base: int = HEIGHT - BOTTOM


def bars(
    key: str,
    title: str,
    days: Sequence[str],
    series: Mapping[str, Sequence[float]],
    form: Callable[[float], str],
    *,
    cap: float = 0,
    nothing: str = NOTHING,
) -> Chart:
    """Make a chart with a stacked bar for each day.

    Args:
        days: names of the days, the oldest first.
        series: for each name, a value of each day.
        form: formats a value for people.
        cap: draws a line at this value, unless it is far above all bars; 0: no line.
        nothing: a sentence that is shown instead of an empty chart.
    """
    drawn = few(series)
    sums = [sum(values) for values in zip(*drawn.values(), strict=True)] or [0.0] * len(days)
    highest = max(sums, default=0.0)
    # A higher cap would flatten the bars.
    has_line = 0 < cap <= 2 * highest
    top = nice(max(highest, cap if has_line else 0.0))
    scale = (HEIGHT - TOP - BOTTOM) / top
    return Chart(
        key=key,
        title=title,
        desc=_described(title, days, sums, form),
        blocks=tuple(_blocks(days, drawn, scale, form)),
        ticks=tuple(_ticks(top, scale, form)),
        labels=tuple(_labels(days)),
        legend=tuple(Legend(name, look) for look, name in enumerate(drawn)),
        cap=HEIGHT - BOTTOM - cap * scale if has_line else None,
        is_empty=not highest,
        nothing=nothing,
    )


def few(series: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Keep the series with the largest sums, and add up all others."""
    ranked = sorted(series, key=lambda name: -sum(series[name]))
    largest = {name: series[name] for name in ranked[:MOST_SERIES]}
    rest = [series[name] for name in ranked[MOST_SERIES:]]
    if rest:
        largest[OTHERS] = [sum(values) for values in zip(*rest, strict=True)]
    return largest


def nice(highest: float) -> float:
    """Choose the end of an axis: a round number above 0 that is not below the highest value."""
    if highest <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(highest))
    # For the smallest floats the power of ten underflows to 0: they are their own end.
    return next((size * step for step in (1, 2, 2.5, 5, 10) if size * step >= highest), highest)


def _blocks(
    days: Sequence[str],
    series: Mapping[str, Sequence[float]],
    scale: float,
    form: Callable[[float], str],
) -> list[Rectangle]:
    step = (WIDTH - LEFT - RIGHT) / max(1, len(days))
    rectangles = []
    for place, day in enumerate(days):
        base = float(HEIGHT - BOTTOM)
        for look, (name, values) in enumerate(series.items()):
            value = values[place]
            if value > 0:
                base -= value * scale
                label = f"{day}, {name}: {form(value)}"
                x, width = LEFT + step * (place + GAP / 2), step * (1 - GAP)
                x, y, width, height = (round(n, 2) for n in (x, base, width, value * scale))
                rectangles.append(Rectangle(x, y, width, height, look, label))
    return rectangles


def _ticks(top: float, scale: float, form: Callable[[float], str]) -> list[Mark]:
    values = [top * number / TICKS for number in range(TICKS + 1)]
    return [Mark(round(HEIGHT - BOTTOM - value * scale, 2), form(value)) for value in values]


def _labels(days: Sequence[str]) -> list[Mark]:
    """Choose days at equal distances, counted back from the last one, which is today."""
    step = (WIDTH - LEFT - RIGHT) / max(1, len(days))
    every = max(1, math.ceil(len(days) / LABELS))
    places = range(len(days) - 1, -1, -every)
    return [Mark(round(LEFT + step * (place + 0.5), 2), days[place]) for place in reversed(places)]


def _described(
    title: str, days: Sequence[str], sums: Sequence[float], form: Callable[[float], str]
) -> str:
    if not any(sums):
        return f"{title}: nothing yet."
    highest = max(range(len(sums)), key=sums.__getitem__)
    return (
        f"{title}: {form(sum(sums))} in {len(days)} days, the most on {days[highest]} with "
        f"{form(sums[highest])}. The table below has all figures."
    )
