"""The ledger of one server process: reserve before a call, close it after.

What a call may use is held in the database before it is sent, so that no two calls of whatever
server process share the last room under a cap. How it ended is written together with the next
reservation, or within a second: until then the whole estimate is held, which is the safe side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from threading import RLock
from typing import Any

from django.db.utils import InterfaceError, OperationalError
from evennia.utils import logger

from evennia_ai import audit
from evennia_ai.budget.ledger import names, outages, place, upkeep
from evennia_ai.budget.ledger.absence import asked
from evennia_ai.budget.ledger.judging import fitted, tell_near, unpriced_text
from evennia_ai.budget.ledger.names import OURS
from evennia_ai.budget.ledger.outages import Outage
from evennia_ai.budget.ledger.processes import owner_of_this_process
from evennia_ai.budget.ledger.reservations import (
    BillingContext,
    CostEstimate,
    Ending,
    Reservation,
    TotalsChange,
    billed,
)
from evennia_ai.budget.ledger.rows import (
    StaleRowsError,
    Totals,
    add_up,
    tables_wanted,
    together,
    write_calls,
)
from evennia_ai.core.safety.budget import DAY, CallState
from evennia_ai.core.safety.prices import Price, cost_of, counted
from evennia_ai.core.settings.budget import BudgetConfig
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ConfigurationError, LedgerAwayError, LimitReachedError
from evennia_ai.models import ModelCall
from evennia_ai.resilience.clock import Clock

FLUSH_SECONDS = 1.0
PORTION = 100  # ends of calls that are written in one turn of the reactor
UPKEEP_SECONDS = 600
ExtraWrites = Callable[[], None]
Later = Callable[[float, Callable[[], None]], Any]


class LedgerStore:
    """The ledger as one server process knows it. All totals are in the database.

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
        self._open: dict[str, Reservation] = {}
        self._endings: list[Ending] = []
        self._unsure: list[Reservation] = []
        self._is_unsure = False
        self._tried: tuple[Reservation | None, bool] = None, False
        self._outage = Outage(clock)
        self._kept_at: float | None = None
        self._pruned_at: float | None = None
        self._rests = False
        self._lock = RLock()

    def reserve(
        self, billing: BillingContext, estimate: CostEstimate, config: BudgetConfig, now: float
    ) -> Reservation:
        """Hold what a call may need, in every account that it counts towards.

        Returns:
            The call. Where a cap leaves less room than was wanted, its estimate is smaller than
            what was asked for, and its answer may be no longer than that.

        Raises:
            LimitReachedError: a cap leaves no room for it.
            NoFreeSlotError: as many calls of the assistant are under way as may be.
            ConfigurationError: money is capped and its price unknown, or the tables are missing.
            LedgerAwayError: a shared ledger does not answer, and nothing is set aside for that.
        """
        billing = billed(billing)
        path = config.cost_cap_on_bench if billing.is_bench else config.cost_cap
        if estimate.price is None and path:
            raise ConfigurationError(unpriced_text(estimate.model, path))
        with self._lock:
            try:
                hold = partial(self._reserve, billing, estimate, config, now)
                reservation = asked(hold, takes=True)
            except LedgerAwayError:
                reservation = self._begin(billing, estimate, now)
                if not self._outage.draw(reservation):
                    raise
            self._open[reservation.key] = reservation
        tell_near(reservation, billing.assistant)
        return reservation

    def _reserve(
        self, billing: BillingContext, estimate: CostEstimate, config: BudgetConfig, now: float
    ) -> Reservation:
        self._rests = False
        self._keep_house(config, now)
        begun = self._begin(billing, estimate, now)
        return self._write(begun, config) or begun

    def _begin(self, billing: BillingContext, estimate: CostEstimate, now: float) -> Reservation:
        # Two processes never make the same key: a row is written anew by it when the call ends.
        key = f"{self.owner}.{next(self._numbers)}"
        return Reservation.begin(key, self.owner, billing, estimate, now)

    def settle(
        self,
        reservation: Reservation,
        usage: TokenUsage,
        now: float,
        *,
        model: str = "",
        price: Price | None = None,
    ) -> None:
        """The call was answered: what was used counts in full, whatever was held.

        Args:
            usage: as the service reports it; what cannot be counts as the estimate.
            model: where another answered than was asked first, "provider/model"; then with its
                price.
        """
        used, noted_at = counted(usage, reservation.estimate.usage), self._clock()
        price = price if model else reservation.estimate.price
        cost, is_priced, state = cost_of(used, price), price is not None, CallState.SETTLED
        self._close(Ending(reservation, state, used, cost, now, noted_at, model, is_priced))

    def release(self, reservation: Reservation, now: float) -> None:
        """Nothing was sent: nothing counts."""
        self._close(Ending(reservation, CallState.RELEASED, TokenUsage(), 0, now, self._clock()))

    def cut_off(
        self, reservation: Reservation, now: float, *, model: str = "", price: Price | None = None
    ) -> None:
        """It was sent, and broken off: nobody knows what is billed, so all that was held counts.

        Args:
            model: as of `settle`.
        """
        used, noted_at = reservation.estimate.usage, self._clock()
        price = price if model else reservation.estimate.price
        cost, is_priced, state = cost_of(used, price), price is not None, CallState.CUT_OFF
        self._close(Ending(reservation, state, used, cost, now, noted_at, model, is_priced))

    def flush(self) -> None:
        """Write how calls ended, also where the name is another's by now; or once it answers."""
        with self._lock:
            self._cancel()
            if self._endings:
                self._flush()

    def _flush(self, most: int | None = None) -> None:
        try:
            asked(partial(self._write, None, None, most), by_name=False)
        except LedgerAwayError as error:
            if self._later is None:
                raise
            logger.log_warn(f"[assistant] ends of {len(self._endings)} calls wait: {error}")
            self._set_timer(max(FLUSH_SECONDS, place.config().retry_seconds))

    def _set_timer(self, seconds: float) -> None:
        if self._later is not None and self._timer is None:
            self._timer = self._later(seconds, self._fire)

    def _fire(self) -> None:
        self._timer = None  # it cannot be cancelled any more
        with self._lock:
            if self._endings:
                self._flush(PORTION)
            if self._endings:
                self._set_timer(0.0)

    @contextmanager
    def riding(self) -> Iterator[ExtraWrites | None]:
        """Let another transaction of the process, which is about to begin, write how calls ended.

        While other calls are under way it is left to the next reservation, which writes it for
        nothing; and a shared ledger is never part of another transaction.

        Yields:
            What writes it, within that transaction, perhaps twice, the first time undone; None:
            there is nothing to write. Where the block raises, nothing is taken as written.
        """
        with self._lock:
            stays = bool(self._open) or self._is_unsure or place.is_shared()
            taken = [] if stays else self._endings
            self._endings = self._endings if stays else []
        try:
            yield partial(self._ride, taken) if taken else None
        except BaseException as error:
            with self._lock:
                self._endings[:0] = taken
                self._is_unsure |= isinstance(error, (OperationalError, InterfaceError))
            raise
        with self._lock:
            if not self._endings:
                self._cancel()

    def _ride(self, endings: list[Ending]) -> None:
        changes = [(ending.reservation.accounts, self._change(ending)) for ending in endings]
        try:
            self.totals.add(add_up(changes))
        except StaleRowsError as stale:
            self.totals.forget()
            raise audit.RecordConflictError(str(stale)) from stale
        write_calls([ending.reservation.as_row(ending) for ending in endings])

    def _close(self, ending: Ending) -> None:
        with self._lock:
            if self._open.pop(ending.reservation.key, None) is not None:
                self._outage.note_ending(ending)
                self._endings.append(ending)
                self._set_timer(FLUSH_SECONDS)

    def keep(self, config: BudgetConfig, now: float) -> str:
        """See to a shared ledger while nobody talks; what staff should be told of it, or "".

        Raises:
            ConfigurationError, LedgerAwayError: as of `reserve`.
        """
        with self._lock:
            if self._rests:
                return ""
            told = asked(partial(OURS.show, self.owner), takes=True)
            asked(partial(self._keep_house, config, now), takes=True)
        return told

    def stop(self) -> None:
        """Write what is left; no timer stays behind."""
        with self._lock:
            self._rests = True
            self._cancel()
            if self._outage.leave() or self._endings or self._is_unsure:
                self._flush()
            self._cancel()
            with suppress(ConfigurationError):
                asked(partial(OURS.leave, self.owner), by_name=False)

    def drop(self) -> None:
        """Forget what is left, as a process does that is killed; no timer stays behind."""
        self._cancel()
        self._endings.clear()
        self._open.clear()
        self._outage = Outage(self._clock)

    def erase(self) -> None:
        """Delete all that this game used; the sum of all games keeps it, and nothing stays held.

        Calls under way count there as cut off, whatever becomes of them.

        Raises:
            ConfigurationError, LedgerAwayError: it cannot be done now, and nothing is deleted.
        """
        with self._lock:
            self._cancel()
            try:
                if self._outage.leave() or self._endings or self._is_unsure:
                    asked(partial(self._write, None, None))
                asked(upkeep.erase)
            except BaseException:
                self._outage.stay()
                raise
            self.drop()
            self._rests = True
            names.erase()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write(
        self, held: Reservation | None, config: BudgetConfig | None, most: int | None = None
    ) -> Reservation | None:
        if self._is_unsure:
            self._make_sure()
        self._tried = None, False
        try:
            try:
                count, held = self._write_once(held, config, most)
            except StaleRowsError:
                self.totals.forget()
                count, held = self._write_once(held, config, most)
        except (OperationalError, InterfaceError, LedgerAwayError):
            # Nobody knows whether the database had committed it before it went away.
            self._is_unsure = True
            tried, is_over = self._tried
            self._unsure += [tried] if tried is not None else []
            self._outage.doubt(is_over=is_over)
            raise
        del self._endings[:count]
        return held

    def _make_sure(self) -> None:
        """See what came of a transaction that broke off, so that nothing is added twice."""
        keys = [ending.reservation.key for ending in self._endings]
        keys += [*(lost.key for lost in self._unsure), *self._outage.keys]
        with tables_wanted:
            told = dict(ModelCall.objects.filter(key__in=keys).values_list("key", "state"))
        self._endings = [
            ending for ending in self._endings if told.get(ending.reservation.key) != ending.state
        ]
        # Nobody was given these calls, so that nothing was sent.
        for lost in self._unsure:
            if told.get(lost.key) == CallState.OPEN:
                ending = Ending(lost, CallState.RELEASED, TokenUsage(), 0, lost.at, self._clock())
                self._endings.append(ending)
        self._outage.make_sure(told)
        self._unsure, self._is_unsure = [], False

    def _write_once(
        self, reservation: Reservation | None, config: BudgetConfig | None, most: int | None
    ) -> tuple[int, Reservation | None]:
        """One transaction: how earlier calls ended, and the new one, if there is room for it.

        Returns:
            How many endings were written, and the new call, as large as there is room for.
        """
        ended, over = self._endings[:most], self._outage.over()
        endings = [*ended, *over]
        with together():
            changes = [(ending.reservation.accounts, self._change(ending)) for ending in endings]
            rows = [ending.reservation.as_row(ending) for ending in endings]
            more, open_rows = self._outage.untold(self._open)
            changes += more
            rows += open_rows
            if reservation is not None:
                changes.append((reservation.accounts, reservation.opening))
            if reservation is None or config is None:
                self.totals.add(add_up(changes))
            else:
                found = self.totals.change(add_up(changes))
                reservation = fitted(reservation, found, config, self.totals.change)
                rows.append(reservation.as_row())
            self._tried = reservation, bool(over)  # as it is committed, heard or not
            write_calls(rows)
        self._outage.settle(over)
        return len(ended), reservation

    def _change(self, ending: Ending) -> TotalsChange:
        return upkeep.change_by(ending, self._clock() - ending.noted_at)

    def _keep_house(self, config: BudgetConfig, now: float) -> None:
        """Now and then: close what nobody will close, drop what is old, set aside a reserve."""
        if self._kept_at is None or abs(now - self._kept_at) >= UPKEEP_SECONDS:
            self._kept_at = now
            self.recover(now)
            if self._pruned_at is None or abs(now - self._pruned_at) >= DAY:
                self._pruned_at = now
                upkeep.prune(now)
        for at in self._outage.lacking(now):
            self._set_aside(config, at, now)
        if self._outage.over():
            self._write(None, None)

    def _set_aside(self, config: BudgetConfig, at: float, now: float) -> None:
        """Set aside what is wanted for the day of `at`, or what caps leave; early, all of it."""
        is_early = at > now
        begun = self._begin(*outages.wanted(is_whole=is_early), at)
        quiet = config.model_copy(update={"warn_at": 0.0})  # near a cap only until midnight
        try:
            held = self._write(begun, quiet if is_early else config) or begun
        except LimitReachedError:
            self._outage.refuse(at, now)  # all is used up, and there is nothing to go on with
        else:
            self._outage.add(held)
            tell_near(held, "game")

    def recover(self, now: float) -> int:
        """Close the calls of server processes that ended in the middle of them, as cut off.

        Calls of another process that runs, or may run, are left alone until they are surely over;
        the reserve of this one always. Returns how many were closed.
        """
        with self._lock:
            own = self._outage.keys  # somebody closes these
            found = upkeep.orphans(self.owner, now)
            return sum(upkeep.close_orphan(call, now) for call in found if call.key not in own)
