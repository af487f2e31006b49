"""Decisions at an assistant's limits: its settings, the people to ask, and the audit log.

A change of a limit's setting while somebody is asked may leave nothing to ask. Some limits are read
again at each step; others were read when their tick or wait began, and there a change is applied as
a grant. Caps on money have accounts of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from django.conf import settings
from evennia.server.models import ServerConfig
from evennia.utils import logger
from twisted.internet.defer import CancelledError

from evennia_ai import approvals, audit
from evennia_ai.approvals import holding, store
from evennia_ai.approvals.people import is_of
from evennia_ai.budget import ledger
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.hearing.audience import WAYS, may_leave
from evennia_ai.core.hearing.inbox import OWN, Event
from evennia_ai.core.safety.budget import (
    SCOPE_WORDS,
    account_of,
    as_amount,
    as_units,
    period_of,
    standing_to,
)
from evennia_ai.core.safety.limits import LIMITS, MONEY, Decision, DecisionReason, LimitKind
from evennia_ai.core.safety.questions import Answer, ApprovalRequest, QuestionOutcome
from evennia_ai.core.settings.budget import CAPS, GAME_NAME, Scope
from evennia_ai.core.settings.safety import OnLimit, SafetyConfig
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import number
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.checkpoint import Checkpoint, Extensions
from evennia_ai.errors import ConfigurationError, LimitReachedError
from evennia_ai.messages.incoming import key_of
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tasks import delegations

LONGEST_TASK = 80  # characters of a task in a question
MOST_KEPT = 1_000  # entries of each of the two tables below
# Caps that were raised, or that a person refused to raise, by scope, kind and the value met.
_DECIDED: dict[tuple[str, str, float], bool] = {}
# The ServerConfig key of the counts of `MoneyExtensions`.
STORED_EXTENSIONS = "evennia_ai_auto_extended"
# Limits whose value is read when the tick or the wait begins.
AS_BEGUN = (LimitKind.ITERATIONS, LimitKind.TICK_SECONDS, LimitKind.DELEGATION_SECONDS)
# Limits that a chain of delegations counts by the settings of its first assistant.
OF_CHAINS = (LimitKind.TASK_ITERATIONS, LimitKind.TASK_TOKENS, LimitKind.DELEGATIONS)
# Stands for no limit: more than any tick or wait comes to.
ENDLESS = 1e9


class MoneyExtensions(Extensions):
    """Counts of caps on money extended without asking a person; they survive a restart."""

    def used(self, scope: str, kind: str) -> int:
        """The count so far."""
        stored = ServerConfig.objects.conf(STORED_EXTENSIONS, default=())
        self.counts = {(of, limit): times for of, limit, times in stored}
        return super().used(scope, kind)

    def count(self, scope: str, kind: str) -> None:
        """Count one more, and store it before the cap is raised."""
        super().count(scope, kind)
        # Plain strings, since Evennia cannot pack an enum.
        rows = [(of, f"{limit}", times) for (of, limit), times in self.counts.items()]
        ServerConfig.objects.conf(STORED_EXTENSIONS, rows[-MOST_KEPT:])


@dataclass(frozen=True, slots=True)
class _People:
    """The way to the people who may answer for an assistant."""

    script: Assistant
    event: Event | None
    turn: Turn | None
    hit: LimitReachedError
    is_moot: Callable[[], bool] | None

    async def ask(self, asking: ApprovalRequest, timeout_seconds: float) -> Answer:
        """Put a question to them and wait, unless all other turns would have to wait as well.

        A no about a cap that `assistant budget` raises holds until it does, or its period is over.
        """
        cap = _cap_of(self.hit)
        if _DECIDED.get(cap) is False:
            return Answer(QuestionOutcome.ANSWERED)
        if holding.is_full(self.script, self.turn) and store.find_key(asking.key) is None:
            return Answer(QuestionOutcome.CROWDED)
        asked = approvals.ask(
            self.script,
            asking,
            timeout_seconds=timeout_seconds,
            event=self.event,
            root=delegations.root_of(self.script, self.event),
            is_moot=self.is_moot,
        )
        answer = await holding.wait(self.script, self.turn, asked)
        is_no = answer.outcome is QuestionOutcome.ANSWERED and not answer.is_yes
        if is_no and _may_be_raised(self.hit):
            _decide(cap, is_raised=False)
        return answer


async def ask(
    script: Assistant,
    hit: LimitReachedError,
    *,
    task: str = "",
    detail: str = "",
    event: Event | None = None,
    turn: Turn | None = None,
) -> Decision:
    """Decide whether something that reached a limit may go on; the caller applies the extension.

    Args:
        task: what is under way, in words.
        detail: what came of it so far.
        turn: the turn to set aside while a person is asked; None: nothing is set aside.

    Raises:
        CancelledError: it was cancelled meanwhile.
    """
    config, extensions = _policy_for(script, hit)
    setting = setting_of(script, hit, turn)
    is_moot = setting.is_moot if setting else None
    if hit.kind.startswith(MONEY):
        is_moot = partial(_is_moot, script, hit)
    checkpoint = Checkpoint(
        config,
        _People(script, event, turn, hit, is_moot),
        extensions,
        lambda name, details: audit.record(name, script, **details),
        _report,
        (CancelledError,),
    )
    decision = await checkpoint.handle_limit_exceeded(
        hit, task=task, detail=detail, actor=script.key, whose=_whose(script, hit)
    )
    hit.reason = decision.reason
    if decision.reason is DecisionReason.CAP_CHANGED and setting:
        return replace(decision, extension=setting.more)
    return decision


def _policy_for(script: Assistant, hit: LimitReachedError) -> tuple[OnLimit, Extensions]:
    """The setting for a limit, and the counts of its extensions without asking.

    Where the game sets a cap, the game's setting applies, and the assistant's own only where it is
    stricter.
    """
    own = state.safety_config(script).on_limit
    if not hit.kind.startswith(MONEY):
        return own, script.work.extensions
    if not _is_of_game(hit):
        return own, MoneyExtensions()
    game = state.held(SafetyConfig, {}).on_limit
    return own.tightened(game, LimitKind(hit.kind)), MoneyExtensions()


def _is_of_game(hit: LimitReachedError) -> bool:
    """True for a cap on money that the game sets: its own, a player's, or every assistant's."""
    caps = getattr(settings, GAME_NAME, {}).get(Scope.ASSISTANT, {})
    is_own = account_of(hit).scope is Scope.ASSISTANT
    return not is_own or bool(caps.get(hit.kind.removeprefix(MONEY)))


def _is_moot(script: Assistant, hit: LimitReachedError) -> bool:
    """True where a cap on money was raised or removed, or its period is over."""
    # A cap raised by too little is moot as well: the call meets it again, and asks for the rest.
    account, name = account_of(hit), hit.kind.removeprefix(MONEY)
    cap, now = CAPS[name], script.clock.seconds()
    if script.work is None:
        return False
    try:
        configured = getattr(state.budget_config(script).caps_of(account.scope), name)
        if not configured or account.period != period_of(cap.span, now):
            return True
        total = read_total(account)
    except ConfigurationError:  # its caps, or what is used of them, cannot be read
        return False
    standing = standing_to(account, name, as_units(cap.measure, configured), total)
    return as_amount(cap.measure, standing.allowed) > hit.cap


def _whose(script: Assistant, hit: LimitReachedError) -> str:
    """The owner of a cap on money, in words; "" for any other limit."""
    if not hit.kind.startswith(MONEY):
        return ""
    account = account_of(hit)
    if account.scope in SCOPE_WORDS:
        return SCOPE_WORDS[account.scope]
    if account.scope is Scope.ASSISTANT:
        return str(script.key) if is_of(script, account) else account.key
    return f"the player {key_of(account.key)}"


def _report(error: BaseException) -> None:
    logger.log_err(f"[assistant] nobody could be asked about a limit: {error!r}")


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of an assistant's turns, as the engine asks for them."""

    script: Assistant

    @property
    def config(self) -> SafetyConfig:
        """The assistant's limits and checks."""
        return state.safety_config(self.script)

    async def extend(self, turn: Turn, hit: LimitReachedError) -> bool:
        """Ask whether a turn that reached a limit may go on; a grant is applied."""
        decision = await ask(
            self.script,
            hit,
            task=task_of(turn),
            detail=one_line(turn.found_out, LONGEST_TASK) if _is_open(turn) else "",
            event=turn.event,
            turn=turn,
        )
        _note(self.script, turn, hit, decision)
        if not decision.allow_continue:
            return False
        is_money = hit.kind.startswith(MONEY)
        if is_money and decision.reason is not DecisionReason.CAP_CHANGED:
            _raise_once(hit, decision)
        elif not is_money and decision.extension:
            turn.grants[hit.kind] = turn.grants.get(hit.kind, 0) + decision.extension
        return True

    def cut(self, turn: Turn, hit: LimitReachedError) -> None:
        """Record that what exceeded a limit was left out."""
        cap, event = hit.cap, turn.event
        audit.record(f"{hit.kind}_exceeded", self.script, attempted=hit.used, kept=cap)
        text = f"{hit.kind}: {number(hit.used)} were wanted, {number(cap)} kept"
        self.script.work.decisions.note([event.number], "limit", text)


