"""Limits: the inventory, decisions that need no person, and the wording of refusals.

A limit bounds how far a run may go. A run that reaches one asks at the checkpoint
(`engine.checkpoint`), and then goes on or ends cleanly. A value of 0 means no limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from evennia_ai.core.text.words import ExplainedEnum, counted, money, number


class LimitKind(StrEnum):
    """Names of the limits."""

    ITERATIONS = "max_iterations"
    MODEL_CALLS = "model_calls"
    TOOL_CALLS = "tool_calls"
    CONTEXT_VISITS = "context_visits"
    TASK_ITERATIONS = "task_iterations"
    TASK_TOKENS = "task_tokens"
    TICK_SECONDS = "tick_seconds"
    MODEL_CALL_SECONDS = "model_call_seconds"
    CALLS_PER_REPLY = "calls_per_reply"
    DELEGATIONS = "delegations"
    DELEGATES_AT_ONCE = "delegates_at_once"
    AGENT_HOPS = "agent_hops"
    DELEGATION_SECONDS = "delegation_seconds"
    OWN_TURNS = "own_turns"
    MESSAGE_CHARACTERS = "message_characters"
    SUMMARY_TOKENS = "summary_tokens"
    TOKENS_TOTAL = "cost.tokens_total"
    TOKENS_PER_DAY = "cost.tokens_per_day"
    TOKENS_PER_MONTH = "cost.tokens_per_month"
    COST_PER_DAY = "cost.cost_per_day"
    COST_PER_MONTH = "cost.cost_per_month"
    CALLS_PER_MINUTE = "cost.calls_per_minute"


class Denial(ExplainedEnum):
    """Consequences of a refusal, after it is recorded."""

    WRAP_UP = "wrap_up", "it says in its own words how far it got"
    TOOL_ERROR = "tool_error", "the call fails, the model is told why, and the turn goes on"
    DROPPED = "dropped", "it is left out, and whoever waits for it is told"
    CUT = "cut", "what is too much is cut off"


class Mode(StrEnum):
    """Ways to decide at a limit."""

    INTERACTIVE = "interactive"
    AUTO_EXTEND = "auto_extend"
    UNATTENDED = "unattended"


@dataclass(frozen=True, slots=True)
class Limit:
    """A row of the inventory.

    Attributes:
        path: setting of its value, whose default is the limit's default.
        unit: unit in the plural.
        span: what it is counted over; a grant lasts as long.
        denial: consequence of a refusal.
        asks: whether a person may be asked in interactive mode.
        mode: its mode unless `on_limit.modes` names another; None for the common one.
        locks: whether a refusal also locks the assistant, if no single person caused it.
        seed: name of the limit in the original specification that it stands for, or "".
    """

    path: str
    unit: str
    span: str
    denial: Denial
    text: str
    seed: str = ""
    asks: bool = True
    mode: Mode | None = None
    locks: bool = False

    def amount(self, value: float) -> str:
        """An amount with its unit: 5 steps, or $0.50."""
        return money(value) if self.unit == DOLLARS else counted(value, self.unit)

    def used_of(self, used: float, cap: float) -> str:
        """A part of the limit with its unit: 4 of 5 steps, or $0.0042 of $0.50."""
        part = money(used) if self.unit == DOLLARS else number(used)
        return f"{part} of {self.amount(cap)}"


DOLLARS = "US dollars"
MONEY = "cost."
LOOP, TIME, SIZE = "safety_config.loop", "safety_config.timeout", "safety_config.size"
# How spans are worded that are not simply "a tick" or "a task".
_SPANS = {"ever": "in all", "moment": "at one time", "time without a person": "without a person"}


def _limit(
    path: str,
    counted: tuple[str, str],
    text_and_seed: tuple[str, str],
    denial: Denial = Denial.WRAP_UP,
    **more: Any,
) -> Limit:
    return Limit(path, *counted, denial, *text_and_seed, **more)


_TABLE = {
    LimitKind.ITERATIONS: _limit(
        "execution_config.max_iterations_per_tick",
        ("steps", "tick"),
        ("model calls of the loop in one tick", "router iterations"),
    ),
    LimitKind.MODEL_CALLS: _limit(
        f"{LOOP}.max_model_calls_per_tick",
        ("model calls", "tick"),
        ("all model calls of one tick, also those beside the loop", "router calls per turn"),
    ),
    LimitKind.TOOL_CALLS: _limit(
        f"{LOOP}.max_tool_calls_per_context",
        ("tool calls", "context"),
        ("tool calls in one context of a task", "act turns per phase"),
    ),
    LimitKind.CONTEXT_VISITS: _limit(
        f"{LOOP}.max_context_visits",
        ("visits", "task"),
        ("ticks of one task in the same context", "visits of a phase"),
    ),
    LimitKind.TASK_ITERATIONS: _limit(
        f"{LOOP}.max_iterations_per_task",
        ("steps", "task"),
        ("model calls of the loop in one task, over all its ticks and grants", "loop cap"),
        locks=True,
    ),
    LimitKind.TASK_TOKENS: _limit(
        f"{LOOP}.max_tokens_per_task",
        ("tokens", "task"),
        ("tokens of all model calls of one task", "token budget"),
        locks=True,
    ),
    LimitKind.CALLS_PER_REPLY: _limit(
        "execution_config.calls_per_reply",
        ("tool calls", "reply"),
        ("tool calls of one reply that are run", "tool calls in one completion"),
        Denial.CUT,
        asks=False,
    ),
    LimitKind.DELEGATIONS: _limit(
        f"{LOOP}.max_delegations_per_task",
        ("delegations", "task"),
        ("tasks handed to other assistants in one task", "workflow calls per chain"),
        Denial.TOOL_ERROR,
    ),
    LimitKind.DELEGATES_AT_ONCE: _limit(
        "execution_config.sub_agent_budget",
        ("delegates", "moment"),
        ("tasks that are with other assistants at one time", "children of one agent"),
        Denial.TOOL_ERROR,
    ),
    LimitKind.AGENT_HOPS: _limit(
        "max_agent_hops",
        ("hops", "chain"),
        ("messages and tasks in a row between assistants", "agent hops"),
        Denial.DROPPED,
        mode=Mode.UNATTENDED,
    ),
    LimitKind.OWN_TURNS: _limit(
        f"{LOOP}.max_own_turns",
        ("turns", "time without a person"),
        ("turns of its own, until a person speaks to it", "self-triggered turns in a row"),
        Denial.DROPPED,
    ),
    LimitKind.TICK_SECONDS: _limit(
        f"{TIME}.tick_seconds", ("seconds", "tick"), ("one tick by the clock", "phase wall clock")
    ),
    LimitKind.DELEGATION_SECONDS: _limit(
        f"{TIME}.delegation_seconds",
        ("seconds", "delegation"),
        ("waiting for another assistant's answer", "chain wait"),
        Denial.TOOL_ERROR,
    ),
    LimitKind.MODEL_CALL_SECONDS: _limit(
        "EVENNIA_AI_CALL_DEADLINE_SECONDS",
        ("seconds", "model call"),
        ("one model call, its retries included", "LLM call timeout"),
        Denial.DROPPED,
        mode=Mode.UNATTENDED,
    ),
    LimitKind.MESSAGE_CHARACTERS: _limit(
        f"{SIZE}.message_characters",
        ("characters", "message"),
        ("one message to it; `on_oversize` says what becomes of a longer one", "media cap"),
        Denial.DROPPED,
    ),
    LimitKind.SUMMARY_TOKENS: _limit(
        f"{SIZE}.summary_tokens",
        ("tokens", "summary"),
        ("one summary of older talk", "summary body cap"),
        Denial.CUT,
        asks=False,
    ),
}
# unit, span, whether a refusal locks, seed
_MONEY = {
    LimitKind.TOKENS_TOTAL: ("tokens", "ever", True, "token budget"),
    LimitKind.TOKENS_PER_DAY: ("tokens", "day", False, "daily tokens"),
    LimitKind.TOKENS_PER_MONTH: ("tokens", "month", False, "monthly tokens"),
    LimitKind.COST_PER_DAY: (DOLLARS, "day", False, "daily cost"),
    LimitKind.COST_PER_MONTH: (DOLLARS, "month", False, "monthly cost"),
    LimitKind.CALLS_PER_MINUTE: ("model calls", "minute", False, "calls per minute"),
}
LIMITS: Mapping[LimitKind, Limit] = MappingProxyType(
    _TABLE
    | {
        kind: _limit(
            f"budget_config.{{scope}}.{kind.removeprefix(MONEY)}",
            (unit, span),
            (f"{unit} of an assistant, of one player with it, or of the whole game", seed),
            locks=locks,
        )
        for kind, (unit, span, locks, seed) in _MONEY.items()
    }
)


class DecisionReason(ExplainedEnum):
    """Reasons of a decision; each cause has its own."""

    AUTO_EXTENDED = "auto_extended", "granted by the mode auto_extend"
    APPROVED = "user_approved", "a person said yes"
    CAP_CHANGED = "cap_changed", "the cap was changed meanwhile, and it is tried again"
    UNATTENDED = "unattended", "the mode is unattended: nobody is asked"
    AUTO_EXTEND_SPENT = "auto_extend_spent", "the mode is auto_extend, and its times are used up"
    REFUSED = "user_refused", "a person said no"
    WITHDRAWN = "withdrawn", "the question was withdrawn"
    ASK_TIMEOUT = "ask_timeout", "nobody answered in time"
    NO_OPERATOR = "no_operator", "nobody who may answer is there"
    CROWDED = "crowded", "as many turns wait for a person's answer as can; ask again later"
    NO_BUS = "no_bus", "there is no way to ask anybody"
    BUS_ERROR = "bus_error", "asking itself failed"
    NOT_ASKABLE = "not_askable", "this limit is never extended"


_NOBODY_MAY_RAISE = {
    "game": "nobody who may raise a cap of the whole game is there",
    "player": "nobody who may raise the cap of a player is there",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision at a limit.

    Attributes:
        extension: the amount granted, in the limit's unit; 0 for a refusal.
    """

    allow_continue: bool
    extension: float
    reason: DecisionReason


