"""Participants in the soak of two games: a model that counts, players, and owners."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from tests.fakes.answers import compose_completion, compose_reply
from tests.fakes.behaviour import Behaviour
from tests.game.consolidation.sleep_model import answer_to, kind_of
from tests.journeys.clients import Player
from tests.journeys.worker_bed import Bed
from tests.journeys.worker_nights import fall_asleep, morning

ECHO_SECONDS, ANSWER_SECONDS = 30.0, 180.0
LOOK_SECONDS = 1.0
MOST_WANTED = 6
SPENT = "stifles a yawn"  # the beginning of a refusal because of a cap
WAITS = (0.0, 0.0, 0.0, 0.05, 0.3)
SPARE = 300  # the first number of a pair counts up to this before the second one rises


class Till:
    """A model that counts what it should be paid for.

    Attributes:
        given: the tokens of prompt and answer of each call; no two pairs are equal.
    """

    def __init__(self, seed: int) -> None:
        self.given: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self._random = random.Random(seed)

    def answer(self, body: dict[str, Any]) -> bytes:
        """Answer after a moment, in which the caller may be killed."""
        with self._lock:
            number, wait = len(self.given), self._random.choice(WAITS)
            cost = SPARE + number % SPARE, 1 + number // SPARE
            self.given.append(cost)
        time.sleep(wait)
        usage = {"prompt_tokens": cost[0], "completion_tokens": cost[1], "total_tokens": sum(cost)}
        if kind_of(body) == "turn":
            reply = compose_completion(body, Behaviour(usage=usage), number)
        else:
            reply = {**json.loads(answer_to(body)), "usage": usage}
        return json.dumps(reply).encode()


class Site:
    """A game of the soak, as its people see it.

    Attributes:
        starts: number of restarts of its server.
        is_up: set while it runs.
        broken: violated invariants, in words.
    """

    def __init__(self, name: str, bed: Bed) -> None:
        self.name, self.bed = name, bed
        self.starts = 0
        self.is_up = threading.Event()
        self.is_up.set()
        self.broken: list[str] = []


class Visitor(threading.Thread):
    """A person on telnet, who takes the character again after each start of the server."""

    def __init__(self, site: Site, player: Player, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.site, self.player = site, player
        self._starts = site.starts

    def run(self) -> None:
        """Do the visitor's task."""
        try:
            self.visit()
        except Exception as error:
            self.site.broken.append(f"{type(self).__name__}: {type(error).__name__}: {error}")

    def visit(self) -> None:
        """The visitor's task."""
        raise NotImplementedError

    def is_disturbed(self) -> bool:
        """Return whether the server was restarted since the last call; logs in again if so."""
        if self.site.is_up.is_set() and self._starts == self.site.starts:
            return False
        while True:
            self.site.is_up.wait()
            starts = self.site.starts
            try:
                self.player.come_back()
            except AssertionError:
                if starts == self.site.starts and self.site.is_up.is_set():
                    raise
                continue
            self._starts = starts
            return True

    def sees(self, pattern: str, seconds: float = LOOK_SECONDS) -> bool:
        """Return whether a pattern appears within some seconds."""
        try:
            self.player.expect(pattern, seconds)
        except AssertionError:
            return False
        return True


class Talker(Visitor):
    """A player who says one thing after the other, and waits for the answer to each.

    Attributes:
        heard: messages that the game accepted, in its words; each has to be answered.
        unheard: messages that it did not confirm, since its server was just killed.
    """

    def __init__(self, site: Site, player: Player, name: str, numbers: Iterator[int]) -> None:
        super().__init__(site, player, name)
        self._numbers = numbers
        self.heard: list[str] = []
        self.unheard: list[str] = []

    def visit(self) -> None:
        """Say everything."""
        for number in self._numbers:
            tries = 0
            while not self._say(f"Lamp {number} of {self.name} burns, {tries}"):
                tries += 1

    def _say(self, words: str) -> bool:
        """Say something. Returns whether the game took it."""
        self.is_disturbed()
        since = len(self.player.transcript)
        self.player.send(f"whisper ada = {words}")
        ends = time.monotonic() + ECHO_SECONDS
        while not self.sees(f'You whisper to Ada, "{words}'):
            if self.is_disturbed() or time.monotonic() > ends:
                self.unheard.append(words)
                return False
        self.heard.append(words)
        ends = time.monotonic() + ANSWER_SECONDS
        # The answer may arrive while the character is taken again.
        while compose_reply(words) not in self.player.transcript[since:]:
            self.sees(compose_reply(words))
            if not self.is_disturbed() and time.monotonic() > ends:
                print(f"{time.strftime('%H:%M:%S')} lost: {words}", file=sys.stderr)
                break
        return True


class Sleeper(Visitor):
    """The owner of a game, who lets one assistant have one night after another.

    Attributes:
        nights: result of each.
        broken_off: nights whose beginning or end nobody saw, since the server was killed.
    """

    def __init__(self, site: Site, player: Player, who: str, is_over: threading.Event) -> None:
        super().__init__(site, player, f"the owner of {site.name}")
        self._who, self._is_over = who, is_over
        self.nights: list[dict[str, Any]] = []
        self.broken_off = 0

    def visit(self) -> None:
        """Start one night after another."""
        while not self._is_over.is_set():
            self.is_disturbed()
            try:
                fall_asleep(self.player, self._who)
                self.nights.append(self._morning())
            except AssertionError:
                if not self.is_disturbed():
                    raise
                self.broken_off += 1

    def _morning(self) -> dict[str, Any]:
        while True:
            try:
                return morning(self.site.bed, self.player, self._who)
            except AssertionError:
                if not self.is_disturbed():
                    raise


class Wanting(threading.Thread):
    """A player who asks for more than the cap allows.

    Attributes:
        refused: messages that were refused in words.
    """

    def __init__(self, talker: Talker) -> None:
        super().__init__(daemon=True)
        self._talker = talker
        self.refused = 0

    def run(self) -> None:
        """Ask, and check that it is answered or refused in words."""
        talker = self._talker
        talker.is_disturbed()
        for number in range(MOST_WANTED):
            words = f"Room {number} of {talker.name} is wanted"
            talker.player.send(f"whisper ada = {words}")
            talker.sees(f"{compose_reply(words)}|{SPENT}", 10.0)
        self.refused = talker.player.count(SPENT)


class Shared:
    """An iterator of numbers that several threads share."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers, self._lock = numbers, threading.Lock()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        with self._lock:
            return next(self._numbers)
