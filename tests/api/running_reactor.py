"""A process with a running reactor, and threads that call into it; run by a test.

Prints one JSON mapping: the result of each scenario.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.python.threadable import isInIOThread

from evennia_ai.runtime import game_thread
from evennia_ai.runtime.game_thread import GameBusyError, run_async

PATIENCE_SECONDS = 20
IS_ASYNC = "async" in sys.argv


def run(function: Callable[[], Any], timeout_seconds: float) -> Any:
    """Call a function in the game's thread, from this thread or from a coroutine in it."""
    if IS_ASYNC:
        return asyncio.run(run_async(function, timeout_seconds))
    return game_thread.run(function, timeout_seconds)


def _refusal(function: Callable[[], Any]) -> str:
    """Return the error of a call that is given 0.1 seconds, or ""."""
    try:
        run(function, 0.1)
    except GameBusyError as error:
        return str(error)
    return ""


def hops_into_the_game() -> Any:
    return [run(isInIOThread, PATIENCE_SECONDS), isInIOThread()]


def waits_for_a_deferred() -> Any:
    def later() -> Deferred[str]:
        waiting: Deferred[str] = Deferred()
        reactor.callLater(0.05, waiting.callback, "later")
        return waiting

    return run(later, PATIENCE_SECONDS)


def brings_exceptions_back() -> Any:
    def at_once() -> None:
        raise KeyError("at once")

    def later() -> Deferred[None]:
        waiting: Deferred[None] = Deferred()
        reactor.callLater(0, waiting.errback, ValueError("later"))
        return waiting

    seen = []
    for function in (at_once, later):
        try:
            run(function, PATIENCE_SECONDS)
        except (KeyError, ValueError) as error:
            seen.append([type(error).__name__, *error.args])
    return seen


def calls_off_what_takes_too_long() -> Any:
    cancelled: list[bool] = []
    was_cancelled = threading.Event()

    def cancel(_: Any) -> None:
        cancelled.append(isInIOThread())
        was_cancelled.set()

    try:
        run(lambda: Deferred(cancel), 0.1)
    except GameBusyError as error:
        was_cancelled.wait(PATIENCE_SECONDS)
        return [cancelled, str(error), error.retry_seconds]


def never_begins_what_was_given_up() -> Any:
    is_busy, is_free = threading.Event(), threading.Event()
    begun: list[str] = []

    def be_busy() -> None:
        is_busy.set()
        is_free.wait(PATIENCE_SECONDS)

    reactor.callFromThread(be_busy)
    is_busy.wait(PATIENCE_SECONDS)
    refusal = _refusal(lambda: begun.append("begun"))
    is_free.set()
    run(lambda: None, PATIENCE_SECONDS)  # all earlier calls in the queue have run after this
    return [refusal, begun]


def tells_of_what_had_begun() -> Any:
    is_free = threading.Event()
    done: list[str] = []

    def slow() -> None:
        is_free.wait(PATIENCE_SECONDS)
        done.append("done")

    refusal = _refusal(slow)
    is_free.set()
    run(lambda: None, PATIENCE_SECONDS)
    return [refusal, done]


def serves_many_at_once() -> Any:
    got: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: got.append(run(lambda: n * n, PATIENCE_SECONDS)))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    return sorted(got)


def is_called_off_with_its_caller() -> Any:
    cancelled: list[bool] = []
    was_cancelled = threading.Event()

    def cancel(_: Any) -> None:
        cancelled.append(isInIOThread())
        was_cancelled.set()

    async def give_up() -> str:
        task = asyncio.create_task(run_async(lambda: Deferred(cancel), PATIENCE_SECONDS))
        await asyncio.sleep(0.1)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        return "done"

    refusal = asyncio.run(give_up())
    was_cancelled.wait(PATIENCE_SECONDS)
    return [refusal, cancelled]


SCENARIOS: tuple[Callable[[], Any], ...] = (
    hops_into_the_game,
    waits_for_a_deferred,
    brings_exceptions_back,
    calls_off_what_takes_too_long,
    never_begins_what_was_given_up,
    tells_of_what_had_begun,
    serves_many_at_once,
    is_called_off_with_its_caller,
)


def _play() -> None:
    try:
        seen = {scenario.__name__: scenario() for scenario in SCENARIOS}
        json.dump(seen, sys.stdout)
        sys.stdout.flush()
    finally:
        reactor.callFromThread(reactor.stop)


if __name__ == "__main__":
    reactor.callWhenRunning(lambda: threading.Thread(target=_play).start())
    reactor.run()
