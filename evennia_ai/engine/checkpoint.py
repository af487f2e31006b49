"""The decision about every reached limit: ask a person, extend it, or end the turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from evennia_ai.core.safety.limits import (
    LIMITS,
    MONEY,
    Decision,
    DecisionReason,
    LimitKind,
    Mode,
    decide_alone,
    question_text,
    refusal,
)
from evennia_ai.core.safety.questions import LIMIT_PREFIX, Answer, ApprovalRequest, QuestionOutcome
from evennia_ai.core.settings.safety import OnLimit
from evennia_ai.errors import LimitReachedError, StaleEpochError


def period_in(kind: str, scope: str) -> str:
    """The day, month or minute in the scope of a limit on money; "" for any other limit."""
    # A scope ends with its period: "... 2026-11-27", or "... 2026-11-27 07:54" for a minute.
    words = {"day": 1, "month": 1, "minute": 2}.get(LIMITS[LimitKind(kind)].span, 0)
    is_money = kind.startswith(MONEY)
    return " ".join(scope.split(" ")[-words:]) if is_money and words else ""


class Bus(Protocol):
    """The way to ask a person."""

    async def ask(self, asking: ApprovalRequest, timeout_seconds: float) -> Answer:
        """Ask a question and wait for the answer. Requests with equal keys share one question.

        Args:
            timeout_seconds: then the outcome is `QuestionOutcome.TIMEOUT`; 0: wait for ever.
        """


Record = Callable[[str, Mapping[str, object]], None]


@dataclass(slots=True)
class Extensions:
    """Counts of limits extended without asking a person, by scope and kind.

    The counts of a task are removed by `end`; those of a past day or month when a later one is
    counted.
    """

    counts: dict[tuple[str, str], int] = field(default_factory=dict)

    def used(self, scope: str, kind: str) -> int:
        """The count so far."""
        return self.counts.get((scope, kind), 0)

    def count(self, scope: str, kind: str) -> None:
        """Count one more."""
        used = self.used(scope, kind)
        if period := period_in(kind, scope):
            over = [
                other
                for other, of_kind in self.counts
                if of_kind == kind and period_in(kind, other) != period
            ]
            for other in over:
                del self.counts[other, kind]
        self.counts[scope, kind] = used + 1

    def end(self, scope: str) -> None:
        """Remove the counts of a scope that has ended."""
        for key in [key for key in self.counts if key[0] == scope]:
            del self.counts[key]


REASONS = {
    QuestionOutcome.TIMEOUT: DecisionReason.ASK_TIMEOUT,
    QuestionOutcome.NOBODY: DecisionReason.NO_OPERATOR,
    QuestionOutcome.DISCARDED: DecisionReason.WITHDRAWN,
    QuestionOutcome.CROWDED: DecisionReason.CROWDED,
    QuestionOutcome.ANSWERED: DecisionReason.REFUSED,
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Decides about reached limits.

    Args:
        bus: the way to a person, or None.
        report: called with an error of the bus.
        passes: errors that cancel the surrounding task, and are raised instead.
    """

    config: OnLimit
    bus: Bus | None
    extensions: Extensions
    record: Record
    report: Callable[[BaseException], None]
    passes: tuple[type[BaseException], ...] = ()

    async def handle_limit_exceeded(
        self,
        hit: LimitReachedError,
        *,
        task: str = "",
        detail: str = "",
        actor: str = "",
        whose: str = "",
    ) -> Decision:
        """Decide whether a turn that reached a limit may go on; the caller applies the extension.

        Args:
            detail: the results so far, for the person who is asked.
            whose: the owner of a cap on money, in words.

        Raises:
            StaleEpochError: the turn was cancelled while a person was asked; likewise `passes`.
        """
        kind = LimitKind(hit.kind)
        mode = self.config.mode_of(kind)
        extensions_left = self.config.auto_extend_times - self.extensions.used(hit.scope, kind)
        decision = decide_alone(LIMITS[kind], mode, extensions_left, hit.amount)
        if decision is None:
            prompt = question_text(kind, hit.used, hit.cap, hit.amount, task, whose)
            asking = ApprovalRequest(
                key=f"{hit.scope} {kind}",
                kind=f"{LIMIT_PREFIX}{kind}",
                prompt=prompt,
                detail=detail,
                actor=actor,
            )
            decision = await self._ask(asking, hit.amount)
        elif decision.allow_continue:
            self.extensions.count(hit.scope, kind)
        self._record(kind, mode, hit, decision)
        return decision

    async def _ask(self, asking: ApprovalRequest, amount: float) -> Decision:
        if self.bus is None:
            return refusal(DecisionReason.NO_BUS)
        through: tuple[type[BaseException], ...] = (StaleEpochError, *self.passes)
        try:
            answer = await self.bus.ask(asking, self.config.ask_timeout_seconds)
        # A cancelled turn is neither a failure of the bus nor a refusal.
        except through:
            raise
        except Exception as error:
            self.report(error)
            return refusal(DecisionReason.BUS_ERROR)
        if answer.is_yes:
            return Decision(True, amount, DecisionReason.APPROVED)
        if answer.outcome is QuestionOutcome.MOOT:
            return Decision(True, 0.0, DecisionReason.CAP_CHANGED)
        return refusal(REASONS[answer.outcome])

    def _record(
        self, kind: LimitKind, mode: Mode, hit: LimitReachedError, decision: Decision
    ) -> None:
        details: dict[str, object] = {
            "kind": kind.value,
            "scope": hit.scope,
            "used": hit.used,
            "cap": hit.cap,
            "mode": mode.value,
            "allow_continue": decision.allow_continue,
            "extension": decision.extension,
            "reason": decision.reason.value,
        }
        self.record("safety_limit_checkpoint", details)
        if not decision.allow_continue:
            self.record("limit_denied", details)
