"""The steps of a night in their order, and how far a night has come.

Each step is done in pieces. A piece's results and the progress are stored together, so a night
that is cut off anywhere goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evennia_ai.core.memory.schedule import is_over

COMPACTING, DREAMING = "compacting", "dreaming"


@dataclass(frozen=True, slots=True)
class NightStep:
    """One kind of work of a night.

    Attributes:
        phase: the part of the night it belongs to.
        needs_memory: it is about memories; where nothing is to be remembered, there is nothing.
    """

    name: str
    phase: str
    needs_memory: bool = True


STEPS = (
    NightStep("score", COMPACTING),
    NightStep("consolidate", COMPACTING),
    NightStep("profiles", DREAMING),
    NightStep("reflect", DREAMING),
    NightStep("compact", DREAMING, needs_memory=False),
    NightStep("prune", DREAMING),
    NightStep("index", DREAMING),
    NightStep("end", DREAMING, needs_memory=False),
)
DONE = ""
_NAMES = [step.name for step in STEPS]


def step_of(progress: Mapping[str, Any]) -> NightStep | None:
    """The step a night has come to; None: all is done."""
    name = progress.get("step", DONE)
    return STEPS[_NAMES.index(name)] if name in _NAMES else None


def begun(before: Mapping[str, Any], now: datetime, until: datetime) -> dict[str, Any]:
    """The progress of a night that begins.

    Whoever is woken and falls asleep again within the same night has used up what it used up.
    """
    fresh = {"until": until.isoformat(), "step": STEPS[0].name, "cursor": {}, "put_off": {}}
    # Still the same night: nobody gets its tokens anew by being woken.
    if before and not is_over(now, before.get("until")):
        return {**_figures(before), **fresh}
    return {**_figures({"night": now.isoformat()}), **fresh}


def _figures(progress: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "night": str(progress["night"]),
        "tokens": int(progress.get("tokens", 0)),
        "counts": dict(progress.get("counts", {})),
    }


def moved(progress: Mapping[str, Any]) -> dict[str, Any]:
    """The progress at the beginning of the next step."""
    following = _NAMES.index(progress["step"]) + 1
    name = _NAMES[following] if following < len(_NAMES) else DONE
    return {**progress, "step": name, "cursor": {}}


def counted(progress: Mapping[str, Any], more: Mapping[str, int]) -> dict[str, Any]:
    """The progress with some things counted."""
    counts = dict(progress["counts"])
    for name, count in more.items():
        if count:
            counts[name] = counts.get(name, 0) + count
    return {**progress, "counts": counts}


def put_off(progress: Mapping[str, Any], why: str) -> dict[str, Any]:
    """The progress with this step left for another night."""
    return {**progress, "put_off": {**progress["put_off"], progress["step"]: why}}


def summary(progress: Mapping[str, Any]) -> str:
    """A night in a few words, none of them anybody's."""
    told = [f"{count} {name}" for name, count in sorted(progress["counts"].items())]
    told += [f"{name} put off" for name in progress["put_off"]]
    return ", ".join([*told, f"{progress['tokens']} tokens"])
