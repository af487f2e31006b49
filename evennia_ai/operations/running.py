"""Starting, stopping and looking at an assistant, and who has a say in that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

from twisted.internet.defer import Deferred

from evennia_ai import approvals, audit, emergency
from evennia_ai.agent import resting
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.memory.schedule import ASLEEP
from evennia_ai.core.safety.cooling import in_words
from evennia_ai.core.safety.dropped import Dropped
from evennia_ai.core.safety.lockout import State
from evennia_ai.core.safety.notices import plain
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.check import Report, check_endpoint
from evennia_ai.messages.incoming import find_being
from evennia_ai.operations.budget import today_of
from evennia_ai.operations.memory_upkeep import summary_of
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.prompt_room import with_room
from evennia_ai.operations.result import Problem, Result, note
from evennia_ai.runtime import ability, services, state
from evennia_ai.runtime.rights import Right, has_right, lacking, name_before
from evennia_ai.runtime.turns import aside


@dataclass(frozen=True, slots=True)
class Status:
    """An assistant as a whole: what it is doing, and what it has used."""

    key: str
    location: Annotated[str | None, note("The name of the room it stands in.")]
    enabled: bool
    emergency_stop: bool
    state: State
    lockout: Annotated[dict[str, object] | None, note("Why it may not act.")]
    consecutive_errors: int
    max_consecutive_errors: int
    is_ticking: bool
    pending_events: int
    ignored_settings: Annotated[str | None, note("A wrong setting that it does without.")]
    wrong_settings: Annotated[str | None, note("A wrong setting that keeps it from acting.")]
    unable: Annotated[str, note("Why its body cannot act, or empty.")]
    questions: int
    cooling: Annotated[list[str], note("Who has to wait, and how long, in words.")]
    today: Annotated[str, note("Tokens used today, in words.")]
    calls: int
    tokens: int
    brain: Annotated[str, note("Its model, in words.")]
    breakers: dict[str, dict[str, object]]
    degraded: list[dict[str, object]]
    mcp: list[dict[str, object]]
    context_tokens: int | None
    max_context_tokens: int | None
    cache: dict[str, object]
    memory: Annotated[dict[str, object], note("How its memory is, in few words.")]


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a stop found under way."""

    is_new: Annotated[bool, note("It was not stopped before.")]
    calls: Annotated[int, note("Model calls in flight.")]
    tools: Annotated[list[str], note("Tools that were at work.")]
    questions: Annotated[int, note("Open questions.")]
    messages: Annotated[int, note("Waiting messages that went back to whoever sent them.")]
    names: Annotated[list[str], note("Of those who were told so.")]
    untold: Annotated[int, note("Waiting messages whose senders could not be told.")]


@dataclass(frozen=True, slots=True)
class StoppedAll:
    """How many a stop of several found running."""

    stopped: int


@dataclass(frozen=True, slots=True)
class ChangedAll:
    """How many of several were changed."""

    changed: int


def may_control(
    script: AssistantScript, person: Any, *, is_staff: bool, right: Right = Right.CONTROL
) -> bool:
    """Whether a person has a right over an assistant, by default to run it.

    A lock of its body decides, as `runtime.rights.MEANINGS` says. No assistant has a say over
    assistants.
    """
    return has_right(script, person, right, is_staff=is_staff)


def refuse_control(
    script: AssistantScript, person: Any, act: str, right: Right = Right.CONTROL
) -> Result:
    """Say what a person lacks, and write down what was tried."""
    audit.record("control_refused", script, act=act, by=str(person.key))
    told = (
        f"You may not control {name_before(script, person)}: that needs {lacking(script, right)}."
    )
    return Result(False, told, problem=Problem.FORBIDDEN)


def set_enabled(script: AssistantScript, enabled: bool, *, by: str = "") -> Result:
    """Let an assistant answer, or keep it silent until it is started again.

    What waits for an answer goes on waiting.
    """
    name = script.key
    if bool(state.read(script, "enabled")) == enabled:
        return Result(False, f"{name} is {'awake' if enabled else 'silent'} already.")
    if not enabled:
        state.bump_epoch(script)
    state.write(script, enabled=enabled)
    if enabled:
        script.beat_soon()
        return Result(True, f"{name} is awake.")
    approvals.discard_all(script, f"{name} is silent")
    return Result(True, f"{name} is silent until: assistant start {name}")


def set_all_enabled(
    scripts: Iterable[AssistantScript], enabled: bool, *, by: str = ""
) -> Result[ChangedAll]:
    """Let several assistants answer, or keep them silent until they are started again."""
    count = sum(set_enabled(script, enabled, by=by).ok for script in list(scripts))
    mood = "awake" if enabled else "silent"
    if not count:
        return Result(True, f"All of them are {mood} already; nothing is changed.", ChangedAll(0))
    until = "" if enabled else ", until: assistant start all"
    return Result(True, f"{_some(count)} {mood}{until or '.'}", ChangedAll(count))


def stop(script: AssistantScript, reason: str, *, by: str = "") -> Result[Stopped]:
    """Emergency stop: whatever is under way is dropped, and it stays stopped over restarts."""
    name = script.key
    dropped = emergency.trigger_emergency_stop(script, reason, by=by)
    until = f"assistant emergency clear {name}"
    if not dropped.is_new:
        return Result(True, f"{name} is stopped already, until: {until}", _stopped(dropped))
    told = (f"{name} is stopped.", dropped.describe(), "That holds over restarts, until:")
    return Result(True, " ".join(filter(None, (*told, until))), _stopped(dropped))


