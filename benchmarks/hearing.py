"""Cost of hearing: of one judgement, and of one `say` in a room full of assistants.

    python -m benchmarks.hearing [--crowd 100] [--rounds 40] [--acquaintances 10000]

One room has assistants, another one as many plain characters, in one process. The same speaker says
the same line in both in turns, as Evennia's own `say` does. Times are CPU times, so that other
programs on the machine have little influence. A ratio is the median over the rounds of two
consecutive measurements.
"""

from __future__ import annotations

import argparse
import gc
import platform
import statistics
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scene import set_up_game
from evennia_ai.core.hearing.decision_traces import MOST_JUDGED, MOST_PASSED, DecisionTraces
from evennia_ai.core.hearing.perception import ChannelConfig, Ear, Evidence, Heard, Outcome, Source
from evennia_ai.core.hearing.rate_limits import SenderRegistry, SenderStats
from evennia_ai.core.hearing.rules import classify

LINE = "the fog is thick tonight, and the lamp wants oil"
CLASSIFY_AIM_MICROSECONDS = 5.0
CROWD_AIM = 1.5
FLAT_AIM = 1.1
SHORTEST_RUN_SECONDS = 0.05
RUNS = 7
FEW = 10


@dataclass(frozen=True)
class Row:
    """One line of the table: the measurement, its peer in the same run, and the aim."""

    name: str
    value: str
    peer: str
    ratio: float
    aim: float | None = None

    def __str__(self) -> str:
        aim, verdict = "", ""
        if self.aim is not None:
            aim, verdict = f"{self.aim:g}", "yes" if self.ratio <= self.aim else "NO"
        return (
            f"| {self.name} | {self.value} | {self.peer} | {self.ratio:.2f} | {aim} | {verdict} |"
        )


# ---- one judgement -----------------------------------------------------------------------------


def samples() -> dict[str, tuple[Heard, Ear]]:
    """Return one message for each rule worth timing, with the rule that must apply."""
    ear = Ear(("Ada", "keeper", "librarian"), "#7", channels={"public": ChannelConfig()})
    listening = Ear(
        ("Ada",), "#7", channels={"public": ChannelConfig(mode=Outcome.CONTEXT, trust=0.5)}
    )
    tom = {"sender_id": "#12", "sender_name": "Tom", "person": "*#3", "evidence": Evidence.OOB}
    return {
        "say for nobody: default": (Heard(LINE, Source.SAY, **tom), ear),
        "say that names her: direct_address": (Heard(f"@ada, {LINE}", Source.SAY, **tom), ear),
        "say that names another: default": (Heard(f"@bob, {LINE}", Source.SAY, **tom), ear),
        "whisper: direct_message": (Heard(LINE, Source.WHISPER, **tom), ear),
        "channel with a config: channel_config": (
            Heard(LINE, Source.CHANNEL, place="Public", **tom),
            listening,
        ),
        "channel without one: default": (Heard(LINE, Source.CHANNEL, place="Fog", **tom), ear),
    }


def time_classify(heard: Heard, ear: Ear) -> float:
    """Return the microseconds of one judgement: the best of several long runs."""
    timer = timeit.Timer(lambda: classify(heard, ear), timer=time.process_time)
    number = 1000
    while timer.timeit(number) < SHORTEST_RUN_SECONDS:
        number *= 2
    return min(timer.repeat(RUNS, number)) / number * 1e6


def classify_rows() -> Iterator[Row]:
    """Return the rows about single judgements, with their aim."""
    for name, (heard, ear) in samples().items():
        expected = name.rpartition(": ")[2]
        verdict = classify(heard, ear)
        if verdict.name != expected:
            raise SystemExit(f"{name}: rule {verdict.name} applied")
        micros = time_classify(heard, ear)
        aim = CLASSIFY_AIM_MICROSECONDS
        yield Row(f"classify, {name}", f"{micros:.2f} us", f"{aim:g} us", micros / aim, 1.0)


# ---- the two rooms -----------------------------------------------------------------------------


