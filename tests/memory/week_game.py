"""The game of the scripted week: two rooms, five players, and Ada, on a real reactor.

Ada's clock is moved by hand; threads take real time, and are waited for.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import evennia
from django.conf import settings
from evennia.utils.create import create_account, create_object
from twisted.internet import reactor
from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.task import Clock, deferLater

from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.memory.recollection import WORLD
from evennia_ai.core.turn.turn import Turn
from evennia_ai.memory import indexing, lore, modes, recalling, telling
from evennia_ai.messages.incoming import person_of
from evennia_ai.operations import create_assistant
from evennia_ai.runtime import services, state
from evennia_ai.testing import put_online
from tests.memory.week_judge import leaks
from tests.memory.week_model import WeekModel
from tests.memory.week_script import (
    DAYS,
    LIBRARY,
    LORE,
    OPEN,
    PAGE,
    PLAYERS,
    TAVERN,
    WHISPER,
    Question,
    Told,
    week,
)

# A Monday.
MIDNIGHT = datetime(2026, 11, 23, tzinfo=UTC).timestamp()
DAY_SECONDS = 86_400
BED_HOUR, NIGHT_HOURS, NIGHT_BEAT_SECONDS = 23, 7, 120
MOST_SECONDS = 20.0
LOOK_SECONDS = 0.001
MANNERS = {
    "batch_seconds": 0,
    "cooldown_seconds": 0,
    "engagement_seconds": 0,
    "calls_per_player": 10**9,
    "pending_per_player": 1000,
    "batch_messages": 1,
}
# A timer in real time would make each week differ.
NO_TIMER_SECONDS = 100_000
NIGHTS = {
    "enabled": True,
    "sleep_start_hour": BED_HOUR,
    "sleep_duration_hours": NIGHT_HOURS,
    "tick_rate_sleep": NIGHT_BEAT_SECONDS,
    "min_activity": 0,
}


class WeekGame:
    """The game, and the week that is played in it.

    Attributes:
        script: Ada's.
        model: the transport that answers for a model.
        nights: `db.last_night` after each night.
        said, prompts: the numbers of messages sent and of prompts checked.
        leaking: private words of others that were found in prompts.
        seconds, night_seconds: the durations of days and nights.
    """

    def __init__(self, seed: int) -> None:
        self.nights: list[dict[str, Any]] = []
        self.said = self.prompts = 0
        self.leaking: list[str] = []
        self.seconds = self.night_seconds = 0.0
        self._week = week(seed)
        self.clock = Clock()
        self.clock.rightNow = MIDNIGHT
        self.rooms, self.people = _make_people()
        self.script = _make_assistant(self.rooms[LIBRARY], self.clock)
        self.model = WeekModel()
        _let_answer(self.model)

    @inlineCallbacks
    def live(self) -> Iterator[Any]:
        """Play the week, with its nights."""
        for day in range(DAYS):
            began = reactor.seconds()
            for speech in self._week:
                if speech.at // DAY_SECONDS == day:
                    yield self._tell(speech)
            yield indexing.apply(self.script)
            self.seconds, began = self.seconds + reactor.seconds() - began, reactor.seconds()
            yield self._night(day)
            self.night_seconds += reactor.seconds() - began

    @inlineCallbacks
    def _tell(self, told: Told) -> Iterator[Any]:
        self.advance_to(MIDNIGHT + told.at)
        self.gather(told.place)
        self.people[told.player].execute_cmd(_line(told))
        self.said += 1
        yield self.settle()
        self.clock.advance(1)
        yield self.settle()
        self._look(told)

    def _look(self, told: Told) -> None:
        """Check the prompts for this player for secrets of others."""
        prompts, self.model.prompts = self.model.prompts, []
        self.prompts += len(prompts)
        for secret in leaks(told.player, WHISPER, prompts):
            self.leaking.append(f"a prompt for {told.player}: {secret.player}: {secret.text}")

    @inlineCallbacks
    def _night(self, day: int) -> Iterator[Any]:
        """Let her fall asleep by her schedule, and sleep until she wakes by herself."""
        self.gather(LIBRARY)
        self.advance_to(MIDNIGHT + day * DAY_SECONDS + BED_HOUR * 3600 + 1)
        was_asleep = False
        for _ in range(NIGHT_HOURS * 3600 // NIGHT_BEAT_SECONDS + 10):
            self.script.at_repeat()
            yield self.settle()
            is_asleep = modes.is_asleep(self.script)
            if was_asleep and not is_asleep:
                break
            was_asleep = is_asleep
            self.clock.advance(NIGHT_BEAT_SECONDS)
        assert was_asleep, f"night {day + 1}: she did not fall asleep"
        assert not modes.is_asleep(self.script), f"night {day + 1}: she did not wake"
        yield indexing.apply(self.script)
        self.nights.append(dict(state.read(self.script, "last_night") or {}))

    def ask(self, question: Question) -> Deferred[tuple[list[str], list[str]]]:
        """Return the lines that a question brings: as known, and as hearsay."""
        self.gather(question.place)
        being = self.people[question.player]
        event = Event(
            id="question",
            kind="message",
            source=question.way,
            sender_id=being.dbref,
            sender_name=being.key,
            person=person_of(being),
            place=self.rooms[question.place].dbref,
            body=question.text,
            trust=0.9,
            rule=1,
            hops=0,
            at=self.clock.seconds(),
        )
        recalling_it = Deferred.fromCoroutine(recalling.recall(self.script, Turn(0, (event,))))
        return recalling_it.addCallback(_told_lines)

    def advance_to(self, seconds: float) -> None:
        """Move her clock on."""
        self.clock.advance(max(0.0, seconds - self.clock.seconds()))

    def gather(self, place: str) -> None:
        """Move everybody to a room."""
        room = self.rooms[place]
        for being in (*self.people.values(), self.script.obj):
            if being.location is not room:
                being.move_to(room, quiet=True, move_hooks=False)

    @inlineCallbacks
    def settle(self) -> Iterator[Any]:
        """Wait until she has nothing under way."""
        ends_at = reactor.seconds() + MOST_SECONDS
        yield deferLater(reactor, 0, int)
        while self._is_busy():
            assert reactor.seconds() < ends_at, "she did not come to an end"
            yield deferLater(reactor, LOOK_SECONDS, int)

    def _is_busy(self) -> bool:
        work = self.script.work
        running: tuple[Deferred[Any] | None, ...] = (work.in_flight, work.resting, work.compacting)
        return bool(work.inbox or work.is_ticking or any(one and not one.called for one in running))


def _told_lines(recalled: Any) -> tuple[list[str], list[str]]:
    """Return the lines of a prompt, known ones and hearsay apart; people come first."""
    known, _, heard = recalled.memories.partition(telling.RUMOURS)
    assert not recalled.problem, recalled.problem
    entities = recalled.entities.splitlines()
    return [*entities, *known.splitlines()], heard.splitlines()[1:]


def _line(told: Told) -> str:
    """Return the line that the player types."""
    return {
        WHISPER: f"whisper Ada = {told.text}",
        PAGE: f"page Ada = {told.text}",
        OPEN: f"say {told.text}",
    }.get(told.way, f"say @ada {told.text}")


def _make_people() -> tuple[dict[str, Any], dict[str, Any]]:
    evennia.SESSION_HANDLER.data_out = lambda *arguments, **more: None
    room = "evennia.objects.objects.DefaultRoom"
    limbo = create_object(room, "Limbo", nohome=True)
    settings.DEFAULT_HOME = f"#{limbo.id}"
    rooms = {name: create_object(room, name, nohome=True) for name in (LIBRARY, TAVERN)}
    people = {}
    for number, name in enumerate(PLAYERS, 1):
        being = create_object("evennia.objects.objects.DefaultCharacter", name, rooms[LIBRARY])
        account = create_account(name, "", "password-of-a-test")
        account.permissions.clear()
        being.account = account
        being.cmdset.add(AssistantCmdSet)
        put_online(being, number, being.account)
        people[name] = being
    return rooms, people


def _make_assistant(room: Any, clock: Any) -> Any:
    result = create_assistant("Ada", location=room, persona="You keep the library.")
    assert result.ok, result.message
    script = result.data.script
    script.clock = clock
    state.write(
        script,
        hearing_config=MANNERS,
        room_messages="trigger",
        sleep_schedule=NIGHTS,
        tick_rate=NO_TIMER_SECONDS,
    )
    script.at_start()
    for words, text in LORE:
        lore.add(text, keywords=words, audience=WORLD, at=MIDNIGHT)
    return script


def _let_answer(model: Any) -> None:
    services.pool().set_transport(services.endpoint(), model)
