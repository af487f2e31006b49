"""Counts what Python runs, which is the same on a quiet machine and on a busy one."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

PACKAGE = str(Path(__file__).resolve().parents[1] / "evennia_ai") + "/"
# The rooms of each layer of a reply. What stands in none counts to whoever called it.
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
    "checkpoint": ("agent/turn_lifecycle", "runtime/state", "runtime/turns/"),
    "ledger": ("budget/ledger/",),
    "audit": ("audit/", "core/safety/audit_events", "agent/tracing", "core/turn/trace"),
    "memory": ("memory/", "memory_store/"),
}
BETWEEN = "between"  # the beat, the loop, the reactor


def layer_of(filename: str) -> str:
    """The layer that a file of code belongs to; "" where it is in none."""
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
    """Counts the calls of this thread within a block: of Python's functions and of built-in ones.

    Attributes:
        all: how many.
        ours: those of functions of the package itself.
        by_layer: all of them, by the innermost layer that they were made for.
    """

    def __init__(self) -> None:
        self.all = self.ours = 0
        self.by_layer: Counter[str] = Counter()
        self._layers: dict[CodeType, tuple[bool, str]] = {}
        self._stack: list[str] = []

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *exc_info: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, arg: Any) -> None:
        stack = self._stack
        if event == "call":
            is_ours, layer = self._of(frame.f_code)
            stack.append(layer or (stack[-1] if stack else BETWEEN))
            self.ours += is_ours
        elif event == "return":
            if stack:
                stack.pop()
            return
        elif event != "c_call":
            return
        self.all += 1
        self.by_layer[stack[-1] if stack else BETWEEN] += 1

    def _of(self, code: CodeType) -> tuple[bool, str]:
        known = self._layers.get(code)
        if known is None:
            name = code.co_filename
            known = self._layers[code] = name.startswith(PACKAGE), layer_of(name)
        return known
