"""Pins: a tool that changed since it was allowed is held back until a person has looked at it.

A model reads a server's descriptions, so whoever can change them can give it orders, long after an
owner has checked them (tool poisoning). A pin is the part that a model is shown: the description,
cut to size, and the schema of the arguments.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import takewhile
from operator import eq
from textwrap import wrap
from typing import Protocol

from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.mcp.config import ServerConfig
from evennia_ai.mcp.listing import Listing, RemoteTool

# 128 bits. The server writes both texts: with fewer it could search for two with the same mark.
MARK_CHARS = 32
LINE_CHARS = 76
# Pairs of lines that are compared one by one: that takes quadratic time, while the game waits.
MOST_COMPARED = 250_000
# The key of a pin that belongs to no tool: it records that a server has been seen.
SEEN = ""


@dataclass(frozen=True, slots=True)
class Pin:
    """A tool as a model is shown it.

    Attributes:
        parameters: the JSON schema of its arguments, with sorted keys.
    """

    description: str
    parameters: str

    @classmethod
    def of(cls, spec: ToolSpec) -> Pin:
        """Make the pin of a tool."""
        # Sorted: a server may list the same keys in another order each time.
        return cls(spec.description, json.dumps(spec.parameters, sort_keys=True))

    @property
    def mark(self) -> str:
        """A digest of the description and the schema, by which a person allows exactly these."""
        # With the length of the first text: else a server could move words from one to the other.
        digest = sha256(f"{len(self.description)} {self.description}{self.parameters}".encode())
        return digest.hexdigest()[:MARK_CHARS]

    def lines(self) -> list[str]:
        """Format it as lines for people; invisible characters are shown by their code points."""
        schema = json.dumps(json.loads(self.parameters), indent=1, ensure_ascii=False)
        lines = [*self.description.splitlines(), *schema.splitlines()]
        return [part for line in lines for part in wrap(_visible(line), LINE_CHARS) or [""]]


@dataclass(frozen=True, slots=True)
class HeldTool:
    """A tool that is held back.

    Attributes:
        name: the name by which a model would know it.
        before: as it was allowed; None if it is new.
        now: as its server describes it now.
    """

    name: str
    before: Pin | None
    now: Pin

    def difference(self) -> list[str]:
        """The removed (-) and added (+) lines, uncut: the change could be in what was cut away."""
        before = self.before.lines() if self.before is not None else []
        now = self.now.lines()
        head = _count_alike(before, now)
        before, now = before[head:], now[head:]
        tail = _count_alike(before[::-1], now[::-1])
        before, now = before[: len(before) - tail], now[: len(now) - tail]
        if len(before) * len(now) > MOST_COMPARED:
            return [*(f"-{line}" for line in before), *(f"+{line}" for line in now)]
        lines: list[str] = []
        matcher = difflib.SequenceMatcher(None, before, now)
        for kind, gone, gone_end, come, come_end in matcher.get_opcodes():
            if kind != "equal":
                lines += [f"-{line}" for line in before[gone:gone_end]]
                lines += [f"+{line}" for line in now[come:come_end]]
        return lines


@dataclass(frozen=True, slots=True)
class Sifted:
    """A server's tools, sorted into those on offer and those held back.

    Attributes:
        offered: the tools that match their pins, or that need no consent.
        held: the others.
        fresh: new pins to store, by tool; with `SEEN` if the server is seen for the first time.
    """

    offered: Listing
    held: tuple[HeldTool, ...] = ()
    fresh: Mapping[str, Pin] = field(default_factory=dict)


class Pins(Protocol):
    """The store of pins."""

    def read(self, server: str) -> Mapping[str, Pin]:
        """Read the pins of a server, by the names of its tools."""

    def save(self, server: str, pins: Mapping[str, Pin], by: str) -> None:
        """Store pins; those of the same tools are replaced. `by` may be ""."""


def sift(config: ServerConfig, listing: Listing, pins: Mapping[str, Pin]) -> Sifted:
    """Sort a server's tools by their pins.

    Naming a server in the settings allows all tools that it has when it is first seen, even if it
    has none; naming a tool allows that tool. Any other tool that appears later is held back.
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
    """A mark for several tools together."""
    marks = " ".join(f"{tool.name} {tool.now.mark}" for tool in held)
    return sha256(marks.encode()).hexdigest()[:MARK_CHARS]


def _count_alike(lines: Sequence[str], others: Sequence[str]) -> int:
    """The number of lines at the beginning that are the same in both."""
    return sum(takewhile(bool, map(eq, lines, others)))


def _visible(line: str) -> str:
    return "".join(
        letter if letter.isprintable() else f"\\u{ord(letter):04x}"
        for letter in line.replace("\t", " ")
    )
