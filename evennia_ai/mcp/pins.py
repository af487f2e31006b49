"""Tools as they were allowed: what has changed since is held back until somebody looks at it.

A server's descriptions are read by a model, so that whoever can change them can give it orders,
long after an owner looked at them. What is pinned is what a model is shown: the description, as far
as it is shown, and the schema of the arguments.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from textwrap import wrap
from typing import Protocol

from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.mcp.config import ServerConfig
from evennia_ai.mcp.listing import Listing, RemoteTool

# A server writes both texts: fewer, and it could make two that have the same mark.
MARK_CHARS = 32
LINE_CHARS = 76
# The name of the pin, of no tool, that says that a server was seen.
SEEN = ""


@dataclass(frozen=True, slots=True)
class Pin:
    """A tool as a model is shown it.

    Attributes:
        parameters: JSON of the schema of its arguments, its keys in order.
    """

    description: str
    parameters: str

    @classmethod
    def of(cls, spec: ToolSpec) -> Pin:
        """The pin of a tool on offer."""
        return cls(spec.description, json.dumps(spec.parameters, sort_keys=True))

    @property
    def mark(self) -> str:
        """Digits that only this description and this schema have."""
        digest = sha256(f"{len(self.description)} {self.description}{self.parameters}".encode())
        return digest.hexdigest()[:MARK_CHARS]

    def lines(self) -> list[str]:
        """The same in lines for people; a letter that cannot be seen is told by its number."""
        schema = json.dumps(json.loads(self.parameters), indent=1, ensure_ascii=False)
        told = [*self.description.splitlines(), *schema.splitlines()]
        return [part for line in told for part in wrap(_visible(line), LINE_CHARS) or [""]]


@dataclass(frozen=True, slots=True)
class HeldTool:
    """A tool that is not offered.

    Attributes:
        name: by which a model would know it.
        before: as it was allowed; None: it is new.
        now: as its server tells of it.
    """

    name: str
    before: Pin | None
    now: Pin

    def difference(self) -> list[str]:
        """The lines that went (-) and that came (+), without a cut."""
        before = self.before.lines() if self.before is not None else []
        now = self.now.lines()
        found: list[str] = []
        matcher = difflib.SequenceMatcher(None, before, now)
        for kind, gone, gone_end, come, come_end in matcher.get_opcodes():
            if kind != "equal":
                found += [f"-{line}" for line in before[gone:gone_end]]
                found += [f"+{line}" for line in now[come:come_end]]
        return found


@dataclass(frozen=True, slots=True)
class Sifted:
    """A server's tools, sorted.

    Attributes:
        offered: those that are as they were allowed, and those that are allowed by being there.
        held: the others.
        fresh: pins to be kept, by the name of the tool; of a server that was never seen one more.
    """

    offered: Listing
    held: tuple[HeldTool, ...] = ()
    fresh: Mapping[str, Pin] = field(default_factory=dict)


class Pins(Protocol):
    """A place where pins are kept over restarts."""

    def read(self, server: str) -> Mapping[str, Pin]:
        """The pins of a server, by the names of the tools."""

    def keep(self, server: str, pins: Mapping[str, Pin], by: str) -> None:
        """Keep pins, in the place of those of the same tools; `by` nobody: ""."""


def sift(config: ServerConfig, listing: Listing, pins: Mapping[str, Pin]) -> Sifted:
    """Sort what a server lists by what is pinned of it.

    Whatever a server has when it is first seen, be it nothing, was allowed by naming the server,
    and a tool that the setting names was allowed by that; any other that comes later was not.
    """
    offered: dict[str, RemoteTool] = {}
    held: list[HeldTool] = []
    fresh: dict[str, Pin] = {}
    is_seen = bool(pins)
    takes_new = not is_seen or config.new_tools or config.tools is not None
    if not is_seen:
        fresh[SEEN] = Pin("", "{}")
    for name, tool in listing.tools.items():
        now, before = Pin.of(tool.spec), pins.get(name)
        if before is None and takes_new:
            fresh[name] = now
        if before == now or name in fresh:
            offered[name] = tool
        else:
            held.append(HeldTool(name, before, now))
    return Sifted(Listing(offered, listing.left_out), tuple(held), fresh)


def mark_of(held: Iterable[HeldTool]) -> str:
    """The mark of several tools together."""
    marks = " ".join(f"{tool.name} {tool.now.mark}" for tool in held)
    return sha256(marks.encode()).hexdigest()[:MARK_CHARS]


def _visible(line: str) -> str:
    return "".join(
        letter if letter.isprintable() else f"\\u{ord(letter):04x}"
        for letter in line.replace("\t", " ")
    )
