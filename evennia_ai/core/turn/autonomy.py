"""Checks on whether a scheduler beat runs a tick, and the pace of unprompted acts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from evennia_ai.core.settings.model import Flag, Number, SettingsGroup, setting


class Skip(StrEnum):
    """Reasons why a beat passes without a tick."""

    EMERGENCY = "emergency_stop"
    DISABLED = "disabled"
    TICKING = "already_ticking"
    NOTHING_TO_DO = "nothing_to_do"


def may_tick(
    *,
    emergency_stop: bool,
    enabled: bool,
    is_ticking: bool,
    has_event: bool,
    has_reason: bool = False,
) -> Skip | None:
    """The first reason not to tick, in this order, or None to go on."""
    if emergency_stop:
        return Skip.EMERGENCY
    if not enabled:
        return Skip.DISABLED
    if is_ticking:
        return Skip.TICKING
    return None if has_event or has_reason else Skip.NOTHING_TO_DO


HOUR = 3600.0
# However often acts came to nothing, the next is tried within an hour.
LONGEST_WAIT_SECONDS = 3600.0


class ActReason(StrEnum):
    """Reasons for an act that nobody asked for."""

    GOAL = "goal"
    COMPANY = "company"


class AutonomyConfig(SettingsGroup):
    """The pace of acts that nobody asked for. Each act is a model call."""

    NAME: ClassVar[str] = "autonomy_config"

    seconds: Number = setting(
        300.0,
        "seconds between two actions; doubled after each one without a result, up to an hour.",
        ge=1,
    )
    acts_per_hour: Number = setting(6, "the most actions an hour, whatever there is to do.", ge=1)
    needs_company: Flag = setting(False, "whether goals wait until a player is near.")
    initiative: Flag = setting(
        False,
        "whether it may also speak without a goal, when a player is near and it has "
        "heard something since it last spoke.",
    )
    late_seconds: Number = setting(
        900, "seconds that a goal with a time may start late; later, it counts as missed.", ge=1
    )
    when_nobody_is_online: Flag = setting(
        False, "whether it works on its goals while no player is in the game, too."
    )


@dataclass(slots=True)
class Autonomy:
    """Unprompted acts so far. Kept in memory only: after a restart it waits its full time first.

    Attributes:
        acts: times in seconds on the assistant's clock; only those of the last hour count.
        began_at: when `is_due` was first asked, or None.
        looked_at: version of the goals whose times were last checked.
        look_after: when they have to be checked again.
    """

    acts: deque[float] = field(default_factory=lambda: deque(maxlen=1000))
    in_vain: int = 0
    began_at: float | None = None
    looked_at: int = -1
    look_after: float = 0.0

    def is_due(self, now: float, config: AutonomyConfig) -> bool:
        """True if enough time has passed since the last act."""
        if self.began_at is None:
            self.began_at = now
        last = self.acts[-1] if self.acts else self.began_at
        # The exponent is bounded first: 2.0 ** in_vain overflows after some thousand doublings.
        wait = min(LONGEST_WAIT_SECONDS, config.seconds * 2.0 ** min(self.in_vain, 30))
        # `seconds` may be set to more than the longest wait, and then holds. A last act in the
        # future is from before the clock was set back, and holds up nothing.
        return not 0 <= now - last < max(wait, config.seconds) and self.has_room(now, config)

    def has_room(self, now: float, config: AutonomyConfig) -> bool:
        """True if acts_per_hour leaves room for one more: the only limit for goals with a time."""
        return sum(1 for at in self.acts if 0 <= now - at < HOUR) < config.acts_per_hour

    def begin(self, now: float) -> None:
        """Note that an act begins."""
        self.acts.append(now)

    def end(self, *, did_something: bool) -> None:
        """Note the outcome of an act."""
        self.in_vain = 0 if did_something else self.in_vain + 1


def reason_to_act(
    config: AutonomyConfig,
    *,
    has_goal: bool,
    has_company: bool,
    has_heard: bool,
    is_anybody_online: bool,
) -> ActReason | None:
    """The reason to act unprompted now, or None.

    While nobody plays there is none, unless `when_nobody_is_online` is set.
    """
    may_act = has_company or is_anybody_online or config.when_nobody_is_online
    if has_goal and may_act and (has_company or not config.needs_company):
        return ActReason.GOAL
    if config.initiative and has_company and has_heard:
        return ActReason.COMPANY
    return None