def _raise_once(hit: LimitReachedError, decision: Decision) -> None:
    """Raise a cap of the ledger once, however many turns met it and share the answer."""
    if not _DECIDED.get(_cap_of(hit)):
        ledger.grant(hit, decision.extension, by=decision.reason.value)
        # After the grant, so that the next turn tries again if the ledger failed.
        _decide(_cap_of(hit), is_raised=True)


def _may_be_raised(hit: LimitReachedError) -> bool:
    return hit.kind.startswith(MONEY) and account_of(hit).scope in (Scope.GAME, Scope.ASSISTANT)


def _cap_of(hit: LimitReachedError) -> tuple[str, str, float]:
    return (hit.scope, hit.kind, hit.cap)


def _decide(cap: tuple[str, str, float], *, is_raised: bool) -> None:
    if len(_DECIDED) >= MOST_KEPT:
        # At worst an answer that turns still share raises its cap a second time.
        _DECIDED.clear()
    _DECIDED[cap] = is_raised


def task_of(turn: Turn) -> str:
    """The subject of a turn for staff, without words that were said in private."""
    event = turn.event
    if event.kind == OWN:
        return "something of my own"
    whose = f"{event.sender_name}'s request"
    return f"{whose} ({one_line(event.body, LONGEST_TASK)})" if _is_open(turn) else whose


