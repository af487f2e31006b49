"""Rate limits: the turns that each person may cause, and the talks that go on.

Times are seconds of any one clock; every function takes the time as an argument.
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
# More seconds or messages than a clock or a list of this machine has.
_TOO_MANY = sys.maxsize
Some = Annotated[Whole, Field(ge=1, lt=_TOO_MANY)]
MaybeNone = Annotated[Whole, Field(ge=0, lt=_TOO_MANY)]
Seconds = Annotated[Number, Field(ge=0, lt=_TOO_MANY)]


class HearingConfig(SettingsGroup):
    """Limits on one person's requests, and the time for which things count. Units in names."""

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
    """The admission of a message to the queue."""

    YES = "queued"
    JOINS = "joined those waiting"
    LATER = "queued for the next minute"
    TOO_OFTEN = "calls_per_player"
    TOO_MANY_WAIT = "pending_per_player"

    @property
    def is_refusal(self) -> bool:
        """True for a message that is turned away."""
        return self in (Admission.TOO_OFTEN, Admission.TOO_MANY_WAIT)


@dataclass(slots=True)
class SenderStats:
    """An assistant's counts of one person: turns, answers and refusals.

    Attributes:
        turns: when the turns of the last minute began.
        turn_began: when the last one began.
        told: when the person was last turned away in words; -inf: never.
        told_later: when the person was last told to wait; -inf: never.
        refused_at: when a refusal was last counted; -inf: never.
        answered: messages answered so far.
        refused: how often the person was turned away, less what answers since made up for.
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
        """Decide on one more message. Its turn is counted when it begins.

        Args:
            waiting: messages of this person that wait already.
            joinable: those of them that one turn would answer together with this one.
            turns: how many turns all of them make.
            queued: turns of all players that wait for their next minute.
        """
        if waiting >= config.pending_per_player:
            self._count_refusal(now)
            return Admission.TOO_MANY_WAIT
        # A full batch takes no more, so that the next message has a turn of its own.
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
        """The number of so many waiting turns that have to wait for the next minute."""
        return min(turns, max(0, self.count(now) + turns - config.calls_per_player))

    def begin_turn(self, now: float) -> None:
        """A turn of this person begins, and counts."""
        self.count(now)
        self.turns.append(now)

    def count(self, now: float) -> int:
        """The number of turns this person had within the last minute."""
        # Those of a time to come are of a clock that was set back, and would count too long.
        self.turns = [at for at in self.turns if 0 <= now - at < MINUTE_SECONDS]
        return len(self.turns)

    def _count_refusal(self, now: float) -> None:
        """One burst is one refusal: at most one a minute counts."""
        if not 0 <= now - self.refused_at < MINUTE_SECONDS:
            self.refused += 1
            self.refused_at = now

    def count_answers(self, messages: int) -> None:
        """So many messages were answered; each makes up for one refusal of before."""
        self.answered += messages
        self.refused = max(0, self.refused - messages)

    def may_tell(self, now: float) -> bool:
        """True once a minute: then the person is told that it is too much. Counts as told."""
        if 0 <= now - self.told < MINUTE_SECONDS:
            return False
        self.told = now
        return True

    def may_tell_later(self, now: float) -> bool:
        """True once a minute: then the person is told to wait a moment. Counts as told."""
        if 0 <= now - self.told_later < MINUTE_SECONDS:
            return False
        self.told_later = now
        return True

    def minute_seconds(self, now: float, config: HearingConfig) -> float:
        """Seconds until one more turn of this person is within the minute's, 0 for not at all."""
        if self.count(now) < config.calls_per_player:
            return 0.0
        return self.turns[-config.calls_per_player] + MINUTE_SECONDS - now

    def wait_seconds(self, now: float, config: HearingConfig) -> float:
        """Seconds that the next turn of this person has to wait, 0 for not at all."""
        left = self.turn_began + config.cooldown_seconds - now
        # Never longer than one whole wait, also where the clock was set back.
        return max(0.0, min(left, config.cooldown_seconds))

    def standing(self, *, is_engaged: bool = False, is_muted: bool = False) -> Standing:
        """The same as the rules want it."""
        return _standing(is_muted, is_engaged, self.answered, self.refused)


@lru_cache(maxsize=4096)
def _standing(is_muted: bool, is_engaged: bool, answered: int, refused: int) -> Standing:
    return Standing(is_muted=is_muted, is_engaged=is_engaged, answered=answered, refused=refused)


@dataclass(slots=True)
class SenderRegistry:
    """Everybody an assistant has dealt with, at most `limit`, the one of longest ago first."""

    people: dict[str, SenderStats] = field(default_factory=dict)
    limit: int = 10_000

    def meet(self, person: str) -> SenderStats:
        """The acquaintance of that key; a new one may push out the one of longest ago."""
        # Taken out and put back, so that the one of longest ago stands first.
        known = self.people.pop(person, None)
        if known is None:
            known = SenderStats()
            if len(self.people) >= self.limit:
                del self.people[next(iter(self.people))]
        self.people[person] = known
        return known

    def as_stored(self) -> dict[str, list[int]]:
        """The counts that outlive a restart: answers and refusals."""
        return {
            person: [known.answered, known.refused]
            for person, known in self.people.items()
            if known.answered or known.refused
        }

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> SenderRegistry:
        """Read back what `as_stored` wrote; perhaps with more in it by another version."""
        rows = ((key, row[0], row[1]) for key, row in stored.items())
        return cls({key: SenderStats(answered=a, refused=r) for key, a, r in rows})


@dataclass(slots=True)
class ActiveConversations:
    """With whom an assistant is talking, one person a place, since when and until when."""

    by_place: dict[str, tuple[str, float, float]] = field(default_factory=dict)

    def begin(self, place: str, person: str, now: float, seconds: float) -> None:
        """The person was answered there; the talk may go on for so many seconds."""
        self.by_place.pop(place, None)
        self.by_place[place] = (person, now, now + seconds)
        while len(self.by_place) > 20:
            del self.by_place[next(iter(self.by_place))]

    def goes_on(self, place: str, person: str, now: float) -> bool:
        """True where this person's word goes on with the talk; anybody else's ends it."""
        engaged = self.by_place.get(place)
        if engaged is None:
            return False
        partner, began, until = engaged
        if partner == person and began <= now < until:
            return True
        del self.by_place[place]
        return False

    def end(self, place: str) -> None:
        """The talk there is over."""
        self.by_place.pop(place, None)
