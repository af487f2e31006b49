"""Comparison of the record with the stored state, both read from the database alone.

Nothing here uses the package's own folding of events or its memory: the values come from the
attribute rows, and the expected ones are computed again from the events, one by one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evennia.scripts.models import ScriptDB
from evennia.typeclasses.attributes import Attribute

from evennia_ai import audit
from evennia_ai.core.safety.audit_events import bounded, masked
from evennia_ai.core.settings.game import ATTRIBUTES, STATE
from evennia_ai.models import StoredQuestion

PAGE = 100
# Opening a version is slow, so only this many of the newest are opened.
OPENED = 20
TOOL, TICK, USAGE = "ToolExecuted", "TickCompleted", "UsageCounted"
QUESTIONS = "questions"
UNKNOWN = "nobody knows whether this happened"
AMOUNTS = ("calls", "prompt_tokens", "completion_tokens")
TASKS = {"answered": "tasks_completed", "silent": "tasks_completed", "failed": "tasks_failed"}
# Fields that an entry of the execution log shares with its event.
LOGGED = ("parameters", "success", "error", "duration_ms", "tick")
ENDS = ("answered", "timeout", "discarded", "dropped", "nobody", "used", "unused")
CLOSING = frozenset(f"question_{end}" for end in ENDS)


@dataclass(frozen=True)
class RecordedFact:
    version: int
    event: str
    details: Mapping[str, Any]


def stored(script_id: int) -> dict[str, Any]:
    """Return an assistant's attributes as stored, and the numbers of its open questions."""
    rows = Attribute.objects.filter(scriptdb__id=script_id)
    asked = StoredQuestion.objects.filter(assistant=script_id, state__in=("open", "answered"))
    # An answered question with a key still waits for its asker; one about a call runs the call at
    # its answer, and waits no more.
    numbers = {row.pk for row in asked if row.state == "open" or row.key}
    return dict(rows.values_list("db_key", "db_value")) | {QUESTIONS: numbers}


def events_of(key: str) -> list[RecordedFact]:
    """Return all events of an assistant's record, the oldest first."""
    application, facts = audit.application(), []
    before = None
    while page := application.page(key, before=before, limit=PAGE):
        facts += [RecordedFact(entry.version, entry.event, entry.details) for entry in page]
        before = page[-1].version
    return facts[::-1]


@dataclass
class Sums:
    """The state that follows from a record."""

    config: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    milliseconds: dict[str, int] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=lambda: dict.fromkeys(AMOUNTS, 0))
    goals: set[Any] = field(default_factory=set)
    questions: set[Any] = field(default_factory=set)
    is_stopped: bool = False
    is_new_talk: bool = False


def _add(sums: dict[str, int], name: str, more: int = 1) -> None:
    sums[name] = sums.get(name, 0) + more


def _tool(sums: Sums, details: Mapping[str, Any]) -> None:
    name = details["tool_name"]
    _add(sums.calls, name)
    _add(sums.milliseconds, name, details.get("duration_ms", 0))
    if not details["success"]:
        _add(sums.errors, name)


def _tick(sums: Sums, details: Mapping[str, Any]) -> None:
    sums.is_new_talk = False
    if (task := TASKS.get(details["outcome"])) is not None:
        _add(sums.tasks, "tasks_attempted")
        _add(sums.tasks, task)
    _use(sums, details)


def _use(sums: Sums, details: Mapping[str, Any]) -> None:
    for name in AMOUNTS:
        sums.used[name] += details.get(name, 0)


def _goal(sums: Sums, details: Mapping[str, Any]) -> None:
    if details["status"] in ("dropped", "completed"):
        sums.goals.discard(details["goal_id"])


def _stop(sums: Sums, _: Mapping[str, Any]) -> None:
    sums.is_stopped = True


def _go_on(sums: Sums, _: Mapping[str, Any]) -> None:
    sums.is_stopped = False


def _talk_anew(sums: Sums, _: Mapping[str, Any]) -> None:
    sums.is_new_talk = True


_STEPS = {
    "AssistantCreated": lambda sums, details: sums.config.update(details["config"]),
    "ConfigurationChanged": lambda sums, details: sums.config.update(
        {details["key"]: details.get("new_value")}
    ),
    TOOL: _tool,
    TICK: _tick,
    USAGE: _use,
    "GoalCreated": lambda sums, details: sums.goals.add(details["goal_id"]),
    "GoalUpdated": _goal,
    "GoalCompleted": lambda sums, details: sums.goals.discard(details["goal_id"]),
    "EmergencyStopTriggered": _stop,
    "EmergencyStopCleared": _go_on,
    "HistoryReset": _talk_anew,
    "question_asked": lambda sums, details: sums.questions.add(details["number"]),
}


