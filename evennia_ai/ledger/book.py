"""The ledger of one server process: reserve before a call, close it after.

What a call may use is held in the database before it is sent, so that no two calls of whatever
server process share the last room under a cap. How it ended is written together with the next
reservation, or within a second: until then the whole estimate is held, which is the safe side.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count, cycle
from threading import RLock
from typing import Any

from evennia_ai import audit
from evennia_ai.core import budget
from evennia_ai.core.budget import Account, CallState, Purpose, Total
from evennia_ai.core.budget_config import BudgetConfig, Measure, Scope, Span
from evennia_ai.core.prices import Price, cost_of, counted
from evennia_ai.core.turn import Usage
from evennia_ai.errors import ConfigurationError, NoFreeSlotError
from evennia_ai.ledger import upkeep
from evennia_ai.ledger.claims import Change, Claim, Ending, Need, Payer
from evennia_ai.ledger.owners import owner_of_this_process
from evennia_ai.ledger.rows import (
    StaleRowsError,
    Totals,
    add_up,
    tables_wanted,
    together,
    write_calls,
)
from evennia_ai.models import BudgetTotal, ModelCall
from evennia_ai.resilience.clock import Clock

FLUSH_SECONDS = 1.0
MARGIN_SECONDS = 60  # clocks of two machines differ by less
UPKEEP_SECONDS = 600
Later = Callable[[float, Callable[[], None]], Any]


class Book:
    """What one server process knows of the ledger. All totals are in the database.

    Args:
        later: calls something after some seconds; None: whoever closes calls also flushes.
        clock: seconds that only ever go up.
    """

    def __init__(self, later: Later | None = None, clock: Clock = time.monotonic) -> None:
        self.owner = owner_of_this_process()
        self.totals = Totals()
        self._later = later
        self._clock = clock
        self._timer: Any = None
        self._numbers = count(1)
        self._open: dict[str, Claim] = {}
        self._endings: list[Ending] = []
        self._kept_at: float | None = None
        self._pruned_at: float | None = None
        self._lock = RLock()

    def reserve(self, payer: Payer, need: Need, config: BudgetConfig, now: float) -> Claim:
        """Hold what a call may need, in every account that it counts towards.

        Raises:
            LimitReachedError: a cap leaves no room for it.
            NoFreeSlotError: as many calls of the assistant are under way as may be.
            ConfigurationError: money is capped and its price unknown, or the tables are missing.
        """
        if need.price is None and (path := config.cost_cap):
            raise ConfigurationError(unpriced_text(need.model, path))
        with self._lock, tables_wanted():
            self._keep_house(now)
            key = f"{self.owner}.{next(self._numbers)}"
            claim = Claim.begin(key, self.owner, payer, need, now)
            self._write(claim, config)
            self._open[key] = claim
        for text in claim.warnings:
            audit.record("budget_near", payer.assistant, text=text)
        return claim

    def settle(
        self, claim: Claim, usage: Any, now: float, *, model: str = "", price: Price | None = None
    ) -> None:
        """The call was answered: what was used counts in full, whatever was held.

        Args:
            usage: as the service reports it; what cannot be counts as the estimate.
            model: where another answered than was asked first, "provider/model"; then with its
                price.
        """
        used = counted(usage, claim.need.estimate)
        price = price if model else claim.need.price
        cost, is_priced = cost_of(used, price), price is not None
        noted_at = self._clock()
        self._close(Ending(claim, CallState.SETTLED, used, cost, now, noted_at, model, is_priced))

    def release(self, claim: Claim, now: float) -> None:
        """Nothing was sent: nothing counts."""
        self._close(Ending(claim, CallState.RELEASED, Usage(), 0, now, self._clock()))

    def cut_off(self, claim: Claim, now: float) -> None:
        """It was sent, and broken off: nobody knows what is billed, so all that was held counts."""
        need, noted_at = claim.need, self._clock()
        state, is_priced = CallState.CUT_OFF, need.price is not None
        self._close(
            Ending(claim, state, need.estimate, need.cost_nano, now, noted_at, is_priced=is_priced)
        )

    def flush(self) -> None:
        """Write how calls ended."""
        with self._lock:
            self._timer = None
            if self._endings:
                self._write(None, None)

    def _close(self, ending: Ending) -> None:
        with self._lock:
            if self._open.pop(ending.claim.key, None) is None:
                return
            self._endings.append(ending)
            if self._later is not None and self._timer is None:
                self._timer = self._later(FLUSH_SECONDS, self.flush)

    def stop(self) -> None:
        """Write what is left; no timer stays behind."""
        self._cancel()
        self.flush()

    def drop(self) -> None:
        """Forget what is left, as a process does that is killed; no timer stays behind."""
        self._cancel()
        self._endings.clear()
        self._open.clear()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write(self, claim: Claim | None, config: BudgetConfig | None) -> None:
        try:
            endings = self._write_once(claim, config)
        except StaleRowsError:
            self.totals.forget()
            endings = self._write_once(claim, config)
        del self._endings[:endings]

    def _write_once(self, claim: Claim | None, config: BudgetConfig | None) -> int:
        """One transaction: how earlier calls ended, and the new one, if there is room for it.

        Returns:
            How many endings were written.
        """
        endings = list(self._endings)
        with together():
            changes = [(ending.claim.accounts, self._change(ending)) for ending in endings]
            rows = [ending.claim.as_row(ending) for ending in endings]
            if claim is not None:
                changes.append((claim.accounts, claim.opening))
                rows.append(claim.as_row())
            totals = self.totals.change(add_up(changes))
            if claim is not None and config is not None:
                _judge(claim, totals, config)
            write_calls(rows)
        return len(endings)

    def _change(self, ending: Ending) -> Change:
        """What an ending changes; one that is written late may find its call closed by others."""
        claim, waited = ending.claim, self._clock() - ending.noted_at
        if ending.at > claim.due - 2 * MARGIN_SECONDS or waited > MARGIN_SECONDS:
            found = ModelCall.objects.filter(key=claim.key, state=CallState.CUT_OFF)
            if found.update(state=ending.state.value):
                return ending.late_change
        return ending.change

    def _keep_house(self, now: float) -> None:
        """Now and then: close what nobody will close, and drop what is old."""
        if self._kept_at is None or abs(now - self._kept_at) >= UPKEEP_SECONDS:
            self._kept_at = now
            self.recover(now)
            if self._pruned_at is None or abs(now - self._pruned_at) >= budget.DAY:
                self._pruned_at = now
                upkeep.prune(now)

    def recover(self, now: float) -> int:
        """Close the calls of server processes that ended in the middle of them, as cut off.

        Calls of another process that runs, or may run, are left alone until they are surely over.

        Returns:
            How many were closed.
        """
        with self._lock:
            return sum(self.close_orphan(call) for call in upkeep.orphans(self.owner, now))

    def close_orphan(self, call: ModelCall) -> bool:
        """Close one call as cut off. Returns whether it was still open."""
        with together():
            if not upkeep.mark_cut_off(call):
                return False
            self.totals.forget()
            self.totals.change(add_up([upkeep.change_of(call)]))
        return True


def unpriced_text(model: str, path: str) -> str:
    """What is wrong where costs are capped and one is not known.

    Args:
        path: of the cap.
    """
    return (
        f"nobody said what the model {model!r} costs, and {path} limits costs. Write into "
        f"settings.py, in US dollars for a million tokens: EVENNIA_AI_PRICES = {{{model!r}: "
        "{'input': 0.15, 'output': 0.6}}, with the true numbers"
    )


def _judge(claim: Claim, totals: dict[Account, Total], config: BudgetConfig) -> None:
    """Let a call pass or not, and note whose caps are nearly used up.

    Raises:
        LimitReachedError: a cap leaves no room for it.
        NoFreeSlotError: too many of the assistant's calls are under way.
    """
    near = []
    for account, span in zip(claim.accounts, cycle(Span), strict=False):
        total = totals[account]
        if account.scope is Scope.ASSISTANT and span is Span.EVER:
            _judge_slots(claim, total, config)
        for standing in budget.standings(account, span, total, config.caps_of(account.scope)):
            need, last = _units(claim, standing)
            if hit := budget.exceeded(standing, need, last):
                raise hit
            if budget.is_near(standing, total, config.warn_at):
                near.append(standing)
    claim.warnings.extend(budget.warning_text(standing) for standing in near if _is_first(standing))


def _judge_slots(claim: Claim, total: Total, config: BudgetConfig) -> None:
    most = config.calls_in_flight
    if most and total.open_calls > most and claim.payer.purpose != Purpose.WRAP_UP:
        raise NoFreeSlotError(
            f"{claim.payer.assistant} has {most} model calls under way, and may have no more at "
            "one time (EVENNIA_AI_BUDGET_CONFIG.calls_in_flight)"
        )


def _units(claim: Claim, standing: budget.Standing) -> tuple[int, int]:
    """What a call needs of a cap, and what has to stay free for a last one."""
    need, measure = claim.need, standing.cap.measure
    if measure is Measure.TOKENS:
        units = need.estimate.total_tokens, need.last.total_tokens
    elif measure is Measure.COST:
        units = need.cost_nano, need.last_cost_nano
    else:
        units = 1, int(standing.configured > 1)
    return units if claim.payer.purpose != Purpose.WRAP_UP else (units[0], 0)


def _is_first(standing: budget.Standing) -> bool:
    """Whether this is the first of all server processes to tell of it."""
    scope, key, period = standing.account
    flag = f"warned_{standing.cap.measure}"
    found = BudgetTotal.objects.filter(scope=scope, key=key, period=period, **{flag: False})
    return bool(found.update(**{flag: True}))
