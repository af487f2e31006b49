"""Why an assistant answered as it did, days later."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.api import asked
from evennia_ai.api.base import limit_of, look_of
from evennia_ai.api.conduct import TALK
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import ONE, Call, Route, Row
from evennia_ai.operations import Result
from evennia_ai.operations.days import WHEN, span_of
from evennia_ai.operations.result import Problem
from evennia_ai.operations.traces import TracedPage


def _trace(call: Call) -> Result:
    query, span = call.query, None
    if when := query.get("when", ""):
        span = span_of(when, call.script.clock.seconds())
        if span is None:
            raise problem(Problem.INVALID, f"{when!r} is no time; a time is like {WHEN}.")
    found = operations.trace(
        call.script,
        span=span,
        words=query.get("words", ""),
        before=query.get("before"),
        limit=limit_of(query),
        look=look_of(call),
    )
    # Where the game keeps no trace there is none, which is no mistake of whoever asks.
    return Result(True, found.message, found.data)


ROWS = (
    Row(
        Route("GET", f"{ONE}trace/", "trace", "events", TALK),
        _trace,
        "Read how an assistant came to its answers, days later",
        "The newest first: rule, model, calls, tokens, cost, tools, limits and prompt.\n\n"
        "What was said in private is not kept, unless the game keeps it: then it is masked, unless "
        "`reveal` is true. `words` finds only what was said publicly.",
        result=TracedPage,
        query=asked.TracedBefore,
    ),
)
