"""A model's own count of the tokens it sent, with which the ledger has to agree."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from evennia_ai.budget import ledger
from evennia_ai.models import ModelCall

# A prompt holds at least the rules of the game, so estimates are always larger than reports.
MOST_REPORTED = 20


class Figures(NamedTuple):
    """The usage that a service reported for one answer."""

    key: str
    prompt: int
    completion: int


def figures_of(body: bytes) -> tuple[int, int] | None:
    """The tokens that an answer reports, or None where it reports nothing usable."""
    try:
        usage = json.loads(body)["usage"]
        prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
    except (ValueError, KeyError, TypeError):
        return None
    return (prompt, completion) if 0 < prompt <= MOST_REPORTED and completion >= 0 else None


class Till:
    """Counts each answer of a model as it leaves, and each request that ends without one.

    Attributes:
        sent: answers that somebody waited for.
        doubtful: answers that came too late, or to a process that was killed: either the reported
            tokens count or those that were held.
        unknown: the number of requests of unknown cost, by assistant.
    """

    def __init__(self) -> None:
        self.sent: Counter[Figures] = Counter()
        self.doubtful: Counter[Figures] = Counter()
        self.unknown: Counter[str] = Counter()
        self._unwritten: list[Figures] = []

    def answered(self, key: str, body: bytes, *, is_awaited: bool) -> None:
        figures = figures_of(body)
        if figures is None:
            self.unknown[key] += 1
        elif is_awaited:
            self._unwritten.append(Figures(key, *figures))
        else:
            self.doubtful[Figures(key, *figures)] += 1

    def given_up(self, key: str) -> None:
        """Count a request that was broken off, or failed in the middle."""
        self.unknown[key] += 1

    def written(self) -> None:
        """Note that the ledger has written how calls ended, so that no kill can undo it."""
        self.sent.update(self._unwritten)
        self._unwritten.clear()

    def killed(self, waiting: Iterable[str]) -> None:
        """Note that the process that asked is gone, with all that it had not written."""
        self.doubtful.update(self._unwritten)
        self._unwritten.clear()
        self.unknown.update(waiting)

    def check(self) -> None:
        """Raise AssertionError where the ledger disagrees. No call may be under way."""
        ledger.store().flush()
        self.written()
        rows = list(ModelCall.objects.exclude(state="released").values())
        reported = Counter(Figures(_key(row), *_counted(row)) for row in rows if _is_told(row))
        others = Counter(_key(row) for row in rows if not _is_told(row))
        missing = self.sent - reported
        assert not missing, f"sent, and not counted as sent: {dict(missing)}"
        beyond = reported - self.sent - self.doubtful
        assert not beyond, f"counted, and never sent: {dict(beyond)}"
        unknown = self.unknown.copy()
        for figures, count in (self.sent + self.doubtful - reported).items():
            unknown[figures.key] += count
        few = unknown - others
        assert not few, f"asked for, and not even counted as held: {dict(few)}"
        free = [row["key"] for row in rows if not _is_told(row) and not sum(_counted(row))]
        assert not free, f"calls that count as nothing: {free}"


def _key(row: dict[str, Any]) -> str:
    return str(row["assistant"]).capitalize()


def _is_told(row: dict[str, Any]) -> bool:
    return row["state"] == "settled" and row["prompt_tokens"] <= MOST_REPORTED


def _counted(row: dict[str, Any]) -> tuple[int, int]:
    """The tokens that a row counts for; while it is open, those it holds."""
    name = "estimated_{}_tokens" if row["state"] == "open" else "{}_tokens"
    return row[name.format("prompt")], row[name.format("completion")]
