"""What one server process does with a shared ledger that goes away and comes back, step by step."""

from __future__ import annotations

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
from evennia_ai.budget.ledger.absence import ABSENCE
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
LATER = NOW + 2 * DAY + 3600  # when a reserve of now is long overdue


def _line(name: str) -> None:
    connections["ledger"].close()
    connections["ledger"].settings_dict["NAME"] = name


@contextmanager
def cut() -> Iterator[None]:
    """Nothing answers in this block."""
    name = connections["ledger"].settings_dict["NAME"]
    _line("nowhere")
    try:
        yield
    finally:
        _line(name)


@contextmanager
def unheard() -> Iterator[None]:
    """The first transaction of this block is committed, and its connection lost before that."""
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
    """A cap on all games together, and none else."""
    none = {"tokens_per_day": 0, "calls_per_minute": 0}
    whole = {**none, f"tokens_per_{span}": tokens}
    scopes = dict.fromkeys(("game", "assistant", "player"), none)
    return BudgetConfig.from_stored({**scopes, "all_games": whole, "calls_in_flight": 0})


def call(store: LedgerStore, at: float = NOW, tokens: int = 10_000) -> None:
    """A whole call of ten tokens."""
    store.settle(store.reserve(ADA, NEED, caps(tokens), at), NEED.usage, at)


def hold(at: float = NOW) -> Reservation:
    """A call of ten tokens that stays open, in another process's store without a reserve."""
    store = LedgerStore()
    store._set_aside = lambda *_: None  # type: ignore[method-assign]
    return store.reserve(ADA, NEED, caps(10_000), at)


def found() -> dict[str, int]:
    """What all games have used and hold, and how many calls are open."""
    total = read_total(EVERY)
    states = list(ModelCall.objects.values_list("state", flat=True))
    return {
        "used": total.prompt_tokens + total.completion_tokens,
        "held": total.held_tokens,
        "open": states.count("open"),
    }


def lose(_options: dict[str, Any]) -> Any:
    """A call that is made smaller to fit is committed, and nobody hears it."""
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
    """The end of a reserve is committed, nobody hears it, and the ledger is away again."""
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
    """It stops with a reserve from which a call was drawn, or from which none was."""
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
    """Two days after it set aside a reserve it makes its next call."""
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
    """Reports are asked for while ends of calls wait for the ledger."""
    clock = Clock()
    store = LedgerStore(clock.callLater)
    call(store)
    with cut():
        for _ in range(5):
            store.flush()
        clock.advance(60)
        told = len(clock.getDelayedCalls())
    clock.advance(60)
    return {**found(), "timers": [told, len(clock.getDelayedCalls())]}


def read(_options: dict[str, Any]) -> Any:
    """It reads: while nothing answers, a moment after that, and over a connection that died."""
    told = []
    with cut():
        told.append(_try_read())
    told.append(_try_read())
    ABSENCE.forget()
    told.append(_try_read())
    print(json.dumps({"read": told}), flush=True)
    sys.stdin.readline()
    return {"read": _try_read()}


def _try_read() -> str:
    try:
        read_total(EVERY)
    except LedgerAwayError as error:
        return str(error)
    return ""


def erase(_options: dict[str, Any]) -> Any:
    """All of its game is deleted, with a reserve, a call under way and one just ended."""
    store = LedgerStore()
    begun = store.reserve(ADA, NEED, caps(10_000), NOW)
    call(store)
    store.erase()
    store.settle(begun, TokenUsage(1, 1), NOW)
    store.flush()
    mine = [table.objects.filter(game="lantern").count() for table in (ModelCall, BudgetTotal)]
    return {**found(), "mine": mine}


def crowd(_options: dict[str, Any]) -> Any:
    """Two processes want a reserve, and the first of them leaves no room."""
    told = 0
    for _ in range(2):
        try:
            call(LedgerStore(), tokens=500)
        except LimitReachedError:
            told += 1
    return {"reserves": ModelCall.objects.filter(purpose="reserve").count(), "refused": told}


MIDNIGHT = (NOW // DAY + 1) * DAY
EVE = MIDNIGHT - 300


def _held(store: LedgerStore, at: float, cap: BudgetConfig | None = None) -> int:
    """What all games hold once a minute's look of one of them is over."""
    store.keep(cap or caps(10_000), at)
    return found()["held"]


def _used_on(at: float) -> int:
    total = read_total(EVERY._replace(period=period_of(BudgetSpan.DAY, at)))
    return total.prompt_tokens + total.completion_tokens


def days(_options: dict[str, Any]) -> Any:
    """Days with a reserve: a ledger that is away at midnight, an idle game, and too little room."""
    return {act.__name__: act(LedgerStore()) for act in (_midnight, _idle, _near, _narrow)}


def _midnight(store: LedgerStore) -> Any:
    """Nobody talks before the ledger goes away; it is away at midnight, and back after it."""
    held = [_held(store, EVE - 3600), _held(store, EVE)]
    with cut():
        for at in (EVE + 60, MIDNIGHT + 1, MIDNIGHT + 60):
            call(store, at)
    held.append(_held(store, MIDNIGHT + 120))
    used = [_used_on(EVE), _used_on(MIDNIGHT)]
    store.stop()
    return {**found(), "held_at": held, "used_on": used}


def _idle(store: LedgerStore) -> Any:
    """Nobody talks for days, and the clock is set, far ahead and back; then it stops."""
    times = [EVE, MIDNIGHT + 1, MIDNIGHT + DAY - 60, MIDNIGHT + DAY + 1, NOW + 40 * DAY, NOW]
    held = [_held(store, at) for at in times]
    store.stop()
    return {**found(), "held_at": [*held, _held(store, EVE)]}


def _near(store: LedgerStore) -> Any:
    """A month has room for both, of which nobody is told that they are much for a month."""
    held = [_held(store, EVE, caps(2400 + found()["used"], span="month"))]
    warned = BudgetTotal.objects.filter(warned_tokens=True).count()
    store.stop()
    return {**found(), "held_at": held, "warned": warned}


def _narrow(store: LedgerStore) -> Any:
    """A month has room for one and a half: players have the half before midnight."""
    month = caps(1500 + found()["used"], span="month")
    held = [_held(store, EVE, month)]
    half = replace(NEED, usage=TokenUsage(100, 400))
    store.release(store.reserve(ADA, half, month, EVE + 1), EVE + 1)
    held += [_held(store, at, month) for at in (MIDNIGHT + 1, MIDNIGHT + 2)]
    store.stop()
    return {**found(), "held_at": held}


def aside(_options: dict[str, Any]) -> Any:
    """It sets aside for both days, and is killed."""
    held = _held(LedgerStore(), EVE)
    print(json.dumps({"held": held}), flush=True)
    sys.stdin.readline()


def after(options: dict[str, Any]) -> Any:
    """What all games hold and have used once another has looked, whose clock may be behind."""
    LedgerStore().recover(EVE - 60 if options["is_before"] else MIDNIGHT + 60)
    return found()


OUTAGE_ACTS = {
    act.__name__: act
    for act in (lose, doubt, stop, silent, wait, read, erase, crowd, days, aside, after)
}
