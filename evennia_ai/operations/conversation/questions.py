"""Questions of assistants to people, such as for a confirmation or a higher limit, and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.python.failure import Failure
from typing_extensions import TypedDict

from evennia_ai import approvals
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.questions import Choice, Question, expected, match
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.toolspec import ToolResult
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import StaleEpochError
from evennia_ai.messages.incoming import person_of
from evennia_ai.operations.budget.caps import today_of
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.times import iso
from evennia_ai.runtime import turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import name_of
from evennia_ai.runtime.rights import name_before
from evennia_ai.tool_execution import execute_tool_call

TAKE, DROP = "take", "drop"
MOST_QUOTED = 40  # characters of a wrong answer


class Answerable(TypedDict):
    """A possible answer."""

    id: str
    label: str
    hotkey: Annotated[str, note("Letter to type for it.")]


class AskedQuestion(TypedDict):
    """An open question."""

    number: int
    assistant: str
    kind: str
    prompt: str
    detail: str
    choices: list[Answerable]
    because: Annotated[
        str, note("Who caused the question and by which channel, without the words themselves.")
    ]
    asked_at: Annotated[str, note("Time at which it was asked (ISO 8601).")]
    until: Annotated[str | None, note("Time after which it counts as a no (ISO 8601).")]
    today: Annotated[str, note("Tokens the assistant used today, in words; only for staff.")]
    is_stalled: Annotated[bool, note("True if the person who was asked is not in the game.")]


@dataclass(frozen=True, slots=True)
class Questions:
    """The open questions that a person may answer, the oldest first."""

    questions: list[AskedQuestion]


def questions(person: Being, *, is_staff: bool) -> Result[Questions]:
    """List the open questions that a person may answer."""
    entries = [
        (script, question)
        for script in list_assistants()
        if script.work is not None
        for question in approvals.pending(script)
        if approvals.may_answer(script, question, person, is_staff=is_staff)
    ]
    if not entries:
        return Result(True, "There are no questions for you.", Questions([]))
    entries.sort(key=lambda entry: entry[1].number)
    lines: list[str] = []
    question_rows: list[AskedQuestion] = []
    used = cache(today_of)  # one assistant may ask several
    for script, question in entries:
        is_asked = person_of(person) in question.people
        is_stalled = not (is_asked or approvals.asked_are_here(question.people))
        question = approvals.as_seen(question, script, person)
        lines.append(question.row(is_stalled=is_stalled))
        name = name_before(script, person)
        today = used(script) if is_staff else ""
        question_rows.append(_as_data(question, name, today, is_stalled=is_stalled))
    hint = "\nAnswer with: assistant answer <number> yes | no"
    if any(item["is_stalled"] for item in question_rows):
        hint += "\nYou can also take over or drop a stalled one: take | drop"
    return Result(True, "\n".join(lines), Questions(question_rows)).with_typed(hint)


def _as_data(question: Question, name: str, today: str, *, is_stalled: bool) -> AskedQuestion:
    # Without the message that led to the question, which may have been private.
    asking, end = question.asking, question.expires_at or question.kept_until
    return {
        "number": question.number,
        "assistant": name,
        "kind": asking.kind,
        "prompt": asking.prompt,
        "detail": asking.detail,
        "choices": [
            {"id": each.id, "label": each.label, "hotkey": each.hotkey} for each in asking.choices
        ],
        "because": _because(question),
        "asked_at": iso(question.asked_at),
        "until": iso(end) if end else None,
        "today": today,
        "is_stalled": is_stalled,
    }


def _because(question: Question) -> str:
    # Such as "Tom, by whisper"; "" where the assistant acted by itself.
    if question.for_name:
        return f"a task for {question.for_name}"
    event = Event.from_stored(question.event) if question.event else None
    if event is None or not event.sender_name:
        return ""
    return f"{event.sender_name}, by {event.source}"


def answer(number: int, person: Being, text: str, *, is_staff: bool) -> Deferred[Result]:
    """Answer a question; `take` directs it to this person instead, `drop` closes it.

    On a yes a tool call is run at once, under the same locks as before, and the assistant itself
    tells the player who asked for it. A turn that waits for the answer goes on.

    Args:
        text: id, label or hotkey of an answer, in any case.
        is_staff: the person may also answer questions that others were asked.
    """
    entry = approvals.find(number)
    if entry is None:
        why = approvals.why_closed(number)
        result = Result.invalid(f"No question {number} is open{f': {why}' if why else ''}.")
        return succeed(result.with_typed(" List them with: assistant questions"))
    script, question = entry
    if not approvals.may_answer(script, question, person, is_staff=is_staff):
        return succeed(Result.invalid(f"You were not asked question {number}."))
    choice = match(question.asking.choices, text)
    if choice is not None:
        return _answered(script, question, choice, person)
    act = _ACTS.get(text.strip().casefold())
    if act is not None and (is_staff or question.is_waited_for):
        return succeed(act(script, question, person))
    choices = expected(question.asking.choices)
    quoted = one_line(text, MOST_QUOTED)
    return succeed(
        Result.invalid(
            f"Question {number} is still open: {quoted!r} is not an answer. Answer with one of: "
            f"{choices}."
        )
    )


def _take(script: AssistantScript, question: Question, person: Being) -> Result:
    approvals.claim(script, question, person)
    return Result(True, f"You are asked now:\n{approvals.as_seen(question, script, person).row()}")


def _drop(script: AssistantScript, question: Question, person: Being) -> Result:
    approvals.drop(script, question, person)
    # A turn that waits is told by its own wait; a call has none, and its asker would never hear.
    if not question.is_waited_for:
        by = name_of(person, script.obj)
        _report_not_done(script, question, f"{by} dropped question {question.number}")
    name = name_before(script, person)
    return Result(True, f"Question {question.number} is dropped; {name} takes it as a no.")


_ACTS: dict[str, Callable[[Any, Question, Any], Result]] = {TAKE: _take, DROP: _drop}


def _answered(
    script: AssistantScript, question: Question, choice: Choice, person: Being
) -> Deferred[Result]:
    name = name_before(script, person)
    if script.silence:
        return succeed(Result.invalid(f"{name} cannot do anything now: {script.silence}."))
    if not question.is_waited_for:
        return _settle_call(script, question, choice, person)
    if approvals.give(script, question, choice, person):
        return succeed(Result(True, f"{name} goes on, with your answer: {choice.id}."))
    text = f"{name} will get your answer when it comes back to this: {choice.id}."
    return succeed(Result(True, text))


def _settle_call(
    script: Assistant, question: Question, choice: Choice, person: Being
) -> Deferred[Result]:
    number, by = question.number, name_of(person, script.obj)
    # Closed before the call is run, so that a second answer cannot run it again.
    answered = approvals.close_call(script, question, choice.id, person)
    if choice.id != "yes":
        _report_not_done(script, question, f"{by} said no to question {number}")
        return succeed(Result(True, f"{name_before(script, person)} will not do it."))
    turn = turns.by_hand(script, Event.from_stored(question.event))

    def settle(result: ToolResult) -> Mapping[str, Any]:
        outcome = "it was done" if result.success else "it could not be done"
        message = f"{by} said yes to question {number}, and {outcome}: {result.text}"
        # After a stop nobody is told any more; see `cut_off`.
        is_wanted = turn.epoch == script.work.epoch
        return approvals.settled(script, answered, message if is_wanted else "")

    def done(result: ToolResult) -> Result:
        script.beat_soon()
        did = "did it. Result" if result.success else "could not do it"
        return Result(result.success, f"{name_before(script, person)} {did}: {result.text}")

    running = execute_tool_call(script, approvals.call_of(question), turn, settle)

    def cut_off(failure: Failure) -> Result:
        failure.trap(CancelledError, StaleEpochError)
        name = name_before(script, person)
        return Result.conflict(
            f"{name} was stopped meanwhile, so it is unknown whether it was done."
        )

    return running.addCallbacks(done, cut_off)


def _report_not_done(script: Assistant, question: Question, text: str) -> None:
    script.enqueue(approvals.notice(script, question, f"{text}: it was not done"))
