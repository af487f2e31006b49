"""Answering an assistant's questions: may I do this?"""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, succeed

from evennia_ai import confirmation, turns
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.inbox import NOTICE, Event
from evennia_ai.core.toolspec import ToolCall, ToolResult
from evennia_ai.operations.assistants import list_assistants
from evennia_ai.operations.result import Result
from evennia_ai.tool_execution import execute_tool_call


def questions(person: Any, *, is_staff: bool) -> Result:
    """The open questions that this person may answer."""
    found = [
        (script, question)
        for script in list_assistants()
        if script.work is not None
        for question in confirmation.pending(script)
        if confirmation.may_answer(question, person, is_staff=is_staff)
    ]
    lines = [
        f"{asked['number']:>4}  {script.key} asks: may I do this: {confirmation.describe(asked)}?"
        for script, asked in found
    ]
    if not lines:
        return Result(True, "Nobody asks you anything.", {"questions": []})
    lines.append("Answer with: assistant answer <number> yes | no")
    shown = [{"assistant": script.key, **question} for script, question in found]
    return Result(True, "\n".join(lines), {"questions": shown})


def answer(number: int, person: Any, *, is_yes: bool, is_staff: bool) -> Deferred[Result]:
    """Answer a question; on a yes the call is run at once, under the same locks as ever.

    Whoever asked for it is told by the assistant itself, which learns how it went.
    """
    for script in list_assistants():
        for question in confirmation.pending(script) if script.work is not None else ():
            if question["number"] != number:
                continue
            if not confirmation.may_answer(question, person, is_staff=is_staff):
                return succeed(Result(False, f"Question {number} was not put to you."))
            return _settle(script, number, person, is_yes=is_yes)
    text = f"No question {number} is open. List them with: assistant questions"
    return succeed(Result(False, text))


def _settle(script: AssistantScript, number: int, person: Any, *, is_yes: bool) -> Deferred[Result]:
    if script.silence:
        return succeed(Result(False, f"{script.key} does nothing now: {script.silence}."))
    question = confirmation.take(script, number)
    if question is None:
        return succeed(Result(False, f"Question {number} is answered already."))
    event = Event.from_stored(question["event"])
    if not is_yes:
        _tell(script, event, f"{person.key} said no to question {number}: it was not done")
        return succeed(Result(True, f"{script.key} will not do it."))
    call = ToolCall(f"question_{number}", question["tool"], question["arguments"])
    turn = turns.by_hand(script, event)
    running = execute_tool_call(script, call, turn)

    def done(result: ToolResult) -> Result:
        outcome = "it was done" if result.success else "it could not be done"
        if turn.epoch == script.work.epoch:
            told = f"{person.key} said yes to question {number}, and {outcome}: {result.text}"
            _tell(script, event, told)
        return Result(result.success, f"{script.key}: {result.text}")

    return running.addCallback(done)


def _tell(script: AssistantScript, event: Event, text: str) -> None:
    """Let the assistant know, so that it can tell whoever asked for it."""
    now = script.clock.seconds()
    told = event.as_stored() | {
        "id": f"answer{now * 1000:.0f}",
        "kind": NOTICE,
        "body": text,
        "at": now,
    }
    script.enqueue(Event.from_stored(told))