def _stopped(dropped: Dropped) -> Stopped:
    return Stopped(**asdict(dropped))


def stop_all(
    scripts: Iterable[AssistantScript], reason: str, *, by: str = ""
) -> Result[StoppedAll]:
    """Emergency stop of several assistants: all are cancelled before anything else is done."""
    count = emergency.stop_all(list(scripts), reason, by)
    if not count:
        return Result(True, "None of them was running; nothing is changed.", StoppedAll(0))
    told = f"{_some(count)} stopped, over restarts too, until: assistant emergency clear <name>"
    return Result(True, told, StoppedAll(count))


def clear(script: AssistantScript, *, by: str = "") -> Result:
    """Clear an emergency stop or a lockout. Nothing is refunded, and the conversation is kept."""
    ok, message = emergency.clear_emergency_stop(script, by=by)
    script.beat_soon()
    return Result(ok, f"{script.key}: {message}.")


def clear_all(scripts: Iterable[AssistantScript], *, by: str = "") -> Result[ChangedAll]:
    """Clear the stops and lockouts of several assistants, and let those back who have to wait."""
    count = sum(clear(script, by=by).ok for script in list(scripts))
    if not count:
        told = "None of them was stopped, and nobody has to wait; nothing is changed."
        return Result(True, told, ChangedAll(0))
    return Result(True, f"{_some(count)} cleared, to go on with the next beat.", ChangedAll(count))


def _some(count: int) -> str:
    return "One assistant is" if count == 1 else f"{count} assistants are"


def reset_history(script: AssistantScript, *, by: str = "") -> Result:
    """Forget the conversation, drop what is under way, and clear an emergency stop."""
    aside.reset_history(script)
    approvals.discard_all(script, f"the conversation of {script.key} begins anew")
    emergency.clear_emergency_stop(script, by=by)
    script.beat_soon()
    return Result(True, f"{script.key} starts a new conversation.")


def status(script: AssistantScript) -> Result[Status]:
    """An assistant as a whole."""
    work = script.work or state.Work()
    lockout = emergency.lockout_of(script)
    try:
        brain = script.endpoint().describe()
    except ConfigurationError as error:
        brain = f"not set up: {error}"
    data = Status(
        key=script.key,
        location=getattr(script.obj.location, "key", None) if script.obj else None,
        enabled=bool(state.read(script, "enabled")),
        emergency_stop=bool(state.read(script, "emergency_stop")),
        state=emergency.state_of(script),
        lockout=lockout.as_stored() if lockout else None,
        consecutive_errors=state.read(script, "consecutive_errors"),
        max_consecutive_errors=state.read(script, "max_consecutive_errors"),
        is_ticking=work.is_ticking,
        pending_events=len(work.inbox),
        ignored_settings=work.ear_problem,
        wrong_settings=work.safety_problem,
        unable=ability.reason_of(script.obj) if script.obj is not None else "it has no body",
        questions=len(approvals.pending(script)),
        cooling=_cooling(script),
        today=today_of(script),
        calls=work.calls,
        tokens=work.usage.total_tokens,
        brain=brain,
        breakers=services.pool().breakers.get_all_stats(),
        degraded=[*services.pool().breakers.degraded(), *work.breakers.degraded()],
        mcp=services.remote_servers().status(),
        context_tokens=work.context_tokens,
        max_context_tokens=work.max_context_tokens,
        cache=work.tool_cache.get_stats(),
        memory=summary_of(script),
    )
    is_resting = resting.is_resting(script)
    return Result(True, f"{script.key}: {_mood(data, is_resting=is_resting)}", data)


def _cooling(script: AssistantScript) -> list[str]:
    """Who has to wait for what came of earlier requests, and for how long."""
    if script.work is None or not script.work.blame.people:
        return []
    config = state.safety_config(script).cooling
    waiting = script.work.blame.waiting(script.clock.seconds(), config)
    return [
        f"{getattr(find_being(person), 'key', person)} waits {in_words(seconds)}"
        for person, seconds in waiting.items()
    ]


def _mood(data: Status, *, is_resting: bool) -> str:
    if data.state == State.SAFETY_LOCKOUT:
        return f"locked {plain(data.lockout['cause'])}"
    if data.state == State.STOPPED:
        return "stopped"
    if not data.enabled:
        return "silent"
    if data.wrong_settings:
        return "set up wrongly"
    if data.unable:
        return f"cannot act ({data.unable.rstrip('.')})"
    if data.is_ticking:
        return "thinking"
    if is_resting:
        return "resting until its model answers"
    return "asleep" if data.memory["mode"] == ASLEEP else "awake"


def check_model(script: AssistantScript | None = None) -> Deferred[Report]:
    """Try the model of an assistant, or the game's, with real requests.

    They are counted as what they are, and the caps on what it costs hold for them. The last line
    says whether the assistant's prompt, or the game's fullest, has room in its model's context.

    Raises:
        ConfigurationError: what is set does not fit together.
    """
    endpoint = script.endpoint() if script is not None else services.endpoint()
    checked = check_endpoint(endpoint, services.pool(), paid=partial(MeteredClient, script))
    scripts = list_assistants() if script is None else [script]
    return checked.addCallback(with_room, scripts)
