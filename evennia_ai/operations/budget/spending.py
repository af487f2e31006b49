"""Tokens and money by day, assistant, player, model and purpose, from the ledger's calls.

The ledger keeps each call for 90 days; of older ones only monthly sums are left, which `caps`
reads. Days are in UTC, like those of daily caps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from twisted.internet import reactor
from typing_extensions import TypedDict

from evennia_ai.budget.ledger.rows import translated_errors
from evennia_ai.budget.ledger.upkeep import KEPT_DAYS
from evennia_ai.core.safety.budget import DAY, Purpose
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.text.words import counted, money
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.incoming import find_being
from evennia_ai.operations.budget.caps import known_cost
from evennia_ai.operations.budget.days import COUNTED, spent_days
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.result import Result, note

DAYS = 30
MOST_ROWS = 50
OTHERS = "all others"
AUTONOMOUS = "nobody (by itself)"
# No assistant and no player can have these keys: names cannot hold "=". The key of `OTHERS` differs
# from "", which is that of nobody.
BENCH, REST = "=bench", "=others"
THE_BENCH, THE_GAME = "the test bench", "the game itself"


class SpentOn(TypedDict):
    """Model calls with the same assistant, player, model or purpose, and their cost."""

    key: Annotated[
        str,
        note(
            "Id, such as `*#3` for a player; empty for none; `=bench` for the test bench; `=others`"
            " for the sum of all that have no row of their own."
        ),
    ]
    name: Annotated[str, note("Display name.")]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    tokens: int
    cost_dollars: float
    unpriced_calls: Annotated[int, note("Model calls without a configured price.")]


class SpentDay(SpentOn):
    """Model calls of one day, and their cost; the key is the date."""

    by_assistant: Annotated[dict[str, int], note("Tokens of each assistant.")]


@dataclass(frozen=True, slots=True)
class Spending:
    """Everything used in a number of days, grouped in five ways; each has the same total.

    Attributes:
        days: each day, the oldest first, also days without a call.
        assistants, players, models, purposes: most tokens first; beyond MOST_ROWS the rest is one
            row.
    """

    days: list[SpentDay]
    assistants: list[SpentOn]
    players: list[SpentOn]
    models: list[SpentOn]
    purposes: list[SpentOn]
    whole: SpentOn


Sums = dict[str, int]


def spending(days: int = DAYS, assistant: str = "") -> Result[Spending]:
    """Report the use of the last days, including today.

    Args:
        days: number of days, 1 to 90.
        assistant: name of an assistant; "": all assistants.
    """
    if not 1 <= days <= KEPT_DAYS:
        return Result.invalid(
            f"{days} days cannot be shown; the ledger keeps calls for {KEPT_DAYS} days."
        )
    now = reactor.seconds()
    today = int(now) // DAY
    first = today - days + 1
    try:
        with translated_errors:  # a missing table becomes an error that says what to type
            rows, people = spent_days.read(first, now, assistant.casefold())
    except ConfigurationError as error:
        return Result.unavailable(f"That is unknown: {error}.")
    _assign_to_bench(rows, "assistant")
    _assign_to_bench(people, "person")
    names = {str(script.key).casefold(): str(script.key) for script in list_assistants()}
    names |= {"": THE_GAME, BENCH: THE_BENCH}
    data = Spending(
        days=_days(rows, range(first, today + 1), names),
        assistants=_grouped_by(rows, "assistant", names),
        players=_grouped_by(people, "person", _names_of_people(people)),
        models=_grouped_by(rows, "model", {}),
        purposes=_grouped_by(rows, "purpose", {}),
        whole=_row("", "in all", _summed(rows)),
    )
    whole = data.whole
    cost = known_cost(money(whole["cost_dollars"]), whole["cost_dollars"], whole["unpriced_calls"])
    calls = counted(whole["calls"], "model calls")
    message = f"{counted(days, 'days')}: {calls}, {whole['tokens']:,} tokens, {cost}."
    return Result(True, message, data)


def _assign_to_bench(rows: Iterable[dict[str, Any]], column: str) -> None:
    # Calls of the test bench have no assistant and no player in the ledger.
    for row in rows:
        if row["purpose"] == Purpose.BENCH:
            row[column] = BENCH


def _summed(rows: Iterable[Mapping[str, Any]]) -> Sums:
    sums = dict.fromkeys(COUNTED, 0)
    for row in rows:
        for name in COUNTED:
            sums[name] += row[name] or 0
    return sums


def _row(key: str, name: str, sums: Sums) -> SpentOn:
    return {
        "key": key,
        "name": name,
        "calls": sums["calls"],
        "prompt_tokens": sums["prompt"],
        "completion_tokens": sums["completion"],
        "tokens": sums["prompt"] + sums["completion"],
        "cost_dollars": sums["cost"] / NANO,
        "unpriced_calls": sums["unpriced"],
    }


def _grouped(rows: Iterable[Mapping[str, Any]], column: str) -> dict[Any, list[Mapping[str, Any]]]:
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def _grouped_by(
    rows: Iterable[Mapping[str, Any]], column: str, names: Mapping[str, str]
) -> list[SpentOn]:
    grouped = _grouped(rows, column)
    grouped_rows = [_row(key, names.get(key, key), _summed(part)) for key, part in grouped.items()]
    grouped_rows.sort(key=lambda row: (-row["tokens"], row["name"]))
    if len(grouped_rows) <= MOST_ROWS:
        return grouped_rows
    first_rows, rest = (
        grouped_rows[: MOST_ROWS - 1],
        {row["key"] for row in grouped_rows[MOST_ROWS - 1 :]},
    )
    rest_sum = _summed(row for key in rest for row in grouped[key])
    return [*first_rows, _row(REST, f"{OTHERS} ({len(rest)})", rest_sum)]


def _days(
    rows: Iterable[Mapping[str, Any]], numbers: range, names: Mapping[str, str]
) -> list[SpentDay]:
    grouped = _grouped(rows, "day")
    days: list[SpentDay] = []
    for number in numbers:
        part = grouped.get(number * DAY, [])
        date = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=number)).date().isoformat()
        tokens = {row["name"]: row["tokens"] for row in _grouped_by(part, "assistant", names)}
        days.append({**_row(date, date, _summed(part)), "by_assistant": tokens})
    return days


def _names_of_people(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    # Only those who get a row of their own are looked up: each costs a query.
    sums = {person: _summed(part) for person, part in _grouped(rows, "person").items()}
    used = {person: each["prompt"] + each["completion"] for person, each in sums.items()}
    most = sorted(used, key=lambda person: -used[person])[:MOST_ROWS]
    beings = {person: find_being(person) for person in most if person not in ("", BENCH)}
    names = {person: str(being.key) for person, being in beings.items() if being is not None}
    return {"": AUTONOMOUS, BENCH: THE_BENCH, **names}
