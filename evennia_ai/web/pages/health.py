"""The page of the game's health: services, breakers, and advice for problems."""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import Any

from twisted.internet.defer import Deferred, succeed

from evennia_ai import operations
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations import AssistantScript, Result, control
from evennia_ai.operations.control import BreakerRow
from evennia_ai.operations.models.choosing import Report
from evennia_ai.operations.monitoring import equipment
from evennia_ai.operations.monitoring import health as monitoring
from evennia_ai.operations.rights import is_allowed, refusal
from evennia_ai.runtime.rights import name_before
from evennia_ai.web.rows import ONE, Action, Page, Shown, Visit

STATUS = {
    monitoring.OK: ("good", "All is well."),
    monitoring.DEGRADED: ("bad", "There are problems; see below."),
    monitoring.STOPPED: ("bad", "Every assistant is stopped. To let them go on: Clear, on Now."),
}
STATES = {
    "closed": ("good", "asked as ever"),
    "half_open": ("busy", "tried with single calls"),
    "open": ("bad", "left alone, since it failed"),
}


def _show(visit: Visit) -> Shown:
    health = monitoring.health(with_reasons=True).data
    level, text = STATUS[health.status]
    parts = equipment.equipment().data
    scripts = operations.list_assistants()
    own = (each for script in scripts for each in _breakers(script, visit))
    report = visit.result.data if visit.result is not None else None
    return {
        "level": level,
        "told": text,
        "reasons": health.reasons or [],
        "counts": {
            name.replace("_", " "): count for name, count in health.assistants.items() if count
        },
        "waiting": health.waiting,
        "questions": health.questions,
        "breakers": [*_breakers(None, visit), *own],
        "parts": parts.parts,
        "archives": parts.archives,
        "versions": parts.versions,
        "assistants": [(str(each.key), name_before(each, visit.account)) for each in scripts],
        "checked": visit.form.get("assistant", ""),
        "report": report if isinstance(report, Report) else None,
        "may_check": is_allowed("check", visit.account),
    }


def _breakers(script: AssistantScript | None, visit: Visit) -> list[Shown]:
    """The breakers of one assistant, or with None those of the game."""
    scope = control.GAME if script is None else control.ASSISTANT
    act = "reset breaker of the game" if script is None else "reset breaker"
    whose = {
        "key": "" if script is None else str(script.key),
        "owner": "the game" if script is None else name_before(script, visit.account),
    }
    may_reset = is_allowed(act, visit.account, script)
    rows = control.breakers(script).data.breakers
    return [{**whose, **_breaker(row, may_reset)} for row in rows if row["scope"] == scope]


def _breaker(row: BreakerRow, may_reset: bool) -> Shown:
    level, text = STATES.get(row["state"], ("bad", row["state"]))
    if (seconds := row["retry_after"]) is not None:
        text = f"{text}; asked again in {ceil(seconds)} s"
    return {
        "name": row["name"],
        "level": level,
        "told": text,
        "failed": row["last_failure_error"] or "",
        "may_reset": may_reset and level != "good",  # a closed breaker has nothing to reset
    }


def _reset(visit: Visit, *, scope: str) -> Result:
    # The scope comes with the button, whose right was checked, and not from the form.
    name = visit.form.get("breaker", "")
    return control.reset_breaker(visit.script, name, scope=scope, by=visit.by)


def _check(visit: Visit) -> Deferred[Result]:
    key = visit.form.get("assistant")
    if key is None:
        return succeed(Result.invalid("Say whose model is checked: the game's, or an assistant's."))
    script = operations.find_assistant(key) if key else None
    if key and script is None:
        return succeed(Result.not_found(f"There is no assistant named {key[:60]!r}."))
    refused = refusal("check", visit.account, script)
    if refused is not None:
        return succeed(refused)
    try:
        checked: Deferred[Any] = operations.check_model(script)
    except ConfigurationError as error:  # raised at once, and not by the Deferred
        return succeed(Result.unavailable(f"The model is not set up: {error}"))
    return checked.addCallback(_told)


def _told(report: Report) -> Result[Report]:
    advice = "all is well." if report.ok else "fix the problems, then check again."
    return Result(True, f"{report.title}: {advice}", report)


PAGES = (Page("health/", "health", "Health", "show breakers", _show),)
ACTIONS = (
    Action("health/check/", "check", "health", "check", _check, is_long=True, is_look=True),
    Action(
        "health/reset/",
        "reset-game-breaker",
        "health",
        "reset breaker of the game",
        partial(_reset, scope=control.GAME),
    ),
    Action(
        f"{ONE}reset/",
        "reset-breaker",
        "health",
        "reset breaker",
        partial(_reset, scope=control.ASSISTANT),
    ),
)
