"""Wrappers around a toolbox that choose which of its tools a model is shown."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.turn.execution import ExecutionPattern
from evennia_ai.core.turn.needs import FIND_TOOLS
from evennia_ai.core.turn.speech import ANSWERED_BY, answered_by
from evennia_ai.core.turn.toolspec import ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs, Toolbox

_EVERY_KIND = tuple(ToolCategory)


@dataclass(frozen=True, slots=True)
class Chooser:
    """Runs every call as the toolbox inside does; each chooses what of that is on offer."""

    inner: Toolbox

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call."""
        return await self.inner.run(call, turn)


@dataclass(frozen=True, slots=True)
class Offered(Chooser):
    """Offers only what the turn's pattern allows, without what is forbidden to this character."""

    pattern: ExecutionPattern
    forbidden: frozenset[str] = frozenset()
    _known: list[Specs] = field(default_factory=list)

    def specs(self) -> Specs:
        """The tools on offer, by name: those of the turn's first step, to its end."""
        if not self._known:
            self._known.append(self._choose())
        return self._known[0]

    def _choose(self) -> Specs:
        every, pattern = self.inner.specs(), self.pattern
        is_open = pattern.tool_filter is None and pattern.allowed_categories.issuperset(_EVERY_KIND)
        if is_open and not self.forbidden:
            return every
        shut = self.forbidden
        if not is_open:
            shut |= {name for name, spec in every.items() if not pattern.offers(spec)}
        return {name: spec for name, spec in every.items() if name not in shut}


@dataclass(frozen=True, slots=True)
class Findable(Chooser):
    """Keeps a crowd of tools from filling the prompt: the first ones are shown, the rest found.

    Args:
        found: names that the turn looked up by `find_tools`; they are on offer from then on.
        most: how many are shown; always the same ones, so that the prompt begins the same.
    """

    found: list[str]
    most: int
    _known: dict[int, Specs] = field(default_factory=dict)

    def specs(self) -> Specs:
        """The tools on offer, by name."""
        count = len(self.found)
        if count not in self._known:
            self._known[count] = self._choose()
        return self._known[count]

    def _choose(self) -> Specs:
        every = self.inner.specs()
        if len(every) <= self.most:
            return {name: spec for name, spec in every.items() if name != FIND_TOOLS}
        # The first ones before those that were found: the prompt begins the same after each find.
        wanted = dict.fromkeys((*islice(every, self.most), FIND_TOOLS, *self.found))
        return {name: every[name] for name in wanted if name in every}


@dataclass(frozen=True, slots=True)
class Fitted(Chooser):
    """Offers a small model only what fits the event: one way to speak, to the one who spoke.

    A model of half a billion parameters chooses among many tools by guesswork and whispers to
    strangers. How a message is answered follows from how it came, so the choice is made here.

    Args:
        names: the tools that such a model is offered at all.
    """

    event: Event
    names: frozenset[str]

    def specs(self) -> Specs:
        """The tools on offer, by name."""
        answer = answered_by(self.event)
        wanted = self.names - ({"say", *ANSWERED_BY.values()} - {answer})
        every = self.inner.specs()
        return {name: self._aimed(spec) for name, spec in every.items() if name in wanted}

    def _aimed(self, spec: ToolSpec) -> ToolSpec:
        aim = "channel" if spec.name == "channel" else "target"
        if spec.name not in ANSWERED_BY.values() or aim not in spec.parameters["properties"]:
            return spec
        only = self.event.place if aim == "channel" else self.event.sender_name
        properties = dict(spec.parameters["properties"])
        properties[aim] = properties[aim] | {"enum": [only]}
        return replace(spec, parameters=spec.parameters | {"properties": properties})
