"""Notices to staff: trouble in plain words, with the technical detail apart.

The line says what happened, to whom, and which command to type. Names of settings and technical
terms are only in the detail, where whoever fixes it finds them.
"""

from __future__ import annotations

from dataclasses import dataclass

from evennia_ai.core.safety.budget import SCOPE_WORDS, account_of
from evennia_ai.core.safety.limits import LIMITS, MONEY, LimitKind, per
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.errors import LimitReachedError

CHECK, WHY, CONFIG = (
    "assistant check {name}",
    "assistant why {name} full",
    "assistant config {name}",
)
BUDGET, RESET = "assistant budget {name}", "assistant history {name} reset"
TO_START = "To let it answer: assistant start {name}"
_OWNERS: dict[str, str] = {Scope.PLAYER.value: "each player"}
_OWNERS |= {scope.value: words for scope, words in SCOPE_WORDS.items()}
# The command that shows more about a failure, or mends it.
_COMMANDS = {
    StopReason.LLM_ERROR: CHECK,
    StopReason.WRONG_SETTING: CHECK,
    StopReason.PARSE_ERROR: WHY,
    StopReason.CRITICAL_TOKENS: RESET,
    StopReason.MAX_ITERATIONS: WHY,
}


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to staff.

    Attributes:
        line: the message for people.
        detail: names of settings and kinds, or "".
    """

    line: str
    detail: str = ""


def plain(text: str) -> str:
    """An identifier as people would say it: `set_attribute` becomes "set attribute"."""
    return text.replace("_", " ")


def limit_words(kind: str, cap: float | None = None) -> str:
    """A limit in plain words: "the limit of 5 steps a tick".

    Args:
        cap: its value, or None if that is no longer known.
    """
    if kind not in tuple(LimitKind):
        return "a limit"
    limit = LIMITS[LimitKind(kind)]
    amount = limit.unit if cap is None else limit.amount(cap)
    return f"the limit of {amount} {per(limit.span)}"


def _words_of(hit: LimitReachedError, times: int = 1) -> str:
    """A limit in plain words, and whose it is where it is not the assistant's own.

    Args:
        times: number of answers that ended there since staff were last told.
    """
    words = limit_words(hit.kind, hit.cap)
    whose = _OWNERS.get(hit.scope.partition(" ")[0])
    if whose and hit.kind.startswith(MONEY):
        words = f"{words} of {whose}"
    return words if times == 1 else f"{words}, {times} times since the last notice"


def reached(name: str, whom: str, hit: LimitReachedError, detail: str, times: int = 1) -> Notice:
    """Notice of an answer that ended at a limit, after the person was told how far it came.

    Args:
        whom: name of the person who waited for the answer, or "".
        times: number of answers that ended there since staff were last told.
    """
    words = _words_of(hit, times)
    outcome = f"and told {whom} how far it got" if whom else "and nobody was waiting for it"
    return Notice(
        f"{name} reached {words}, {outcome}. To change that: {_command(name, hit)}", detail
    )


def failed(
    name: str, whom: str, ending: str, stop: Stop, left: int | None, detail: str, times: int = 1
) -> Notice:
    """Notice of a turn that failed.

    Args:
        whom: name of the person who waited, or "".
        ending: what they learned: "was told".
        left: further failures in a row until the assistant stops itself; None if it does not count.
        times: as for `reached`.
    """
    outcome = f"{whom} {ending}." if whom else "Nobody was waiting."
    more = f" After {counted(left, 'more failures')} in a row it stops itself." if left else ""
    what = _failure(name, whom, stop, times)
    return Notice(
        f"{what}. {outcome}{more} Look: {_command(name, stop.limit, stop.reason)}", detail
    )


def _failure(name: str, whom: str, stop: Stop, times: int) -> str:
    tried = f"answer {whom}" if whom else "finish what it was doing"
    hit = stop.limit
    if hit is None:
        return f"{name} could not {tried}: {stop.reason.text}"
    if hit.kind == LimitKind.MODEL_CALL_SECONDS:
        return f"{name} could not {tried}: its model took longer than {hit.cap:g} seconds"
    return f"{name} could not {tried}: it reached {_words_of(hit, times)}"


def _command(name: str, hit: LimitReachedError | None, reason: StopReason | None = None) -> str:
    """The command that shows more about it, or changes it."""
    if hit is not None and hit.kind.startswith(MONEY):
        return BUDGET.format(name=_owner_of(hit) or name)
    if hit is not None and hit.kind == LimitKind.MODEL_CALL_SECONDS:
        command = CHECK
    else:
        command = CONFIG if reason is None else _COMMANDS.get(reason, WHY)
    return command.format(name=name)


def _owner_of(hit: LimitReachedError) -> str:
    """The owner of a cap as `assistant budget` names it; "" for an assistant."""
    scope = hit.scope.partition(" ")[0]
    if scope == Scope.PLAYER:
        return f"{Scope.PLAYER} {account_of(hit).key}"
    return Scope.GAME.value if scope in (Scope.GAME, Scope.ALL_GAMES, Scope.BENCH) else ""


def cools(name: str, whom: str, wait: str, stop: Stop) -> Notice:
    """Notice that the assistant ignores a person for a while."""
    if stop.halt is not None:
        why = plain(stop.halt.detail)
    elif stop.limit is not None:
        why = f"it reached {_words_of(stop.limit)}"
    else:
        why = stop.reason.text
    line = (
        f"{name} ignores {whom} for {wait}: {why.rstrip('.')}. Others still get answers. To end "
        f"that now: assistant emergency clear {name}"
    )
    return Notice(line, stop.detail if stop.halt is None else "")


def locked(name: str, cause: Cause, reason: str) -> Notice:
    """Notice of an assistant that was stopped or locked itself; the caller adds what to type."""
    if cause is Cause.KILL:
        return Notice(f"{name} is stopped: {reason.rstrip('.')}.")
    why = cause.text.replace("`", "")
    return Notice(f"{name} has locked itself: {why}.", f"locked ({cause}): {reason}")


def rests(name: str, when: str, ending: str, cause: str, *, is_ledgers: bool = False) -> Notice:
    """Notice of trouble with a model's service, which passes by itself.

    Args:
        ending: who was told that no answer comes.
        is_ledgers: whether the ledger shared by several games is down, without which no model may
            be called.
    """
    what = f"{name}'s model does not answer"
    if is_ledgers:
        what = f"{name} cannot use its model because the shared ledger does not answer"
    look = (BUDGET if is_ledgers else CHECK).format(name=name)
    line = f"{what}. Nothing is locked; it will be asked again {when}. {ending}. Look: {look}"
    note = f"{name}: {cause if is_ledgers else unanswered(cause)}"
    return Notice(line, f"{note.rstrip('.')}. Further problems of this kind go only to the log.")


def unanswered(cause: str) -> str:
    """The trouble of a model's service, with its cause."""
    return f"its model does not answer: {cause}"


def times_missed(name: str, lines: str) -> Notice:
    """Notice of goals whose time passed while an assistant could not act."""
    line = (
        f"{name} could not act when it was time for {lines}, and will not make up for it. "
        f"Look: assistant goal {name}"
    )
    return Notice(line)


def nearly_used_up(warning: str, about: str) -> Notice:
    """Notice of a cap that is nearly reached.

    Args:
        warning: text of `core.safety.budget.warning_text`, with the cap's name in brackets.
        about: the assistant, "player <name>" or "game".
    """
    used, _, path = warning.rpartition(" (")
    line = f"A budget is nearly used up, {used}. Look: assistant budget {about}"
    return Notice(line, f"budget: {path.rstrip(')')}")
