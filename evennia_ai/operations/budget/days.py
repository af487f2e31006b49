"""Daily sums of the ledger's calls; those of days that are over are cached in memory.

A call belongs to the day on which it began. An hour after the end of a day its sums are final,
unless one of its calls is still open: such days are read again each time, like the last day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import add
from sys import intern
from typing import Any

from django.db.models import Count, F, Q, Sum

from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.outages import query_ledger
from evennia_ai.budget.ledger.reservations import SHARE
from evennia_ai.budget.ledger.upkeep import KEPT_DAYS
from evennia_ai.core.safety.budget import DAY, CallState
from evennia_ai.models import ModelCall

MARGIN_SECONDS = 3600  # a call that began before midnight may still be written after it
# Sums in the cache, some 20 MB of memory. Days beyond that are read each time.
MOST_KEPT = 50_000
# A call that several people pay for is a row for each; the others are shares of the first.
_IS_SHARE = Q(key__endswith=SHARE)
COUNTED = {
    "calls": Count("pk", filter=~_IS_SHARE),
    "prompt": Sum("prompt_tokens"),
    "completion": Sum("completion_tokens"),
    "cost": Sum("cost_nano"),
    "unpriced": Count("pk", filter=Q(~_IS_SHARE, is_priced=False)),
}
_UNPRICED_SHARES = Count("pk", filter=Q(_IS_SHARE, is_priced=False))
_KEY = ("day", "assistant", "person", "purpose", "model")
_CLOSED = (CallState.SETTLED, CallState.CUT_OFF)

Row = dict[str, Any]
Figures = tuple[int, ...]  # in the order of COUNTED


@dataclass(slots=True)
class _Day:
    """The sums of a day, by (assistant, purpose, model) and by (assistant, person, purpose)."""

    uses: dict[tuple[str, str, str], Figures] = field(default_factory=dict)
    people: dict[tuple[str, str, str], Figures] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.uses) + len(self.people)

    def add(self, row: tuple[Any, ...]) -> None:
        """Add a row of the database: the columns of `_KEY` without the day, then the figures.

        The last one is the number of unpriced shares: the price of what a player paid is unknown
        then, though the call is counted for another player.
        """
        # The same few words are in thousands of rows: one copy of each saves most of the memory.
        assistant, person, purpose, model = map(intern, row[:4])
        *figures, shares = (number or 0 for number in row[4:])
        _add(self.uses, (assistant, purpose, model), tuple(figures))
        figures[-1] += shares
        _add(self.people, (assistant, person, purpose), tuple(figures))


class SpentDays:
    """The sums of the last days; used in the reactor's thread only.

    Args:
        most_kept: number of sums that are cached.
    """

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        self._most_kept = most_kept
        self._kept: dict[int, _Day] = {}

    def forget(self) -> None:
        """Empty the cache."""
        self._kept.clear()

    def read(self, first: int, now: float, assistant: str = "") -> tuple[list[Row], list[Row]]:
        """The sums from a day up to today.

        Args:
            first: number of the first day, counted from 1970.
            assistant: a casefolded name; "": all assistants.

        Returns:
            Rows by "day" (its first second), "assistant", "purpose" and "model", and rows by
            "person" and "purpose"; each with the figures that `COUNTED` names.
        """
        uses: list[Row] = []
        people: dict[tuple[str, str], Figures] = {}
        for number, day in self._days(first, now).items():
            for (whose, purpose, model), figures in day.uses.items():
                if assistant in ("", whose):
                    key = {"assistant": whose, "purpose": purpose, "model": model}
                    uses.append({"day": number * DAY, **key, **_named(figures)})
            for (whose, person, purpose), figures in day.people.items():
                if assistant in ("", whose):
                    _add(people, (person, purpose), figures)
        person_rows = [
            {"person": p, "purpose": w, **_named(each)} for (p, w), each in people.items()
        ]
        return uses, person_rows

    def _days(self, first: int, now: float) -> dict[int, _Day]:
        today = int(now) // DAY
        numbers = range(first, today + 1)
        may_change = _days_with_open_calls(numbers)
        unknown = [day for day in numbers if day not in self._kept or day in may_change]
        days = {day: _Day() for day in unknown}
        for run in _runs(unknown):
            for day, *row in _read_calls(run):
                days[day // DAY].add(tuple(row))
        last = int(now - MARGIN_SECONDS) // DAY
        self._keep({day: days[day] for day in unknown if day < last and day not in may_change})
        for old in [day for day in self._kept if day <= today - KEPT_DAYS]:
            del self._kept[old]
        return {day: days[day] if day in days else self._kept[day] for day in numbers}

    def _keep(self, days: Mapping[int, _Day]) -> None:
        room = self._most_kept - sum(map(len, self._kept.values()))
        # The newest first, since they are asked for most.
        for number in sorted(days, reverse=True):
            if len(days[number]) <= room:
                room -= len(days[number])
                self._kept[number] = days[number]


def _days_with_open_calls(numbers: range) -> set[int]:
    times = _within(numbers).filter(state=CallState.OPEN).values_list("at", flat=True)
    moments: list[int] = query_ledger(partial(list, times))
    return {at // DAY for at in moments}


def _read_calls(run: range) -> Iterable[tuple[Any, ...]]:
    # `asked` raises at once, without waiting again, where a shared ledger was away a moment ago.
    calls = _within(run).filter(state__in=_CLOSED).annotate(day=F("at") - F("at") % DAY)
    sums = calls.values_list(*_KEY).annotate(**COUNTED, unpriced_shares=_UNPRICED_SHARES)
    return query_ledger(partial(list, sums))


def _within(numbers: range) -> Any:
    within = {"at__gte": numbers.start * DAY, "at__lt": numbers.stop * DAY}
    return ModelCall.objects.filter(game=place.game(), **within)


def _runs(numbers: list[int]) -> Iterator[range]:
    # Consecutive days, one statement for each run.
    first = 0
    for ordinal, number in enumerate(numbers, 1):
        if ordinal == len(numbers) or numbers[ordinal] != number + 1:
            yield range(numbers[first], number + 1)
            first = ordinal


def _add(sums: dict[Any, Figures], key: Any, figures: Figures) -> None:
    known = sums.get(key)
    sums[key] = figures if known is None else tuple(map(add, known, figures))


def _named(figures: Figures) -> dict[str, int]:
    return dict(zip(COUNTED, figures, strict=True))


spent_days = SpentDays()
