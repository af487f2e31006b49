"""Questions before a dangerous call: asked once, and after a yes the call is run by hand.

People are shown whose tool it is, its arguments, and what a yes does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from evennia_ai.approvals import store, telling
from evennia_ai.approvals.people import right_for, who_may_allow
from evennia_ai.approvals.presence import look_later
from evennia_ai.core.hearing.audience import WAYS, listener, may_leave
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.safety.cooling import in_words
from evennia_ai.core.safety.questions import TOOL_PREFIX, ApprovalRequest, Question
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.executions import shown
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import ToolError
from evennia_ai.mcp.servers import RemoteServers
from evennia_ai.messages.incoming import person_of
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import name_of
from evennia_ai.tools import REGISTRY

MOST_OPEN = 20  # open questions of one assistant
MOST_SHOWN, MOST_VALUE = 240, 120  # characters of all arguments, and of one value
MOST_NAME = 64
MOST_INSIDE = 10  # items of a list
# ANSI escape sequences, which could hide text; the game's own markup is shown literally anyway.
_COLOUR = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[@-Z\\-_])")


def ask_about_call(script: Assistant, turn: Turn, call: ToolCall) -> ToolResult:
    """Ask the people who may allow a call, and tell the model that it has to wait."""
    entry = {"tool": call.name, "arguments": dict(call.arguments)}
    waiting = store.pending(script)
    # A tool that names a right proposes changes: one is decided before the next is proposed.
    is_one = right_for(call.name) is not None
    alike = (q for q in waiting if q.call == entry or (is_one and q.call.get("tool") == call.name))
    known = next(alike, None)
    if known is not None:
        text = f"question {known.number} about this is open already; wait for the answer"
        return ToolResult(False, text, Fault.NOT_RUN)
    if len(waiting) >= MOST_OPEN:
        text = f"not done: {len(waiting)} questions are open already; wait for the answers"
        return ToolResult(False, text, Fault.NOT_RUN)
    people = who_may_allow(script, turn.event, call.name)
    if not people:
        text = "not done: nobody who could allow it can be asked now"
        return ToolResult(False, text, Fault.DENIED)
    try:
        question = telling.ask_these(_question(script, turn, call, people), people)
    except ToolError as error:
        return ToolResult(False, str(error), Fault.FAILED, error)
    telling.record("question_asked", script, question, people=question.people)
    store.begin(script, question)
    # Only once it is stored, so that an immediate answer finds it.
    telling.announce()
    look_later(script, question)
    names = ", ".join(name_of(person, script.obj) for person in people)
    text = f"not done yet: {names} has to say yes first (question {question.number})"
    return ToolResult(False, f"{text}; you will be told", Fault.NOT_RUN)


def _question(script: Assistant, turn: Turn, call: ToolCall, people: Sequence[Being]) -> Question:
    tool = REGISTRY.get(call.name)
    words = tool.question(script.obj, turn, call.arguments) if tool is not None else ""
    if not words:
        what = describe_call(turn, call, people, services.remote_servers())
        words = f"may I do this: {what}?"
    number, now = store.next_number(), script.clock.seconds()
    asking = ApprovalRequest(
        key=f"call {number}",
        kind=f"{TOOL_PREFIX}{call.name}",
        prompt=words,
        detail=consequences(script),
        actor=script.obj.key,
    )
    return Question(
        asking.cleaned(),
        number=number,
        asked_at=now,
        expires_at=now + state.read(script, "confirm_seconds"),
        call={"tool": call.name, "arguments": dict(call.arguments)},
        event=turn.event.as_stored(),
    )


def describe_call(
    turn: Turn, call: ToolCall, people: Sequence[Being], servers: RemoteServers
) -> str:
    """A call in one line: the tool and its arguments, without words that some of them may not know.

    What is cut says how long it is, so that nobody approves hidden text unawares.
    """
    listeners = [
        listener(name_of(each, None), (person_audience(person_of(each)),)) for each in people
    ]
    is_private = not may_leave(WAYS["question"], turn.held, listeners).is_allowed
    arguments = shown(call.arguments, is_private=True) if is_private else _shortened(call.arguments)
    words = json.dumps(arguments, ensure_ascii=False)
    line = one_line(words, MOST_SHOWN)
    if len(words) > MOST_SHOWN:
        line += f" ({len(words):,} characters in all)"
    return f"{_tool_of(call, servers)} {line}"


def consequences(script: Assistant) -> str:
    """The consequences of a yes and of a no, and the time there is to answer."""
    seconds = in_words(state.read(script, "confirm_seconds"))
    return f"yes: it is done at once, this once; no, or no answer for {seconds}: it is not done"


def _tool_of(call: ToolCall, servers: RemoteServers) -> str:
    """The tool's name; for a remote tool its server's name for it, and the server."""
    origin = None if call.name in REGISTRY else servers.origin(call.name)
    if origin is None:
        return call.name
    server, name = origin
    return f"use {one_line(name, MOST_NAME)} of {server}, a server outside the game, with"


def _shortened(value: object) -> object:
    """Arguments without escape sequences and control characters, with each text cut."""
    if isinstance(value, Mapping):
        return {_shortened_text(str(key)): _shortened(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        more = len(value) - MOST_INSIDE
        rest = [f"… and {more} more"] if more > 0 else []
        return [*map(_shortened, value[:MOST_INSIDE]), *rest]
    return _shortened_text(value) if isinstance(value, str) else value


def _shortened_text(value: str) -> str:
    line = one_line(_COLOUR.sub("", value), MOST_VALUE)
    return f"{line} ({len(value):,} characters)" if len(value) > MOST_VALUE else line
