"""The conversation of an assistant: its history, and orders and questions from programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure
from typing_extensions import TypedDict

from evennia_ai.agent import requests
from evennia_ai.agent.requests import NoAnswerError, Reason
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.audience import masked
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.text.cleaning import one_line, quote
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn import namesakes
from evennia_ai.core.turn.compaction import summary_text
from evennia_ai.core.turn.conversation import PRIVATE_TO, Message
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.incoming import key_of
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import iso
from evennia_ai.runtime import state
from evennia_ai.tasks import programs, store
from evennia_ai.tools import TOOL_REGISTRY

MOST_SHOWN = 200  # messages
LONGEST_TEXT = 2000  # characters of a message, of a tool's result and of a frame below
LONGEST_RESULT = 500
LONGEST_FRAME = 300
# The beginning of a message, such as "Tom whispers to you: ". A name without quotation marks holds
# no colon, so nothing in a message can pose as it; a quoted name is not recognized.
_FRAME = re.compile(
    r"^(?P<name>[^\":\n]+) "
    r"(?:whispers to you|pages you|says to you|does|says on the channel [^:\n]+|causes|"
    r"hands you a task)[^:\n]*: "
)
_SAID_TO = {"say": "says", "whisper": "whispers", "page": "pages", "pose": "does", "emote": "does"}


class TalkPage(TypedDict):
    """A page of the conversation, in the order in which it was said, or all of it."""

    messages: Annotated[
        list[dict[str, object]],
        note(
            "In a page: `number`, `role`, `name`, `text` and `private_to`; in an export: "
            "chat messages."
        ),
    ]
    count: NotRequired[Annotated[int, note("Number of stored messages.")]]
    next: NotRequired[
        Annotated[int | None, note("Value of `before` for the next page; null on the last page.")]
    ]


def show_history(
    script: AssistantScript,
    *,
    before: int | None = None,
    limit: int = 20,
    look: PrivateView | None = None,
) -> Result[TalkPage]:
    """Show a page of the conversation, by default the newest.

    Numbers count from the oldest stored message, and shift when older ones are dropped.

    Args:
        before: number of a message; the page ends with the one before it.
        limit: messages on a page, 1 to 200.

    Returns:
        A page; "private_to" of a private message is the id of its person.
    """
    messages, look = _messages(script), look or PrivateView()
    if not 1 <= limit <= MOST_SHOWN:
        return Result.invalid(
            f"{limit} messages cannot be shown at once; ask for 1 to {MOST_SHOWN}."
        )
    if before is not None and before < 1:
        return Result.invalid(f"{before} is not the number of a message; they begin at 1.")
    end = len(messages) if before is None else min(before - 1, len(messages))
    first = max(0, end - limit)
    names = _names_of_calls(messages)
    messages = namesakes.told_apart(messages, namesakes.bearers(messages, {}))
    rows = [
        _row(script, number, message, names, look)
        for number, message in enumerate(messages[first:end], first + 1)
    ]
    following = first + 1 if first else None
    data: TalkPage = {"messages": rows, "count": len(messages), "next": following}
    if not rows:
        return Result(True, f"{script.key} has no conversation yet.", data)
    look.note(script, "conversation")
    lines = [*map(_line, rows), *look.hint()]
    head = f"{script.key}'s conversation, {first + 1} to {end} of {len(messages)}:"
    return Result(True, "\n".join([head, *lines]), data)


def export_history(script: AssistantScript, *, look: PrivateView | None = None) -> Result[TalkPage]:
    """Export the whole conversation as chat messages, in their stored form."""
    look = look or PrivateView()
    messages = [_exported(message, look) for message in deepcopy(_messages(script))]
    look.note(script, "conversation, exported")
    return Result(
        True, f"{script.key}: {counted(len(messages), 'messages')}.", {"messages": messages}
    )


def _messages(script: AssistantScript) -> list[Message]:
    # Those in memory are newer; an assistant that is not running has only stored ones.
    work = script.work
    return list(work.history if work is not None else state.read(script, "conversation_history"))


def _names_of_calls(messages: Sequence[Message]) -> dict[str, str]:
    # A tool's result names only the id of its call.
    return {
        str(call["id"]): str(call["function"]["name"])
        for message in messages
        for call in message.get("tool_calls") or ()
    }


def _exported(message: Message, look: PrivateView) -> Message:
    owner = message.get(PRIVATE_TO)
    if owner is None or look.may_see(person_audience(owner)):
        return message
    changes = {} if message.get("content") is None else {"content": masked(str(message["content"]))}
    for call in message.get("tool_calls") or ():
        call["function"] = {"name": _known_tool(call["function"]["name"]), "arguments": "{}"}
    return {**message, **changes}


def _known_tool(name: str) -> str:
    # A name that a model made up may hold private words.
    return name if name in TOOL_REGISTRY else "tool"


def _row(
    script: AssistantScript,
    number: int,
    message: Message,
    names: Mapping[str, str],
    look: PrivateView,
) -> dict[str, Any]:
    role = str(message["role"])
    content = str(message.get("content") or "")
    if role == "tool":
        name = names.get(str(message.get("tool_call_id")), "tool")
        name = _known_tool(name) if message.get(PRIVATE_TO) is not None else name
        text = _cut(content, LONGEST_RESULT)
    elif role == "assistant":
        name = str(script.key)
        calls = [_call_text(call["function"]) for call in message.get("tool_calls") or ()]
        text = _cut("; ".join([*([f"says: {quote(content)}"] if content else []), *calls]))
    else:
        name, text = _speaker(content), _cut(_text_of(message, content))
    return {
        "number": number,
        "role": role,
        "name": name,
        "text": look.words(text, message.get(PRIVATE_TO)),
        "private_to": message.get(PRIVATE_TO),
    }


def _text_of(message: Message, content: str) -> str:
    summary = summary_text(message)
    return f"(summary of earlier talk) {summary}" if summary else content


def _speaker(content: str) -> str:
    # Of the last frame: messages that were answered together are one text.
    frames = (_FRAME.match(line[:LONGEST_FRAME]) for line in reversed(content.splitlines()))
    match = next(filter(None, frames), None)
    return match["name"] if match else ""


def _call_text(function: Mapping[str, Any]) -> str:
    # Such as `whispers to Tom: "hello"`, or a tool with its arguments.
    name = str(function["name"])
    try:
        arguments = json.loads(function["arguments"])
    except ValueError:  # a model may write arguments that are not JSON
        arguments = None
    words = (
        arguments.get("message", arguments.get("action")) if isinstance(arguments, dict) else None
    )
    if name not in _SAID_TO or not isinstance(words, str):
        return f"uses {name} {function['arguments']}"
    to = f" to {one_line(str(arguments['target']), 60)}" if arguments.get("target") else ""
    return f"{_SAID_TO[name]}{to}: {quote(words)}"


def _cut(text: str, longest: int = LONGEST_TEXT) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _line(row: Mapping[str, Any]) -> str:
    who = f"{row['name']} " if row["role"] == "assistant" else ""
    who = f"{row['name']} gave: " if row["role"] == "tool" else who
    text = row["text"].replace("\n", "\n      ")
    return f"{row['number']:>4}  {who}{text}{_privacy(row['private_to'])}"


def _privacy(person: str | None) -> str:
    if person is None:
        return ""
    return f"   (private to {key_of(person, gone='someone who is gone')})"


PROBLEMS = {
    Reason.INVALID: ProblemKind.INVALID,
    Reason.TAKEN: ProblemKind.CONFLICT,
    Reason.REFUSED: ProblemKind.FORBIDDEN,
    Reason.BUSY: ProblemKind.UNAVAILABLE,
    Reason.STOPPED: ProblemKind.CONFLICT,
    Reason.LATE: ProblemKind.UNAVAILABLE,
    Reason.SILENT: ProblemKind.CONFLICT,
    Reason.FAILED: ProblemKind.UNAVAILABLE,
}


@dataclass(frozen=True, slots=True)
class Told:
    """The answer of an assistant, written by a model: to be shown as plain text."""

    answer: str
    number: Annotated[
        int, note("Number of its message, as used by `events/{number}/`; 0 if it was not heard.")
    ]


@dataclass(frozen=True, slots=True)
class AskedTask:
    """A request with a name, and its answer if there is one yet."""

    name: str
    state: Annotated[str, note("`open`, `answered` or `failed`.")]
    answer: Annotated[str, note("The answer, or why there is none; empty while the task is open.")]
    reason: Annotated[str, note("Why there is no answer, in one word.")]
    number: Annotated[int, note("Number of its message, as used by `events/{number}/`.")]
    began_at: Annotated[str, note("Time at which it was given (ISO 8601).")]
    ends_at: Annotated[str, note("Deadline of the answer (ISO 8601).")]


def tell(
    script: AssistantScript, person: Being | None, instruction: str, *, name: str = ""
) -> Deferred[Result[Told]]:
    """Give an assistant an order: it is fully trusted, and may make the assistant act in the world.

    Tools that need a confirmation still ask for one. Cancelling the Deferred withdraws the order.

    Args:
        person: who gives it; the right to do so is checked by the caller.
        name: an idempotency key of the caller's: the order is given once, however often this is
            called, and its answer is kept over a restart.

    Returns:
        The answer with the message's number; a refusal has the number too.
    """
    return _run(script, instruction, person, is_order=True, name=name)


def find_request(script: AssistantScript, person: Being | None, name: str) -> Result[AskedTask]:
    """Find a request by the name that its caller gave it.

    Args:
        person: the caller; None: the game itself.
    """
    try:
        task = programs.find(script, person, name)
    except NoAnswerError as error:
        return Result.not_found(f"{error}.")
    if task is None:
        return Result.not_found(
            f"You asked {script.key} nothing by the name {name!r} within a day."
        )
    request = AskedTask(
        task.name,
        task.state,
        task.answer,
        task.reason if task.state == store.FAILED else "",
        task.number,
        iso(task.began_at),
        iso(task.ends_at),
    )
    return Result(True, f"{script.key}: {task.answer or task.state}", request)


def ask(
    script: AssistantScript, question: str, *, person: Being | None = None, name: str = ""
) -> Deferred[Result[Told]]:
    """Ask an assistant a question; the answer is returned and not said, and no tool acts.

    Args:
        person: the person in whose name it is asked; None: the game itself.
        name: as in `tell`.
    """
    return _run(script, question, person, is_order=False, name=name)


def _run(
    script: AssistantScript, words: str, person: Being | None, *, is_order: bool, name: str
) -> Deferred[Result[Told]]:
    try:
        request = requests.begin(script, words, person, is_order=is_order, name=name)
    except NoAnswerError as error:
        return succeed(_refusal(error))

    def done(answer: str) -> Result[Told]:
        return Result(True, f"{script.key}: {answer}", Told(answer, request.number))

    return request.answer.addCallbacks(done, _failed)


def _failed(failure: Failure) -> Result[Told]:
    failure.trap(NoAnswerError)
    return _refusal(failure.value)


def _refusal(error: NoAnswerError) -> Result[Told]:
    return Result(False, f"{error}.", Told("", error.number), PROBLEMS[error.reason])
