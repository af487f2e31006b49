"""The first page: the state of all assistants, today's usage, and the emergency buttons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.core.safety.lockout import State
from evennia_ai.emergency import state_of
from evennia_ai.operations import AssistantScript, Result, control
from evennia_ai.operations.budget.caps import CapRow
from evennia_ai.operations.monitoring.status import Brief, Glance
from evennia_ai.operations.rights import is_allowed, is_staff
from evennia_ai.operations.rights.acts import for_all_allowed
from evennia_ai.operations.times import as_shown
from evennia_ai.operations.turns.sentences import brief
from evennia_ai.runtime.rights import name_before
from evennia_ai.web.forms import AT_ONCE, next_page, offset_in, query_string
from evennia_ai.web.pages.money import cap_shown
from evennia_ai.web.rows import ONE, Action, Page, Shown, Visit
from evennia_ai.web.stream import address_of_stream

HALTED = (State.STOPPED, State.SAFETY_LOCKOUT)


def _level(data: Brief) -> str:
    if data.state in HALTED or data.wrong_settings or data.unable:
        return "bad"
    if not data.enabled:
        return "quiet"
    return "busy" if data.is_ticking else "good"


def _used(standings: Sequence[CapRow]) -> list[Shown]:
    rows = {row["name"]: row for row in standings}
    return [cap_shown(rows[name]) for name in ("tokens_per_day", "cost_per_day") if rows]


def _wrong(data: Brief) -> tuple[str, ...]:
    lock = data.lockout
    problems = []
    if lock is not None:
        problems.append(f"stopped since {as_shown(lock['at'])}: {lock['reason'] or lock['cause']}")
    problems += filter(None, (data.wrong_settings, data.ignored_settings, data.unable))
    if not data.has_brain:
        problems.append(data.brain)
    if data.location is None:
        problems.append("it is nowhere, and needs a room")
    return tuple(problems)


def card_of(seen: Glance, visit: Visit, *, is_whole: bool) -> Shown:
    """Describe an assistant at a glance, for the visitor.

    Its `level` ("good", "busy", "quiet" or "bad") selects a colour and a sign, `wrong` is why it
    does not answer, in sentences, and `last` the newest message that it heard, with its outcome.

    Args:
        is_whole: with the last message, which needs a query.
    """
    script, data, last = seen.script, seen.status, ""
    if is_whole:
        newest = operations.trace(script, limit=1, look=visit.look, asker=visit.account)
        if newest.data.messages:
            last = brief(newest.data.messages[0], script.clock.seconds())
    return {
        "key": data.key,
        "name": name_before(script, visit.account),
        "level": _level(data),
        "mood": data.mood,
        "where": data.location or "nowhere",
        "brain": data.brain,
        "waiting": data.pending_events,
        "questions": data.questions,
        "used": _used(seen.caps or ()),
        "degraded": tuple(f"{each['name']} {each['state']}" for each in data.degraded),
        "wrong": _wrong(data),
        "last": last,
        "is_stopped": data.state in HALTED,
        "is_silent": not data.enabled,
        "may_control": is_allowed("emergency stop", visit.account, script),
    }


def _show(visit: Visit) -> Deferred[Shown]:
    # Its mark is taken before anything is read, so that no change falls in between.
    stream = address_of_stream()
    card = partial(card_of, visit=visit, is_whole=True)
    name, first = visit.query.get("name", "").strip(), offset_in(visit)
    scripts = operations.list_assistants()
    named = [each for each in scripts if _is_named(each, name, visit)]
    shown = {
        "name": name,
        "is_any": bool(scripts),
        "is_filtered": bool(name) or len(scripts) > AT_ONCE,
        "here": query_string(name=name, after=first or "") if name or first else "",
        "more": next_page(len(named), first, name=name),
        "stream": stream,
        "is_any_stopped": any(state_of(each) in HALTED for each in scripts),
        "may_control": any(is_allowed("emergency stop", visit.account, each) for each in scripts),
    }
    looking = operations.glances(named[first : first + AT_ONCE], card)
    return looking.addCallback(partial(_with_game, visit, shown))


def _is_named(script: AssistantScript, name: str, visit: Visit) -> bool:
    names = f"{script.key}\n{name_before(script, visit.account)}"
    return name.casefold() in names.casefold()


def _with_game(visit: Visit, shown: Shown, cards: Sequence[Shown]) -> Shown:
    game = operations.budget_of(None)
    result = operations.questions(visit.account, is_staff=is_staff(visit.account))
    return {
        **shown,
        "cards": cards,
        "game": _used(game.data.standings if game.ok else ()),
        "questions": len(result.data.questions),
    }


def _naming_refused(outcome: tuple[Result, Sequence[str]]) -> Result:
    done, others = outcome
    if not others:
        return done
    return replace(done, message=f"{done.message} Not yours: {', '.join(others)}.")


def stop(visit: Visit) -> Result:
    """Stop the assistant in the path."""
    return control.stop(visit.assistant, _reason(visit), by=visit.by)


def clear(visit: Visit) -> Result:
    """Clear the stop or lockout of the assistant in the path."""
    return control.clear(visit.assistant, by=visit.by)


def _reason(visit: Visit) -> str:
    return visit.form.get("reason", "").strip()[:200] or f"stopped on the workbench by {visit.by}"


def _stop_all(visit: Visit) -> Deferred[Result]:
    stop = partial(control.stop_all, reason=_reason(visit), by=visit.by)
    return for_all_allowed("emergency stop", visit.account, stop).addCallback(_naming_refused)


def _clear_all(visit: Visit) -> Deferred[Result]:
    clear = partial(control.clear_all, by=visit.by)
    return for_all_allowed("emergency clear", visit.account, clear).addCallback(_naming_refused)


def _enable(visit: Visit, *, enabled: bool) -> Result:
    return control.set_enabled(visit.assistant, enabled, by=visit.by)


PAGES = (Page("", "now", "Now", "list", _show, otherwise="mine"),)
ACTIONS = (
    # Buttons for all assistants need only the right to list them: `for_all_allowed` checks the
    # right over each assistant.
    Action("stop/", "stop-all", "now", "list", _stop_all),
    Action("clear/", "clear-all", "now", "list", _clear_all),
    Action(f"{ONE}stop/", "stop", "now", "emergency stop", stop),
    Action(f"{ONE}clear/", "clear", "now", "emergency clear", clear),
    Action(f"{ONE}start/", "start", "now", "start", partial(_enable, enabled=True)),
    Action(f"{ONE}silence/", "silence", "now", "stop", partial(_enable, enabled=False)),
)
