"""Cost of a tick with a long past, or with many tools, people or memories.

    python -m benchmarks.growth [--events 10000] [--rounds 150] [--only PART] [--profile]

One whisper is heard, thought over and answered, with a model in memory that answers at once. The
two sides of a row take turns in one process, and each pair is compared directly. Times are CPU
times of the reactor's thread, so that other programs on the machine have little influence; a ratio
is the median over the rounds. PART is past, offered, kept, people, memories or crowd.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import itertools
import json
import os
import platform
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scene import set_up_game

AIM = 1.1
FEW_EVENTS = 10
TICKS_WHILE_YOUNG = 5
WARM_UP = 20
# Not more often than the rate limits of hearing allow.
SECONDS_BETWEEN = 15
FEW_OPEN = 5
FEW_KEPT, MANY_KEPT = 10, 1000
FEW_IN_A_ROOM, MANY_IN_A_ROOM = 2, 100
# Enough to fill a prompt's share of memories, so that both sides have prompts of the same size.
FEW_MEMORIES = 50
_NUMBERS = itertools.count(1)
MOST_OFFERED = "40"
# While memory's thread searches, this one must not use CPU time by polling.
WAIT_SECONDS = 0.005
QUESTION = "where are the books about storms, and who keeps the key to the third case?"
ANSWER = "In the north gallery, third case. Brass keeps the key, and he is mending the stair."


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    few: float
    many: float
    ratio: float
    aim: float | None = AIM

    def __str__(self) -> str:
        aim = f"{self.aim:g}" if self.aim else ""
        verdict = ("yes" if self.ratio <= self.aim else "NO") if self.aim else ""
        times = f"{self.few * 1000:.2f} ms | {self.many * 1000:.2f} ms"
        return f"| {self.name} | {times} | {self.ratio:.2f} | {aim} | {verdict} |"


class ModelInMemory:
    """A model that whispers the same answer to Tom; without tools, it summarizes in one sentence.

    Attributes:
        last_request: the body of the newest request.
    """

    def __init__(self) -> None:
        arguments = json.dumps({"target": "Tom", "message": ANSWER})
        function = {"name": "whisper", "arguments": arguments}
        call = {"id": "call_1", "type": "function", "function": function}
        self._answer = _completion({"content": None, "tool_calls": [call]})
        self._summary = _completion({"content": "Tom asked for the books about storms."})
        self.last_request: Mapping[str, Any] = {}

    def post(self, body: Mapping[str, Any]) -> Any:
        """Answer one request, encoded in the game's thread; a real client does that in its own."""
        from twisted.internet.defer import succeed

        self.last_request = body
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        return succeed(self._answer if "whisper" in names else self._summary)


def _completion(message: Mapping[str, Any]) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    usage = {"prompt_tokens": 0, "completion_tokens": 0}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


class Stage:
    """A room with Tom and assistants.

    Attributes:
        first: an assistant that was chosen, or None.
    """

    def __init__(self) -> None:
        from evennia.objects.objects import DefaultCharacter, DefaultRoom
        from evennia.utils.create import create_object
        from twisted.internet.task import Clock

        from evennia_ai.runtime import services

        self._clock = Clock()
        self.model = ModelInMemory()
        services.pool().set_transport(services.endpoint(), self.model)
        self.first: Any = None
        self.room = create_object(DefaultRoom, "Library", nohome=True)
        self.tom = create_object(DefaultCharacter, "Tom", self.room, home=self.room)

    def assistant(self, past_events: int) -> Any:
        """Return an assistant that has heard and answered that many messages."""
        from evennia_ai.operations import create_assistant

        result = create_assistant(
            f"Ada{next(_NUMBERS)}", location=self.room, persona="A librarian."
        )
        assert result.ok, result.message
        script = result.data.script
        script.clock = self._clock
        for _ in range(past_events):
            self.tick(script)
        return script

    def tick(self, script: Any) -> float:
        """Run one whisper and its answer; return the seconds of CPU time."""
        from twisted.internet import reactor

        self._clock.advance(SECONDS_BETWEEN)
        before = script.work.calls
        began = time.thread_time()
        self.tom.at_say(QUESTION, receivers=[script.obj], whisper=True)
        while script.work.inbox or script.work.is_ticking:
            reactor.iterate(WAIT_SECONDS)  # type: ignore[attr-defined]
        took = time.thread_time() - began
        assert script.work.calls > before, "it did not answer"
        return took


