"""The end of a tick's loop: stop reasons, and which calls of one reply are run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evennia_ai.core.safety.monitor import Halt
from evennia_ai.core.text.words import ExplainedEnum
from evennia_ai.core.turn.toolspec import ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.errors import LimitReachedError


class StopReason(ExplainedEnum):
    """Reasons why a loop ends."""

    NOOP = "noop", "the model chose to do nothing"
    TERMINAL_TOOL = "terminal_tool", "it spoke, and it is for others to answer"
    DANGEROUS_TOOL = "dangerous_tool", "it changed the world, once"
    CRITICAL_TOKENS = "critical_tokens", "the model's context is full"
    MAX_ITERATIONS = "max_iterations", "the steps of one turn are used up"
    LLM_ERROR = "llm_error", "the model, or the way to it, failed"
    WRONG_SETTING = "wrong_setting", "a setting is wrong or missing"
    PARSE_ERROR = "parse_error", "the model's answer holds nothing to say or do"
    GAME_ERROR = "game_error", "something in the game itself failed"
    STOPPED = "stopped", "it was stopped"


# The person who waits got no answer, and not because the model chose silence.
FAILURES = (
    StopReason.CRITICAL_TOKENS,
    StopReason.MAX_ITERATIONS,
    StopReason.LLM_ERROR,
    StopReason.WRONG_SETTING,
    StopReason.PARSE_ERROR,
    StopReason.GAME_ERROR,
    StopReason.STOPPED,
)


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a loop.

    Attributes:
        detail: the real cause in words for staff, or "".
        is_counted: whether a failure counts as one more error in a row; a call that an open
            breaker rejected does not.
        limit: the limit that ended the loop although it could have gone on, or None.
        halt: why the assistant has to be locked, or None.
        is_told: whether the assistant has told the person who waits how far it came.
        is_of_service: whether no request can have caused it: the model service or the game's
            database failed, or a setting is wrong.
        may_lock: whether enough of these may lock the assistant for everybody.
        trouble: the kind of trouble of the model service, which is over once it answers again;
            "" for anything else.
    """

    reason: StopReason
    detail: str = ""
    is_counted: bool = True
    limit: LimitReachedError | None = None
    halt: Halt | None = None
    is_told: bool = False
    is_of_service: bool = False
    may_lock: bool = True
    trouble: str = ""

    @property
    def is_failure(self) -> bool:
        """True if the person who waits got no answer, and not by the model's own choice."""
        return self.reason in FAILURES and not self.is_told


# None: the model may call more tools in this tick.
AFTER_TOOL = {
    ToolCategory.SAFE_CHAIN: None,
    ToolCategory.TERMINAL: StopReason.TERMINAL_TOOL,
    ToolCategory.DANGEROUS: StopReason.DANGEROUS_TOOL,
    ToolCategory.ASYNC_REQUIRED: None,
}
ENDS_AT_ONCE = (StopReason.NOOP, StopReason.DANGEROUS_TOOL)


@dataclass(frozen=True, slots=True)
class Done:
    """A call of a reply, and its result.

    Attributes:
        spec: the tool; None if there is none of that name.
    """

    call: ToolCall
    spec: ToolSpec | None
    result: ToolResult

    @property
    def reason(self) -> StopReason | None:
        """The reason why this call ends the loop; None for a failure, which may be corrected."""
        if self.call.name == "noop":
            return StopReason.NOOP
        return AFTER_TOOL[self.spec.category] if self.spec and self.result.success else None

    @property
    def has_failed(self) -> bool:
        """True if the call failed or was not run at all."""
        return not self.result.success


def objection(call: ToolCall, spec: ToolSpec | None, before: Sequence[Done]) -> str:
    """The reason not to run a call after those before it in the same reply, or "".

    Calls that nobody notices are always run. The others were chosen before the model could know
    how the calls before them would end.
    """
    # The world has changed, or nothing is to be done: the rest was planned for another situation.
    ending = next((done for done in before if done.reason in ENDS_AT_ONCE), None)
    if ending is not None:
        return f"not done: nothing follows {ending.call.name} in one turn"
    if spec is None or not spec.is_noticed:
        return ""
    if any(done.has_failed for done in before):
        return "not done: a call before it failed, which you did not know; decide anew"
    return ""


def repetition(call: ToolCall, spec: ToolSpec | None, before: Sequence[Done]) -> ToolResult | None:
    """The result for a repeated call that others would notice: it is not run a second time."""
    if spec is None or not spec.is_noticed:
        return None
    for done in before:
        is_same = (call.name, call.arguments) == (done.call.name, done.call.arguments)
        if is_same and done.result.success:
            return ToolResult(True, f"{done.result.text} (once: you asked for the same twice)")
    return None


def reason_of(done: Sequence[Done], *, terminal_ends: bool = True) -> StopReason | None:
    """The reason to end the loop after a reply with these calls; None to go on.

    The last call decides: what is looked up after speaking is meant to be read, and a failure may
    be corrected or reported.

    Args:
        terminal_ends: False if the context lets the model go on after it spoke.
    """
    reason = next((item.reason for item in done if item.reason in ENDS_AT_ONCE), None)
    if reason is not None:
        return reason
    return done[-1].reason if terminal_ends else None
