"""Health of all assistants, collected in the reactor's thread.

Readers need not be staff: there are no secrets, no names of persons and no messages in it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from evennia.scripts.models import ScriptDB

from evennia_ai import approvals, emergency
from evennia_ai.agent import outages
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.lockout import State
from evennia_ai.core.text.words import counted
from evennia_ai.errors import ConfigurationError
from evennia_ai.memory import modes
from evennia_ai.operations.memory.upkeep import FAILED, Condition, condition_of
from evennia_ai.operations.monitoring.capacity import EndpointUse, all_uses, workers_row
from evennia_ai.operations.result import Result, note, one_of
from evennia_ai.runtime import ability, services, state
from evennia_ai.runtime.assistant import Assistant

OK, DEGRADED, STOPPED = "ok", "degraded", "stopped"
SILENT, UNABLE = "silent", "unable"
STATES = (*(each.value for each in State), SILENT, UNABLE, modes.PAUSED)
HALTED = (State.STOPPED.value, State.SAFETY_LOCKOUT.value)
HEALTH = [OK, DEGRADED, STOPPED]
SLOW_SECONDS = 0.5  # `SELECT 1` takes a millisecond or less on a database that is well


def running() -> list[Assistant]:
    """The assistants that this process runs."""
    # From Evennia's cache, without a query: monitoring programs ask every few seconds.
    scripts = ScriptDB.get_all_cached_instances()
    return [s for s in scripts if isinstance(s, AssistantScript) and s.work is not None and s.pk]


def condition(script: Assistant) -> str:
    """The condition of an assistant, one of STATES."""
    word = emergency.state_of(script).value
    if word in HALTED:
        return word
    if modes.is_paused(script):
        return modes.PAUSED
    if not state.read(script, "enabled"):
        return SILENT
    if not script.silence:
        return word
    # A body that cannot act, such as one knocked out, is part of the game and no fault to report.
    is_of_body = script.obj is not None and bool(ability.inability(script.obj))
    return SILENT if is_of_body else UNABLE


@dataclass(frozen=True, slots=True)
class Health:
    """The health of the assistants, without a name or a secret."""

    status: Annotated[str, one_of(HEALTH)]
    assistants: Annotated[dict[str, int], note("Number of assistants by what they are doing.")]
    waiting: Annotated[int, note("Number of messages that wait for an answer.")]
    questions: Annotated[int, note("Number of open questions.")]
    breakers: Annotated[int, note("Number of breakers that are not closed.")]
    database: Annotated[str, note("`ok`, `slow` or `failed`.")]
    model: Annotated[str, note("`ok` or `not set up`.")]
    memory: Annotated[str, note("`ok`, `off` or `failed`.")]
    workers: Annotated[str, note("`ok`, `off` or `failed`.")]
    reasons: Annotated[list[str] | None, note("Only sent to staff.")] = None
    endpoints: Annotated[list[EndpointUse] | None, note("Only sent to staff.")] = None


def health(*, with_reasons: bool = False, slow_seconds: float = SLOW_SECONDS) -> Result[Health]:
    """Report the health of the game's assistants, without a network request.

    Args:
        with_reasons: also say what is wrong, with names of assistants and services; for staff.
        slow_seconds: duration of a query from which on the database counts as slow.
    """
    scripts = running()
    states = [(script, condition(script)) for script in scripts]
    counts = Counter(word for _, word in states)
    database, unwell = _database(slow_seconds), services.pool().breakers.degraded()
    # The memories are in the database too, which is not asked again where it does not answer.
    memory = condition_of(*scripts) if database != FAILED else Condition(FAILED)
    problem, workers = _problem_of_model(), workers_row()
    reasons = [
        *(f"{script.key}: {script.silence_for_staff}" for script, word in states if word == UNABLE),
        *(f"{breaker['name']}: breaker {breaker['state']}" for breaker in unwell),
        *(
            f"{server}: {counted(len(tools), 'tools')} held back"
            for server, tools in services.remote_servers().held().items()
        ),
        *(f"{agent}: its card is held back" for agent in services.remote_specialists().held()),
        *([f"the database is {database}"] if database != OK else ()),
        *([f"the model is not set up: {problem}"] if problem else ()),
        *([f"workers: {workers['problem']}"] if workers["problem"] else ()),
        *([f"memories: {memory.problem}"] if memory.problem and memory.state == FAILED else ()),
    ]
    status = DEGRADED if reasons else OK
    if scripts and all(counts[name] == 0 for name in STATES if name not in HALTED):
        status = STOPPED
    data = Health(
        status=status,
        assistants={name: counts[name] for name in STATES},
        waiting=sum(len(script.work.inbox) for script in scripts),
        questions=sum(len(approvals.pending(script)) for script in scripts),
        breakers=len(unwell),
        database=database,
        model="not set up" if problem else OK,
        memory=memory.state,
        workers=workers["state"],
        reasons=reasons if with_reasons else None,
        endpoints=all_uses() if with_reasons else None,
    )
    halted = sum(counts[name] for name in HALTED)
    return Result(True, f"{status}: {counted(len(scripts), 'assistants')}, {halted} stopped", data)


def _database(slow_seconds: float) -> str:
    if (seconds := outages.seconds_of_query()) is None:
        return FAILED
    return "slow" if seconds >= slow_seconds else OK


def _problem_of_model() -> str:
    try:
        services.endpoint()
    except ConfigurationError as error:
        return str(error)
    return ""
