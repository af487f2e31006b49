"""One act for many, each in its turn: the game goes on meanwhile, and none is left out.

What is done so is work in the game's thread (`game_thread`) that the end of a process hurries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import Deferred, succeed

from evennia_ai.runtime.game_thread import Steps, finish, paced

# So few are done at once.
FEW = 10
# Multiples of it lie evenly, however many there are.
GOLDEN = 0.618033988749895


def apart(number: int, seconds: float) -> float:
    """A wait of so many seconds at most, and half of them at least, for each number another."""
    return seconds * (0.5 + number * GOLDEN % 0.5)


@dataclass(eq=False, slots=True)
class _Round:
    """An act on each of many.

    Attributes:
        left: those it was not done to yet, in order, by identity: a deleted one has no hash.
        context: of whoever wanted it, for the record.
    """

    left: dict[int, Any]
    act: Callable[[Any], object]
    context: Context

    def steps(self) -> Steps[None]:
        """One after the other; earlier rounds have the first word on each."""
        while self.left:
            settle(next(iter(self.left.values())), self)
            yield

    def do(self, thing: Any) -> None:
        """Do it to one of them, if that is left. One that breaks keeps no other from it."""
        if self.left.pop(id(thing), None) is None:
            return
        try:
            self.context.copy().run(self.act, thing)
        except Exception:
            logger.log_trace("[assistant] what was to be done to all failed for one of them")


_ROUNDS: list[_Round] = []


def to_each(things: Iterable[Any], act: Callable[[Any], object]) -> Deferred[None]:
    """Do something to each of many, a little at a time; to a few of them at once.

    Whoever decides on one of them meanwhile calls `settle` first, and the end of a process calls
    `finish_rounds`: later words count, and none is lost.
    """
    about = _Round({id(thing): thing for thing in things}, act, copy_context())
    if len(about.left) <= FEW:
        return succeed(finish(about.steps()))
    _ROUNDS.append(about)
    done = paced(about.steps())

    def end(outcome: Any) -> Any:
        _ROUNDS.remove(about)
        return outcome

    return done.addBoth(end)


def settle(thing: Any, until: _Round | None = None) -> None:
    """Do to one thing what rounds under way have not done to it yet, in their order."""
    for each in tuple(_ROUNDS):
        if each is until:
            break
        each.do(thing)
    if until is not None:
        until.do(thing)


def finish_rounds() -> None:
    """Do at once what is left of them."""
    for each in tuple(_ROUNDS):
        finish(each.steps())