def compare(few: Callable[[], float], many: Callable[[], float], rounds: int) -> list[float]:
    """Return the medians of both sides, and the median ratio."""
    pairs = []
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        pairs.append((few(), many()))
    gc.enable()
    firsts, seconds = zip(*pairs, strict=True)
    ratio = statistics.median(many / few for few, many in pairs)
    return [statistics.median(firsts), statistics.median(seconds), ratio]


class Young:
    """An assistant that has answered only a few times; replaced when it gets older."""

    def __init__(self, stage: Stage, past_events: int) -> None:
        self._stage, self._past_events = stage, past_events
        self._left, self._script = 0, None

    def tick(self) -> float:
        """Run one tick of a young assistant."""
        if not self._left:
            if self._script is not None:
                body = self._script.obj
                self._script.delete()
                body.delete()
            self._script = self._stage.assistant(self._past_events)
            self._left = TICKS_WHILE_YOUNG
        self._left -= 1
        return self._stage.tick(self._script)


def past(stage: Stage, events: int, rounds: int) -> list[Row]:
    """Compare few and many events in the past."""
    from evennia_ai.runtime import state

    old = stage.assistant(events)
    rows = []
    for few in (FEW_EVENTS, 100):
        young = Young(stage, few)
        figures = compare(young.tick, lambda: stage.tick(old), rounds)
        rows.append(Row(f"{few:,} or {events:,} events before", *figures))
    state.write(old, max_history=2000)
    for _ in range(700):
        stage.tick(old)
    young = Young(stage, FEW_EVENTS)
    figures = compare(young.tick, lambda: stage.tick(old), rounds)
    rows.append(Row("the same, and `max_history` 2,000 in place of 50", *figures, aim=None))
    return rows


def crowds() -> dict[int, dict[str, Any]]:
    """Return tools to register, by their number."""
    from evennia_ai.tools import TOOL_REGISTRY

    every = dict(TOOL_REGISTRY)
    more = {tool.name: tool for tool in map(_made_tool, range(200))}
    few = {name: every[name] for name in ("look", "say", "whisper", "page", "noop")}
    wanted = {count: dict(list((every | more).items())[:count]) for count in (40, 200)}
    return {len(few): few, **wanted}


def with_tools(stage: Stage, script: Any, tools: Mapping[str, Any]) -> Callable[[], float]:
    """Return a tick with only these tools registered."""
    from evennia_ai.tools import TOOL_REGISTRY

    def tick() -> float:
        TOOL_REGISTRY.clear()
        TOOL_REGISTRY.update(tools)
        return stage.tick(script)

    return tick


def offered(stage: Stage, rounds: int) -> list[Row]:
    """Compare few and many registered tools."""
    from evennia_ai.tools import TOOL_REGISTRY

    script, every, rows = stage.assistant(100), dict(TOOL_REGISTRY), []
    *fewer, (most, many) = crowds().items()
    for count, few in fewer:
        ticks = (with_tools(stage, script, tools) for tools in (few, many))
        name = f"{count} or {most} tools registered, {MOST_OFFERED} offered"
        rows.append(Row(name, *compare(*ticks, rounds)))
    TOOL_REGISTRY.clear()
    TOOL_REGISTRY.update(every)
    return rows


def _made_tool(number: int) -> Any:
    from evennia_ai.tools.base import FunctionTool

    def made(character: Any, place: str, hour: int = 0) -> str:
        """Tell when the tide turns in a harbour, or how the wind stands there.

        Args:
            place: name of a harbour that exists in the game.
            hour: of the day, 0 to 23.
        """
        return f"at {hour} in {place}"

    made.__name__ = f"made_{number}"
    return FunctionTool(made)


def kept(stage: Stage, rounds: int) -> list[Row]:
    """Compare few and many notes and reached goals, with the same number of open goals."""
    from evennia_ai.core.turn import goals
    from evennia_ai.runtime import state
    from evennia_ai.tools.notes import MOST_NOTES

    def busy(count: int) -> Any:
        script = stage.assistant(100)
        known: goals.StoredGoals = {}
        for _ in range(count - FEW_OPEN):
            known, number = goals.add(known, "find the Atlas of Lights")
            known = goals.close(known, number, goals.COMPLETED, "Brass had it")
        for _ in range(FEW_OPEN):
            known, _ = goals.add(known, "see to the lamps in the north gallery")
        notes = [
            {"number": n, "text": f"{n}: the third tread rocks", "person": "", "is_private": False}
            for n in range(max(1, count - MOST_NOTES), count)
        ]
        state.write(script, notes=notes, current_goals=known)
        return script

    few, many = busy(FEW_KEPT), busy(MANY_KEPT)
    figures = compare(lambda: stage.tick(few), lambda: stage.tick(many), rounds)
    return [Row(f"{FEW_KEPT} or {MANY_KEPT:,} notes and goals so far", *figures)]