@dataclass
class Stage:
    """Two rooms with the same number of listeners, and a speaker in each."""

    assistants: list[Any]
    speaker: Any
    plain_speaker: Any
    channel: Any

    def set_all(self, **values: Any) -> None:
        """Set values on all assistants, and let them read these, as a running game would."""
        from evennia_ai.agent import ear_settings
        from evennia_ai.runtime import state

        for script in self.assistants:
            state.write(script, **values)
            ear_settings.read_ear(script)

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Remove the assistants' records within the block."""
        works = [script.work for script in self.assistants]
        decisions = [work.decisions for work in works]
        for work in works:
            work.decisions = DecisionTraces()
        yield
        for work, records in zip(works, decisions, strict=True):
            work.decisions = records

    def fill_records(self) -> None:
        """Fill the assistants' records and context buffers to their maximum."""
        for _ in range(MOST_PASSED):
            say(self.speaker)
        with self.following("context"):
            for _ in range(MOST_JUDGED):
                say(self.speaker)

    @contextmanager
    def following(self, mode: str) -> Iterator[None]:
        """Set the assistants' mode for the room and the channel within the block."""
        self.set_all(room_messages=mode, channel_configs={self.channel.key: mode})
        try:
            yield
        finally:
            self.set_all(room_messages="ignore", channel_configs={})


def build(crowd: int) -> Stage:
    """Make the database, the rooms and the listeners."""
    from django.conf import settings
    from django.core.management import call_command
    from django.db import transaction
    from evennia.comms.comms import DefaultChannel
    from evennia.objects.objects import DefaultCharacter, DefaultObject, DefaultRoom
    from evennia.utils.create import create_channel, create_object

    from evennia_ai.operations import create_assistant

    call_command("migrate", verbosity=0)
    limbo = create_object(DefaultObject, key="Limbo", nohome=True)
    settings.DEFAULT_HOME = f"#{limbo.id}"
    with transaction.atomic():
        rooms = [create_object(DefaultRoom, key=key, home=limbo) for key in ("Hall", "Yard")]
        speakers = [create_object(DefaultCharacter, "Tom", room, home=limbo) for room in rooms]
        scripts = []
        for number in range(crowd):
            result = create_assistant(
                f"Ada{number}", location=rooms[0], aliases=(f"keeper{number}",)
            )
            scripts.append(result.data.script)
            create_object(DefaultCharacter, f"Bob{number}", rooms[1], home=limbo)
        channel = create_channel("Public", typeclass=DefaultChannel)
        for script in scripts:
            channel.subscriptions.add(script.obj)
    return Stage(scripts, *speakers, channel)


def say(speaker: Any) -> None:
    """Do what Evennia's `say` command does after parsing its line."""
    speaker.at_say(LINE, msg_self=True)


def acquaint(stage: Stage, count: int) -> Callable[[], None]:
    """Prepare `count` known senders for each assistant, including the speaker.

    Returns:
        A function that gives the assistants these senders instead of their own.
    """
    from evennia_ai.messages import incoming

    others = {f"*#{number}": SenderStats(answered=3) for number in range(1, count)}
    person = incoming.person_of(stage.speaker)
    companies = []
    for _ in stage.assistants:
        known = dict(others)
        if count:
            known[person] = SenderStats(answered=5)
        companies.append(SenderRegistry(known))

    def take_over() -> None:
        for script, company in zip(stage.assistants, companies, strict=True):
            script.work.senders = company

    return take_over


def time_call(call: Callable[[], None]) -> float:
    """Return the CPU milliseconds of one call, with warm caches."""
    call()
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1000


