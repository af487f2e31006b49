"""The faults for which some service would refuse a conversation."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from evennia_ai.core.turn.conversation import as_fallback
from tests.engine.doubles import dangling

USABLE = re.compile(r"[A-Za-z0-9_-]{1,64}")
NEXT = {"user": {"assistant"}, "assistant": {"tool", "user"}, "tool": {"tool", "assistant", "user"}}


def complaints(history: Sequence[Mapping[str, Any]]) -> list[str]:
    """The faults of a conversation without its system message; [] when there are none."""
    problems = [f"{call_id} dangles" for call_id in dangling([dict(m) for m in history])]
    roles = [message["role"] for message in history]
    problems += [f"{b} after {a}" for a, b in pairwise(roles) if b not in NEXT[a]]
    problems += [] if roles[:1] in ([], ["user"]) else [f"begins with {roles[0]}"]
    ids = [each["id"] for message in history for each in message.get("tool_calls", ())]
    problems += ["ids twice"] if len(set(ids)) < len(ids) else []
    for message in history:
        problems += _complaints_of(message)
    json.dumps(history, ensure_ascii=False, allow_nan=False).encode()
    json.dumps(as_fallback(history), ensure_ascii=False, allow_nan=False).encode()
    return problems


def _complaints_of(message: Mapping[str, Any]) -> list[str]:
    calls = message.get("tool_calls", ())
    problems = [] if calls or message["content"] else [f"{message['role']} says nothing"]
    for each in calls:
        name, arguments = each["function"]["name"], each["function"]["arguments"]
        problems += [f"id {each['id']!r}"] if not USABLE.fullmatch(each["id"]) else []
        problems += [f"name {name!r}"] if not USABLE.fullmatch(name) else []
        problems += [] if _is_object(arguments) else [f"arguments {arguments!r}"]
    return problems


def _is_object(text: str) -> bool:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        return isinstance(json.loads(text, parse_constant=refuse), dict)
    except ValueError:
        return False


def acts(turn: Sequence[Mapping[str, Any]]) -> str:
    """The calls of a turn as text: replies apart, "+" within one, "!" behind a failed call."""
    groups = []
    for place, message in enumerate(turn):
        names = [each["function"]["name"] for each in message.get("tool_calls", ())]
        results = [json.loads(m["content"]) for m in turn[place + 1 :][: len(names)]]
        pairs = zip(names, results, strict=True)
        groups.append("+".join(f"{name}{'' if done['success'] else '!'}" for name, done in pairs))
    return " ".join(filter(None, groups))
