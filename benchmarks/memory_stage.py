"""A game in which it is measured what remembering costs: people in a room, and assistants."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evennia.utils.create import create_account, create_object
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from benchmarks.memory_texts import PEOPLE, question, sentence
from benchmarks.scene import Lag, rss_bytes
from evennia_ai import preparation, services
from evennia_ai.core.inbox import Event
from evennia_ai.core.recollection import (
    WORLD,
    MemoryKind,
    Recollection,
    person_audience,
    place_audience,
)
from evennia_ai.core.turn import Turn
from evennia_ai.inbound import person_of
from evennia_ai.memory import rows
from evennia_ai.memory.port import Sought
from evennia_ai.operations import create_assistant
from evennia_ai.prompts.compose import compose
from evennia_ai.remembering import indexing, keeping, recalling
from tests.online import put_online

SEARCHES, ADDITIONS, PROMPTS = 150, 60, 60
LIMIT = 6
AT_ONCE = 50
PAUSE_SECONDS = 0.002


class Bench:
    """A game with a reactor that runs, and what is measured in it."""

    def __init__(self, folder: Path, crowd: int) -> None:
        room_class = "evennia.objects.objects.DefaultRoom"
        self.folder = folder
        self.room = create_object(room_class, "Library", nohome=True)
        self.people = []
        for number in range(PEOPLE):
            being = create_object(
                "evennia.objects.objects.DefaultCharacter", f"Tom{number}", self.room, nohome=True
            )
            being.account = create_account(f"Tom{number}", "", "password-of-a-benchmark")
            put_online(being, number + 1, being.account)
            self.people.append(being)
        self.one = self._assistant("Ada")
        self.crowd = [self._assistant(f"Ada{number}") for number in range(crowd)]
        self.numbers = itertools.count()
        self.lag = Lag(reactor)

    def _assistant(self, name: str) -> Any:
        made = create_assistant(name, location=self.room, persona="You keep the library.")
        assert made.ok, made.message
        return made.data["script"]

    def memory(self) -> Any:
        """Another memory: of one person alone, of the room, or of all."""
        number = next(self.numbers)
        person = person_of(self.people[number % PEOPLE])
        audience = (
            person_audience(person),
            place_audience("say", self.room.dbref),
            WORLD,
        )[number % 3]
        return Recollection(
            rows.new_key(),
            MemoryKind.FACT,
            sentence(number),
            audience,
            person=person,
            place=self.room.dbref,
            at=time.time() - number % 1000 * 3600,
        )

    def turn(self, number: int) -> Any:
        """A turn in which somebody whispers."""
        being = self.people[number % PEOPLE]
        event = Event(
            id=f"event{number}",
            kind="message",
            source="whisper",
            sender_id=being.dbref,
            sender_name=being.key,
            person=person_of(being),
            place=self.room.dbref,
            body=question(number),
            trust=0.9,
            rule=1,
            hops=0,
            at=time.time(),
        )
        return Turn(0, (event,))

    # ---- what is measured ----------------------------------------------------------------------

    def measure(self, row: Any, scripts: Sequence[Any], size: int) -> Iterator[Any]:
        """Fill, then add, find and make prompts; an inlineCallbacks generator."""
        yield from self._fill(row, scripts, size)
        for name, count, act in (
            ("add", ADDITIONS, self._add),
            ("search", SEARCHES, self._search),
            ("prompt", PROMPTS, self._prompt),
            ("without", PROMPTS, self._prompt_without),
        ):
            yield from self._time(row, name, count, scripts, act)
        row.store_mb, row.table_mb = self._disk("server/ai_memory"), self._disk("week.db3")
        gc.collect()
        row.rss_mb = round(rss_bytes() / 1e6, 1)

    def _fill(self, row: Any, scripts: Sequence[Any], size: int) -> Iterator[Any]:
        """As after an import: the table in one go, the store behind it."""
        self.lag.start()
        for script in scripts:
            missing = size - rows.of(script.pk).count()
            for first in range(0, missing, AT_ONCE):
                count = min(AT_ONCE, missing - first)
                rows.insert(script.pk, [self.memory() for _ in range(count)])
                yield deferLater(reactor, PAUSE_SECONDS, int)
            began = time.perf_counter()
            told = yield indexing.apply(script)
            row.fill_seconds += time.perf_counter() - began
            row.filled += told
        row.lag["filling"] = self.lag.stop()

    def _time(
        self, row: Any, name: str, count: int, scripts: Sequence[Any], act: Callable[..., Any]
    ) -> Iterator[Any]:
        yield act(scripts[0], 0)
        self.lag.start()
        taken = row.times[name] = []
        for number in range(count):
            began = time.perf_counter()
            yield act(scripts[number % len(scripts)], number)
            taken.append(time.perf_counter() - began)
            yield deferLater(reactor, PAUSE_SECONDS, int)
        row.lag[name] = self.lag.stop()

    def _add(self, script: Any, _: int) -> Any:
        """One memory, until it can be found."""
        keeping.keep(script, [self.memory()])
        return indexing.apply(script)

    def _search(self, script: Any, number: int) -> Any:
        event = self.turn(number).event
        audiences = recalling.seeker_of(script, self.turn(number)).audiences
        return services.memory().search(Sought(script.pk, event.body, audiences, LIMIT))

    def _prompt_without(self, script: Any, number: int) -> Any:
        """The same prompt where nothing is remembered."""
        composed(script, self.turn(number), recalling.NOTHING)

    def _prompt(self, script: Any, number: int) -> Any:
        return Deferred.fromCoroutine(self._composed(script, self.turn(number)))

    async def _composed(self, script: Any, turn: Any) -> int:
        """The whole prompt of a turn with what is recalled; its tokens."""
        recalled = await recalling.recall(script, turn)
        assert recalled.memories, recalled
        return composed(script, turn, recalled)

    def _disk(self, name: str) -> float:
        path = self.folder / name
        files = [path] if path.is_file() else [f for f in path.rglob("*") if f.is_file()]
        return round(sum(file.stat().st_size for file in files) / 1e6, 1)


def composed(script: Any, turn: Turn, recalled: recalling.Recalled) -> int:
    """Make the prompt of a turn. Returns its tokens."""
    client = script.client()
    scene = preparation.scene_of(script, client, preparation.context_of(turn), recalled)
    return int(compose(scene, turn, {}).tokens)
