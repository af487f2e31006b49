"""Changes of assistants, announced to watchers by name only, without any words.

The newest changes are kept, so that a watcher who was away for a moment learns what was missed.
Without watchers a change is one more entry of a short list.
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

MOST_CHANGES = 500  # kept for watchers who come back


class Change(NamedTuple):
    """One change: a turn began, went on or ended, or something of it was recorded.

    Attributes:
        number: counts the changes of this process, from 1.
        assistant: its name; "game" for what concerns no single one.
    """

    number: int
    assistant: str


Watcher = Callable[[Change], None]


class Feed:
    """The changes of this process, in order.

    Attributes:
        epoch: distinguishes this process from earlier ones.
    """

    def __init__(self, most: int = MOST_CHANGES) -> None:
        self.epoch = token_hex(4)
        self.watchers: set[Watcher] = set()
        self.count = 0
        self._kept: deque[Change] = deque(maxlen=most)

    def tell(self, assistant: str) -> None:
        """Add a change, and call the watchers; their errors are logged."""
        self.count += 1
        change = Change(self.count, assistant)
        self._kept.append(change)
        # A copy, since a watcher may leave in its call.
        for watcher in tuple(self.watchers) if self.watchers else ():
            try:
                watcher(change)
            # A watcher that fails is dropped: it would fail at every change from now on.
            except Exception:
                self.watchers.discard(watcher)
                logger.log_trace("[assistant] a page that watches failed, and is told no more")

    @property
    def mark(self) -> str:
        """The current position in the feed, from which `after` continues."""
        return f"{self.epoch}-{self.count}"

    def after(self, mark: str) -> list[Change] | None:
        """The changes after a mark; None if it is malformed or of another process."""
        epoch, _, number = mark.partition("-")
        # The length is bounded, since `int` raises for thousands of digits.
        known = epoch == self.epoch and number.isascii() and number.isdigit() and len(number) < 16
        return self.since(int(number)) if known else None

    def since(self, number: int) -> list[Change] | None:
        """The changes after a number, in order; None where some of them are gone."""
        if number > self.count or number < self.count - len(self._kept):
            return None
        return [change for change in self._kept if change.number > number]


FEED = Feed()
# Called with the assistant's name and the recorded turn, at the end of each turn.
ENDED: list[Listener] = []


def web_config() -> WebConfig:
    """The game's settings of the workbench; settings that make no sense count as not set."""
    try:
        return WebConfig.from_settings(settings)
    except ConfigurationError:
        return WebConfig()


def ring_for(name: str) -> TurnRing:
    """The ring of an assistant's last turns, sized by the game's settings."""
    config = web_config()
    most = config.recorded_turns if config.enabled else 0
    tell = partial(FEED.tell, name)
    return TurnRing(most, config.recorded_characters, tell, name, ENDED)
