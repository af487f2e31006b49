"""Questions before a dangerous call: asked once, and the call is run later by hand, on a yes."""

from __future__ import annotations

from collections.abc import Sequence

from evennia_ai.approvals import store, telling
from evennia_ai.approvals.describing import consequences, describe_call
from evennia_ai.approvals.people import right_for, who_may_allow
from evennia_ai.approvals.presence import look_later
from evennia_ai.core.safety.questions import TOOL_PREFIX, ApprovalRequest, Question
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import ToolError
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import name_of
from evennia_ai.tools import REGISTRY

MOST_OPEN = 20


def ask_about_call(script: Assistant, turn: Turn, call: ToolCall) -> ToolResult:
    """Ask whoever may allow a call, and tell the model that it has to wait."""
    asked = {"tool": call.name, "arguments": dict(call.arguments)}
    waiting = store.pending(script)
    is_one = right_for(call.name) is not None  # a change is decided before the next is proposed
    alike = (q for q in waiting if q.call == asked or (is_one and q.call.get("tool") == call.name))
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
    # Once it is stored, so that whoever answers at once finds it.
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