def sums_of(events: Iterable[RecordedFact]) -> Sums:
    """Compute the state that follows from events."""
    sums = Sums()
    for item in events:
        if item.event in CLOSING:
            if not item.details.get("is_kept"):
                sums.questions.discard(item.details.get("number"))
        elif (step := _STEPS.get(item.event)) is not None:
            step(sums, item.details)
    return sums


def differences(script_id: int, key: str) -> list[str]:
    """Describe each difference between the record and the stored state."""
    events = events_of(key)
    if not events:
        return ["nothing is recorded"]
    values, sums = stored(script_id), sums_of(events)
    return [*_gaps(key, events), *_settings(values, sums), *_acts(values, events, sums)]


def _gaps(key: str, events: Sequence[RecordedFact]) -> Iterator[str]:
    versions = [item.version for item in events]
    application = audit.application()
    if versions != list(range(versions[0], versions[0] + len(versions))):
        yield f"versions with a hole: {versions}"
    for version in versions[-OPENED:]:
        try:
            if version != (opened := application.at(key, version).version):
                yield f"version {version} opens as {opened}"
        except Exception as error:
            yield f"version {version} does not open: {error!r}"


def _settings(values: Mapping[str, Any], sums: Sums) -> Iterator[str]:
    for name, setting in ATTRIBUTES.items():
        if name not in STATE:
            now = bounded(masked(values.get(name, setting.default), name))
            then = sums.config.get(name, bounded(masked(setting.default, name)))
            yield from _differ(name, now, then)


def _acts(values: Mapping[str, Any], events: Sequence[RecordedFact], sums: Sums) -> Iterator[str]:
    metrics, usage = values.get("metrics") or {}, values.get("usage") or {}
    yield from _differ("calls of tools", metrics.get("tool_calls", {}), sums.calls)
    yield from _differ("errors of tools", metrics.get("tool_errors", {}), sums.errors)
    yield from _differ("time of tools", metrics.get("tool_ms", {}), sums.milliseconds)
    for name in ("tasks_attempted", "tasks_completed", "tasks_failed"):
        yield from _differ(name, metrics.get(name, 0), sums.tasks.get(name, 0))
    yield from _differ("usage", {name: usage.get(name, 0) for name in AMOUNTS}, sums.used)
    ticks = [item.details["tick_number"] for item in events if item.event == TICK]
    yield from _differ("ticks", usage.get("ticks", 0), max(ticks, default=0))
    log = values.get("execution_log") or []
    logged = [{"tool": item["tool"], **{name: item[name] for name in LOGGED}} for item in log]
    acts = [item.details for item in events if item.event == TOOL][-len(log) or len(events) :]
    wanted = [
        {"tool": act["tool_name"], **{name: act.get(name, "") for name in LOGGED}} for act in acts
    ]
    yield from _differ("execution_log", logged, wanted)
    yield from _open_matters(values, sums)


def _open_matters(values: Mapping[str, Any], sums: Sums) -> Iterator[str]:
    goals = (values.get("current_goals") or {}).get("goals", ())
    active = {goal["id"] for goal in goals if goal["status"] == "active"}
    yield from _differ("open goals", active, sums.goals)
    yield from _differ("open questions", values[QUESTIONS], sums.questions)
    yield from _differ("stop", bool(values.get("emergency_stop")), sums.is_stopped)
    if sums.is_new_talk:
        yield from _differ("conversation", values.get("conversation_history") or [], [])


def _differ(what: str, is_: Any, ought: Any) -> Iterator[str]:
    if is_ != ought:
        yield f"{what}: stored {is_!r}, recorded {ought!r}"


def successes(events: Iterable[RecordedFact], tool: str) -> int:
    """Return the number of calls of a tool that the record has as successful."""
    return sum(act["success"] for act in _calls(events) if act["tool_name"] == tool)


def unknowns(events: Iterable[RecordedFact], tool: str = "") -> int:
    """Return the number of calls of a tool (or of any) whose outcome the record has as unknown."""
    unknown = [act for act in _calls(events) if UNKNOWN in act.get("error", "")]
    return sum(tool in ("", act["tool_name"]) for act in unknown)


def _calls(events: Iterable[RecordedFact]) -> Iterator[Mapping[str, Any]]:
    return (item.details for item in events if item.event == TOOL)


def script_id(key: str) -> int | None:
    """Return the number of an assistant's script; None if there is none."""
    number = ScriptDB.objects.filter(db_key=key).values_list("id", flat=True).first()
    return int(number) if number is not None else None
