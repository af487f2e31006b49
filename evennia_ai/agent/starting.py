"""The start of many assistants at once: what they need is read together, in a few statements.

Evennia starts its scripts one after the other. Each asks for its attributes, its body, its tags and
some rare rows, and Django compiles each of these statements again, which takes longer than the rest
of a start.

The first start in this version also begins the audit log, and adds locks that older games lack. A
new assistant's audit log begins with its settings alone. One from before there was a log has used
tokens, has goals and may be stopped: all that is written as the log's first event, or replaying the
log would never yield what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError
from django.db.models import prefetch_related_objects
from evennia.scripts.models import ScriptDB
from evennia.utils import logger

from evennia_ai import approvals, audit
from evennia_ai.agent import attaching, delegating
from evennia_ai.agent.holders import NearBody
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.safety.questions import Question
from evennia_ai.core.settings.game import POWERS
from evennia_ai.core.turn import goals
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime import services, state
from evennia_ai.runtime.asked import asking_among
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.attributes import load_together
from evennia_ai.runtime.rights import Right, sort_locks
from evennia_ai.runtime.rights.bodies import OF_EVENNIA, has_lock
from evennia_ai.runtime.tagged import is_tag
from evennia_ai.tasks import programs, remote_tasks
from evennia_ai.tools import load_modules

# Assistants read at once: SQLite bounds the parameters of a statement, and the game stands still
# while they are read.
PORTION = 200
_TAGGED, _AHEAD = "is_tagged_ahead", "rows_ahead"
# To mypy the mixin has any base; at run time the typeclass comes after it in the MRO.
_Typeclass: Any = object


@dataclass(frozen=True, slots=True)
class RowsAhead:
    """The rare rows of an assistant; where nothing is known of them, its start looks itself."""

    has_audit_log: bool = False
    may_ask: bool = True
    may_have_tasks: bool = True


def load_tools() -> None:
    """Load the modules that register the game's tools; the log of the start names a broken one."""
    # A broken module of the game must not keep the game from starting.
    with suppress(ConfigurationError):
        # First the package's own, which a setting that is no list must not take away.
        load_modules((delegating.__name__, attaching.__name__))
        load_modules(services.tool_modules())


def free_body(body: GameObject) -> None:
    """Take a body back from a player who was in it when the game was killed."""
    # Evennia leaves the account on it, and locks would go on checking the rights of that player.
    # The tag tells it from an account that the game itself put there.
    is_left = body.db_account_id is not None and not body.sessions.count()
    if is_left and body.tags.has("puppeted", category="account"):
        del body.account
        body.locks.cache_lock_bypass(body)


def read_ahead(script: Any) -> None:
    """Read what an assistant, and others that wait to start, need of the database."""
    if _TAGGED in script.__dict__:
        return
    others = (each for each in script.get_all_cached_instances() if _waits_to_start(each))
    portion = [script, *(each for each in others if each is not script)][:PORTION]
    # A single assistant would save no statement by it.
    if len(portion) == 1:
        return
    load_together(portion)
    prefetch_related_objects(portion, "db_obj")
    numbers = [each.pk for each in portion]
    # By scripts alone: by category, SQLite would look up each tag of the game for each of them.
    links = ScriptDB.db_tags.through.objects.filter(scriptdb__in=numbers)
    tags = links.values_list("scriptdb", "tag__db_category", "tag__db_key")
    tagged = {number for number, *tag in tags if is_tag(*tag)}
    ahead = _rows_ahead(portion, numbers)
    for each in portion:
        each.__dict__[_TAGGED] = each.pk in tagged
        each.__dict__[_AHEAD] = ahead.get(each.pk, RowsAhead())


def _rows_ahead(portion: Sequence[Any], numbers: Sequence[int]) -> dict[int, RowsAhead]:
    try:
        begun, asking = audit.begun_among(portion), asking_among(numbers)
        busy = remote_tasks.unfinished_among(numbers)
    except DatabaseError:  # such as a table that `evennia migrate` has yet to make
        return {}
    return {each: RowsAhead(each in begun, each in asking, each in busy) for each in numbers}


def resume(script: Any) -> None:
    """Take over what older versions stored, and resume what a restart interrupted."""
    ahead = script.__dict__.pop(_AHEAD, RowsAhead())
    # Old questions become rows before the audit log begins, since it begins with all open ones.
    has_old_questions = approvals.migrate_questions(script)
    if not ahead.has_audit_log:
        begin_audit_log(script)
    separate_control_lock(script)
    if ahead.may_ask or has_old_questions:
        approvals.resume(script)
    else:
        script.work.questions = ()
    programs.resume(script)
    if ahead.may_have_tasks:
        remote_tasks.end_orphans(script)
    # So that a stop of all does not parse the locks of all bodies at once.
    if script.obj is not None:
        services.pacer().call(_parse_locks, script.obj)


