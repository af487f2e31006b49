"""The matrix as a table: which games there are, and what is written down of how each did."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from tests.journeys.games import kinds
from tests.journeys.games.visit import Kind

RECORD = Path(__file__).with_name("outcomes.json")
# What came of each step, by its name, in the order of the steps.
Outcomes = dict[str, str]


def all_kinds() -> list[Kind]:
    """Every game of the matrix, those that `make test` plays first."""
    modules = sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))
    found = [
        kind
        for name in modules
        for kind in importlib.import_module(f"{kinds.__name__}.{name}").KINDS
    ]
    return sorted(found, key=lambda kind: not kind.is_quick)


def evennia_here() -> str:
    """The version of the Evennia that the games of this Python run on."""
    return version("evennia")


def read_record() -> dict[str, dict[str, Outcomes]]:
    """All that is written down: outcomes by game, then by Evennia."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def expected(name: str) -> Outcomes:
    """The outcomes that a game has to have here: as written down, of this Evennia if there are any.

    Raises:
        LookupError: nothing is written down of it.
    """
    tried = read_record().get(name)
    if not tried:
        raise LookupError(f"{RECORD.name} has nothing of the game {name!r}: play it and write down")
    return tried.get(evennia_here()) or tried[max(tried)]


def write_down(name: str, outcomes: Outcomes) -> None:
    """Write down what came of one game on the Evennia of this Python."""
    record = read_record()
    record.setdefault(name, {})[evennia_here()] = outcomes
    known = [kind.name for kind in all_kinds() if kind.name in record]
    kept = {each: dict(sorted(record[each].items())) for each in known}
    RECORD.write_text(json.dumps(kept, indent=1) + "\n")


def as_rows(record: Mapping[str, Mapping[str, Outcomes]]) -> list[tuple[str, ...]]:
    """Rows for the documents: the game, one cell for each step, and the Evennias it ran on."""
    rows = []
    for kind in all_kinds():
        tried = record.get(kind.name, {})
        steps = list(next(iter(tried.values()), {}))
        cells = [as_cell({where: told[step] for where, told in tried.items()}) for step in steps]
        rows.append((kind.about, *cells, ", ".join(tried)))
    return rows


def as_cell(outcomes: Mapping[str, str]) -> str:
    """One cell: the outcome, or that of each Evennia where they differ."""
    if 1 == len(set(outcomes.values())):
        return next(iter(outcomes.values()))
    return "; ".join(f"{where}: {told}" for where, told in outcomes.items())