def take_turns(contenders: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Measure each contender once a round, in the same order."""
    gc.collect()
    gc.freeze()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, measure in contenders.items():
            times[name].append(measure())
    return times


def compare(
    found: dict[str, list[float]], name: str, peer: str, aim: float | None = None, title: str = ""
) -> Row:
    """Return the row of one contender and a peer of the same rounds."""
    left, right = found[name], found[peer]
    ratio = statistics.median(mine / other for mine, other in zip(left, right, strict=True))
    shown = [f"{statistics.median(series):.2f} ms" for series in (left, right)]
    return Row(title or name, *shown, ratio, aim)


def time_after_beat(stage: Stage) -> float:
    """Return the CPU milliseconds of a say after which every assistant reads its settings again."""
    for script in stage.assistants:
        script.work.ear = None
    began = time.process_time()
    say(stage.speaker)
    return (time.process_time() - began) * 1000


def listen_in_turns(stage: Stage, rounds: int, many: int) -> dict[str, list[float]]:
    """Return the times of a say, for each state of the listeners that might slow it down."""
    knows = {count: acquaint(stage, count) for count in (0, FEW, many)}

    def heard(count: int, call: Callable[[], float]) -> Callable[[], float]:
        def measure() -> float:
            knows[count]()
            return call()

        return measure

    def ours() -> float:
        return time_call(lambda: say(stage.speaker))

    def plain() -> float:
        return time_call(lambda: say(stage.plain_speaker))

    def without_records() -> float:
        with stage.forgetting():
            return ours()

    stage.fill_records()
    contenders = {f"{count:,} known": heard(count, ours) for count in knows}
    contenders["no records"] = heard(0, without_records)
    contenders["after a beat"] = heard(0, lambda: time_after_beat(stage))
    times = take_turns({"plain": plain, **contenders}, rounds)
    with stage.following("context"):
        context = {"plain, again": plain, "context": heard(0, ours)}
        times |= take_turns(context, rounds)
    return times


def crowd_rows(stage: Stage, rounds: int, many: int) -> Iterator[Row]:
    """Return the rows about a say that all hear."""
    times = listen_in_turns(stage, rounds, many)
    size = len(stage.assistants)
    title, beside = f"say heard by {size} assistants", f"compared with {size} plain characters"
    none, few, lots = (f"{count:,} known" for count in (0, FEW, many))
    for name in (none, few, lots):
        yield compare(times, name, "plain", CROWD_AIM, f"{title}, {name}, {beside}")
    yield compare(times, "after a beat", "plain", None, f"{title}, settings read anew")
    yield compare(times, "context", "plain, again", None, f"{title}, kept as context")
    yield compare(times, none, "no records", FLAT_AIM, "growth: records full, compared with none")
    yield compare(times, few, none, FLAT_AIM, f"growth: {few}, compared with none")
    yield compare(times, lots, few, FLAT_AIM, f"growth: {lots}, compared with {FEW}")


# ---- statements --------------------------------------------------------------------------------


def statement_rows(stage: Stage) -> Iterator[Row]:
    """Return the rows about the SQL statements of one message that all assistants hear."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def count(call: Callable[[], None]) -> int:
        call()
        with CaptureQueriesContext(connection) as queries:
            call()
        return len(queries)

    def tell_channel() -> None:
        # Evennia logs a channel to a file in another thread, which would disturb the count.
        for script in stage.assistants:
            script.obj.channel_msg(LINE, stage.channel, senders=[stage.speaker])

    calls = {"say": lambda: say(stage.speaker), "channel message": tell_channel}
    plain = count(lambda: say(stage.plain_speaker))
    for mode in ("ignore", "context"):
        with stage.following(mode):
            for name, call in calls.items():
                before = stage.assistants[0].work.decisions.count
                statements = count(call)
                heard = stage.assistants[0].work.decisions
                records = heard.judged if mode == "context" else heard.passed
                if heard.count != before + 2 or mode != records[-1].verdict.outcome.value:
                    raise SystemExit(f"the {name} was not heard as {mode}")
                yield Row(
                    f"SQL statements, {name}, {mode}", f"{statements}", f"{plain}", statements, 0.0
                )


def main() -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crowd", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--acquaintances", type=int, default=10_000)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, median of {options.rounds} rounds\n")
    print("| | measured | compared with | ratio | aim | kept |\n|---|---|---|---|---|---|")
    for row in classify_rows():
        print(row, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        set_up_game(Path(folder), "http://127.0.0.1:1")
        stage = build(options.crowd)
        for row in crowd_rows(stage, options.rounds, options.acquaintances):
            print(row, flush=True)
        for row in statement_rows(stage):
            print(row, flush=True)


if __name__ == "__main__":
    main()
