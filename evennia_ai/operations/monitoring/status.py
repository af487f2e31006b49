"""The status of assistants: of one in detail, or of all for a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, TypeVar, cast

from twisted.internet.defer import Deferred, succeed
from typing_extensions import TypedDict

from evennia_ai import approvals, emergency
from evennia_ai.agent import outages
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.cooling import in_words
from evennia_ai.core.safety.lockout import State
from evennia_ai.core.safety.notices import plain
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.memory import modes
from evennia_ai.messages.incoming import key_of
from evennia_ai.operations.budget.caps import CapRow, standings_of, today_of, used_ever
from evennia_ai.operations.memory.upkeep import MemorySummary, summary_of
from evennia_ai.operations.monitoring.capacity import EndpointUse, WorkersRow, uses_of, workers_row
from evennia_ai.operations.result import Result, note
from evennia_ai.runtime import ability, game_thread, services, state
from evennia_ai.runtime.work import Work

T = TypeVar("T")
# More assistants than these are looked at in slices, so that the game goes on.
AT_ONCE = 10


class Lock(TypedDict):
    """The reason why an assistant may not act, and since when."""

    cause: str
    reason: str
    at: Annotated[float, note("Unix time in seconds.")]
    by: str


@dataclass(frozen=True, slots=True)
class Brief:
    """An assistant in brief: its doings, and what keeps it from acting. It needs no query."""

    key: str
    mood: Annotated[str, note("What it is doing, in a word or two.")]
    location: Annotated[str | None, note("Name of the room it stands in.")]
    enabled: bool
    emergency_stop: bool
    state: State
    lockout: Annotated[Lock | None, note("Why it may not act.")]
    is_ticking: bool
    pending_events: int
    ignored_settings: Annotated[str | None, note("An invalid setting that is ignored.")]
    wrong_settings: Annotated[str | None, note("An invalid setting that keeps it from acting.")]
    unable: Annotated[str, note("Why its body cannot act; empty if it can.")]
    questions: int
    brain: Annotated[str, note("Its model, in words.")]
    has_brain: Annotated[bool, note("True if its model is configured.")]
    degraded: list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Status(Brief):
    """An assistant as a whole: what it is doing, and what it has used."""

    consecutive_errors: int
    max_consecutive_errors: int
    cooling: Annotated[list[str], note("Who has to wait, and for how long, in words.")]
    today: Annotated[str, note("Tokens used today, in words.")]
    calls: int
    tokens: int
    breakers: dict[str, dict[str, object]]
    mcp: list[dict[str, object]]
    context_tokens: int | None
    max_context_tokens: int | None
    cache: dict[str, object]
    memory: MemorySummary
    endpoints: Annotated[list[EndpointUse], note("Endpoints of its model, if there are several.")]
    workers: WorkersRow


def brief(script: AssistantScript) -> Brief:
    """Report what an assistant is doing, for lists and pages that are renewed all the time."""
    work = script.work or Work()  # before the script's first start there is none
    lockout = emergency.lockout_of(script)
    try:
        brain, has_brain = script.endpoint().describe(), True
    except ConfigurationError as error:
        brain, has_brain = f"not set up: {error}", False
    data = Brief(
        key=script.key,
        mood="",
        location=_place_of(script.obj) if script.obj is not None else None,
        enabled=bool(state.read(script, "enabled")),
        emergency_stop=emergency.is_stopped(script),
        state=emergency.state_of(script),
        lockout=cast(Lock, lockout.as_stored()) if lockout is not None else None,
        is_ticking=work.is_ticking,
        pending_events=len(work.inbox),
        ignored_settings=work.ear_problem,
        wrong_settings=work.safety_problem,
        unable=ability.reason_of(script.obj) if script.obj is not None else "it has no body",
        questions=len(approvals.pending(script)),
        brain=brain,
        has_brain=has_brain,
        degraded=[*services.pool().breakers.degraded(), *work.breakers.degraded()],
    )
    return replace(data, mood=_mood(script, data))


def _place_of(body: GameObject) -> str | None:
    # Evennia's contrib `wilderness` keeps no room, but a place in it, where no player is.
    if body.location is None and body in getattr(body.ndb.wilderness, "itemcoordinates", ()):
        return "the wilderness"
    return getattr(body.location, "key", None)


def status(script: AssistantScript) -> Result[Status]:
    """Report the status of an assistant as a whole."""
    work, seen = script.work or Work(), brief(script)
    calls, tokens = used_ever(script) or (work.calls, work.usage.total_tokens)
    data = Status(
        **asdict(seen),
        consecutive_errors=state.read(script, "consecutive_errors"),
        max_consecutive_errors=state.read(script, "max_consecutive_errors"),
        cooling=_cooling(script),
        today=today_of(script),
        calls=calls,
        tokens=tokens,
        breakers=services.pool().breakers.get_all_stats(),
        endpoints=uses_of(script.endpoint()) if seen.has_brain else [],
        mcp=services.remote_servers().status(),
        context_tokens=work.context_tokens,
        max_context_tokens=work.max_context_tokens,
        cache=work.tool_cache.get_stats(),
        memory=summary_of(script),
        workers=workers_row(script),
    )
    return Result(True, f"{script.key}: {data.mood}", data)


def _cooling(script: AssistantScript) -> list[str]:
    if script.work is None or not script.work.blame.people:
        return []
    config = state.safety_config(script).cooling
    waiting = script.work.blame.waiting(script.clock.seconds(), config)
    return [f"{key_of(person)} waits {in_words(seconds)}" for person, seconds in waiting.items()]


def _mood(script: AssistantScript, data: Brief) -> str:
    # Several may hold at once; the one that a person has to lift first is named.
    if data.state == State.SAFETY_LOCKOUT and data.lockout is not None:
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
    if outages.is_resting(script):
        return "resting until its model answers"
    return modes.mood(script)


@dataclass(frozen=True, slots=True)
class Glance:
    """One assistant in a list of all.

    Attributes:
        caps: its caps and their use; None where a setting is wrong.
    """

    script: AssistantScript
    status: Brief
    caps: list[CapRow] | None


def glances(scripts: Sequence[AssistantScript], show: Callable[[Glance], T]) -> Deferred[list[T]]:
    """Look at many assistants, in the same order.

    Args:
        show: makes an entry of the list.
    """
    steps = _look_at_each(scripts, show)
    if len(scripts) > AT_ONCE:
        return game_thread.paced(steps)
    return succeed(game_thread.finish(steps))


def _look_at_each(
    scripts: Sequence[AssistantScript], show: Callable[[Glance], T]
) -> game_thread.Steps[list[T]]:
    caps, results = standings_of(scripts), []
    yield
    for script in scripts:
        # It may be deleted while the list is made.
        if script.pk is not None:
            own = caps[str(script.key)]
            results.append(show(Glance(script, brief(script), own.data if own.ok else None)))
        yield
    return results