def refusal(reason: DecisionReason) -> Decision:
    """A refusal for a reason."""
    return Decision(False, 0.0, reason)


def decide_alone(limit: Limit, mode: Mode, extensions_left: int, amount: float) -> Decision | None:
    """Decide without asking anybody; None if a person has to be asked.

    Args:
        extensions_left: how often `auto_extend` may still grant for this scope and limit.
        amount: how much a grant adds.
    """
    if not limit.asks:
        return refusal(DecisionReason.NOT_ASKABLE)
    if mode is Mode.UNATTENDED:
        return refusal(DecisionReason.UNATTENDED)
    if mode is Mode.INTERACTIVE:
        return None
    if extensions_left > 0:
        return Decision(True, amount, DecisionReason.AUTO_EXTENDED)
    return refusal(DecisionReason.AUTO_EXTEND_SPENT)


def per(span: str) -> str:
    """The words for a span: "a tick", "in all"."""
    return _SPANS.get(span, f"a {span}")


# Scopes whose caps are set in the game's settings only, never by an assistant.
OF_GAME = ("all_games", "game", "bench")


def path_of(kind: LimitKind, scope: str = "") -> str:
    """The path of the setting of a limit; for a money limit it depends on the scope.

    Args:
        scope: for a money limit `all_games`, `game`, `assistant`, `player` or `bench`, optionally
            followed by a space and more.
    """
    whose = scope.partition(" ")[0] or "game"
    place = "EVENNIA_AI_BUDGET_CONFIG" if whose in OF_GAME else "budget_config"
    return LIMITS[kind].path.replace("budget_config.{scope}", f"{place}.{whose}")


