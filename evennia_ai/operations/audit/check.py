"""Differences between the audit log of an assistant and what it stores.

The two are written together, so that there never should be any.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evennia.typeclasses.attributes import Attribute
from evennia.utils.dbserialize import deserialize, from_pickle
from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.audit.aggregates import LONGEST_KEPT, MOST_KEPT, USAGE
from evennia_ai.core.safety.audit_events import bounded, storable
from evennia_ai.core.safety.lockout import Lockout
from evennia_ai.core.settings.game import ATTRIBUTES, STATE
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn import goals
from evennia_ai.core.turn.executions import FORGOTTEN, OTHERS
from evennia_ai.runtime import state

_TOO_LONG = "too_long"
Values = Mapping[str, Any]
_CALL = ("tick", "parameters", "reasoning", "success", "error", "duration_ms", "provider", "model")
# What the log does not say any more of a call made for somebody who was forgotten.
_WORDS = frozenset(("parameters", "reasoning", "error"))


class Unlike(TypedDict):
    """A thing that the audit log and the stored state do not tell alike."""

    path: str
    record: object
    state: object


def stored_values(script: AssistantScript, *, is_fresh: bool) -> dict[str, Any]:
    """All that an assistant stores, and the defaults of what it does not.

    Args:
        is_fresh: ask the database for it, whatever is in memory.
    """
    if not is_fresh:
        return {name: state.read(script, name) for name in ATTRIBUTES}
    rows = Attribute.objects.filter(scriptdb__id=script.pk, db_attrtype__isnull=True)
    found = {
        key: deserialize(from_pickle(packed))
        for key, packed in rows.values_list("db_key", "db_value")
    }
    given = {name: found.get(name) for name in ATTRIBUTES}
    return {n: state.DEFAULTS[n] if value is None else value for n, value in given.items()}


def differences(
    record: Values, stored: Values, calls: Sequence[Values], *, has_all: bool
) -> list[Unlike]:
    """Differences between the two, each with its path.

    Args:
        record: an assistant's state as its record has it.
        stored: its attributes.
        calls: the last calls of tools in the record, the newest first, as many as are in its log.
        has_all: whether the record still has every event; else some of those calls may be gone.
    """
    return [
        *_settings(record, stored),
        *_stop(record, stored),
        *_goals(record, stored),
        *_questions(record, stored),
        *_counts(record, stored),
        *_tools(record, stored["metrics"]),
        *_log(calls, stored["execution_log"], has_all),
    ]


def _differ(path: str, record: object, stored: object) -> Iterator[Unlike]:
    if _text(record) != _text(stored):
        yield {"path": path, "record": record, "state": stored}


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _settings(record: Values, stored: Values) -> Iterator[Unlike]:
    told = record["settings"]
    for name in ATTRIBUTES:
        # All at once can be too long to be kept; then each is known from its next change on.
        if name not in STATE and (name in told or _TOO_LONG not in told):
            known = state.DEFAULTS[name] if told.get(name) is None else told[name]
            yield from _differ(f"settings.{name}", known, storable({name: stored[name]})[name])


def _stop(record: Values, stored: Values) -> Iterator[Unlike]:
    is_stopped = bool(stored["emergency_stop"])
    yield from _differ("is_stopped", bool(record["is_stopped"]), is_stopped)
    lockout = Lockout.from_stored(stored["lockout"])
    if is_stopped and lockout is not None:
        told = {"cause": lockout.cause.value, "reason": lockout.reason, "by": lockout.by}
        yield from _differ("lockout", record["lockout"], bounded(told, LONGEST_KEPT))


def _goals(record: Values, stored: Values) -> Iterator[Unlike]:
    open_now = {str(goal["id"]): goal for goal in goals.active(stored["current_goals"])}
    told = {number: _goal_of(goal) for number, goal in record["goals"].items()}
    have = {
        number: {"description": goal["text"], "priority": goal["priority"]}
        for number, goal in open_now.items()
    }
    for number in sorted(told.keys() | have.keys(), key=_order):
        yield from _differ(f"goals.{number}", told.get(number), have.get(number))
    ended = stored["current_goals"].get("goals", ())
    reached = [str(goal["id"]) for goal in ended if goal["status"] == goals.COMPLETED]
    completed = {str(goal.get("goal_id")) for goal in record["completed_goals"]}
    for number in reached:
        if number not in completed:
            yield {"path": f"completed_goals.{number}", "record": None, "state": goals.COMPLETED}


def _goal_of(goal: Values) -> dict[str, Any]:
    text = one_line(str(goal.get("description", "")), goals.LONGEST_GOAL)
    return {"description": text, "priority": goal.get("priority")}


def _questions(record: Values, stored: Values) -> Iterator[Unlike]:
    """The open ones; what is answered already waits only for whoever asked."""
    have = {
        str(item["number"]): {"kind": item["kind"], "key": item["key"]}
        for item in stored["questions"]
        if not item.get("choice")
    }
    told = {
        number: {"kind": item.get("kind"), "key": item.get("key")}
        for number, item in record["questions"].items()
    }
    for number in sorted(told.keys() | have.keys(), key=_order):
        yield from _differ(f"questions.{number}", told.get(number), have.get(number))


def _order(number: str) -> tuple[int, str]:
    return len(number), number


def _counts(record: Values, stored: Values) -> Iterator[Unlike]:
    usage = stored["usage"]
    for name in USAGE:
        yield from _differ(f"usage.{name}", record["usage"].get(name, 0), usage.get(name, 0))
    yield from _differ("usage.ticks", record["tick_count"], usage.get("ticks", 0))


def _tools(record: Values, metrics: Values) -> Iterator[Unlike]:
    calls = metrics.get("tool_calls", {})
    yield from _differ("metrics.tool_calls", record["tool_count"], sum(calls.values()))
    for mine, theirs in (("tool_calls", "tool_stats"), ("tool_errors", "tool_errors")):
        told, have = _folded(record[theirs], calls), metrics.get(mine, {})
        if len(record[theirs]) >= MOST_KEPT:
            continue  # those that were not called for long are forgotten there
        for name in sorted(told.keys() | have.keys()):
            yield from _differ(f"metrics.{mine}.{name}", told.get(name, 0), have.get(name, 0))


def _folded(told: Mapping[str, int], known: Values) -> Counter[str]:
    """Counts under the names that the metrics have them under, which have an end."""
    counts: Counter[str] = Counter()
    for name, count in told.items():
        counts[name if name in known or OTHERS not in known else OTHERS] += count
    return counts


def _log(calls: Sequence[Values], log: Sequence[Values], has_all: bool) -> Iterator[Unlike]:
    newest = list(reversed(log))
    if not has_all:
        newest = newest[: len(calls)]
    for place, entry in enumerate(newest):
        names = [name for name in _CALL if not (entry.get(FORGOTTEN) and name in _WORDS)]
        have = {"tool": entry["tool"], **{name: entry[name] for name in names}}
        call = calls[place] if place < len(calls) else {}
        told = {"tool": call.get("tool_name"), **{name: call.get(name) for name in names}}
        yield from _differ(f"execution_log.{len(log) - 1 - place}", told, storable(have))
