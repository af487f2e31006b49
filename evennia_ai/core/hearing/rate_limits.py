"""Rate limits: the turns that each person may cause, and conversations that are going on.

Times are in seconds of any one clock, passed to each function.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from pydantic import Field

from evennia_ai.core.hearing.perception import Standing
from evennia_ai.core.settings.model import Number, SettingsGroup, Whole, setting

MINUTE_SECONDS = 60.0
# Places where an assistant may be in conversation at one time; the oldest is dropped first.
MOST_PLACES = 20
# Larger numbers overflow a clock or a list.
_TOO_MANY = sys.maxsize
Some = Annotated[Whole, Field(ge=1, lt=_TOO_MANY)]
MaybeNone = Annotated[Whole, Field(ge=0, lt=_TOO_MANY)]
Seconds = Annotated[Number, Field(ge=0, lt=_TOO_MANY)]


class HearingConfig(SettingsGroup):
    """Limits on one person's requests, and for how long things count."""

    NAME: ClassVar[str] = "hearing_config"
    GAME_NAME: ClassVar[str] = "EVENNIA_AI_HEARING_CONFIG"

    calls_per_player: Some = setting(6, "turns a minute that one player may cause.")
    queued_per_player: MaybeNone = setting(
        2, "additional turns of one player that wait for the next minute; 0: none."
    )
    queued_turns: MaybeNone = setting(5, "the same for all players together.")
    pending_per_player: Some = setting(10, "messages of one player that may wait.")
    cooldown_seconds: Seconds = setting(
        1.0, "seconds from the start of a player's turn to the start of the next."
    )
    batch_seconds: Seconds = setting(
        0.1, "seconds that a first message waits for others of the same burst."
    )
    batch_messages: Some = setting(10, "messages of one player that one turn answers.")
    engagement_seconds: Seconds = setting(
        60.0, "seconds after an answer in which the person need not repeat the name; 0: none."
    )
    expires_seconds: Seconds = setting(
        900.0, "seconds after which a waiting message is no longer answered."
    )
    context_messages: MaybeNone = setting(20, "overheard messages that are kept.")
    context_characters: MaybeNone = setting(4000, "characters of these that are kept.")


class Admission(StrEnum):
    """Decisions about admitting a message to the queue."""

    YES = "queued"
    JOINS = "joined those waiting"
    LATER = "queued for the next minute"
    TOO_OFTEN = "calls_per_player"
    TOO_MANY_WAIT = "pending_per_player"

    @property
    def is_refusal(self) -> bool:
        """True for a message that is refused."""
        return self in (Admission.TOO_OFTEN, Admission.TOO_MANY_WAIT)


