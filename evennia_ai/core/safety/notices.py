"""Notices to staff: trouble as a person would tell it, and as machines call it.

The line says what happened, to whom, and what to type. No setting is named in it, and no word that
only machines have; those stand in the detail below, where whoever mends it finds them.
"""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.core.safety.limits import LIMITS, MONEY, LimitKind, per
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.errors import LimitReachedError

CHECK, WHY, CONFIG = (
    "assistant check {name}",
    "assistant why {name} full",
    "assistant config {name}",
)
BUDGET, RESET = "assistant budget {name}", "assistant history {name} reset"
# What helps to find out more, or mends it.
_LOOK = {
    StopReason.LLM_ERROR: CHECK,
    StopReason.PARSE_ERROR: WHY,
    StopReason.CRITICAL_TOKENS: RESET,
    StopReason.MAX_ITERATIONS: WHY,
}


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that staff are told.

    Attributes:
        line: for people.
        detail: with the names of settings and kinds, or "".
    """

    line: str
    detail: str = ""


def plain(text: str) -> str:
    """A name that programs use as people would say it: `set_attribute` is "set attribute"."""
    return text.replace("_", " ")


def limit_words(kind: str, cap: float | None = None) -> str:
    """A limit as people know it: "the limit of 5 steps a tick".

    Args:
        cap: its value, None where that is not known any more.
    """
    if kind not in tuple(LimitKind):
        return "a limit"
    limit = LIMITS[LimitKind(kind)]
    amount = limit.unit if cap is None else counted(cap, limit.unit)
    return f"the limit of {amount} {per(limit.span)}"


def reached(name: str, whom: str, hit: LimitReachedError, detail: str) -> Notice:
    """An answer that ended at a limit, of which whoever asked was told what there was.

    Args:
        whom: who waited for the answer, "" for nobody.
    """
    words = limit_words(hit.kind, hit.cap)
    told = f"and told {whom} how far it came" if whom else "and nobody waited for it"
    return Notice(f"{name} came to {words}, {told}. To change that: {_look(name, hit)}", detail)


def failed(name: str, whom: str, told: str, stop: Stop, left: int | None, detail: str) -> Notice:
    """A turn that came to nothing.

    Args:
        whom: who waited, "" for nobody.
        told: what became of them: "was told".
        left: how many more in a row it takes until it stops itself; None: it does not count.
    """
    outcome = f"{whom} {told}." if whom else "Nobody waited."
    more = f" After {counted(left, 'more failures')} in a row it stops itself." if left else ""
    what = _failure(name, whom, stop)
    return Notice(f"{what}. {outcome}{more} Look: {_look(name, stop.limit, stop.reason)}", detail)


def _failure(name: str, whom: str, stop: Stop) -> str:
    tried = f"answer {whom}" if whom else "do what it wanted"
    hit = stop.limit
    if hit is None:
        return f"{name} could not {tried}: {stop.reason.text}"
    if hit.kind == LimitKind.MODEL_CALL_SECONDS:
        return f"{name} could not {tried}: its model took longer than {hit.cap:g} seconds"
    return f"{name} could not {tried}: it came to {limit_words(hit.kind, hit.cap)}"


def _look(name: str, hit: LimitReachedError | None, reason: StopReason | None = None) -> str:
    """The command that shows more, or changes it."""
    if hit is not None and hit.kind.startswith(MONEY):
        command = BUDGET
    elif hit is not None and hit.kind == LimitKind.MODEL_CALL_SECONDS:
        command = CHECK
    else:
        command = CONFIG if reason is None else _LOOK.get(reason, WHY)
    return command.format(name=name)


def cools(name: str, whom: str, wait: str, stop: Stop) -> Notice:
    """Somebody for whom nothing is done for a while."""
    if stop.halt is not None:
        why = plain(stop.halt.detail)
    elif stop.limit is not None:
        why = f"it came to {limit_words(stop.limit.kind, stop.limit.cap)}"
    else:
        why = stop.reason.text
    line = (
        f"{name} does nothing for {whom} for {wait}: {why.rstrip('.')}. Others are answered. "
        f"Until: assistant emergency clear {name}"
    )
    return Notice(line, stop.detail if stop.halt is None else "")


def locked(name: str, cause: Cause, reason: str) -> Notice:
    """An assistant that is stopped by a person, or locked itself; what to type follows it."""
    if cause is Cause.KILL:
        return Notice(f"{name} is stopped: {reason.rstrip('.')}.")
    why = cause.text.replace("`", "")
    return Notice(f"{name} has locked itself: {why}.", f"locked ({cause}): {reason}")


def rests(name: str, when: str, told: str, cause: str, *, is_ledgers: bool = False) -> Notice:
    """A model whose service is in trouble, which passes by itself.

    Args:
        when: it is asked again.
        told: who was told that no answer comes.
        cause: as the service tells it.
        is_ledgers: the ledger that games share is away, without which no model is asked.
    """
    what = f"{name}'s model does not answer"
    if is_ledgers:
        what = f"{name} may not ask its model, since the ledger that games share does not answer"
    look = (BUDGET if is_ledgers else CHECK).format(name=name)
    line = f"{what}. Nothing is locked; it is asked again {when}. {told}. Look: {look}"
    kept = f"{name}: {cause if is_ledgers else unanswered(cause)}"
    return Notice(line, f"{kept}. What follows of this kind stands in the log alone.")


def unanswered(cause: str) -> str:
    """The trouble of a model's service, with its cause."""
    return f"its model does not answer: {cause}"


def times_missed(name: str, told: str) -> Notice:
    """Goals whose time came while an assistant could not act.

    Args:
        told: which, in words.
    """
    line = (
        f"{name} could not act when it was time for {told}. None of it is caught up. "
        f"Look: assistant goal {name}"
    )
    return Notice(line)


def nearly_used_up(warning: str, about: str) -> Notice:
    """A cap that is nearly reached.

    Args:
        warning: as `core.safety.budget.warning_text` has it: with the name of the cap in brackets.
        about: the assistant, or "game".
    """
    used, _, path = warning.rpartition(" (")
    line = f"A budget is nearly used up, {used}. Look: assistant budget {about}"
    return Notice(line, f"budget: {path.rstrip(')')}")