def _is_open(turn: Turn) -> bool:
    """True where staff may know its words."""
    return may_leave(WAYS["staff"], turn.kept_audiences).is_allowed


def _note(script: Assistant, turn: Turn, hit: LimitReachedError, decision: Decision) -> None:
    limit = LIMITS[LimitKind(hit.kind)]
    came = f"{limit.amount(decision.extension)} more" if decision.extension else "no more"
    if decision.reason is DecisionReason.CAP_CHANGED:
        came = "tried again"
    detail = f"{hit.kind}, {limit.used_of(hit.used, hit.cap)}: {came}, {decision.reason}"
    script.work.decisions.note([event.number for event in turn.events], "limit", detail)


def setting_of(script: Assistant, hit: LimitReachedError, turn: Turn | None) -> LimitSetting | None:
    """The setting of a limit that was just met; None where no assistant has one."""
    kind = LimitKind(hit.kind)
    if kind.startswith(MONEY) or kind is LimitKind.MODEL_CALL_SECONDS:
        return None
    if kind in OF_CHAINS and turn is not None and hit.scope != turn.scope:
        return None
    value = _value(script, kind)
    return LimitSetting(script, hit, value) if value else None


@dataclass(frozen=True, slots=True)
class LimitSetting:
    """The setting of a limit that was met."""

    script: Assistant
    hit: LimitReachedError
    value: float

    def is_moot(self) -> bool:
        """True where what was used or wanted is within the limit by now."""
        now = _value(self.script, LimitKind(self.hit.kind))
        if now is None:
            return False
        cap, used = self.hit.cap + now - self.value, self.hit.used
        # A message's length does not grow: it fits at exactly the limit.
        is_whole = self.hit.kind == LimitKind.MESSAGE_CHARACTERS and cap == used
        return not now or cap > used or is_whole

    @property
    def more(self) -> float:
        """The grant that applies the new value to what is under way; 0: that reads it itself."""
        now = _value(self.script, LimitKind(self.hit.kind))
        if self.hit.kind not in AS_BEGUN or now is None:
            return 0.0
        return now - self.value if now else ENDLESS


def _value(script: Assistant, kind: LimitKind) -> float | None:
    """The value of the setting; None where it cannot be read now."""
    if script.work is None or script.work.safety_problem:
        return None
    name, *keys = LIMITS[kind].path.split(".")
    value: object = state.read(script, name) if not keys else None
    try:
        if name == "safety_config":
            value = state.safety_config(script)
        elif name == "execution_config":
            value = ExecutionConfig.from_stored(state.read(script, name))
    except ConfigurationError:
        return None
    for key in keys:
        value = getattr(value, key)
    return float(str(value))
