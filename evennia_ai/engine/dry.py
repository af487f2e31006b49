"""A wrapper around a toolbox for an answer that is only tried: nobody hears and nothing changes."""

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
    """The fate that a call would have.

    Attributes:
        how: in what other way it would be done than it was called; "": just so.
        result: what the model is told of it.
    """

    how: str = ""
    result: ToolResult = field(default=ToolResult(True, TAKEN))


@dataclass(frozen=True, slots=True)
class Intent:
    """A call that would change something or be noticed, and was not run.

    Attributes:
        would: it would be done; else `how` says why not.
    """

    call: ToolCall
    would: bool
    how: str = ""


@dataclass(frozen=True, slots=True)
class Dry(Wrapper):
    """Runs what only reads; of all other calls it notes that they would be made.

    Args:
        judge: the fate of a call; raises ToolError where it would not be made.
        intents: where they are noted, in order.
    """

    judge: Callable[[Turn, ToolSpec, ToolCall], Judgement]
    intents: list[Intent] = field(default_factory=list)

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call where it only reads; else take it as done."""
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
        # Counted as if it were done, so that the loop ends where it would in earnest.
        turn.effects += result.success and spec.is_noticed
        return result
