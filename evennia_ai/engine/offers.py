"""Toolbox wrappers that choose which tools a model is offered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.turn.execution import ExecutionPattern
from evennia_ai.core.turn.needs import FIND_TOOLS
from evennia_ai.core.turn.speech import ANSWERED_BY, ANSWERS, answered_by
from evennia_ai.core.turn.toolspec import ToolCall, ToolCategory, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Specs, Toolbox

_EVERY_KIND = tuple(ToolCategory)


@dataclass(frozen=True, slots=True)
class Chooser:
    """Base of wrappers that only choose tools; calls are passed on."""

    inner: Toolbox

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """Run one call."""
        return await self.inner.run(call, turn)


@dataclass(frozen=True, slots=True)
class Offered(Chooser):
    """Offers the tools that the turn's pattern allows, without those forbidden to the assistant."""

    pattern: ExecutionPattern
    forbidden: frozenset[str] = frozenset()
    # A list, because the dataclass is frozen; it holds one element at most.
    _known: list[Specs] = field(default_factory=list)

    def specs(self) -> Specs:
        """The tools on offer, by name; the same during a whole turn."""
        if not self._known:
            self._known.append(self._choose())
        return self._known[0]

    def _choose(self) -> Specs:
        every, pattern = self.inner.specs(), self.pattern
        is_open = pattern.tool_filter is None and pattern.allowed_categories.issuperset(_EVERY_KIND)
        if is_open and not self.forbidden:  # spares a new dict for each turn
            return every
        shut = self.forbidden
        if not is_open:
            shut |= {name for name, spec in every.items() if not pattern.offers(spec)}
        return {name: spec for name, spec in every.items() if name not in shut}


@dataclass(frozen=True, slots=True)
class Findable(Chooser):
    """Offers only the first of many tools, so that they do not fill the prompt, and `find_tools`.

    Args:
        found: names that the turn has looked up by `find_tools`; these are offered from then on.
        most: number of tools shown; always the same ones, so that prompt caches can be used.
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
        # Found tools come last, so that the prompt begins the same after each find.
        names = dict.fromkeys((*islice(every, self.most), FIND_TOOLS, *self.found))
        return {name: every[name] for name in names if name in every}


@dataclass(frozen=True, slots=True)
class Fitted(Chooser):
    """Offers a small model only the tools that fit the event: one way to speak, to the speaker.

    A model of half a billion parameters guesses among many tools and whispers to strangers. The way
    to answer follows from the way a message came, so it is chosen here.

    Args:
        names: the tools that a small model may be offered.
    """

    event: Event
    names: frozenset[str]

    def specs(self) -> Specs:
        """The tools on offer, by name."""
        names = self.names - (ANSWERS - {answered_by(self.event)})
        every = self.inner.specs()
        return {name: self._aimed(spec) for name, spec in every.items() if name in names}

    def _aimed(self, spec: ToolSpec) -> ToolSpec:
        aim = "channel" if spec.name == "channel" else "target"
        if spec.name not in ANSWERED_BY.values() or aim not in spec.parameters["properties"]:
            return spec
        only = self.event.place if aim == "channel" else self.event.sender_name
        properties = dict(spec.parameters["properties"])
        properties[aim] = properties[aim] | {"enum": [only]}
        return replace(spec, parameters=spec.parameters | {"properties": properties})
