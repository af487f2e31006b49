"""Endpoints of an assistant's conversation: what it said and heard, and why it answered."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.api import requests
from evennia_ai.api.base import limit_of, look_of, require, require_found
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import ONE, Call, Route, Row, Tag
from evennia_ai.operations import Result
from evennia_ai.operations.conversation import talk
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.times import WHEN, span_of
from evennia_ai.operations.turns import explaining
from evennia_ai.operations.turns.traces import TracedPage

TALK = Tag("Talk", "Conversations, and why a message was answered or not.")


def _history(call: Call) -> Result:
    if call.query.get("format") == "export":
        require(call.account, "export history", call.script)
        return talk.export_history(call.script, look=look_of(call))
    before, limit = call.query.get("before"), min(limit_of(call.query), talk.MOST_SHOWN)
    return talk.show_history(call.script, before=before, limit=limit, look=look_of(call))


def _trace(call: Call) -> Result:
    query, span = call.query, None
    if when := query.get("when", ""):
        span = span_of(when, call.script.clock.seconds())
        if span is None:
            raise problem(ProblemKind.INVALID, f"{when!r} is not a time; a time is like {WHEN}.")
    result = operations.trace(
        call.script,
        span=span,
        words=query.get("words", ""),
        before=query.get("before"),
        limit=limit_of(query),
        look=look_of(call),
    )
    # A game that keeps no trace has an empty one; that is not an error of the request.
    return Result(True, result.message, result.data)


ROWS = (
    Row(
        Route("GET", f"{ONE}history/", "history", "show history", TALK),
        _history,
        "Read an assistant's conversation",
        "The newest messages, or with `format=export` all of it as it is sent to the model.\n\n"
        "What is private to others is masked, unless `reveal` is true.",
        result=talk.TalkPage,
        query=requests.TalkBefore,
    ),
    Row(
        Route("DELETE", f"{ONE}history/", "history", "reset history", TALK),
        lambda call: operations.reset_history(call.script, by=call.by),
        "Reset an assistant's conversation",
        "Forgets what was said, drops whatever is under way, and clears a stop.",
        operation_id="begin_an_assistants_conversation_anew",
        answer={"message": "Edda starts a new conversation."},
    ),
    Row(
        Route("GET", f"{ONE}events/", "events", "events", TALK),
        lambda call: explaining.heard(
            call.script,
            before=call.query.get("before"),
            limit=limit_of(call.query),
            look=look_of(call),
        ),
        "List what an assistant heard, and what became of it",
        "The newest first, with the rule that decided and each step since.\n\n"
        "What was whispered or paged by others is masked, unless `reveal` is true.",
        result=explaining.HeardPage,
        query=requests.HeardBefore,
    ),
    Row(
        Route("GET", f"{ONE}events/<ai_number:number>/", "event", "events", TALK),
        lambda call: require_found(
            explaining.why(call.script, number=call.path["number"], look=look_of(call))
        ),
        "Read why an assistant answered a message, or did not",
        "The rule that decided, how far it trusted the message, and every later step.",
        result=explaining.Why,
        says="text",
        query=requests.Revealing,
    ),
    Row(
        Route("GET", f"{ONE}trace/", "trace", "events", TALK),
        _trace,
        "Read how an assistant came to its answers, days later",
        "The newest first: rule, model, calls, tokens, cost, tools, limits and prompt.\n\n"
        "Private words are not stored unless the game is set up to store them; then they are "
        "masked, unless `reveal` is true. `words` only searches what was said publicly.",
        result=TracedPage,
        query=requests.TracedBefore,
    ),
)
