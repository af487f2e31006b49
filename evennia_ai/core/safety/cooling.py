"""Cooling off: failures attributed to one person, and failures that lock an assistant.

A failure that a request may have caused counts against the person who asked, who has to wait twice
as long each time. It locks the assistant for everybody only if several people cause it. Times are
in seconds of any one clock, passed to each function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.safety.monitor import is_error_limit_reached
from evennia_ai.core.settings.safety import Cooling, CoolingMode

NOBODY = ""
# Cases that are stored; the oldest is dropped first.
MOST_PEOPLE = 100


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a turn, as far as it matters here.

    Attributes:
        person: the person who asked; NOBODY for a turn of its own, and for a failure that no
            request can have caused.
        is_failure: whether the person who waits got no answer.
        is_counted: whether a failure is one more error in a row.
        cause: why the assistant would have to be locked, or None.
        is_shared: whether that cause concerns everybody, whoever asked.
        may_lock: False for trouble that passes by itself: the person waits, but nothing is locked.
        is_person: False for another assistant, through which one person could count twice.
    """

    person: str
    is_failure: bool = False
    is_counted: bool = False
    cause: Cause | None = None
    is_shared: bool = False
    is_person: bool = True
    may_lock: bool = True


@dataclass(frozen=True, slots=True)
class Consequences:
    """Consequences of the end of a turn.

    Attributes:
        errors: failed turns in a row that count towards a lockout.
        locks: why the assistant is locked, or None.
        cools: seconds that the person has to wait from here on; 0 for none.
        people: the people who caused the lockout, including the person of this turn.
    """

    errors: int
    locks: Cause | None = None
    cools: float = 0.0
    people: tuple[str, ...] = ()


@dataclass(slots=True)
class Case:
    """The record of one person's failures.

    Attributes:
        failed: failed turns of this person in a row.
        times: number of waits, each begun within the window after the previous one.
        until: when the last wait ends.
        at: when the last wait began.
        causes: what would have locked the assistant, and when it last occurred.
    """

    failed: int = 0
    times: int = 0
    until: float = 0.0
    at: float = 0.0
    causes: dict[str, float] = field(default_factory=dict)

    def is_over(self, now: float, window: float) -> bool:
        """True if nothing in it matters any more."""
        newest = max(self.at, *self.causes.values(), 0.0)
        return not self.failed and self.until <= now and not 0 <= now - newest <= window


