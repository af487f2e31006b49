"""The conversation of an assistant: telling and asking it from afar, and all that was said."""

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
from evennia_ai.core.turn.compaction import summary_text
from evennia_ai.core.turn.conversation import PRIVATE_TO, Message
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.incoming import key_of
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.operations.rights.private_words import Look
from evennia_ai.operations.times import iso
from evennia_ai.runtime import state
from evennia_ai.tasks import programs, store
from evennia_ai.tools import TOOL_REGISTRY

MOST_SHOWN = 200
LONGEST_TEXT = 2000
LONGEST_RESULT = 500
LONGEST_FRAME = 300
# A name without quotes holds no colon, so that the last frame before the first colon is the true
# one; a name that could be taken for one is quoted, and is left to be read in the text.
_FRAME = re.compile(
    r"^(?P<name>[^\":\n]+) "
    r"(?:whispers to you|pages you|says to you|does|says on the channel [^:\n]+|causes|"
    r"hands you a task)[^:\n]*: "
)
_SAID_TO = {"say": "says", "whisper": "whispers", "page": "pages", "pose": "does", "emote": "does"}


class TalkPage(TypedDict):
    """Part of the conversation in the order in which it was said, or all of it."""

    messages: Annotated[
        list[dict[str, object]],
        note("Of a page `number`, `role`, `name`, `text` and `private_to`; else chat messages."),
    ]
    count: NotRequired[Annotated[int, note("How many are kept.")]]
    next: NotRequired[Annotated[int | None, note("Give it as `before` for what is older.")]]


def show_history(
    script: AssistantScript, *, before: int | None = None, limit: int = 20, look: Look | None = None
) -> Result[TalkPage]:
    """A page of the conversation, the newest unless `before` says otherwise.

    Numbers count from the oldest message kept; when older ones are let go they move.

    Args:
        before: the number of a message; the page ends with the one before it.
        limit: messages on a page, 1 to 200.

    Returns:
        A page. What is private to somebody has that person's id in "private_to".
    """
    messages, look = _messages(script), look or Look()
    if not 1 <= limit <= MOST_SHOWN:
        return Result.invalid(f"{limit} messages cannot be shown at once; 1 to {MOST_SHOWN} can.")
    if before is not None and before < 1:
        return Result.invalid(f"{before} is not the number of a message; they begin at 1.")
    end = len(messages) if before is None else min(before - 1, len(messages))
    first = max(0, end - limit)
    names = _names_of_calls(messages)
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


def export_history(script: AssistantScript, *, look: Look | None = None) -> Result[TalkPage]:
    """The whole conversation as chat messages, as it is kept."""
    look = look or Look()
    messages = [_exported(message, look) for message in deepcopy(_messages(script))]
    look.note(script, "conversation, exported")
    return Result(True, f"{script.key}: {len(messages)} messages.", {"messages": messages})


def _messages(script: AssistantScript) -> list[Message]:
    """The messages in memory, else those that are stored."""
    work = script.work
    return list(work.history if work is not None else state.read(script, "conversation_history"))


def _names_of_calls(messages: Sequence[Message]) -> dict[str, str]:
    """The tool of each call, by the call's id."""
    return {
        str(call["id"]): str(call["function"]["name"])
        for message in messages
        for call in message.get("tool_calls") or ()
    }


def _exported(message: Message, look: Look) -> Message:
    """A message; of one that is private to somebody else only how long its words are."""
    owner = message.get(PRIVATE_TO)
    if owner is None or look.may_see(person_audience(owner)):
        return message
    given = {} if message.get("content") is None else {"content": masked(str(message["content"]))}
    for call in message.get("tool_calls") or ():
        call["function"] = {"name": _known(call["function"]["name"]), "arguments": "{}"}
    return {**message, **given}


def _known(name: str) -> str:
    """The name of a tool that there is; one that a model made up is its words."""
    return name if name in TOOL_REGISTRY else "tool"


def _row(
    script: AssistantScript, number: int, message: Message, names: Mapping[str, str], look: Look
) -> dict[str, Any]:
    role = str(message["role"])
    content = str(message.get("content") or "")
    if role == "tool":
        name = names.get(str(message.get("tool_call_id")), "tool")
        name = _known(name) if message.get(PRIVATE_TO) is not None else name
        text = _cut(content, LONGEST_RESULT)
    elif role == "assistant":
        name = str(script.key)
        calls = [_told_call(call["function"]) for call in message.get("tool_calls") or ()]
        text = _cut("; ".join([*([f"says: {quote(content)}"] if content else []), *calls]))
    else:
        name, text = _speaker(content), _cut(_told(message, content))
    return {
        "number": number,
        "role": role,
        "name": name,
        "text": look.words(text, message.get(PRIVATE_TO)),
        "private_to": message.get(PRIVATE_TO),
    }


