"""The steps of a night in order, and the progress of a night.

Steps are done in pieces. The results of a piece are stored together with the progress, so that an
interrupted night continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from evennia_ai.core.memory.schedule import is_over
from evennia_ai.core.text import words

COMPACTING, DREAMING = "compacting", "dreaming"


@dataclass(frozen=True, slots=True)
class NightStep:
    """One kind of work at night."""

    name: str
    phase: str
    needs_memory: bool = True


class NightProgress(TypedDict, total=False):
    """The progress of a night as stored; {} before the first.

    Attributes:
        night, until: its beginning and end (ISO 8601).
        cursor: position within the step, in the step's own terms.
        counts: results by name.
        put_off: reasons why steps were left for another night, by step.
        refused: number of requests that the model's service refused.
    """

    night: str
    until: str
    step: str
    cursor: dict[str, Any]
    tokens: int
    counts: dict[str, int]
    put_off: dict[str, str]
    refused: int


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
    """The current step; None if all are done."""
    name = progress.get("step", DONE)
    return STEPS[_NAMES.index(name)] if name in _NAMES else None


def begun(before: NightProgress, now: datetime, until: datetime) -> NightProgress:
    """The progress of a night that begins.

    An assistant that was woken and falls asleep again continues with what is left of that night's
    tokens.
    """
    fresh: NightProgress = {
        "until": until.isoformat(),
        "step": STEPS[0].name,
        "cursor": {},
        "put_off": {},
    }
    # Still the same night: being woken must not renew its budget.
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
    """The progress moved to the next step."""
    following = _NAMES.index(progress["step"]) + 1
    name = _NAMES[following] if following < len(_NAMES) else DONE
    return {**progress, "step": name, "cursor": {}}


def counted(progress: NightProgress, more: Mapping[str, int]) -> NightProgress:
    """The progress with results added to its counts."""
    counts = dict(progress["counts"])
    for name, count in more.items():
        if count:
            counts[name] = counts.get(name, 0) + count
    return {**progress, "counts": counts}


def put_off(progress: NightProgress, why: str) -> NightProgress:
    """The progress with the current step left for another night."""
    return {**progress, "put_off": {**progress["put_off"], progress["step"]: why}}


def summary(progress: NightProgress) -> str:
    """A summary of a night in a few words, without anybody's words in it."""
    # Only the first word of "entries scored" is a plural.
    names = ((count, *name.partition(" ")) for name, count in sorted(progress["counts"].items()))
    parts = ["".join((words.counted(count, unit), *rest)) for count, unit, *rest in names]
    parts += [f"{name} put off" for name in progress["put_off"]]
    return ", ".join([*parts, f"{progress['tokens']} tokens"])
