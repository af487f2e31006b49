"""The end of the loop: the seven stop reasons, and the order of calls within a reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evennia_ai.core.safety.monitor import Halt
from evennia_ai.core.text.words import ExplainedEnum
from evennia_ai.core.turn.toolspec import ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.errors import LimitReachedError


class StopReason(ExplainedEnum):
    """The reason why a loop ended."""

    NOOP = "noop", "the model chose to do nothing"
    TERMINAL_TOOL = "terminal_tool", "it spoke, and it is for others to answer"
    DANGEROUS_TOOL = "dangerous_tool", "it changed the world, once"
    CRITICAL_TOKENS = "critical_tokens", "the model's context is full"
    MAX_ITERATIONS = "max_iterations", "its steps are used up"
    LLM_ERROR = "llm_error", "the model, or the way to it, failed"
    PARSE_ERROR = "parse_error", "the model's answer holds nothing to say or do"
    GAME_ERROR = "game_error", "something in the game itself failed"


# With these whoever waits got no answer, and not by the model's own choice.
FAILURES = (
    StopReason.CRITICAL_TOKENS,
    StopReason.MAX_ITERATIONS,
    StopReason.LLM_ERROR,
    StopReason.PARSE_ERROR,
    StopReason.GAME_ERROR,
)


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a loop.

    Attributes:
        detail: the true cause in words for staff, "" when there is nothing to add.
        is_counted: whether a failure counts as one more error in a row; a call that an open
            breaker kept from being made does not.
        limit: the limit that ended it although it might have gone on, or None.
        halt: why the assistant has to be locked, or None.
        is_told: whether whoever waits was told in the words of the assistant how far it came.
        is_of_service: whether nothing that a person asked can have caused it: the model's service
            failed, the game's database did, or a setting is wrong.
        may_lock: whether it may lock the assistant for everybody, when there are enough of them.
        trouble: the kind of trouble of the model's service, which passes when that answers again;
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
        """True where whoever waits for an answer got none, and not by the model's own choice."""
        return self.reason in FAILURES and not self.is_told


AFTER_TOOL = {
    ToolCategory.SAFE_CHAIN: None,
    ToolCategory.TERMINAL: StopReason.TERMINAL_TOOL,
    ToolCategory.DANGEROUS: StopReason.DANGEROUS_TOOL,
    ToolCategory.ASYNC_REQUIRED: None,
}
ENDS_AT_ONCE = (StopReason.NOOP, StopReason.DANGEROUS_TOOL)


@dataclass(frozen=True, slots=True)
class Done:
    """A call of a reply and what came of it.

    Attributes:
        spec: the tool; None when there is none of that name.
    """

    call: ToolCall
    spec: ToolSpec | None
    result: ToolResult

    @property
    def reason(self) -> StopReason | None:
        """The reason by which this call ends the loop; one that failed may be corrected."""
        if self.call.name == "noop":
            return StopReason.NOOP
        return AFTER_TOOL[self.spec.category] if self.spec and self.result.success else None

    @property
    def has_failed(self) -> bool:
        """True where it did not work, or was not even run."""
        return not self.result.success


def objection(call: ToolCall, spec: ToolSpec | None, before: Sequence[Done]) -> str:
    """The objection to running a call after those before it in the same reply, or "".

    What nobody notices is always run. Of the rest the model decided before it knew how the calls
    in front would end.
    """
    # Once the world is changed, or nothing is to be done, the rest was meant for another world.
    ended = next((done for done in before if done.reason in ENDS_AT_ONCE), None)
    if ended is not None:
        return f"not done: nothing follows {ended.call.name} in one turn"
    if spec is None or not spec.is_noticed:
        return ""
    if any(done.has_failed for done in before):
        return "not done: a call before it failed, which you did not know; decide anew"
    return ""


def repetition(call: ToolCall, spec: ToolSpec | None, before: Sequence[Done]) -> ToolResult | None:
    """The result of an equal call in the same reply that others noticed: it is not run twice."""
    if spec is None or not spec.is_noticed:
        return None
    for done in before:
        is_same = (call.name, call.arguments) == (done.call.name, done.call.arguments)
        if is_same and done.result.success:
            return ToolResult(True, f"{done.result.text} (once: you asked for the same twice)")
    return None


def reason_of(done: Sequence[Done], *, terminal_ends: bool = True) -> StopReason | None:
    """The reason to end the loop after a reply with these calls; None: it goes on.

    Its last call decides: what is looked up after speaking is meant to be seen, and what failed may
    be corrected, or told.

    Args:
        terminal_ends: False where a context lets the model go on after it spoke.
    """
    ended = next((item.reason for item in done if item.reason in ENDS_AT_ONCE), None)
    if ended is not None:
        return ended
    return done[-1].reason if terminal_ends else None
