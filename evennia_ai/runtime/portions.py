"""Long work in the game's thread, a little at a time: the game goes on between two steps.

The work is a generator, each step of which takes a few milliseconds. What a process that ends has
not done of it is never done.
"""

from __future__ import annotations

from collections.abc import Generator
from contextvars import copy_context
from typing import TypeVar

from twisted.internet import reactor
from twisted.internet.defer import Deferred

SLICE_SECONDS = 0.002
T = TypeVar("T")
Steps = Generator[None, None, T]


def paced(steps: Steps[T]) -> Deferred[T]:
    """Begin with some steps, soon; who acts now is who acts in each.

    Returns:
        What the generator returns or raises. Cancelled, it closes the generator.
    """
    done: Deferred[T] = Deferred(lambda _: steps.close())
    # The reactor calls in a context of its own, in which nobody acts.
    actor = copy_context()

    def go_on() -> None:
        began = reactor.seconds()
        try:
            while not done.called:
                actor.run(next, steps)
                if (took := reactor.seconds() - began) >= SLICE_SECONDS:
                    # As long as it took, be it that the machine is busy: half of the time is the
                    # game's. Where the reactor is turned by hand nobody is made way for.
                    reactor.callLater(took if reactor.running else 0, go_on)
                    return
        except StopIteration as end:
            done.callback(end.value)
        except Exception:
            done.errback()

    reactor.callLater(0, go_on)
    return done


def finish(steps: Steps[T]) -> T:
    """All steps at once, for what is small, and where there is no game to go on."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: T = end.value
            return value