# What may still be chosen; any other reason means that people would have been asked.
_OTHER_MODES = {
    DecisionReason.UNATTENDED: "interactive or auto_extend",
    DecisionReason.AUTO_EXTEND_SPENT: "interactive",
}


def denial_text(
    kind: LimitKind, cap: float, scope: str, reason: DecisionReason, *, has_partial: bool
) -> str:
    """The text of a refusal, with everything needed to change it.

    It names the limit and its value, the setting to raise or the mode to set, and whether there
    are partial results.
    """
    limit, whose = LIMITS[kind], scope.partition(" ")[0]
    partial = "partial results are kept" if has_partial else "there are no partial results"
    way = f"raise {path_of(kind, scope)}"
    if limit.asks:
        way += f", or set {_mode_path(kind, whose)} to {_OTHER_MODES.get(reason, 'auto_extend')}"
    why = (
        _NOBODY_MAY_RAISE.get(whose, "")
        if reason is DecisionReason.NO_OPERATOR and kind.startswith(MONEY)
        else ""
    )
    return (
        f"limit {kind.value} reached: {limit.amount(cap)} {per(limit.span)} "
        f"({why or reason.text}). To change that {way}; {partial}"
    )


def _mode_path(kind: LimitKind, whose: str) -> str:
    """The path of the setting of a limit's mode; the game's own for a cap of the game."""
    is_games = kind.startswith(MONEY) and whose in _NOBODY_MAY_RAISE
    place = "EVENNIA_AI_SAFETY_CONFIG" if is_games else "safety_config"
    return f"{place}.on_limit.{f'modes.{kind.value}' if LIMITS[kind].mode else 'mode'}"


def question_text(
    kind: LimitKind, used: float, cap: float, amount: float, task: str, whose: str
) -> str:
    """The question at a limit; its amount is exactly what a yes grants.

    Args:
        whose: the owner of a cap on money, in words; "" for any other limit.
    """
    limit = LIMITS[kind]
    about = f" on {task}" if task else ""
    wanted = limit.amount(amount)
    if not whose:
        return f"I have used my {limit.amount(cap)}{about}. May I have {wanted} more?"
    ever = limit.span == "ever"
    until = "for good" if ever else f"until the {limit.span} ends"
    when = "in all" if ever else f"of this {limit.span}"
    return (
        f"The cap on {limit.unit} {per(limit.span)} of {whose} leaves too little: "
        f"{limit.used_of(used, cap)} {when} are used, and I am at work{about}. "
        f"May I have {wanted} more, {until}?"
    )
