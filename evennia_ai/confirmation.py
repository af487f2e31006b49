"""Questions before a dangerous act: who is asked, what waits for a yes, and for how long.

A question is kept in the database and asked once. It is void when the history is reset and when its
time is over; whoever answers then is told so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import evennia
from evennia.server.models import ServerConfig

from evennia_ai import outbound, state
from evennia_ai.core.inbox import Event
from evennia_ai.core.text import one_line
from evennia_ai.core.toolspec import Fault, ToolCall, ToolResult
from evennia_ai.core.turn import Turn
from evennia_ai.errors import ConfigurationError
from evennia_ai.inbound import find_being, person_of
from evennia_ai.rights import meets

COUNTER = "evennia_ai_questions"
ASKER, STAFF = "asker", "staff"
MOST_SHOWN = 200

Pending = dict[str, Any]


def describe(call: Mapping[str, Any]) -> str:
    """A call in one line for people."""
    arguments = json.dumps(call["arguments"], ensure_ascii=False)
    return one_line(f"{call['tool']} {arguments}", MOST_SHOWN)


def ask(script: Any, turn: Turn, call: ToolCall) -> ToolResult:
    """Ask whoever may allow a call, and tell the model that it has to wait."""
    asked = {"tool": call.name, "arguments": dict(call.arguments)}
    waiting = pending(script)
    known = next((q for q in waiting if asked.items() <= q.items()), None)
    if known is not None:
        text = f"question {known['number']} about this is open already; wait for the answer"
        return ToolResult(False, text, Fault.NOT_RUN)
    people = list(_who(script, turn.event))
    if not people:
        text = "not done: nobody who could allow it can be asked now"
        return ToolResult(False, text, Fault.DENIED)
    question = asked | {
        "number": _next_number(),
        "people": [person_of(person) for person in people],
        "event": turn.event.as_stored(),
        "expires_at": script.clock.seconds() + state.read(script, "confirm_seconds"),
    }
    state.write(script, confirmations=[*waiting, question])
    for person in people:
        _put(script, person, question)
    names = ", ".join(person.key for person in people)
    text = f"not done yet: {names} has to say yes first (question {question['number']})"
    return ToolResult(False, f"{text}; you will be told", Fault.NOT_RUN)


def _put(script: Any, person: Any, question: Mapping[str, Any]) -> None:
    number = question["number"]
    line = (
        f"{script.obj.key} asks (question {number}): may I do this: {describe(question)}? "
        f"Type: assistant answer {number} yes | no"
    )
    person.msg(outbound.literal(line))


def _next_number() -> int:
    number = int(ServerConfig.objects.conf(COUNTER, default=0)) + 1
    ServerConfig.objects.conf(COUNTER, number)
    return number


def _who(script: Any, event: Event) -> Iterable[Any]:
    """The people who are asked: the asker, staff who are online, or whoever meets a condition."""
    by = str(state.read(script, "confirm_by"))
    if by == ASKER:
        being = find_being(event.sender_id)
        return [being] if being is not None and not event.hops else []
    accounts = {session.get_account() for session in evennia.SESSION_HANDLER.get_sessions()}
    online = sorted(accounts - {None}, key=lambda account: account.pk)
    if by == STAFF:
        return [account for account in online if account.check_permstring("Admin")]
    named = [account for account in online if by.casefold() in _names(account)]
    return named or [account for account in online if _meets(script, account, by)]


def _names(account: Any) -> set[str]:
    return {being.key.casefold() for being in (account, *account.get_all_puppets()) if being}


def _meets(script: Any, account: Any, condition: str) -> bool:
    try:
        return meets(account, condition, script.obj)
    except ConfigurationError:
        return False


def pending(script: Any) -> list[Pending]:
    """The questions whose time is not over."""
    now = script.clock.seconds()
    return [q for q in state.read(script, "confirmations") if q["expires_at"] > now]


def may_answer(question: Mapping[str, Any], person: Any, *, is_staff: bool) -> bool:
    """Whether this person was asked, or is staff."""
    return is_staff or person_of(person) in question["people"]


def take(script: Any, number: int) -> Pending | None:
    """Close a question, so that nobody answers it twice; None when there is none."""
    waiting = pending(script)
    found = next((question for question in waiting if question["number"] == number), None)
    if found is not None:
        left = [question for question in waiting if question is not found]
        state.write(script, confirmations=left)
    return found
