"""Charts as figures of their geometry, from which a template draws SVG; a table stands beside each.

Nothing here is markup: all text is escaped where the template writes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 32, 12, 28
# As many series have a look of their own; the rest is put together.
MOST_SERIES = 5
OTHERS = "all others"
GAP = 0.2
NOTHING = "Nothing was used in these days."
TICKS = 4
LABELS = 6


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A rectangle.

    Attributes:
        look: the number of its series, 0 to 5.
        told: what is read where it is pointed at.
    """

    x: float
    y: float
    width: float
    height: float
    look: int
    told: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A word at an axis, and the place of its tick."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Legend:
    """A series' name, and the number of its look."""

    name: str
    look: int


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart of days.

    Attributes:
        key: what its ids begin with; one word.
        title: what it shows.
        desc: the same in a sentence with its figures, for who cannot see it.
        cap: the height of the line of a cap; None: there is none, or it is out of sight.
        is_empty: there is nothing to draw.
        nothing: a sentence that stands in the place of an empty one.
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
    """A chart with a bar for each day, in which each series is a part of it.

    Args:
        days: names of the days, the oldest first.
        series: by name, a value of each day.
        form: a value as people read it.
        cap: a line is drawn there where it is not far above all bars; 0: none.
        nothing: a sentence that stands in the place of an empty chart.
    """
    drawn = few(series)
    sums = [sum(values) for values in zip(*drawn.values(), strict=True)] or [0.0] * len(days)
    highest = max(sums, default=0.0)
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
    """The series with the largest sums, and one of all others, where there are many."""
    ranked = sorted(series, key=lambda name: -sum(series[name]))
    kept = {name: series[name] for name in ranked[:MOST_SERIES]}
    rest = [series[name] for name in ranked[MOST_SERIES:]]
    if rest:
        kept[OTHERS] = [sum(values) for values in zip(*rest, strict=True)]
    return kept


def nice(highest: float) -> float:
    """The end of an axis: a round number that is not below the highest value, and above 0."""
    if highest <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(highest))
    # The smallest floats have no power of ten beside them: they are their own end.
    return next((size * step for step in (1, 2, 2.5, 5, 10) if size * step >= highest), highest)


def _blocks(
    days: Sequence[str],
    series: Mapping[str, Sequence[float]],
    scale: float,
    form: Callable[[float], str],
) -> list[Rectangle]:
    step = (WIDTH - LEFT - RIGHT) / max(1, len(days))
    found = []
    for place, day in enumerate(days):
        base = float(HEIGHT - BOTTOM)
        for look, (name, values) in enumerate(series.items()):
            value = values[place]
            if value > 0:
                base -= value * scale
                told = f"{day}, {name}: {form(value)}"
                x, width = LEFT + step * (place + GAP / 2), step * (1 - GAP)
                x, y, width, height = (round(n, 2) for n in (x, base, width, value * scale))
                found.append(Rectangle(x, y, width, height, look, told))
    return found


def _ticks(top: float, scale: float, form: Callable[[float], str]) -> list[Mark]:
    values = [top * number / TICKS for number in range(TICKS + 1)]
    return [Mark(round(HEIGHT - BOTTOM - value * scale, 2), form(value)) for value in values]


def _labels(days: Sequence[str]) -> list[Mark]:
    """Some of the days, evenly, the last one among them."""
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
