"""A simulated night: thousands of messages, random faults of every kind, and nobody is lost.

    python -m benchmarks.soak [--events 10000] [--seed 1] [--json]

Four assistants and four players in a room, a model in memory, a database in a file, and the
reactor's time moved by hand: the beats, deadlines, breakers and questions of a whole night pass in
minutes. Faults are random, the same for the same seed: errors, timeouts and garbage of the model,
429s, huge replies, tools that fail or take long, stops and clears, resets, crashes of the process
(also in the middle of speaking), reloads, limits that nobody extends, and caps that are reached and
then raised. The fate of each message is observed from outside, by what its sender hears and by what
is stored.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.night import (
    ASSISTANTS,
    CAPS,
    NOON,
    PLAYERS,
    install_reactor,
    make_world,
    set_up_game,
)

LOOK_EVERY = 100
SAFETY: tuple[Mapping[str, Any], ...] = (
    {},
    {"loop": {"max_model_calls_per_tick": 2}},
    {"loop": {"max_tool_calls_per_context": 1}},
    {"loop": {"max_iterations_per_task": 3}},
    {"loop": {"max_tokens_per_task": 6_000}},
    {"timeout": {"tick_seconds": 10}},
    {"on_limit": {"mode": "auto_extend"}, "loop": {"max_model_calls_per_tick": 1}},
    {"on_limit": {"mode": "unattended"}, "loop": {"max_model_calls_per_tick": 1}},
    {"on_limit": {"ask_timeout_seconds": 0}, "loop": {"max_model_calls_per_tick": 2}},
)
RECORDED_TURNS = 3  # of each assistant, in memory


@dataclass
class Figures:
    """Results of a night.

    Attributes:
        ends: number of messages for each end.
        broken: violated invariants, in words; empty when all is well.
        over_cap: checks of the ledger that found an account over its cap.
        limits: number of decisions on each limit.
        rss_mb, objects: resident memory, and objects that Python's collector tracks, after a tenth
            of the messages, half of them, and all; objects without those of killed processes.
    """

    events: int
    seed: int
    ends: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    lost: int = 0
    doubled: int = 0
    over_cap: int = 0
    model_calls: int = 0
    acts: dict[str, int] = field(default_factory=dict)
    rss_mb: list[float] = field(default_factory=list)
    objects: list[int] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)
    hours: float = 0.0
    seconds: float = 0.0

    def __str__(self) -> str:
        ends = ", ".join(f"{word} {count}" for word, count in sorted(self.ends.items()))
        acts = ", ".join(f"{word} {count}" for word, count in sorted(self.acts.items()))
        memory = ", ".join(f"{megabytes:.1f}" for megabytes in self.rss_mb)
        objects = ", ".join(f"{count:,}" for count in self.objects)
        limits = ", ".join(f"{kind} {count}" for kind, count in sorted(self.limits.items()))
        lines = [
            f"messages         {self.events} (seed {self.seed}), in {self.hours:.1f} hours of game",
            f"what became      {ends}",
            f"lost, doubled    {self.lost}, {self.doubled}",
            f"over a cap       {self.over_cap}",
            f"model calls      {self.model_calls}",
            f"what was done    {acts}",
            f"limits reached   {limits}",
            f"memory, MB       {memory} (after a tenth, a half, all)",
            f"Python objects   {objects} (the same, without what killed processes left)",
            f"seconds          {self.seconds:.0f}",
            *(f"BROKEN           {problem}" for problem in self.broken),
        ]
        return "\n".join(lines)


class Night:
    """A random walk through everything that can happen."""

    def __init__(self, world: Any, figures: Figures) -> None:
        from evennia_ai import audit
        from tests.game.walks.model import BAD, FAULTS, GOOD, STEPS

        self.world, self.figures = world, figures
        self.random = random.Random(figures.seed)
        self._buried = 0
        self._kinds = (sorted(GOOD), sorted(STEPS), sorted(BAD), sorted(FAULTS), [""])
        self._acts: tuple[tuple[float, str, Callable[[], None]], ...] = (
            (30, "send", self._send),
            (14, "answer", self._answer),
            (12, "time", self._time),
            (4, "tool ends", self._end_tool),
            (4, "decide", self._decide),
            (3, "clear", self._clear),
            (1, "stop", self._stop),
            (0.1, "stop all", self._stop_all),
            (0.6, "switch", self._switch),
            (0.6, "reset", self._reset),
            (0.6, "hush", self._hush),
            (1, "limits", self._limit),
            (0.3, "raise", self._raise_cap),
            (0.15, "crash", lambda: self._restart(world.crash)),
            (0.15, "crash while speaking", lambda: self._restart(world.crash_while_speaking)),
            (0.15, "reload", lambda: self._restart(world.reload)),
        )
        audit.LISTENERS.append(self._hear)
        world.model.choose, world.model.usage_of = self._choose, self._usage

    def leave_out(self, names: Collection[str]) -> None:
        """Exclude some kinds of events."""
        self._acts = tuple(act for act in self._acts if act[1] not in names)

    def run(self) -> Figures:
        """Run the whole night."""
        figures, began = self.figures, time.perf_counter()
        marks = [figures.events // 10, figures.events // 2]
        weights = [weight for weight, _, _ in self._acts]
        while self.world.accounts.sent < figures.events and len(figures.broken) < 10:
            _, name, act = self.random.choices(self._acts, weights)[0]
            figures.acts[name] = figures.acts.get(name, 0) + 1
            self._try(name, act)
            if marks and self.world.accounts.sent >= marks[0]:
                self._weigh()
                marks.pop(0)
            if sum(figures.acts.values()) % LOOK_EVERY == 0:
                self._try("ledger", self._look)
        self._try("drain", self.world.drain)
        self._try("ledger", self._look)
        self._weigh()
        figures.ends = dict(self.world.accounts.ends)
        figures.lost = figures.ends.get("lost", 0) + len(self.world.accounts.open)
        figures.doubled = self.world.accounts.doubled
        figures.model_calls = self.world.model.posted
        figures.hours = (self.world.clock.seconds() - NOON) / 3600
        figures.seconds = time.perf_counter() - began
        return figures

    def _weigh(self) -> None:
        self.figures.objects.append(count_objects() - self._buried)
        self.figures.rss_mb.append(rss_mb())

    def _restart(self, act: Callable[[], None]) -> None:
        """What a killed process leaves is kept in this one, and must not count as a leak."""
        before = count_objects()
        act()
        self._buried += count_objects() - before

    def _try(self, name: str, act: Callable[[], None]) -> None:
        """Do something, and keep what it broke."""
        try:
            act()
        except Exception as error:
            trace = "".join(traceback.format_exception(error)[-4:])
            self.figures.broken.append(f"{name}: {trace}"[:3000])
            self.world.accounts.wrong.clear()
            self.world.model.wrong.clear()

    def _choose(self) -> str:
        """How the model answers the next call, or that it hangs."""
        self.world.model.is_late = self.random.random() < 0.2
        (kinds,) = self.random.choices(self._kinds, (50, 18, 12, 10, 10))
        return self.random.choice(kinds)

    def _hear(self, event: str, _: str, facts: Mapping[str, Any]) -> None:
        if event == "safety_limit_checkpoint":
            word = f"{facts['kind']} ({'more' if facts['allow_continue'] else 'no'})"
            self.figures.limits[word] = self.figures.limits.get(word, 0) + 1

    def _usage(self, body: Mapping[str, Any]) -> Mapping[str, int]:
        """What the service reports: never more than a cautious estimate."""
        prompt = len(json.dumps(body["messages"])) // self.random.randint(5, 8)
        return {"prompt_tokens": prompt, "completion_tokens": self.random.randint(5, 200)}

    # ---- what may happen -----------------------------------------------------------------------

    def _any(self) -> str:
        return self.random.choice(ASSISTANTS)

    def _send(self) -> None:
        more = "word " * 600 if self.random.random() < 0.01 else ""
        way = self.random.choice(("whisper", "say"))
        self.world.send(self.random.choice(PLAYERS), self._any(), way, more)

    def _answer(self) -> None:
        self.world.answer(self._choose() or "answer", self.random.randrange(10))

    def _time(self) -> None:
        self.world.pass_time(self.random.choice((0.5, 2.0, 5.0, 10.0, 31.0, 61.0)))

    def _end_tool(self) -> None:
        self.world.end_tool(self.random.randrange(10), fails=self.random.random() < 0.3)

    def _decide(self) -> None:
        self.world.decide(self.random.choice(("yes", "y", "no", "perhaps", "drop")))

    def _clear(self) -> None:
        from evennia_ai import operations

        for key in ASSISTANTS:
            self.world.do(operations.clear, key, by="Tom")
            self.world.do(operations.set_enabled, key, True, by="Tom")

    def _stop(self) -> None:
        from evennia_ai import operations

        self.world.do(operations.stop, self._any(), "a test", by="Tom")

    def _stop_all(self) -> None:
        from evennia_ai import operations

        self.world.do(operations.stop_all, "", "a test", by="Tom")

    def _switch(self) -> None:
        from evennia_ai import operations

        self.world.do(operations.set_enabled, self._any(), self.random.random() < 0.5, by="Tom")

    def _reset(self) -> None:
        from evennia_ai import operations

        self.world.do(operations.reset_history, self._any(), by="Tom")

    def _hush(self) -> None:
        from evennia_ai import operations

        act = self.random.choice((operations.hush, operations.unhush))
        self.world.do(act, self._any(), self.world.people["Mira"])

    def _limit(self) -> None:
        safety = self.random.choice(SAFETY)
        execution = {
            "max_iterations_per_tick": self.random.choice((1, 2, 5)),
            "multi_action_enabled": self.random.random() < 0.8,
            "sub_agents_enabled": True,
        }
        self.world.set(self._any(), safety_config=dict(safety), execution_config=execution)

    def _raise_cap(self) -> None:
        from evennia_ai.budget import ledger
        from evennia_ai.core.safety.budget import BudgetAccount, period_of
        from evennia_ai.core.settings.budget import BudgetSpan, Scope

        key = self._any().casefold()
        account = BudgetAccount(
            Scope.ASSISTANT, key, period_of(BudgetSpan.DAY, self.world.clock.seconds())
        )
        ledger.raise_cap(ledger.Raise(account, "tokens_per_day", 50_000, "Tom"))

    # ---- the ledger ----------------------------------------------------------------------------

    def _look(self) -> None:
        from evennia_ai.models import BudgetTotal
        from tests.game.walks.accounts import check_ledger

        check_ledger()
        for row in BudgetTotal.objects.all():
            caps = CAPS[row.scope]
            tokens = row.prompt_tokens + row.completion_tokens + row.held_tokens
            is_day, is_minute = len(row.period) == 10, len(row.period) == 16
            over_tokens = is_day and tokens > caps["tokens_per_day"] + row.granted_tokens
            most_calls = caps.get("calls_per_minute", 10**9) + row.granted_calls
            if over_tokens or (is_minute and row.calls > most_calls):
                self.figures.over_cap += 1
                self.figures.broken.append(f"over a cap: {row.scope} {row.key} {row.period}")


def count_objects() -> int:
    """Return the number of objects that Python's collector tracks, after collecting garbage."""
    gc.collect()
    return len(gc.get_objects())


def rss_mb() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    """Run the night; the exit status is 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", nargs="*", default=(), help="what is not done, such as crash")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    reactor = install_reactor()
    with tempfile.TemporaryDirectory() as folder:
        set_up_game(Path(folder))
        from django.conf import settings

        # Small, so that this list is full when objects are first counted.
        settings.EVENNIA_AI_WEB_CONFIG = {"recorded_turns": RECORDED_TURNS}
        night = Night(make_world(reactor), Figures(arguments.events, arguments.seed))
        night.leave_out(arguments.without)
        figures = night.run()
    print(json.dumps(asdict(figures)) if arguments.json else figures)
    sys.stdout.flush()
    # Stops output of turns that are still under way.
    os._exit(1 if figures.broken else 0)


if __name__ == "__main__":
    main()
