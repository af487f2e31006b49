"""One act on many assistants, in portions: the game goes on meanwhile, and none is left out.

Built on the paced work of `game_thread`; the end of a process finishes what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

from evennia.utils import logger
from twisted.internet.defer import Deferred, succeed

from evennia_ai.runtime.game_thread import Steps, finish, paced

FEW = 10  # so many are done at once, without pacing
# The golden ratio: its multiples, modulo 1, spread evenly, however many there are.
GOLDEN = 0.618033988749895


def staggered(number: int, seconds: float) -> float:
    """A delay between half of `seconds` and all of it, different for each number."""
    return seconds * (0.5 + number * GOLDEN % 0.5)


@dataclass(eq=False, slots=True)
class _Round:
    """One act on each of many.

    Attributes:
        left: those still to be done, in order, by `id()`: a deleted one has no hash.
        context: of the person who wanted it, for the audit log.
    """

    left: dict[int, Any]
    act: Callable[[Any], object]
    context: Context

    def steps(self) -> Steps[None]:
        """Act on one after the other; earlier rounds act on each before this one."""
        while self.left:
            settle(next(iter(self.left.values())), self)
            yield

    def do(self, thing: Any) -> None:
        """Act on one of them, unless that is done."""
        if self.left.pop(id(thing), None) is None:
            return
        try:
            self.context.copy().run(self.act, thing)
        # One that fails must not keep the others from their turn.
        except Exception:
            logger.log_trace("[assistant] what was to be done to all failed for one of them")


_ROUNDS: list[_Round] = []


def to_each(things: Iterable[Any], act: Callable[[Any], object]) -> Deferred[None]:
    """Do something to each of many, in portions; to a few of them at once.

    Code that decides about one of them meanwhile calls `settle` first, and the end of a process
    calls `finish_rounds`: so acts apply in the order in which they were asked for, and none is
    lost.
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
    """Do to one thing what pending rounds have not done to it yet, in their order."""
    for each in tuple(_ROUNDS):
        if each is until:
            break
        each.do(thing)
    if until is not None:
        until.do(thing)


def finish_rounds() -> None:
    """Finish all pending rounds at once."""
    for each in tuple(_ROUNDS):
        finish(each.steps())