@dataclass(slots=True)
class SenderStats:
    """An assistant's counts for one person: turns, answers and refusals.

    Attributes:
        turns: start times of turns within the last minute.
        told: when the person was last told that they were refused; -inf for never.
        told_later: when the person was last told to wait; -inf for never.
        refused_at: when a refusal was last counted; -inf for never.
        refused: refusals so far, less the answers since.
    """

    turns: list[float] = field(default_factory=list)
    turn_began: float = -math.inf
    told: float = -math.inf
    told_later: float = -math.inf
    refused_at: float = -math.inf
    answered: int = 0
    refused: int = 0

    def admit(
        self,
        now: float,
        config: HearingConfig,
        *,
        waiting: int = 0,
        joinable: int = 0,
        turns: int = 0,
        queued: int = 0,
    ) -> Admission:
        """Decide whether to admit a message. Its turn is counted when it begins.

        Args:
            waiting: waiting messages of this person.
            joinable: those of them that one turn would answer together with this one.
            turns: number of turns that all of them need.
            queued: turns of all players that wait for their next minute.
        """
        if waiting >= config.pending_per_player:
            self._count_refusal(now)
            return Admission.TOO_MANY_WAIT
        # A full batch takes no more messages; the next one begins a turn of its own.
        if joinable % config.batch_messages:
            return Admission.JOINS
        later = self.later(now, config, turns + 1)
        if not later:
            return Admission.YES
        if later <= config.queued_per_player and queued < config.queued_turns:
            return Admission.LATER
        self._count_refusal(now)
        return Admission.TOO_OFTEN

    def later(self, now: float, config: HearingConfig, turns: int) -> int:
        """The number of these waiting turns that have to wait for the next minute."""
        return min(turns, max(0, self.count(now) + turns - config.calls_per_player))

    def begin_turn(self, now: float) -> None:
        """Count a turn of this person that begins."""
        self.count(now)
        self.turns.append(now)

    def count(self, now: float) -> int:
        """The number of turns within the last minute."""
        # Times in the future come from a clock that was set back, and would count for too long.
        self.turns = [at for at in self.turns if 0 <= now - at < MINUTE_SECONDS]
        return len(self.turns)

    def _count_refusal(self, now: float) -> None:
        """Count a refusal, at most one a minute: a burst is one refusal."""
        if not 0 <= now - self.refused_at < MINUTE_SECONDS:
            self.refused += 1
            self.refused_at = now

    def count_answers(self, messages: int) -> None:
        """Count answered messages; each makes up for one earlier refusal."""
        self.answered += messages
        self.refused = max(0, self.refused - messages)

    def may_tell(self, now: float) -> bool:
        """True once a minute: the person may be told of a refusal. Counts as told."""
        if 0 <= now - self.told < MINUTE_SECONDS:
            return False
        self.told = now
        return True

    def may_tell_later(self, now: float) -> bool:
        """True once a minute: the person may be told to wait. Counts as told."""
        if 0 <= now - self.told_later < MINUTE_SECONDS:
            return False
        self.told_later = now
        return True

    def minute_seconds(self, now: float, config: HearingConfig) -> float:
        """Seconds until this person may cause another turn; 0 for at once."""
        if self.count(now) < config.calls_per_player:
            return 0.0
        return self.turns[-config.calls_per_player] + MINUTE_SECONDS - now

    def wait_seconds(self, now: float, config: HearingConfig) -> float:
        """Seconds of cooldown left before this person's next turn; 0 for none."""
        # A turn in the future is from before the clock was set back, and holds up nothing.
        if now < self.turn_began:
            return 0.0
        return max(0.0, self.turn_began + config.cooldown_seconds - now)

    def standing(self, *, is_engaged: bool = False, is_muted: bool = False) -> Standing:
        """The counts in the form that the rules need."""
        return _standing(is_muted, is_engaged, self.answered, self.refused)


@lru_cache(maxsize=4096)
def _standing(is_muted: bool, is_engaged: bool, answered: int, refused: int) -> Standing:
    return Standing(is_muted=is_muted, is_engaged=is_engaged, answered=answered, refused=refused)


@dataclass(slots=True)
class SenderRegistry:
    """The people an assistant has dealt with: at most `limit`, the least recent first."""

    people: dict[str, SenderStats] = field(default_factory=dict)
    limit: int = 10_000

    def meet(self, person: str) -> SenderStats:
        """The counts of a person; a new person may push out the least recent one."""
        # Removing and reinserting keeps the dict in order of last use.
        known = self.people.pop(person, None)
        if known is None:
            known = SenderStats()
            if len(self.people) >= self.limit:
                del self.people[next(iter(self.people))]
        self.people[person] = known
        return known

    def as_stored(self) -> dict[str, list[int]]:
        """The counts that survive a restart: answers and refusals."""
        return {
            person: [known.answered, known.refused]
            for person, known in self.people.items()
            if known.answered or known.refused
        }

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> SenderRegistry:
        """Read what `as_stored` wrote; other versions may have stored more columns."""
        rows = ((key, row[0], row[1]) for key, row in stored.items())
        return cls({key: SenderStats(answered=a, refused=r) for key, a, r in rows})


@dataclass(slots=True)
class ActiveConversations:
    """Conversations that are going on: one person per place, with start and end."""

    by_place: dict[str, tuple[str, float, float]] = field(default_factory=dict)

    def begin(self, place: str, person: str, now: float, seconds: float) -> None:
        """Note an answer to the person there; the conversation may go on for some seconds."""
        self.by_place.pop(place, None)
        self.by_place[place] = (person, now, now + seconds)
        while len(self.by_place) > MOST_PLACES:
            del self.by_place[next(iter(self.by_place))]

    def goes_on(self, place: str, person: str, now: float) -> bool:
        """True if the person's line continues the conversation; anybody else's line ends it."""
        engaged = self.by_place.get(place)
        if engaged is None:
            return False
        partner, began, until = engaged
        if partner == person and began <= now < until:
            return True
        del self.by_place[place]
        return False

    def end(self, place: str) -> None:
        """End the conversation at a place."""
        self.by_place.pop(place, None)