def _parse_locks(body: Any) -> None:
    if body.pk is not None:
        body.locks  # noqa: B018  Evennia parses them at the first access


class AmongMany(_Typeclass):
    """A script of which there may be a thousand, each with a timer; put it before the typeclass."""

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save, unless nothing changed."""
        # Evennia saves with an empty list at each start; Django would open a transaction for that.
        if kwargs.get("update_fields") != []:
            super().save(*args, **kwargs)

    def _step_task(self) -> Any:
        """Run the timer's beat: after what waits in the pacer, or at once when nothing does."""
        beat, pacer = super()._step_task, services.pacer()
        return pacer.turn().addCallback(lambda _: beat()) if pacer.is_busy else beat()


def _waits_to_start(script: Any) -> bool:
    is_ours = isinstance(script, NearBody)
    is_begun = not is_ours or script.work is not None or _TAGGED in script.__dict__
    return not is_begun and script.db_is_active and script.pk is not None


def has_tag(script: Any) -> bool:
    """True where the script carries the tag of an assistant of this game."""
    # Popped, so that what was read ahead counts once: the tag may be removed later.
    is_tagged = script.__dict__.pop(_TAGGED, None)
    if is_tagged is None:
        tags = script.db_tags.values_list("db_category", "db_key")
        return any(is_tag(*tag) for tag in tags)
    return bool(is_tagged)


_CHANGED = "[assistant] {name}: its lock {old!r} is {new!r} now, and Evennia's own is {own!r}"
_USED = ("calls", "prompt_tokens", "completion_tokens")


def begin_audit_log(script: Assistant) -> None:
    """Begin the audit log of an assistant that has none."""
    if not audit.is_begun(script):
        entry = audit_event(
            "AssistantCreated", assistant_key=script.key, begun_with=_standing(script)
        )
        state.write(script, entry)


def separate_control_lock(script: Assistant) -> None:
    """Give a body from an older game the lock `ai_control`, so that the same people control it."""
    body = script.obj
    # The locks of an adopted body are the game's own affair.
    if state.read(script, "adopted"):
        return
    if body is None or has_lock(body, Right.CONTROL):
        return
    old = body.locks.get(OF_EVENNIA)
    if sort_locks(body):
        new, own = (body.locks.get(kind) for kind in (Right.CONTROL, OF_EVENNIA))
        logger.log_info(_CHANGED.format(name=script.key, old=old, new=new, own=own))


def _standing(script: Assistant) -> dict[str, Any]:
    """The state in which it differs from a new assistant."""
    usage, metrics = state.read(script, "usage"), state.read(script, "metrics")
    lockout = dict(state.read(script, "lockout"))
    lockout.pop("at", None)
    calls = dict(metrics.get("tool_calls", {}))
    active = goals.active(state.read(script, "current_goals"))
    values = {
        "is_stopped": bool(state.read(script, "emergency_stop")),
        "lockout": lockout,
        "goals": {str(goal["id"]): _goal(goal) for goal in active},
        "questions": {
            str(question.number): _question(question)
            for question in approvals.stored(script)
            if not question.choice
        },
        "usage": {name: usage.get(name, 0) for name in _USED} if usage else {},
        "tick_count": usage.get("ticks", 0),
        "tool_count": sum(calls.values()),
        "tool_stats": calls,
        "tool_errors": dict(metrics.get("tool_errors", {})),
        "powers": _powers(script),
        "permissions": sorted(script.obj.permissions.all()) if script.obj is not None else [],
    }
    return {name: value for name, value in values.items() if value}


def _powers(script: Assistant) -> dict[str, Any]:
    """Its powers over the game itself, as its owner set them."""
    values = {name: state.read(script, name) for name in POWERS}
    return {n: value for n, value in values.items() if value and value != state.DEFAULTS[n]}


def _goal(goal: goals.StoredGoal) -> dict[str, Any]:
    fields = {"description": goal["text"], "priority": goal["priority"], "status": "active"}
    return {**fields, "parent_id": goal.get("parent")}


def _question(asked: Question) -> dict[str, Any]:
    return {"kind": asked.asking.kind, "key": asked.asking.key, "people": list(asked.people)}
