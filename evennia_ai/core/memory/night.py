"""The steps of a night in their order, and how far a night has come.

Each step is done in pieces. A piece's results and the progress are stored together, so a night
that is cut off anywhere goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

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


class NightProgress(TypedDict, total=False):
    """The way that a night has come, as it is stored; {} before the first.

    Attributes:
        night, until: its beginning and its end (ISO 8601).
        step: the name of the step that is due; DONE: none.
        cursor: how far that step is, as the step itself understands it.
        tokens: used until now.
        counts: things that were done, by their names.
        put_off: why steps are left for another night, by their names.
    """

    night: str
    until: str
    step: str
    cursor: dict[str, Any]
    tokens: int
    counts: dict[str, int]
    put_off: dict[str, str]


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


def step_of(progress: NightProgress) -> NightStep | None:
    """The step a night has come to; None: all is done."""
    name = progress.get("step", DONE)
    return STEPS[_NAMES.index(name)] if name in _NAMES else None


def begun(before: NightProgress, now: datetime, until: datetime) -> NightProgress:
    """The progress of a night that begins.

    Whoever is woken and falls asleep again within the same night has used up what it used up.
    """
    fresh: NightProgress = {
        "until": until.isoformat(),
        "step": STEPS[0].name,
        "cursor": {},
        "put_off": {},
    }
    # Still the same night: nobody gets its tokens anew by being woken.
    if before and not is_over(now, before.get("until")):
        return {**_figures(before), **fresh}
    return {**_figures({"night": now.isoformat()}), **fresh}


def _figures(progress: NightProgress) -> NightProgress:
    return {
        "night": str(progress["night"]),
        "tokens": int(progress.get("tokens", 0)),
        "counts": dict(progress.get("counts", {})),
    }


def moved(progress: NightProgress) -> NightProgress:
    """The progress at the beginning of the next step."""
    following = _NAMES.index(progress["step"]) + 1
    name = _NAMES[following] if following < len(_NAMES) else DONE
    return {**progress, "step": name, "cursor": {}}


def counted(progress: NightProgress, more: Mapping[str, int]) -> NightProgress:
    """The progress with some things counted."""
    counts = dict(progress["counts"])
    for name, count in more.items():
        if count:
            counts[name] = counts.get(name, 0) + count
    return {**progress, "counts": counts}


def put_off(progress: NightProgress, why: str) -> NightProgress:
    """The progress with this step left for another night."""
    return {**progress, "put_off": {**progress["put_off"], progress["step"]: why}}


def summary(progress: NightProgress) -> str:
    """A night in a few words, none of them anybody's."""
    told = [f"{count} {name}" for name, count in sorted(progress["counts"].items())]
    told += [f"{name} put off" for name in progress["put_off"]]
    return ", ".join([*told, f"{progress['tokens']} tokens"])
