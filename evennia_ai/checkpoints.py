"""Where an assistant's limits are decided: its settings, who may be asked, and the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import CancelledError

from evennia_ai import audit, delegations, interventions, ledger, state
from evennia_ai.core.inbox import OWN, Event
from evennia_ai.core.limits import LIMITS, Decision, Kind
from evennia_ai.core.questions import Answer, Asking
from evennia_ai.core.safety_config import SafetyConfig
from evennia_ai.core.text import one_line
from evennia_ai.core.turn import Turn
from evennia_ai.engine.checkpoint import Checkpoint
from evennia_ai.errors import LimitReachedError

LONGEST_TASK = 80
MOST_KEPT = 1_000
# Caps that were raised, by what they were when they were met.
_RAISED: set[tuple[str, str, float]] = set()


@dataclass(frozen=True, slots=True)
class _People:
    """The way to the people who may answer for an assistant."""

    script: Any
    event: Event | None

    async def ask(self, asking: Asking, timeout_seconds: float) -> Answer:
        """Put a question to them, and wait."""
        root = delegations.root_of(self.script, self.event)
        answer: Answer = await interventions.ask(
            self.script, asking, timeout_seconds=timeout_seconds, event=self.event, root=root
        )
        return answer


async def ask(
    script: Any,
    hit: LimitReachedError,
    *,
    task: str = "",
    detail: str = "",
    event: Event | None = None,
) -> Decision:
    """Decide whether something that reached a limit may go on; whoever asks applies the extension.

    Args:
        task: what is under way, in words.
        detail: what came of it so far.
        event: what it is done for.

    Raises:
        CancelledError: it was cancelled meanwhile.
    """
    checkpoint = Checkpoint(
        state.safety_config(script).on_limit,
        _People(script, event),
        script.work.extensions,
        partial(_record, script),
        _report,
        (CancelledError,),
    )
    decision = await checkpoint.handle_limit_exceeded(
        hit, task=task, detail=detail, actor=script.key
    )
    hit.reason = decision.reason
    return decision


def _record(script: Any, name: str, facts: Mapping[str, object]) -> None:
    audit.record(name, script, **facts)


def _report(error: BaseException) -> None:
    logger.log_err(f"[assistant] nobody could be asked about a limit: {error!r}")


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of an assistant's turns."""

    script: Any

    @property
    def config(self) -> SafetyConfig:
        """Its limits and checks."""
        return state.safety_config(self.script)

    async def extend(self, turn: Turn, hit: LimitReachedError) -> bool:
        """Ask whether a turn that reached a limit may go on; after a yes the grant is applied."""
        decision = await ask(
            self.script,
            hit,
            task=task_of(turn),
            detail=one_line(turn.found_out, LONGEST_TASK),
            event=turn.event,
        )
        _note(self.script, turn, hit, decision)
        if not decision.allow_continue:
            return False
        if hit.kind.startswith("cost."):
            _raise_once(hit, decision)
        else:
            turn.grants[hit.kind] = turn.grants.get(hit.kind, 0) + decision.extension
        return True

    def cut(self, turn: Turn, hit: LimitReachedError) -> None:
        """Record that what went beyond a limit was left out."""
        kept, event = hit.cap, turn.event
        audit.record(f"{hit.kind}_exceeded", self.script, attempted=hit.used, kept=kept)
        told = f"{hit.kind}: {hit.used:g} were wanted, {kept:g} kept"
        self.script.work.records.note([event.number], "limit", told)


def _raise_once(hit: LimitReachedError, decision: Decision) -> None:
    """Raise a cap of the ledger: once, however many turns met it and share the answer."""
    met = (hit.scope, hit.kind, hit.cap)
    if met in _RAISED:
        return
    if len(_RAISED) >= MOST_KEPT:
        _RAISED.clear()
    _RAISED.add(met)
    ledger.grant(hit, decision.extension, by=decision.reason.value)


def task_of(turn: Turn) -> str:
    """What a turn is about, for staff: what was said in private is not told."""
    event = turn.event
    if event.kind == OWN:
        return "something of my own"
    whose = f"{event.sender_name}'s request"
    return whose if turn.is_private else f"{whose} ({one_line(event.body, LONGEST_TASK)})"


def _note(script: Any, turn: Turn, hit: LimitReachedError, decision: Decision) -> None:
    limit = LIMITS[Kind(hit.kind)]
    came = f"{decision.extension:g} {limit.unit} more" if decision.allow_continue else "no more"
    detail = f"{hit.kind}, {hit.used:g} of {hit.cap:g} {limit.unit}: {came}, {decision.reason}"
    script.work.records.note([event.number for event in turn.events], "limit", detail)
