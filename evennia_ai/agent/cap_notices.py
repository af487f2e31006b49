"""Notices to staff about answers that ended at a limit; about the same used-up cap once an hour.

A used-up cap ends every further answer until its period is over. Staff are told at the first one,
and then at most once an hour how many there were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evennia.utils import logger

from evennia_ai.budget.spending import naming_player
from evennia_ai.core.safety.budget import account_of
from evennia_ai.core.safety.limits import MONEY, LimitKind
from evennia_ai.core.safety.notices import Notice
from evennia_ai.core.settings.budget import Scope
from evennia_ai.errors import LimitReachedError
from evennia_ai.messages import outgoing
from evennia_ai.runtime.assistant import Assistant

SECONDS = 3600.0
MOST_KEPT = 1000


@dataclass(slots=True)
class _LastNotice:
    """The last notice about a cap, and the answers that ended at it since."""

    at: float
    more: int = 0


_LAST: dict[str, _LastNotice] = {}


def tell(script: Assistant, hit: LimitReachedError | None, notice: Callable[[int], Notice]) -> None:
    """Tell staff about an answer that ended at a limit, unless they know.

    Args:
        hit: the limit; None: it ended otherwise, which is always last.
        notice: the notice, given the number of answers that ended there since the last one.
    """
    times = 1
    if hit is not None and hit.kind.startswith(MONEY):
        key, now = _key(hit), script.clock.seconds()
        last = _LAST.get(key)
        # `abs`: clocks may be set back.
        if last is not None and abs(now - last.at) < SECONDS:
            last.more += 1
            logger.log_info(f"[assistant] {script.key}: an answer ended at {hit.kind}, again")
            return
        times += last.more if last is not None else 0
        if len(_LAST) >= MOST_KEPT:
            _LAST.clear()
        _LAST[key] = _LastNotice(now)
    outgoing.alert_staff(_named(notice(times), hit))


def start_anew() -> None:
    """Forget what staff were told: another test begins."""
    _LAST.clear()


def _key(hit: LimitReachedError) -> str:
    """The cap and its period; the minutes of an hour are one."""
    scope = hit.scope[:-3] if hit.kind == LimitKind.CALLS_PER_MINUTE else hit.scope
    return f"{hit.kind} {scope}"


def _named(notice: Notice, hit: LimitReachedError | None) -> Notice:
    """The notice with the name of the player whose cap it is, in place of the id."""
    if hit is None or not hit.kind.startswith(MONEY):
        return notice
    account = account_of(hit)
    if account.scope is not Scope.PLAYER:
        return notice
    return Notice(naming_player(notice.line, account.key), notice.detail)
