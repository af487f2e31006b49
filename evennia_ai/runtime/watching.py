"""Changes of assistants, told to whoever watches: names of what is new, and never its words.

The newest changes are kept, so that whoever was away for a moment learns what was missed. With
nobody watching a change is one more entry of a short list.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from secrets import token_hex
from typing import NamedTuple

from django.conf import settings
from evennia.utils import logger

from evennia_ai.core.settings.services import WebConfig
from evennia_ai.engine.recording import Listener, TurnRing
from evennia_ai.errors import ConfigurationError

MOST_CHANGES = 500


class Change(NamedTuple):
    """Something is new: a turn began, went on or ended, or something of it is in the record.

    Attributes:
        number: counts the changes of this process, from 1.
        assistant: the name of the one that it is about; "game" for what is no single one's.
    """

    number: int
    assistant: str


Watcher = Callable[[Change], None]


class Feed:
    """The changes of this process, in order.

    Attributes:
        epoch: tells this process from the one before it.
        watchers: called at each change.
    """

    def __init__(self, most: int = MOST_CHANGES) -> None:
        self.epoch = token_hex(4)
        self.watchers: set[Watcher] = set()
        self.count = 0
        self._kept: deque[Change] = deque(maxlen=most)

    def tell(self, assistant: str) -> None:
        """Note that something is new, and tell whoever watches; whatever they do, it goes on."""
        self.count += 1
        change = Change(self.count, assistant)
        self._kept.append(change)
        # A copy: a watcher may leave while it is told.
        for watcher in tuple(self.watchers) if self.watchers else ():
            try:
                watcher(change)
            except Exception:
                self.watchers.discard(watcher)
                logger.log_trace("[assistant] a page that watches failed, and is told no more")

    @property
    def mark(self) -> str:
        """The place in the feed at this moment, by which `after` goes on from there."""
        return f"{self.epoch}-{self.count}"

    def after(self, mark: str) -> list[Change] | None:
        """The changes after a mark; None where it is another process's, or no mark at all."""
        epoch, _, number = mark.partition("-")
        # The length is bounded first, since `int` raises for thousands of digits.
        known = epoch == self.epoch and number.isascii() and number.isdigit() and len(number) < 16
        return self.since(int(number)) if known else None

    def since(self, number: int) -> list[Change] | None:
        """The changes after that of a number, in order; None where some of them are gone."""
        if number > self.count or number < self.count - len(self._kept):
            return None
        return [change for change in self._kept if change.number > number]


FEED = Feed()
# Told of each turn of an assistant, by its name, that has ended.
ENDED: list[Listener] = []


def web_config() -> WebConfig:
    """The game's settings of the workbench. One that makes no sense counts as not set."""
    try:
        return WebConfig.from_stored(getattr(settings, WebConfig.NAME, {}))
    except ConfigurationError:
        return WebConfig()


def ring_for(name: str) -> TurnRing:
    """The place for the last turns of an assistant, as the game's settings have it."""
    config = web_config()
    most = config.recorded_turns if config.enabled else 0
    tell = partial(FEED.tell, name)
    return TurnRing(most, config.recorded_characters, tell, name, ENDED)
