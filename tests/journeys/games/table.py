"""The matrix as a table: its games, and the recorded outcomes of each."""

import importlib
import json
import pkgutil
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from tests.journeys.games import kinds
from tests.journeys.games.visit import Kind

RECORD = Path(__file__).with_name("outcomes.json")
NOT_YET = "not yet"
# The outcome of each step, by its name, in the order of the steps.
Outcomes = dict[str, str]


def all_kinds() -> list[Kind]:
    """Every game of the matrix, those that `make test` plays first."""
    modules = sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))
    result = [
        kind
        for name in modules
        for kind in importlib.import_module(f"{kinds.__name__}.{name}").KINDS
    ]
    return sorted(result, key=lambda kind: not kind.is_quick)


def evennia_here() -> str:
    return version("evennia")


def read_record() -> dict[str, dict[str, Outcomes]]:
    """All recorded outcomes, by game, then by Evennia."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def expected(name: str) -> Outcomes | None:
    """The recorded outcomes of a game, of this Evennia if there are any; None if there are none."""
    tried = read_record().get(name)
    return (tried.get(evennia_here()) or tried[max(tried)]) if tried else None


def write_down(name: str, outcomes: Outcomes) -> None:
    record = read_record()
    record.setdefault(name, {})[evennia_here()] = outcomes
    known = [kind.name for kind in all_kinds() if kind.name in record]
    table = {each: dict(sorted(record[each].items())) for each in known}
    RECORD.write_text(json.dumps(table, indent=1) + "\n")


def as_rows(steps: Iterable[str]) -> list[tuple[object, ...]]:
    """Rows for the documents: the game, one cell for each step, and the Evennias it ran on."""
    names, record, rows = list(steps), read_record(), []
    for kind in all_kinds():
        tried = record.get(kind.name, {})
        cells = [as_cell({where: row[step] for where, row in tried.items()}) for step in names]
        rows.append((kind.about, *cells, ", ".join(tried) or NOT_YET))
    return rows


def as_cell(outcomes: Mapping[str, str]) -> str:
    """One cell: the outcome, or that of each Evennia where they differ."""
    if len(set(outcomes.values())) <= 1:
        return next(iter(outcomes.values()), "")
    return "; ".join(f"{where}: {outcome}" for where, outcome in outcomes.items())
