"""The ledger of one server process: a call is reserved before it is sent, and closed after it.

The most that a call may use is held in the database before it is sent, so that no two processes
can both take the last room under a cap. The end of a call is written with the next reservation or
within a second; until then the whole estimate stays held, which is the safe side.
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
from evennia_ai.budget.ledger.judging import fit_to_caps, record_warnings, unpriced_text
from evennia_ai.budget.ledger.names import OWN_NAME
from evennia_ai.budget.ledger.outages import Outage, query_ledger
from evennia_ai.budget.ledger.processes import owner_of_this_process
from evennia_ai.budget.ledger.reservations import (
    BillingContext,
    CostEstimate,
    Ending,
    Reservation,
    TotalsChange,
    cost_cap_of,
    with_bench,
)
from evennia_ai.budget.ledger.rows import (
    StaleRowsError,
    Totals,
    add_up,
    together,
    translated_errors,
    write_calls,
)
from evennia_ai.core.safety.budget import DAY, CallState
from evennia_ai.core.safety.prices import Price, counted
from evennia_ai.core.settings.budget import BudgetConfig
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import ConfigurationError, LedgerAwayError, LimitReachedError
from evennia_ai.models import ModelCall
from evennia_ai.resilience.clock import Clock

# The longest time that an end of a call waits to be written; a crash within it counts the estimate.
FLUSH_SECONDS = 1.0
PORTION = 100  # ends of calls written in one reactor turn, so that players do not wait
UPKEEP_SECONDS = 600
ExtraWrites = Callable[[], None]
Later = Callable[[float, Callable[[], None]], Any]


class LedgerStore:
    """The ledger of one server process. It keeps calls in memory, but no totals.

    Args:
        clock: monotonic seconds.
        later: calls a function after some seconds; None: callers must flush themselves.
    """

    def __init__(self, later: Later | None = None, clock: Clock = time.monotonic) -> None:
        self.owner = owner_of_this_process()
        self.totals = Totals()
        self._later = later
        self._clock = clock
        self._timer: Any = None
        self._numbers = count(1)
        self._open: dict[str, Reservation] = {}
        self._endings: list[Ending] = []  # not in the database yet
        self._doubtful: list[Reservation] = []  # perhaps stored by a commit of unknown outcome
        self._is_in_doubt = False
        # The reservation in the last transaction, and True if that ended a reserve.
        self._last_write: tuple[Reservation | None, bool] = None, False
        self._outage = Outage(clock)
        self._upkeep_at: float | None = None
        self._pruned_at: float | None = None
        self._is_stopped = False
        self._lock = RLock()

    def reserve(
        self, billing: BillingContext, estimate: CostEstimate, config: BudgetConfig, now: float
    ) -> Reservation:
        """Hold the most that a call may use, in every account that it counts towards.

        Returns:
            The reservation. If a cap has less room than was wanted, its estimate is smaller, and
            the answer must not be longer than it says.

        Raises:
            LimitReachedError: a cap has no room for the call.
            NoFreeSlotError: the assistant has its maximum of calls in flight.
            ConfigurationError: costs are capped and the price is unknown, or tables are missing.
            LedgerAwayError: a shared ledger does not answer, and there is no reserve for that.
        """
        billing = with_bench(billing)
        path = cost_cap_of(config)
        if estimate.price is None and path:
            raise ConfigurationError(unpriced_text(estimate.model, path))
        with self._lock:
            try:
                hold = partial(self._reserve, billing, estimate, config, now)
                reservation = query_ledger(hold, takes=True)
            except LedgerAwayError:
                reservation = self._begin(billing, estimate, now)
                if not self._outage.draw(reservation):
                    raise
            self._open[reservation.key] = reservation
        record_warnings(reservation)
        return reservation

    def _reserve(
        self, billing: BillingContext, estimate: CostEstimate, config: BudgetConfig, now: float
    ) -> Reservation:
        self._is_stopped = False
        self._run_upkeep(config, now)
        reservation = self._begin(billing, estimate, now)
        return self._write(reservation, config) or reservation

    def _begin(self, billing: BillingContext, estimate: CostEstimate, now: float) -> Reservation:
        # Unique over all processes: the call's row is overwritten by this key when it ends.
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
        """Close a call that was answered: its usage counts in full, even above the estimate.

        Args:
            usage: as the service reports it; an impossible one is replaced by the estimate.
            model: "provider/model", if another one answered than the estimate names.
        """
        used = counted(usage, reservation.estimate.usage)
        self._close(reservation.ended(CallState.SETTLED, used, now, self._clock(), model, price))

    def release(self, reservation: Reservation, now: float) -> None:
        """Close a call that was not sent: nothing counts."""
        self._close(reservation.released(now, self._clock()))

    def cut_off(
        self, reservation: Reservation, now: float, *, model: str = "", price: Price | None = None
    ) -> None:
        """Close a call that was sent and broken off: its cost is unknown, so all held counts."""
        used = reservation.estimate.usage
        self._close(reservation.ended(CallState.CUT_OFF, used, now, self._clock(), model, price))

    def flush(self) -> None:
        """Write the ends of calls now, or once the database answers again."""
        with self._lock:
            self._cancel()
            if self._endings:
                self._flush()

    def _flush(self, most: int | None = None) -> None:
        try:
            # Even if another game has this game's name now: what was held must be given back.
            query_ledger(partial(self._write, None, None, most), by_name=False)
        except (LedgerAwayError, OperationalError, InterfaceError) as error:  # it may be locked
            if self._later is None:
                raise
            logger.log_warn(f"[assistant] ends of {len(self._endings)} calls wait: {error}")
            self._set_timer(max(FLUSH_SECONDS, place.config().retry_seconds))

    def _set_timer(self, seconds: float) -> None:
        if self._later is not None and self._timer is None:
            self._timer = self._later(seconds, self._fire)

    def _fire(self) -> None:
        self._timer = None  # a timer that has fired cannot be cancelled
        with self._lock:
            if self._endings:
                self._flush(PORTION)
            if self._endings:  # the rest follows in the next reactor turn
                self._set_timer(0.0)

    @contextmanager
    def joining_transaction(self) -> Iterator[ExtraWrites | None]:
        """Let a transaction begun inside the block write the ends of calls, which saves another.

        Yields:
            A function that writes the ends, to be called in that transaction, and again if it is
            retried; None: there is nothing to write. If the block raises, all counts as unwritten.
        """
        with self._lock:
            # With calls in flight, the next reservation writes them at no extra cost. A shared
            # ledger is another database, which cannot be part of the transaction.
            stays = bool(self._open) or self._is_in_doubt or place.is_shared()
            taken, self._endings = ([], self._endings) if stays else (self._endings, [])
        try:
            yield partial(self._write_taken, taken) if taken else None
        except BaseException as error:
            with self._lock:
                self._endings[:0] = taken
                # A connection lost during commit leaves open whether it was committed.
                self._is_in_doubt |= isinstance(error, (OperationalError, InterfaceError))
            raise
        with self._lock:
            if not self._endings:
                self._cancel()

    def _write_taken(self, endings: list[Ending]) -> None:
        changes = [(ending.reservation.accounts, self._change(ending)) for ending in endings]
        try:
            self.totals.add(add_up(changes))
        except StaleRowsError as stale:
            self.totals.forget()
            # The owner of the transaction rolls back and retries on this error.
            raise audit.RecordConflictError(str(stale)) from stale
        write_calls([ending.reservation.as_row(ending) for ending in endings])

    def _close(self, ending: Ending) -> None:
        with self._lock:
            # Only the first end of a call counts, and after `drop` or `erase` none does.
            if self._open.pop(ending.reservation.key, None) is not None:
                self._outage.note_ending(ending)
                self._endings.append(ending)
                self._set_timer(FLUSH_SECONDS)

    def maintain(self, config: BudgetConfig, now: float) -> str:
        """Maintain a shared ledger between calls; return a warning for staff, or ""."""
        with self._lock:
            if self._is_stopped:
                return ""
            warning = query_ledger(partial(OWN_NAME.show, self.owner), takes=True)
            query_ledger(partial(self._run_upkeep, config, now), takes=True)
        return warning

    def stop(self) -> None:
        """Write everything and cancel the timer, at shutdown."""
        with self._lock:
            self._is_stopped = True
            self._cancel()
            if self._outage.leave() or self._endings or self._is_in_doubt:
                self._flush()
            self._cancel()  # a failed flush has set it again
            with suppress(ConfigurationError):
                query_ledger(partial(OWN_NAME.leave, self.owner), by_name=False)

    def drop(self) -> None:
        """Discard everything unwritten, as if the process were killed, and cancel the timer."""
        self._cancel()
        self._endings.clear()
        self._open.clear()
        self._outage = Outage(self._clock)

    def erase(self) -> None:
        """Delete all rows of this game; totals of all games keep them, open calls as cut off.

        Raises:
            ConfigurationError, LedgerAwayError: it failed, and nothing was deleted.
        """
        with self._lock:
            self._cancel()
            try:
                if self._outage.leave() or self._endings or self._is_in_doubt:
                    query_ledger(partial(self._write, None, None))
                query_ledger(upkeep.erase)
            except BaseException:
                self._outage.stay()
                raise
            self.drop()
            self._is_stopped = True
            # Last: without its number, the game could not repeat an erasure that failed.
            names.erase()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write(
        self, held: Reservation | None, config: BudgetConfig | None, most: int | None = None
    ) -> Reservation | None:
        if self._is_in_doubt:
            self._resolve_doubt()
        self._last_write = None, False
        try:
            try:
                count, held = self._write_once(held, config, most)
            except StaleRowsError:
                self.totals.forget()
                count, held = self._write_once(held, config, most)
        except (OperationalError, InterfaceError, LedgerAwayError):
            # The connection may have died during the commit, whose outcome is then unknown.
            self._is_in_doubt = True
            written, is_reserve_ended = self._last_write
            self._doubtful += [written] if written is not None else []
            self._outage.doubt(is_over=is_reserve_ended)
            raise
        del self._endings[:count]
        return held

    def _resolve_doubt(self) -> None:
        """Find out whether an interrupted transaction was committed; nothing may be added twice."""
        keys = [ending.reservation.key for ending in self._endings]
        keys += [*(lost.key for lost in self._doubtful), *self._outage.keys]
        with translated_errors:
            states = dict(ModelCall.objects.filter(key__in=keys).values_list("key", "state"))
        self._endings = [
            ending for ending in self._endings if states.get(ending.reservation.key) != ending.state
        ]
        # Their `reserve` raised, so these calls were never sent.
        for lost in self._doubtful:
            if states.get(lost.key) == CallState.OPEN:
                self._endings.append(lost.released(lost.at, self._clock()))
        self._outage.make_sure(states)
        self._doubtful, self._is_in_doubt = [], False

    def _write_once(
        self, reservation: Reservation | None, config: BudgetConfig | None, most: int | None
    ) -> tuple[int, Reservation | None]:
        """Write ends of earlier calls and the new reservation in one transaction.

        Returns:
            The number of ends written, and the reservation, reduced to the room that caps have.
        """
        earlier, over = self._endings[:most], self._outage.over()
        endings = [*earlier, *over]
        with together():
            changes = [(ending.reservation.accounts, self._change(ending)) for ending in endings]
            rows = [ending.reservation.as_row(ending) for ending in endings]
            more, open_rows = self._outage.unwritten(self._open)
            changes += more
            rows += open_rows
            if reservation is not None:
                changes.append((reservation.accounts, reservation.opening))
            if reservation is None or config is None:
                self.totals.add(add_up(changes))
            else:
                # Added first and judged afterwards: two processes cannot both see the last room as
                # free. A refusal raises and rolls it back, with the ends, which stay in memory.
                totals = self.totals.change(add_up(changes))
                reservation = fit_to_caps(reservation, totals, config, self.totals.change)
                rows.append(reservation.as_row())
            # Noted before the commit, whose answer may be lost.
            self._last_write = reservation, bool(over)
            write_calls(rows)
        self._outage.settle(over)
        return len(earlier), reservation

    def _change(self, ending: Ending) -> TotalsChange:
        return upkeep.change_by(ending, self._clock() - ending.noted_at)

    def _run_upkeep(self, config: BudgetConfig, now: float) -> None:
        """Close orphaned calls and prune old rows if it is time, and set a reserve aside."""
        # `abs`: wall clocks may be set back, and upkeep would then pause for as long.
        if self._upkeep_at is None or abs(now - self._upkeep_at) >= UPKEEP_SECONDS:
            self._upkeep_at = now
            self.recover(now)
            if self._pruned_at is None or abs(now - self._pruned_at) >= DAY:
                self._pruned_at = now
                upkeep.prune(now)
        for at in self._outage.missing_at(now):
            self._set_aside(config, at, now)
        if self._outage.over():
            self._write(None, None)

    def _set_aside(self, config: BudgetConfig, at: float, now: float) -> None:
        """Set the reserve for the day of `at` aside, as large as caps allow."""
        # Before midnight the day's caps are unused, so only the whole reserve will do, and a
        # warning that today's caps are nearly used up would be false a moment later.
        is_early = at > now
        entry = self._begin(*outages.estimate_of_reserve(is_whole=is_early), at)
        without_warnings = config.model_copy(update={"warn_at": 0.0})
        try:
            reserve = self._write(entry, without_warnings if is_early else config) or entry
        except LimitReachedError:
            self._outage.refuse(at, now)  # the caps are used up: no call could be made anyway
        else:
            self._outage.add(reserve)
            record_warnings(reserve)

    def recover(self, now: float) -> int:
        """Close the open calls of ended processes, and overdue ones; return how many."""
        with self._lock:
            own = self._outage.keys  # overdue or not, this process closes them itself
            orphans = upkeep.orphans(self.owner, now)
            return sum(upkeep.close_orphan(call, now) for call in orphans if call.key not in own)
