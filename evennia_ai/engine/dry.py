"""A toolbox wrapper for dry runs: calls that would change or be noticed are only noted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.toolboxes import Wrapper
from evennia_ai.errors import ToolError

TAKEN = "taken as done: this is only tried, and what would come of it is not known"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome that a call would have.

    Attributes:
        how: the other way in which it would be made; "": as it was called.
    """

    how: str = ""
    result: ToolResult = field(default=ToolResult(True, TAKEN))


@dataclass(frozen=True, slots=True)
class Intent:
    """A call that was not run, because it would change something or be noticed.

    Attributes:
        would: True if it would be made; otherwise `how` says why not.
    """

    call: ToolCall
    would: bool
    how: str = ""


@dataclass(frozen=True, slots=True)
class DryRunToolbox(Wrapper):
    """Runs calls that only read, and notes all others as intents.

    Args:
        judge: gives the outcome of a call; raises ToolError if it would not be made.
        intents: the list to which intents are added.
    """

    judge: Callable[[Turn, ToolSpec, ToolCall], Judgement]
    intents: list[Intent] = field(default_factory=list)

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call if it only reads; otherwise treat it as done."""
        spec = self.inner.specs()[call.name]
        if spec.only_reads:
            return await self.inner.run(call, turn)
        try:
            judged = self.judge(turn, spec, call)
        except ToolError as error:
            self.intents.append(Intent(call, False, str(error)))
            return ToolResult(False, str(error), Fault.DENIED, error)
        result = judged.result
        self.intents.append(Intent(call, result.success, judged.how))
        # Counted as done, so that the loop ends where it would in a real turn.
        turn.effects += result.success and spec.is_noticed
        return result