@dataclass(slots=True)
class Blame:
    """All failures on record.

    Attributes:
        people: cases by person, at most `MOST_PEOPLE`, the least recent first.
        run: failed turns since the last successful one, by person.
        errors: their total as last reported.
    """

    people: dict[str, Case] = field(default_factory=dict)
    run: dict[str, int] = field(default_factory=dict)
    errors: int = 0

    def seconds_left(self, person: str, now: float, config: Cooling) -> float:
        """Seconds that a person still has to wait; 0 for none."""
        case = self.people.get(person)
        if case is None or config.mode is CoolingMode.LOCK:
            return 0.0
        # If the clock was set back, nobody waits longer than the longest wait.
        return max(0.0, min(case.until - now, config.longest_seconds))

    def waiting(self, now: float, config: Cooling) -> dict[str, float]:
        """The people who have to wait, with the seconds left."""
        waits = {person: self.seconds_left(person, now, config) for person in self.people}
        return {person: seconds for person, seconds in waits.items() if seconds}

    def recall(self, errors: int) -> None:
        """Adopt a count that was set elsewhere or stored by another version; it blames nobody."""
        if errors != self.errors:
            self.errors = errors
            self.run = {NOBODY: errors} if errors else {}

    def judge(self, ended: Ended, now: float, config: Cooling, most: int) -> Consequences:
        """Record the end of a turn, and return its consequences.

        Args:
            most: errors in a row that lock the assistant.
        """
        if not ended.is_failure:
            # Whoever was answered, it shows that the assistant works.
            self.run.clear()
            if ended.person in self.people:
                self.people[ended.person].failed = 0
        elif ended.is_counted:
            self._note_failure(ended)
        self.errors = self._error_count(config, max(1, most))
        if ended.cause is not None:
            return self._judge_cause(ended, ended.cause, now, config)
        if not (ended.is_failure and ended.is_counted):
            return Consequences(self.errors)
        if ended.may_lock and is_error_limit_reached(self.errors, most):
            people = tuple(filter(None, self.run))
            return Consequences(self.errors, Cause.CONSECUTIVE_ERRORS, people=people)
        is_again = ended.person and self._case(ended.person).failed >= share_of(most)
        return Consequences(
            self.errors, cools=self._make_wait(ended.person, now, config) if is_again else 0.0
        )

    def _judge_cause(self, ended: Ended, cause: Cause, now: float, config: Cooling) -> Consequences:
        person = ended.person
        if ended.is_shared or not person or config.mode is CoolingMode.LOCK:
            return Consequences(self.errors, cause, people=(person,) if person else ())
        if ended.is_person:
            self._case(person).causes[cause.value] = now
        # Several people, because a single request could otherwise switch the assistant off for
        # everybody.
        people_met = tuple(
            other
            for other, case in self.people.items()
            if 0 <= now - case.causes.get(cause.value, float("-inf")) <= config.window_seconds
        )
        if ended.is_person and len(people_met) >= config.people:
            return Consequences(self.errors, cause, people=people_met)
        return Consequences(self.errors, cools=self._make_wait(person, now, config))

    def _note_failure(self, ended: Ended) -> None:
        person = ended.person
        if ended.is_person and ended.may_lock:
            self.run[person] = self.run.get(person, 0) + 1
        if person:
            self._case(person).failed += 1

    def _error_count(self, config: Cooling, most: int) -> int:
        """Failed turns in a row; one person counts for at most half of what locks, rounded up."""
        if config.mode is CoolingMode.LOCK:
            return sum(self.run.values())
        own = self.run.get(NOBODY, 0)
        laid = [min(times, share_of(most)) for person, times in self.run.items() if person]
        is_enough = own or len(laid) >= config.people
        # One person alone never reaches the number that locks.
        return own + sum(laid) if is_enough else min(sum(laid), most - 1)

    def _case(self, person: str) -> Case:
        # Removing and reinserting keeps the dict in order of last use.
        case = self.people.pop(person, None) or Case()
        self.people[person] = case
        while len(self.people) > MOST_PEOPLE:
            del self.people[next(iter(self.people))]
        return case

    def _make_wait(self, person: str, now: float, config: Cooling) -> float:
        """Make a person wait, each time twice as long, up to a limit."""
        if config.mode is CoolingMode.LOCK:
            return 0.0
        case = self._case(person)
        is_again = 0 <= now - case.at <= config.window_seconds + config.longest_seconds
        case.times = case.times + 1 if is_again else 1
        # The exponent is bounded first: 2.0 ** times would overflow.
        doubled = config.first_seconds * 2.0 ** min(case.times - 1, 60)
        seconds = min(doubled, config.longest_seconds)
        case.at, case.until = now, now + seconds
        return seconds

    def as_stored(self, now: float, config: Cooling) -> dict[str, Any]:
        """Plain data for the database, {} if there is nothing; cases that are over are left out."""
        window = config.window_seconds + config.longest_seconds
        self.people = {
            person: case for person, case in self.people.items() if not case.is_over(now, window)
        }
        if not self.people and not self.run:
            return {}
        rows = {
            person: [case.failed, case.times, case.until, case.at, dict(case.causes)]
            for person, case in self.people.items()
        }
        return {"people": rows, "run": dict(self.run), "errors": self.errors}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Blame:
        """Read back what `as_stored` wrote."""
        people = {
            person: Case(failed, times, until, at, dict(causes))
            for person, (failed, times, until, at, causes) in stored.get("people", {}).items()
        }
        return cls(people, dict(stored.get("run", {})), int(stored.get("errors", 0)))


def share_of(most: int) -> int:
    """Errors in a row that one person counts for at most; after as many that person has to wait."""
    return -(-max(1, most) // 2)


def in_words(seconds: float) -> str:
    """A waiting time in a character's words: "a minute", "20 minutes", "an hour"."""
    minutes = max(1, round(seconds / 60))
    if minutes == 1:
        return "a minute"
    if minutes < 60:
        return f"{minutes} minutes"
    hours = round(minutes / 60)
    return "an hour" if hours == 1 else f"{hours} hours"
