"""Questions before a dangerous call: asked once, and the call is run later by hand, on a yes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evennia_ai.approvals import store, telling
from evennia_ai.approvals.describing import consequences, describe_call
from evennia_ai.approvals.people import who_may_allow
from evennia_ai.approvals.presence import look_later
from evennia_ai.core.safety.questions import TOOL_PREFIX, ApprovalRequest, Question
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult
from evennia_ai.core.turn.turn import Turn
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import name_of

MOST_OPEN = 20


def ask_about_call(script: Assistant, turn: Turn, call: ToolCall) -> ToolResult:
    """Ask whoever may allow a call, and tell the model that it has to wait."""
    asked = {"tool": call.name, "arguments": dict(call.arguments)}
    waiting = store.pending(script)
    known = next((question for question in waiting if question.call == asked), None)
    if known is not None:
        text = f"question {known.number} about this is open already; wait for the answer"
        return ToolResult(False, text, Fault.NOT_RUN)
    if len(waiting) >= MOST_OPEN:
        text = f"not done: {len(waiting)} questions are open already; wait for the answers"
        return ToolResult(False, text, Fault.NOT_RUN)
    people = who_may_allow(script, turn.event)
    if not people:
        text = "not done: nobody who could allow it can be asked now"
        return ToolResult(False, text, Fault.DENIED)
    question = telling.ask_these(_question(script, turn, call, people), people)
    telling.record("question_asked", script, question, people=question.people)
    store.put(script, question)
    telling.announce()
    look_later(script, question)
    names = ", ".join(name_of(person, script.obj) for person in people)
    text = f"not done yet: {names} has to say yes first (question {question.number})"
    return ToolResult(False, f"{text}; you will be told", Fault.NOT_RUN)


def _question(script: Assistant, turn: Turn, call: ToolCall, people: Sequence[Any]) -> Question:
    number, now = store.next_number(), script.clock.seconds()
    what = describe_call(turn, call, people, services.remote_servers())
    asking = ApprovalRequest(
        key=f"call {number}",
        kind=f"{TOOL_PREFIX}{call.name}",
        prompt=f"may I do this: {what}?",
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
