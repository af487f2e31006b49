"""The acts of a server process with the ledger; loaded once Django is set up."""

import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

from django.core.management import call_command
from django.db import connection, connections

from evennia_ai.budget.ledger import BillingContext, CostEstimate, LedgerStore
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import BudgetAccount
from evennia_ai.core.safety.prices import FREE
from evennia_ai.core.settings.budget import BudgetConfig, Caps, Scope
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import LedgerAwayError, LimitReachedError
from evennia_ai.models import BudgetTotal, ModelCall

NOW = 1_795_262_430.0
FIRST_AWAY = Lock()  # taken by the first call in a process that meets an absent ledger
NEED = CostEstimate(TokenUsage(6, 4), "openai/mini", FREE)


def migrate(_options: dict[str, Any]) -> Any:
    """Make the tables, those of a shared ledger too."""
    names = ["default", *(["ledger"] if "ledger" in connections else [])]
    for name in names:
        options = {"database": name, "interactive": False, "verbosity": 0, "skip_checks": True}
        call_command("migrate", "evennia_ai", **options)
    return {name: sorted(_tables(name)) for name in names[1:]}


def _tables(name: str) -> list[str]:
    names: list[str] = connections[name].introspection.table_names()
    return names


def spend(options: dict[str, Any]) -> Any:
    """Make calls in several threads, with one store each or a shared one."""
    shared = LedgerStore()
    stores = [LedgerStore() if options["own_books"] else shared for _ in range(options["threads"])]
    seeds = [options["seed"] * 100 + number for number in range(len(stores))]
    with ThreadPoolExecutor(len(stores)) as threads:
        passed = list(threads.map(_spend, stores, seeds, [options] * len(stores)))
    for store in stores:
        store.flush()
    return {"passed": sum(passed)}


def _spend(store: LedgerStore, seed: int, options: dict[str, Any]) -> int:
    cap = Caps(tokens_per_day=options["cap"])
    config = BudgetConfig(game=cap, assistant=Caps(), player=Caps(), calls_in_flight=0)
    chance, passed = random.Random(seed), 0
    for number in range(options["attempts"]):
        # Seven assistants shared by all threads, and three persons shared by some of them.
        billing = BillingContext(f"Ada {number % 7}", f"*#{seed % 3}")
        try:
            reservation = store.reserve(billing, NEED, config, NOW)
        except LimitReachedError:
            continue
        passed += 1
        _close(store, reservation, chance if options["mixed"] else None)
    store.flush()
    connections.close_all()
    return passed


def _close(store: LedgerStore, reservation: Any, chance: random.Random | None) -> None:
    act = chance.choice(("settle", "settle", "release", "cut_off")) if chance else "settle"
    if act == "settle":
        used = TokenUsage(chance.randint(1, 6), chance.randint(0, 4)) if chance else NEED.usage
        store.settle(reservation, used, NOW)
    else:
        getattr(store, act)(reservation, NOW)


def play(options: dict[str, Any]) -> Any:
    """Let players of one game make calls until a cap is reached, through outages of the ledger.

    Each has a store of its own, as if in its own process, or all share one that may draw on a
    reserve. A player who meets an absent ledger waits a little and asks again; the first prints so.
    """
    count = options["players"]
    shared = LedgerStore() if options.get("is_one_process") else None
    print(json.dumps({"begun": True}), flush=True)
    with ThreadPoolExecutor(count) as threads:
        rows = list(threads.map(lambda n: _talk(n, shared or LedgerStore(), options), range(count)))
    if shared is not None:
        shared.stop()
    return {
        "passed": sum(passed for passed, _, _ in rows),
        "away": sum(away for _, away, _ in rows),
        "words": next((words for _, _, words in rows if words), ""),
    }


def _talk(number: int, store: LedgerStore, options: dict[str, Any]) -> tuple[int, int, str]:
    config = BudgetConfig.from_stored(options["caps"])
    passed, away, words = 0, 0, ""
    until = time.monotonic() + options["seconds"]
    while time.monotonic() < until and passed < options["most"]:
        try:
            held = store.reserve(BillingContext("Ada", f"*#{number}"), NEED, config, NOW)
        except LedgerAwayError as error:
            away, words = away + 1, str(error)
            if FIRST_AWAY.acquire(blocking=False):
                print(json.dumps({"away": True}), flush=True)
            time.sleep(0.05)
            continue
        except LimitReachedError:
            break
        passed += 1
        store.settle(held, NEED.usage, NOW)
        time.sleep(options.get("pause", 0.0))
    while True:
        try:
            store.flush()
            break
        except LedgerAwayError:
            time.sleep(0.05)
    connections.close_all()
    return passed, away, words


def shared(_options: dict[str, Any]) -> Any:
    """Return the contents of a shared ledger, for all games and for each."""
    totals = BudgetTotal.objects.filter(period="")
    rows = totals.values_list("game", "scope", "key", "prompt_tokens", "completion_tokens")
    calls = ModelCall.objects.exclude(state="released").exclude(purpose="reserve")
    return {
        "used": {f"{g}/{s}/{k}": p + c for g, s, k, p, c in rows},
        "held": sum(totals.filter(scope="all_games").values_list("held_tokens", flat=True)),
        "rows": calls.count(),
        "open": calls.filter(state="open").count(),
        "sum": sum(call.prompt_tokens + call.completion_tokens for call in calls),
    }


def hold(options: dict[str, Any]) -> Any:
    """Keep a call open until another line is read."""
    store = LedgerStore()
    config = BudgetConfig(
        game=Caps(tokens_per_day=options["cap"]), assistant=Caps(), player=Caps(), calls_in_flight=0
    )
    try:
        reservation = store.reserve(BillingContext("Ada"), NEED, config, NOW)
    except LimitReachedError:
        return {"held": None}
    print(json.dumps({"held": reservation.key}), flush=True)
    sys.stdin.readline()
    store.settle(reservation, TokenUsage(1, 1), NOW)
    store.flush()
    return {"settled": reservation.key}


def look(_options: dict[str, Any]) -> Any:
    """Return the contents of the database."""
    total = read_total(BudgetAccount(Scope.GAME, "", ""))
    calls = ModelCall.objects.all()
    return {
        "vendor": connection.vendor,
        "used": total.prompt_tokens + total.completion_tokens,
        "held": total.held_tokens,
        "calls": total.calls,
        "open": total.open_calls,
        "sum": sum(call.prompt_tokens + call.completion_tokens for call in calls),
        "sent": sum(call.state != "released" for call in calls),
        "states": {call.key: call.state for call in calls} if calls.count() < 10 else {},
    }


ACTS = {act.__name__: act for act in (migrate, spend, play, shared, hold, look)}
