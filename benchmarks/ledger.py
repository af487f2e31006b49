"""Cost of the ledger for each model call, compared with one attribute of Evennia.

    python -m benchmarks.ledger [--calls 3000] [--rounds 5]

Both on SQLite with a write-ahead log in a file, like the demo game. A call is one reservation and
one settlement; the settlement is written with the next reservation, as in a game.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

AIM_MS = 0.7


def set_up(folder: str) -> None:
    """Set up the demo game's settings on a new database."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.conf.settings")
    import django
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = str(Path(folder) / "evennia.db3")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    import evennia

    evennia._init()


def cpu_ms(act: Callable[[], Any], times: int, rounds: int) -> tuple[float, float]:
    """Return CPU and clock milliseconds of one call, the best of some rounds."""
    best = (float("inf"), float("inf"))
    for _ in range(rounds):
        cpu, clock = time.process_time(), time.perf_counter()
        for _ in range(times):
            act()
        cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
        best = min(best, (cpu / times * 1000, clock / times * 1000))
    return best


def make_calls() -> tuple[Callable[[], None], Callable[[], None]]:
    """Return a call within a minute, and a call that is the first of its minute."""
    from evennia_ai.budget.ledger import BillingContext, CostEstimate, LedgerStore
    from evennia_ai.core.safety.prices import read_prices
    from evennia_ai.core.settings.budget import BudgetConfig, Caps
    from evennia_ai.core.turn.turn import TokenUsage

    price = read_prices({"m": {"input": 0.15, "output": 0.6}})["m"]
    far = Caps(tokens_per_day=10**12, cost_per_month=10**6, calls_per_minute=10**9)
    config = BudgetConfig(game=far, assistant=far, player=far)
    store, billing, now = LedgerStore(), BillingContext("Ada", "*#3"), [1_000_000_020.0]
    used = TokenUsage(1400, 60)

    def call() -> None:
        need = CostEstimate(TokenUsage(1500, 1000), "openai/m", price, TokenUsage(1500, 400))
        store.settle(store.reserve(billing, need, config, now[0]), used, now[0])

    def call_of_a_new_minute() -> None:
        now[0] += 60.0
        call()

    return call, call_of_a_new_minute


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        set_up(folder)
        from evennia.utils import create

        script = create.create_script("evennia.scripts.scripts.DefaultScript", key="bench")
        script.attributes.add("state", 0)
        call, first_call = make_calls()
        rows = (
            ("reserve and settle", call, options.calls, f"under {AIM_MS} ms"),
            ("the same, first of its minute", first_call, options.calls // 10, ""),
            (
                "script.attributes.add of one value",
                lambda: script.attributes.add("state", time.time()),
                options.calls,
                "",
            ),
        )
        times = {name: cpu_ms(act, count, options.rounds) for name, act, count, _ in rows}
        base = times[rows[-1][0]][0]
        print("| | CPU | clock | ratio of CPU to an attribute | aim |\n|---|---|---|---|---|")
        for name, _, _, aim in rows:
            cpu, clock = times[name]
            print(f"| {name} | {cpu:.2f} ms | {clock:.2f} ms | {cpu / base:.2f} | {aim} |")


if __name__ == "__main__":
    main()
