"""Why an assistant answered as it did, days later."""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    DictField,
    FloatField,
    IntegerField,
    ListField,
)

from evennia_ai import operations
from evennia_ai.api import asked
from evennia_ai.api.answers import Heard
from evennia_ai.api.base import limit_of, look_of
from evennia_ai.api.conduct import TALK
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import ONE, Call, Row
from evennia_ai.api.shapes import Shape, maybe_count
from evennia_ai.operations import Result
from evennia_ai.operations.days import WHEN, span_of
from evennia_ai.operations.result import Problem


class TracedTool(Shape):
    """A tool that was called, and how it went."""

    name = CharField()
    success = BooleanField()
    error = CharField()


class TracedMessage(Heard):
    """A message of the days that are kept, and how it came to its answer."""

    id = IntegerField(help_text="Give it as `before` for what is older.")
    shown_at = CharField(help_text="When it was, by the game's clock.")
    game_time = CharField(help_text="By the game's own calendar, or empty.")
    kind = CharField()
    sender_id = CharField()
    answer = CharField(help_text="What was said; of private talk that is not kept, that.")
    result = CharField(help_text="`answered`, `silent` or `failed`.")
    stop = CharField(help_text="Why the turn ended.")
    seconds = FloatField(help_text="From hearing to the answer.")
    together = ListField(child=IntegerField(), help_text="Numbers answered at once.")
    model = CharField(help_text="`provider/name`.")
    calls = IntegerField()
    prompt_tokens = IntegerField()
    completion_tokens = IntegerField()
    cost_nano = IntegerField(help_text="Nano-dollars.")
    unpriced_calls = IntegerField(help_text="Calls whose price nobody set.")
    tools = ListField(child=TracedTool())
    limits = ListField(child=CharField(), help_text="Limits that it came to.")
    prompt = DictField(child=CharField(), help_text="A fingerprint of each part of the prompt.")


class TracedPage(Shape):
    """What an assistant heard in the days that are kept, the newest first."""

    messages = ListField(child=TracedMessage())
    next = maybe_count(help_text="Give it as `before` for what is older.")


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
        "GET",
        f"{ONE}trace/",
        "trace",
        "events",
        _trace,
        "Read how an assistant came to its answers, days later",
        "The newest first: rule, model, calls, tokens, cost, tools, limits and prompt.\n\n"
        "What was said in private is not kept, unless the game keeps it: then it is masked, unless "
        "`reveal` is true. `words` finds only what was said publicly.",
        tag=TALK,
        result=TracedPage,
        query=asked.TracedBefore,
    ),
)
