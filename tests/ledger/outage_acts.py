"""Acts of one server process with a shared ledger that goes away and comes back."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.db import connections
from django.db.utils import OperationalError
from twisted.internet.task import Clock

from evennia_ai.budget.ledger import BillingContext, LedgerStore, Reservation, ledger_store
from evennia_ai.budget.ledger.outages import ABSENCE
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.budget.ledger.rows import away
from evennia_ai.core.safety.budget import DAY, BudgetAccount, period_of
from evennia_ai.core.settings.budget import BudgetConfig, BudgetSpan, Scope
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import LedgerAwayError, LimitReachedError
from evennia_ai.models import BudgetTotal, ModelCall
from tests.ledger.acts import NEED, NOW

ADA = BillingContext("Ada", "*#1")
EVERY = BudgetAccount(Scope.ALL_GAMES, "", "")
LATER = NOW + 2 * DAY + 3600  # a reserve made at NOW is long overdue


def _line(name: str) -> None:
    connections["ledger"].close()
    connections["ledger"].settings_dict["NAME"] = name


@contextmanager
def cut() -> Iterator[None]:
    """Make the ledger unreachable in this block."""
    name = connections["ledger"].settings_dict["NAME"]
    _line("nowhere")
    try:
        yield
    finally:
        _line(name)


@contextmanager
def unheard() -> Iterator[None]:
    """Lose the connection just after the first commit of this block."""
    real = ledger_store.together

    @contextmanager
    def once() -> Iterator[None]:
        ledger_store.together = real
        with real():
            yield
        connections["ledger"].close()
        raise away(OperationalError("the connection was lost"))

    ledger_store.together = once
    yield
    assert ledger_store.together is real


def caps(tokens: int, span: str = "day") -> BudgetConfig:
    """Return a budget with a cap on all games together and no other."""
    none = {"tokens_per_day": 0, "calls_per_minute": 0}
    whole = {**none, f"tokens_per_{span}": tokens}
    scopes = dict.fromkeys(("game", "assistant", "player"), none)
    return BudgetConfig.from_stored({**scopes, "all_games": whole, "calls_in_flight": 0})


def call(store: LedgerStore, at: float = NOW, tokens: int = 10_000) -> None:
    """Make a whole call of ten tokens."""
    store.settle(store.reserve(ADA, NEED, caps(tokens), at), NEED.usage, at)


def hold(at: float = NOW) -> Reservation:
    """Open a call of ten tokens, as another process without a reserve."""
    store = LedgerStore()
    store._set_aside = lambda *_: None  # type: ignore[method-assign]
    return store.reserve(ADA, NEED, caps(10_000), at)


def found() -> dict[str, int]:
    """Return the use and holds of all games, and the number of open calls."""
    total = read_total(EVERY)
    states = list(ModelCall.objects.values_list("state", flat=True))
    return {
        "used": total.prompt_tokens + total.completion_tokens,
        "held": total.held_tokens,
        "open": states.count("open"),
    }


def lose(_options: dict[str, Any]) -> Any:
    """The commit of a call that was made smaller to fit is not heard of."""
    hold()
    store = LedgerStore()
    call(store)
    big = replace(NEED, usage=TokenUsage(6, 5000), least=4)
    with unheard():
        held = store.reserve(ADA, big, caps(1000), NOW)
    store.settle(held, NEED.usage, NOW)
    store.flush()
    return {**found(), "fitted": held.estimate.usage.total_tokens}


def doubt(_options: dict[str, Any]) -> Any:
    """The end of a reserve is committed unheard, and the ledger is away again."""
    hold()
    store = LedgerStore()
    call(store)
    store.flush()
    drawn = []
    with cut():
        call(store)
    with unheard():
        try:
            call(store)
        except LedgerAwayError:
            drawn.append("none")
    with cut():
        try:
            call(store)
        except LedgerAwayError:
            drawn.append("none")
    call(store)
    store.flush()
    store.stop()
    return {**found(), "drawn": drawn}


def stop(_options: dict[str, Any]) -> Any:
    """Stop with a reserve from which a call was drawn, then with an unused one."""
    hold()
    for is_drawn in (True, False):
        store = LedgerStore()
        call(store)
        store.flush()
        if is_drawn:
            with cut():
                call(store)
        store.stop()
    return found()


def silent(options: dict[str, Any]) -> Any:
    """Make the next call two days after a reserve was set aside."""
    store = LedgerStore()
    call(store)
    store.flush()
    if options["by_others"]:
        assert LedgerStore().recover(LATER)
    hold(LATER)
    call(store, LATER)
    store.stop()
    return found()


def wait(_options: dict[str, Any]) -> Any:
    """Ask for reports while ends of calls wait for the ledger."""
    clock = Clock()
    store = LedgerStore(clock.callLater)
    call(store)
    with cut():
        for _ in range(5):
            store.flush()
        clock.advance(60)
        count = len(clock.getDelayedCalls())
    clock.advance(60)
    return {**found(), "timers": [count, len(clock.getDelayedCalls())]}


def read(_options: dict[str, Any]) -> Any:
    """Read while nothing answers, a moment after that, and over a dead connection."""
    answers = []
    with cut():
        answers.append(_try_read())
    answers.append(_try_read())
    ABSENCE.forget()
    answers.append(_try_read())
    print(json.dumps({"read": answers}), flush=True)
    sys.stdin.readline()
    return {"read": _try_read()}


def _try_read() -> str:
    try:
        read_total(EVERY)
    except LedgerAwayError as error:
        return str(error)
    return ""


def erase(_options: dict[str, Any]) -> Any:
    """Delete all of a game, with a reserve, an open call, and one just ended."""
    store = LedgerStore()
    begun = store.reserve(ADA, NEED, caps(10_000), NOW)
    call(store)
    store.erase()
    store.settle(begun, TokenUsage(1, 1), NOW)
    store.flush()
    mine = [table.objects.filter(game="lantern").count() for table in (ModelCall, BudgetTotal)]
    return {**found(), "mine": mine}


def crowd(_options: dict[str, Any]) -> Any:
    """Two processes want a reserve, and the first leaves no room."""
    refusals = 0
    for _ in range(2):
        try:
            call(LedgerStore(), tokens=500)
        except LimitReachedError:
            refusals += 1
    return {"reserves": ModelCall.objects.filter(purpose="reserve").count(), "refused": refusals}


MIDNIGHT = (NOW // DAY + 1) * DAY
EVE = MIDNIGHT - 300


def _held(store: LedgerStore, at: float, cap: BudgetConfig | None = None) -> int:
    """Return what all games hold after the look of a minute."""
    store.maintain(cap or caps(10_000), at)
    return found()["held"]


def _used_on(at: float) -> int:
    total = read_total(EVERY._replace(period=period_of(BudgetSpan.DAY, at)))
    return total.prompt_tokens + total.completion_tokens


def days(_options: dict[str, Any]) -> Any:
    """Days with a reserve: an outage at midnight, an idle game, and too little room."""
    return {act.__name__: act(LedgerStore()) for act in (_midnight, _idle, _near, _narrow)}


def _midnight(store: LedgerStore) -> Any:
    """The ledger is away at midnight, and back after it; nobody called before."""
    held = [_held(store, EVE - 3600), _held(store, EVE)]
    with cut():
        for at in (EVE + 60, MIDNIGHT + 1, MIDNIGHT + 60):
            call(store, at)
    held.append(_held(store, MIDNIGHT + 120))
    used = [_used_on(EVE), _used_on(MIDNIGHT)]
    store.stop()
    return {**found(), "held_at": held, "used_on": used}


def _idle(store: LedgerStore) -> Any:
    """Nobody calls for days, and the clock is set far ahead and back."""
    times = [EVE, MIDNIGHT + 1, MIDNIGHT + DAY - 60, MIDNIGHT + DAY + 1, NOW + 40 * DAY, NOW]
    held = [_held(store, at) for at in times]
    store.stop()
    return {**found(), "held_at": [*held, _held(store, EVE)]}


def _near(store: LedgerStore) -> Any:
    """A month has room for both reserves, which must not count as a warning level."""
    held = [_held(store, EVE, caps(2400 + found()["used"], span="month"))]
    warned = BudgetTotal.objects.filter(warned_tokens=True).count()
    store.stop()
    return {**found(), "held_at": held, "warned": warned}


def _narrow(store: LedgerStore) -> Any:
    """A month has room for one and a half; players get the half before midnight."""
    month = caps(1500 + found()["used"], span="month")
    held = [_held(store, EVE, month)]
    half = replace(NEED, usage=TokenUsage(100, 400))
    store.release(store.reserve(ADA, half, month, EVE + 1), EVE + 1)
    held += [_held(store, at, month) for at in (MIDNIGHT + 1, MIDNIGHT + 2)]
    store.stop()
    return {**found(), "held_at": held}


def aside(_options: dict[str, Any]) -> Any:
    """Set aside reserves for both days, and wait to be killed."""
    held = _held(LedgerStore(), EVE)
    print(json.dumps({"held": held}), flush=True)
    sys.stdin.readline()


def after(options: dict[str, Any]) -> Any:
    """Recover as another process, whose clock may be behind."""
    LedgerStore().recover(EVE - 60 if options["is_before"] else MIDNIGHT + 60)
    return found()


OUTAGE_ACTS = {
    act.__name__: act
    for act in (lose, doubt, stop, silent, wait, read, erase, crowd, days, aside, after)
}
