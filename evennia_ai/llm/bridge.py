"""asyncio beside Twisted: one event loop in a daemon thread, and Deferreds for what runs on it.

Evennia runs the epoll reactor; the openai SDK wants asyncio. Cancelling the Deferred cancels the task on
the loop, and with it the request: the socket closes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import lru_cache
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from evennia_ai.llm.pacing import Pacer

T = TypeVar("T")


@lru_cache(maxsize=1)
def event_loop() -> asyncio.AbstractEventLoop:
    """The process's asyncio loop, started when it is first needed."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="evennia_ai asyncio", daemon=True)
    thread.start()
    return loop


@lru_cache(maxsize=4)
def _pacer(reactor: Any) -> Pacer:
    return Pacer(reactor)


def as_deferred(coroutine: Coroutine[Any, Any, T], reactor: Any) -> Deferred[T]:
    """Run a coroutine on the asyncio loop; its outcome comes back in the reactor thread."""
    future: Future[T] = asyncio.run_coroutine_threadsafe(coroutine, event_loop())
    deferred: Deferred[T] = Deferred(lambda _: future.cancel())

    def settle(done: Future[T]) -> None:
        if deferred.called:
            return
        if done.cancelled():
            deferred.errback(Failure(CancelledError()))
        elif (error := done.exception()) is not None:
            deferred.errback(Failure(error))
        else:
            deferred.callback(done.result())

    pacer = _pacer(reactor)
    future.add_done_callback(lambda done: pacer.call_from_thread(settle, done))
    return deferred