def _told(message: Message, content: str) -> str:
    summary = summary_text(message)
    return f"(summary of earlier talk) {summary}" if summary else content


def _speaker(content: str) -> str:
    """The last speaker of a message, "" where that is nobody or in quotes."""
    found = _FRAME.match(content.splitlines()[-1][:LONGEST_FRAME]) if content else None
    return found["name"] if found else ""


def _told_call(function: Mapping[str, Any]) -> str:
    """A call as people read it: `whispers to Tom: "hello"`, or the tool and what it was given."""
    name = str(function["name"])
    try:
        given = json.loads(function["arguments"])
    except ValueError:
        given = None
    words = given.get("message", given.get("action")) if isinstance(given, dict) else None
    if name not in _SAID_TO or not isinstance(words, str):
        return f"uses {name} {function['arguments']}"
    to = f" to {one_line(str(given['target']), 60)}" if given.get("target") else ""
    return f"{_SAID_TO[name]}{to}: {quote(words)}"


def _cut(text: str, longest: int = LONGEST_TEXT) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _line(row: Mapping[str, Any]) -> str:
    """A message as it is listed; further lines of it are put in."""
    who = f"{row['name']} " if row["role"] == "assistant" else ""
    who = f"{row['name']} gave: " if row["role"] == "tool" else who
    text = row["text"].replace("\n", "\n      ")
    return f"{row['number']:>4}  {who}{text}{_privacy(row['private_to'])}"


def _privacy(person: str | None) -> str:
    if person is None:
        return ""
    return f"   (private to {key_of(person, gone='somebody who is gone')})"


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
    """An assistant's report, in its own words: a model's, to be shown as text."""

    answer: str
    number: Annotated[int, note("By which `why` knows it; 0: it was not even heard.")]


@dataclass(frozen=True, slots=True)
class AskedTask:
    """A task that was asked by a name, and what came of it so far."""

    name: str
    state: Annotated[str, note("`open`, `answered` or `failed`.")]
    answer: Annotated[str, note("The report, or why there is none; empty while it is open.")]
    reason: Annotated[str, note("Why there is none, in one word.")]
    number: Annotated[int, note("By which `why` knows it.")]
    began_at: Annotated[str, note("When it was asked.")]
    ends_at: Annotated[str, note("Until when an answer is waited for.")]


def tell(
    script: AssistantScript, person: Being | None, instruction: str, *, name: str = ""
) -> Deferred[Result[Told]]:
    """Tell an assistant to do something: it believes that fully, and may act in the world.

    What asks a person first does so as ever. Cancelling the Deferred takes it back.

    Args:
        person: who tells it; the right to is checked already.
        name: the person's own for this task: it is told once, however often this is called, and
            what comes of it is kept over a restart.

    Returns:
        The number also where it came to nothing.
    """
    return _run(script, instruction, person, is_order=True, name=name)


def find_request(script: AssistantScript, person: Being | None, name: str) -> Result[AskedTask]:
    """The task that a person asked an assistant by a name.

    Args:
        person: None: the game itself asked.
    """
    try:
        task = programs.find(script, person, name)
    except NoAnswerError as error:
        return Result.missing(f"{error}.")
    if task is None:
        return Result.missing(f"You asked {script.key} nothing by the name {name!r} within a day.")
    asked = AskedTask(
        task.name,
        task.state,
        task.answer,
        task.reason if task.state == store.FAILED else "",
        task.number,
        iso(task.began_at),
        iso(task.ends_at),
    )
    return Result(True, f"{script.key}: {task.answer or task.state}", asked)


def ask(
    script: AssistantScript, question: str, *, person: Being | None = None, name: str = ""
) -> Deferred[Result[Told]]:
    """Ask an assistant something; nobody hears the answer, and it does nothing in the world.

    Args:
        person: in whose name; None: the game itself.
        name: as of `tell`.
    """
    return _run(script, question, person, is_order=False, name=name)


def _run(
    script: AssistantScript, words: str, person: Being | None, *, is_order: bool, name: str
) -> Deferred[Result[Told]]:
    try:
        begun = requests.begin(script, words, person, is_order=is_order, name=name)
    except NoAnswerError as error:
        return succeed(_refusal(error))

    def done(answer: str) -> Result[Told]:
        return Result(True, f"{script.key}: {answer}", Told(answer, begun.number))

    return begun.answer.addCallbacks(done, _failed)


def _failed(failure: Failure) -> Result[Told]:
    failure.trap(NoAnswerError)
    return _refusal(failure.value)


def _refusal(error: NoAnswerError) -> Result[Told]:
    return Result(False, f"{error}.", Told("", error.number), PROBLEMS[error.reason])
