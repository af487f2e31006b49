"""Consistency check: differences between an assistant's audit log and its stored state.

Both are written in the same transaction, so there should never be any.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evennia.typeclasses.attributes import Attribute
from evennia.utils.dbserialize import deserialize, from_pickle
from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.audit.aggregates import LONGEST_KEPT, MOST_KEPT, USAGE
from evennia_ai.core.safety.audit_events import bounded, storable
from evennia_ai.core.safety.lockout import Lockout
from evennia_ai.core.safety.questions import Question
from evennia_ai.core.settings.game import ATTRIBUTES, STATE
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn import goals
from evennia_ai.core.turn.executions import FORGOTTEN, OTHERS
from evennia_ai.runtime import asked, state

_TOO_LONG = "too_long"  # a mark that the log keeps in place of values that were too long for it
QUESTIONS = "questions"
Values = Mapping[str, Any]
_CALL = ("tick", "parameters", "reasoning", "success", "error", "duration_ms", "provider", "model")
# Fields of a call that the log no longer has once the player it was made for was forgotten.
_WORDS = frozenset(("parameters", "reasoning", "error"))


class Unlike(TypedDict):
    """A difference between the audit log and the stored state."""

    path: str
    record: object
    state: object


def stored_values(script: AssistantScript, *, is_fresh: bool) -> dict[str, Any]:
    """Stored attributes of an assistant, or their defaults, and its questions.

    Args:
        is_fresh: read them from the database, past all caches.
    """
    if is_fresh:
        asked.drop_copy(script)
    questions = {QUESTIONS: asked.stored(script)}
    if not is_fresh:
        return questions | {name: state.read(script, name) for name in ATTRIBUTES}
    # Past Evennia's attribute cache, which holds what this process wrote. Attributes with a type
    # are nicks and the like.
    rows = Attribute.objects.filter(scriptdb__id=script.pk, db_attrtype__isnull=True)
    stored = {
        key: deserialize(from_pickle(packed))
        for key, packed in rows.values_list("db_key", "db_value")
    }
    values = {name: stored.get(name) for name in ATTRIBUTES}
    known = {n: state.DEFAULTS[n] if value is None else value for n, value in values.items()}
    return questions | known


def differences(
    record: Values, stored: Values, calls: Sequence[Values], *, has_all: bool
) -> list[Unlike]:
    """List all differences, each with its path.

    Args:
        record: state of an assistant according to its audit log.
        stored: its attributes and its questions.
        calls: last tool calls in the audit log, the newest first, as many as in `execution_log`.
        has_all: the audit log still has every event; else some of those calls may be archived.
    """
    return [
        *_settings(record, stored),
        *_stop(record, stored),
        *_goals(record, stored),
        *_questions(record, stored[QUESTIONS]),
        *_counts(record, stored),
        *_tools(record, stored["metrics"]),
        *_log(calls, stored["execution_log"], has_all),
    ]


def _differ(path: str, record: object, stored: object) -> Iterator[Unlike]:
    # Compared as JSON, which the log is kept as: a tuple equals a list, and 1 the key "1".
    if _as_json(record) != _as_json(stored):
        yield {"path": path, "record": record, "state": stored}


def _as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _settings(record: Values, stored: Values) -> Iterator[Unlike]:
    logged = record["settings"]
    for name in ATTRIBUTES:
        # The event of a creation may be too long for all settings; then each is known only from
        # its first change on.
        if name not in STATE and (name in logged or _TOO_LONG not in logged):
            known = state.DEFAULTS[name] if logged.get(name) is None else logged[name]
            yield from _differ(f"settings.{name}", known, storable({name: stored[name]})[name])


def _stop(record: Values, stored: Values) -> Iterator[Unlike]:
    is_stopped = bool(stored["emergency_stop"])
    yield from _differ("is_stopped", bool(record["is_stopped"]), is_stopped)
    lockout = Lockout.from_stored(stored["lockout"])
    if is_stopped and lockout is not None:
        have = {"cause": lockout.cause.value, "reason": lockout.reason, "by": lockout.by}
        yield from _differ("lockout", record["lockout"], bounded(have, LONGEST_KEPT))


def _goals(record: Values, stored: Values) -> Iterator[Unlike]:
    open_now = {str(goal["id"]): goal for goal in goals.active(stored["current_goals"])}
    logged = {number: _goal_of(goal) for number, goal in record["goals"].items()}
    have = {
        number: {"description": goal["text"], "priority": goal["priority"]}
        for number, goal in open_now.items()
    }
    for number in sorted(logged.keys() | have.keys(), key=_order):
        yield from _differ(f"goals.{number}", logged.get(number), have.get(number))
    all_goals = stored["current_goals"].get("goals", ())
    reached = [str(goal["id"]) for goal in all_goals if goal["status"] == goals.COMPLETED]
    completed = {str(goal.get("goal_id")) for goal in record["completed_goals"]}
    for number in reached:
        if number not in completed:
            yield {"path": f"completed_goals.{number}", "record": None, "state": goals.COMPLETED}


def _goal_of(goal: Values) -> dict[str, Any]:
    text = one_line(str(goal.get("description", "")), goals.LONGEST_GOAL)
    return {"description": text, "priority": goal.get("priority")}


def _questions(record: Values, stored: Iterable[Question]) -> Iterator[Unlike]:
    # Only open ones: an answered one is closed in the log, but kept until the asker has read it.
    have = {
        str(item.number): {"kind": item.asking.kind, "key": item.asking.key}
        for item in stored
        if not item.choice
    }
    logged = {
        number: {"kind": item.get("kind"), "key": item.get("key")}
        for number, item in record["questions"].items()
    }
    for number in sorted(logged.keys() | have.keys(), key=_order):
        yield from _differ(f"questions.{number}", logged.get(number), have.get(number))


def _order(number: str) -> tuple[int, str]:
    return len(number), number  # numbers are texts here: "2" comes before "10"


def _counts(record: Values, stored: Values) -> Iterator[Unlike]:
    usage = stored["usage"]
    for name in USAGE:
        yield from _differ(f"usage.{name}", record["usage"].get(name, 0), usage.get(name, 0))
    yield from _differ("usage.ticks", record["tick_count"], usage.get("ticks", 0))


def _tools(record: Values, metrics: Values) -> Iterator[Unlike]:
    calls = metrics.get("tool_calls", {})
    yield from _differ("metrics.tool_calls", record["tool_count"], sum(calls.values()))
    for mine, theirs in (("tool_calls", "tool_stats"), ("tool_errors", "tool_errors")):
        logged, have = _folded(record[theirs], calls), metrics.get(mine, {})
        if len(record[theirs]) >= MOST_KEPT:
            continue  # the log has dropped the tools that were not called for long
        for name in sorted(logged.keys() | have.keys()):
            yield from _differ(f"metrics.{mine}.{name}", logged.get(name, 0), have.get(name, 0))


def _folded(logged: Mapping[str, int], known: Values) -> Counter[str]:
    # The metrics count a limited number of tools by name, and the rest as one.
    counts: Counter[str] = Counter()
    for name, count in logged.items():
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
        logged = {"tool": call.get("tool_name"), **{name: call.get(name) for name in names}}
        yield from _differ(f"execution_log.{len(log) - 1 - place}", logged, storable(have))
