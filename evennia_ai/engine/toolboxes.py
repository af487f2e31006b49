"""Wrappers around a toolbox, one concern each, outside in: Gated(Fitted(Protected(tools)))."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from evennia_ai.core.inbox import Event
from evennia_ai.core.speech import ANSWERED_BY
from evennia_ai.core.toolspec import ToolCall, ToolResult, ToolSpec, arguments_problem
from evennia_ai.core.turn import Turn
from evennia_ai.engine.ports import Toolbox
from evennia_ai.errors import StaleEpochError, ToolError


@dataclass(frozen=True, slots=True)
class Gated:
    """Lets through only calls that name a tool on offer, with arguments that fit its schema."""

    inner: Toolbox

    def specs(self) -> Sequence[ToolSpec]:
        """The tools on offer."""
        return self.inner.specs()

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call, or tell the model what is wrong with it."""
        if call.problem:
            return ToolResult(False, call.problem)
        specs = {spec.name: spec for spec in self.specs()}
        if call.name not in specs:
            names = ", ".join(specs)
            return ToolResult(False, f"there is no tool {call.name!r}; there are {names}")
        problem = arguments_problem(specs[call.name], call.arguments)
        return ToolResult(False, problem) if problem else await self.inner.run(call, turn)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Offers a small model only what fits the event: one way to speak, to the one who spoke.

    A model of half a billion parameters chooses among six tools by guesswork and whispers to
    strangers. How a message is answered follows from how it came, so the choice is made here.
    """

    inner: Toolbox
    event: Event

    def specs(self) -> Sequence[ToolSpec]:
        """The tools on offer."""
        answer = ANSWERED_BY.get(self.event.source, "say")
        speaking = {"say", *ANSWERED_BY.values()} - {answer}
        return [self._aimed(spec) for spec in self.inner.specs() if spec.name not in speaking]

    def _aimed(self, spec: ToolSpec) -> ToolSpec:
        if spec.name not in ANSWERED_BY.values():
            return spec
        aim = "channel" if spec.name == "channel" else "target"
        only = self.event.place if aim == "channel" else self.event.sender_name
        properties = dict(spec.parameters["properties"])
        properties[aim] = properties[aim] | {"enum": [only]}
        return replace(spec, parameters=spec.parameters | {"properties": properties})

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call."""
        return await self.inner.run(call, turn)


@dataclass(frozen=True, slots=True)
class Protected:
    """Turns whatever a tool raises into a result, and tells `report` of what nobody expected."""

    inner: Toolbox
    report: Callable[[ToolCall, BaseException], None]

    def specs(self) -> Sequence[ToolSpec]:
        """The tools on offer."""
        return self.inner.specs()

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run the call; a ToolError is for the model to read, anything else is a defect."""
        try:
            return await self.inner.run(call, turn)
        except StaleEpochError:
            raise
        except ToolError as error:
            return ToolResult(False, str(error))
        except Exception as error:
            self.report(call, error)
            return ToolResult(False, f"{call.name} failed inside the game; do something else")