def people(stage: Stage, rounds: int) -> list[Row]:
    """Compare few and many known players, each with a profile."""
    from evennia_ai.models import EntityProfile

    def known(count: int) -> Any:
        script = stage.assistant(20)
        at = script.clock.seconds()
        traits = [{"text": "fond of old maps", "audience": "world", "at": at}]
        EntityProfile.objects.bulk_create(
            EntityProfile(
                assistant=script.pk,
                entity=f"*#{10_000 + number}",
                entity_type="player",
                name=f"Player{number}",
                attributes=traits,
                first_at=at,
                last_at=at,
            )
            for number in range(count)
        )
        for number in range(count):
            script.work.senders.meet(f"*#{10_000 + number}").count_answers(1)
        return script

    few, many = known(FEW_KEPT), known(MANY_KEPT)
    figures = compare(lambda: stage.tick(few), lambda: stage.tick(many), rounds)
    return [Row(f"{FEW_KEPT} or {MANY_KEPT:,} known players", *figures)]


def memories(stage: Stage, rounds: int) -> list[Row]:
    """Compare few and many facts that everybody may know, half of them on the topic asked about."""
    from evennia_ai.core.memory.recollection import WORLD, MemoryKind, Recollection
    from evennia_ai.memory_store import rows

    def knowing(count: int) -> Any:
        script = stage.assistant(20)
        matters = ("a book about storms was lent to guest {}", "guest {} slept in the barn")
        texts = [matters[number % 2].format(number) for number in range(count)]
        at = script.clock.seconds()
        facts = [Recollection(rows.new_key(), MemoryKind.FACT, t, WORLD, at=at) for t in texts]
        rows.insert(script.pk, facts)
        # Found by words only: otherwise the benchmark would mainly measure the making of vectors.
        rows.mark_indexed(script.pk, rows.waiting(script.pk, count)[0], rows.NO_VECTOR)
        stage.tick(script)
        return script

    few, many = knowing(FEW_MEMORIES), knowing(MANY_KEPT)
    figures = compare(lambda: stage.tick(few), lambda: stage.tick(many), rounds)
    return [Row(f"{FEW_MEMORIES} or {MANY_KEPT:,} memories", *figures)]


def crowd(stage: Stage, rounds: int) -> list[Row]:
    """Compare few and many assistants in one room, one of which is whispered to."""
    few, many = Stage(), Stage()
    for room, count in ((few, FEW_IN_A_ROOM), (many, MANY_IN_A_ROOM)):
        for _ in range(count):
            room.first = room.assistant(0)
        for _ in range(20):
            room.tick(room.first)
    ticks = (lambda: few.tick(few.first), lambda: many.tick(many.first))
    figures = compare(*ticks, rounds)
    return [Row(f"{FEW_IN_A_ROOM} or {MANY_IN_A_ROOM} assistants in a room", *figures)]


def show_profile(stage: Stage, name: str, tick: Callable[[], object]) -> None:
    """Print the profile of 200 ticks."""
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(200):
        tick()
    profile.disable()
    print(f"\n{name}, request of {len(json.dumps(stage.model.last_request)):,} bytes")
    pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


PARTS: Mapping[str, Callable[..., list[Row]]] = {
    made.__name__: made for made in (past, offered, kept, people, memories, crowd)
}


def main() -> None:
    """Make a game, measure, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--only", choices=PARTS, help="one part of the table")
    parser.add_argument("--profile", action="store_true", help="show where the time goes instead")
    options = parser.parse_args()
    os.environ["EVENNIA_AI_MAX_TOOLS_OFFERED"] = MOST_OFFERED
    with tempfile.TemporaryDirectory() as folder:
        set_up_game(Path(folder), "http://127.0.0.1:9")
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        stage = Stage()
        if options.profile:
            old = stage.assistant(options.events)
            show_profile(stage, "old", lambda: stage.tick(old))
            for name, tools in crowds().items():
                show_profile(stage, f"{name} tools", with_tools(stage, old, tools))
            return
        stage.assistant(WARM_UP)
        parts = [options.only] if options.only else PARTS
        rows = []
        for part in parts:
            given = (options.events,) if part == "past" else ()
            rows += PARTS[part](stage, *given, options.rounds)
    print(f"Python {platform.python_version()}, medians of {options.rounds}")
    print("| | few | many | ratio | aim | |\n|---|---|---|---|---|---|")
    print("\n".join(map(str, rows)))


if __name__ == "__main__":
    main()
