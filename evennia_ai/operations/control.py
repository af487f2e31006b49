"""Starting and stopping an assistant, closing its breakers, and its status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Annotated, cast

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from typing_extensions import TypedDict

from evennia_ai import approvals, audit, emergency
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.dropped import listed
from evennia_ai.core.safety.notices import TO_START
from evennia_ai.core.text.words import counted
from evennia_ai.memory import modes
from evennia_ai.operations.result import Result, note, one_of
from evennia_ai.operations.settings.changing import signed
from evennia_ai.operations.times import iso
from evennia_ai.resilience import CircuitBreaker
from evennia_ai.runtime import rounds, services, state
from evennia_ai.runtime.turns import aside

GAME, ASSISTANT = "game", "assistant"
UNSTORED = "This could not be stored: it holds until a restart"


class BreakerRow(TypedDict):
    """A service that an assistant depends on, and whether it is asked."""

    name: str
    scope: Annotated[str, one_of((GAME, ASSISTANT), "Its owner, which decides who may reset it.")]
    state: str
    mode: str
    failures_in_window: int
    failure_threshold: int
    total_failures: int
    total_successes: int
    total_rejections: int
    last_failure_error: str | None
    retry_after: Annotated[float | None, note("Seconds until the service is tried again.")]
    retry_at: Annotated[str | None, note("Time at which it is tried again (ISO 8601).")]
    half_open_successes: int
    success_threshold: int


@dataclass(frozen=True, slots=True)
class Breakers:
    """The circuit breakers of the services an assistant depends on, its own first."""

    breakers: list[BreakerRow]


def breakers(script: AssistantScript | None) -> Result[Breakers]:
    """List the breakers of the game and, where an assistant is given, those of its tools."""
    rows = [_breaker_row(script, *named_breaker) for named_breaker in _breakers(script)]
    not_closed = sum(row["state"] != "closed" for row in rows)
    return Result(
        True, f"{counted(len(rows), 'breakers')}, {not_closed} not closed.", Breakers(rows)
    )


def find_breaker(script: AssistantScript | None, name: str) -> Result[BreakerRow]:
    """Find a breaker by name, ignoring case; an assistant's own come before the game's.

    Its scope decides which act a reset is: "reset breaker" or "reset breaker of the game".
    """
    if (named_breaker := _find_breaker(script, name)) is None:
        return _unknown_breaker(script, name)
    row = _breaker_row(script, *named_breaker)
    return Result(True, f"{row['name']} is {row['state']}.", row)


def reset_breaker(
    script: AssistantScript | None, name: str, *, scope: str = "", by: str = ""
) -> Result[BreakerRow]:
    """Close a breaker by hand: the service is asked again at once, and may open it again.

    Args:
        scope: "game" or "assistant", to look only there; "" for both.
    """
    if (named_breaker := _find_breaker(script, name, scope)) is None:
        return _unknown_breaker(script, name)
    where, breaker = named_breaker
    was = breaker.state.value
    breaker.reset()
    subject = script if where == ASSISTANT and script is not None else GAME
    audit.record("breaker_reset", subject, breaker=breaker.name, was=was, by=by)
    message = f"The breaker {breaker.name} was {was}, and is closed now."
    return Result(True, message, _breaker_row(script, where, breaker))


def _breakers(script: AssistantScript | None) -> Iterator[tuple[str, CircuitBreaker]]:
    registries = [(GAME, services.pool().breakers)]
    if script is not None and script.work is not None:
        registries.insert(0, (ASSISTANT, script.work.breakers))
    for scope, registry in registries:
        for name in sorted(registry.get_all_stats()):
            yield scope, registry.get_or_create(name)


def _find_breaker(
    script: AssistantScript | None, name: str, scope: str = ""
) -> tuple[str, CircuitBreaker] | None:
    wanted = name.strip().casefold()
    for where, breaker in _breakers(script):
        if scope in ("", where) and breaker.name.casefold() == wanted:
            return where, breaker
    return None


def _unknown_breaker(script: AssistantScript | None, name: str) -> Result:
    names = [breaker.name for _, breaker in _breakers(script)]
    near = get_close_matches(name, names, n=3, cutoff=0.4) or names[:10]
    known = ", ".join(near) or "none yet: each is created when its service is first called"
    return Result.not_found(f"There is no breaker {name!r}; there are: {known}.")


def _breaker_row(script: AssistantScript | None, scope: str, breaker: CircuitBreaker) -> BreakerRow:
    stats = breaker.get_stats()
    # The clock that the breaker itself runs on: that of an assistant is replaced in tests.
    clock = reactor if script is None or scope == GAME else script.clock
    wait = stats["retry_after"]
    at = iso(clock.seconds() + wait) if wait is not None else None
    row = {**stats, "scope": scope, "mode": breaker.mode.value, "retry_at": at}
    return cast(BreakerRow, row)


@dataclass(frozen=True, slots=True)
class Stopped:
    """Everything that was under way when a stop cancelled it."""

    is_new: Annotated[bool, note("True if it was not stopped before.")]
    calls: Annotated[int, note("Number of model calls in flight.")]
    tools: Annotated[list[str], note("Names of the tools that were running.")]
    questions: Annotated[int, note("Number of open questions.")]
    messages: Annotated[int, note("Waiting messages whose senders were told.")]
    names: Annotated[list[str], note("Names of those who were told.")]
    untold: Annotated[int, note("Waiting messages whose senders could not be told.")]


def set_enabled(script: AssistantScript, enabled: bool, *, by: str = "") -> Result:
    """Let an assistant answer, or keep it silent until started; its queue of messages is kept."""
    # An earlier order to all assistants may not have reached this one: the later word counts.
    rounds.settle(script)
    name = script.key
    if enabled and script.obj is None:
        result = Result.conflict(f"{name} has no body; give it one")
        return result.with_typed(f": assistant adopt <npc> = {name}")
    mood, hint = "awake" if enabled else "silent", ""
    if is_changed := _enable(script, enabled, by):
        done = Result(True, f"{name} is {mood}.")
    else:
        done = Result.invalid(f"{name} is already {mood}.")
    if enabled and state.is_stopped(script):
        hint = f" It is stopped; to let it go on: assistant emergency clear {name}"
    elif is_changed and not enabled:
        hint = f" {TO_START.format(name=name)}"
    return done.with_typed(hint)


def _enable(script: AssistantScript, enabled: bool, by: str) -> bool:
    # Returns False where nothing changes, so that a round over many counts only real changes.
    if enabled and (script.obj is None or script.pk is None):  # without a body, or deleted
        return False
    if is_restarted := enabled and modes.is_paused(script):
        script.start()
    if bool(state.read(script, "enabled")) == enabled:
        return is_restarted
    if not enabled:
        state.bump_epoch(script)  # voids the turn under way, whose reply would still be said
    with signed(by):
        state.write(script, enabled=enabled)
    if enabled:
        script.beat_soon()
    else:
        approvals.discard_all(script, f"{script.key} is silent")
    return True


def set_all_enabled(
    scripts: Iterable[AssistantScript], enabled: bool, *, by: str = ""
) -> Deferred[Result[int]]:
    """Let several assistants answer, or keep them silent until they are started again.

    Returns:
        The number of assistants changed, when all are stored.
    """
    changed: list[str] = []

    def change(script: AssistantScript) -> None:
        # A round of many takes several turns of the reactor; one may be deleted meanwhile.
        if script.pk is not None and _enable(script, enabled, by):
            changed.append(script.key)

    mood = "awake" if enabled else "silent"
    hint = "" if enabled else " To let them answer: assistant start all"
    none = f"All of them are already {mood}"
    done = rounds.to_each(scripts, change)
    return done.addCallback(lambda _: _of_all(len(changed), f"{mood}.", hint, none=none))


def _of_all(count: int, are: str, typed: str = "", *, none: str) -> Result[int]:
    if not count:
        return Result(True, f"{none}; nothing was changed.", 0)
    who = "One assistant is" if count == 1 else f"{count} assistants are"
    return Result(True, f"{who} {are}", count).with_typed(typed)


def stop(script: AssistantScript, reason: str, *, by: str = "") -> Result[Stopped]:
    """Emergency stop: drop whatever is under way; the assistant stays stopped over restarts."""
    name = script.key
    dropped = emergency.trigger_emergency_stop(script, reason, by=by)
    message = f"{name} is already stopped"
    if dropped.is_new:
        lasts = UNSTORED if emergency.is_unstored(script) else "It stays stopped across restarts"
        message = " ".join(filter(None, (f"{name} is stopped.", dropped.describe(), lasts)))
    result = Result(True, message, Stopped(**asdict(dropped)))
    return result.with_typed(f". To let it go on: assistant emergency clear {name}")


def stop_all(
    scripts: Iterable[AssistantScript], reason: str, *, by: str = ""
) -> Deferred[Result[int]]:
    """Emergency stop of several assistants: all are cancelled before any of it is stored.

    Returns:
        The number that were running, when the stop is stored for all of them.
    """
    hint = " To let them go on: assistant emergency clear <name> | all"
    stopped = list(scripts)

    def describe(count: int) -> Result[int]:
        unstored = [script.key for script in stopped if emergency.is_unstored(script)]
        are = "stopped, also across restarts."
        if unstored:
            are = f"stopped. {UNSTORED} ({listed(unstored)})."
        return _of_all(count, are, hint, none="None of them was running")

    return emergency.stop_all(stopped, reason, by).addCallback(describe)


def clear(script: AssistantScript, *, by: str = "") -> Result:
    """Clear an emergency stop or a lockout. Nothing is refunded, and the conversation is kept."""
    ok, message = emergency.clear_emergency_stop(script, by=by)
    # Messages that arrived meanwhile would otherwise wait for the next regular beat.
    script.beat_soon()
    cleared = Result(ok, f"{script.key}: {message}.")
    is_silenced = ok and script.obj is not None and not state.read(script, "enabled")
    hint = f" {TO_START.format(name=script.key)}" if is_silenced else ""
    return cleared.with_typed(hint)


def clear_all(scripts: Iterable[AssistantScript], *, by: str = "") -> Deferred[Result[int]]:
    """Clear stops and lockouts of several assistants, and the cooling times of their players.

    Returns:
        The number of assistants changed, when it is stored for all of them.
    """
    none = "None of them was stopped, and nobody has to wait"
    those = list(scripts)
    silenced = [
        str(script.key)
        for script in those
        if state.is_stopped(script) and not state.read(script, "enabled")
    ]
    are = "cleared and will go on in a moment."
    if silenced:
        are = f"cleared. Still silenced: {listed(silenced)}."
    typed = " To let one answer: assistant start <name>" if silenced else ""
    done = emergency.clear_all(those, by=by)
    return done.addCallback(_of_all, are, typed, none=none)


def reset_history(script: AssistantScript, *, by: str = "") -> Result:
    """Forget the conversation, drop what is under way, and clear an emergency stop."""
    with signed(by):
        aside.reset_history(script)
    # A yes would continue a turn whose conversation is gone.
    approvals.discard_all(script, f"the conversation of {script.key} begins anew")
    emergency.clear_emergency_stop(script, by=by)
    script.beat_soon()
    return Result(True, f"{script.key} starts a new conversation.")
