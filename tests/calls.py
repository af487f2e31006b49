"""Counts Python calls, whose number does not depend on how busy the machine is."""

import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

PACKAGE = str(Path(__file__).resolve().parents[1] / "evennia_ai") + "/"
# The rooms of each layer of a reply. Code in none of them counts for its caller's layer.
LAYERS = {
    "hear": ("assistant_character", "agent/hearing", "messages/incoming", "agent/ear_settings"),
    "queue": (
        *("agent/admission", "agent/answerers", "agent/queueing", "approvals/holding"),
        *("core/hearing/inbox", "tasks/"),
    ),
    "compose": ("agent/preparation", "prompts/", "tools/showing"),
    "call": ("llm/", "budget/metering", "budget/spending"),
    "tool": ("engine/toolboxes", "tool_execution", "tools/"),
    "speak": ("messages/", "runtime/names", "tools/leaving", "tools/speech"),
    "checkpoint": (
        "agent/turn_lifecycle",
        "agent/turn_consequences",
        "runtime/state",
        "runtime/turns/",
    ),
    "ledger": ("budget/ledger/",),
    "audit": ("audit/", "core/safety/audit_events", "agent/tracing", "core/turn/trace"),
    "memory": ("memory/", "memory_store/"),
}
BETWEEN = "between"  # the beat, the loop, the reactor


def layer_of(filename: str) -> str:
    """Return the layer that a file of code belongs to; "" if none."""
    if not filename.startswith(PACKAGE):
        return ""
    room = filename.removeprefix(PACKAGE)
    fits = [
        (len(start), layer)
        for layer, starts in LAYERS.items()
        for start in starts
        if room.startswith(start)
    ]
    return max(fits)[1] if fits else ""


class CountedCalls:
    """Counts the calls of this thread within a block, of Python functions and of built-in ones.

    Attributes:
        all: number of calls.
        ours: calls of functions of the package.
        changes: those of `ours` that a function of another module made.
        functions: the functions of the package that ran.
        by_layer: all calls, by the innermost layer that they were made for.
    """

    def __init__(self) -> None:
        self.all = self.ours = self.changes = 0
        self.functions: set[CodeType] = set()
        self.by_layer: Counter[str] = Counter()
        self._layers: dict[CodeType, str] = {}
        # For each call under way: its layer, and the module of the package it came from.
        self._stack: list[tuple[str, str]] = []

    @property
    def modules(self) -> set[str]:
        """The modules of the package that ran, by their files."""
        return {code.co_filename for code in self.functions}

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *exc_info: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "return":
            if self._stack:
                self._stack.pop()
            return
        layer, module = self._stack[-1] if self._stack else (BETWEEN, "")
        if event == "call":
            code = frame.f_code
            layer = self._layer_of(code) or layer
            if code.co_filename.startswith(PACKAGE):
                self.ours += 1
                self.functions.add(code)
                self.changes += code.co_filename != module
                module = code.co_filename
            self._stack.append((layer, module))
        elif event != "c_call":
            return
        self.all += 1
        self.by_layer[layer] += 1

    def _layer_of(self, code: CodeType) -> str:
        if code not in self._layers:
            self._layers[code] = layer_of(code.co_filename)
        return self._layers[code]
