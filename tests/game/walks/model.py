"""A model that answers on command, in every good and bad way, and notes what it is asked.

Each answer names the messages that it answers, so that a listener can match them.
"""

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from evennia_ai.errors import (
    ContextLengthError,
    ModelConnectionError,
    ModelReplyError,
    ModelStatusError,
    ModelTimeoutError,
)
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.walks.till import Till

HUGE = 60_000


@dataclass(eq=False, slots=True)
class Held:
    """A model call that is not answered.

    Attributes:
        key: the assistant that asked.
        tokens: the messages that it is to answer.
        asker: their sender, or "".
        tools: names of the tools on offer.
        usage: the token usage that the service reports.
        is_open: whether the caller still waits.
    """

    key: str
    tokens: tuple[str, ...]
    asker: str
    tools: frozenset[str]
    usage: Mapping[str, int]
    deferred: Deferred[bytes] = field(default_factory=Deferred)
    is_open: bool = True


Making = Callable[[Held, str], bytes | Exception]


def _reply(held: Held, *calls: tuple[str, dict[str, Any]], text: str | None = None) -> bytes:
    return completion(text, *calls, usage=held.usage)


def _answer(held: Held, words: str) -> bytes:
    if "report" in held.tools:
        return _reply(held, ("report", {"message": words}))
    if held.asker and int(words.split()[0][1:]) % 2:
        return _reply(held, ("whisper", {"target": held.asker, "message": words}))
    return _reply(held, ("say", {"message": words})) if held.tools else _reply(held, text=words)


def _several(held: Held, words: str) -> bytes:
    return _reply(held, ("look_it_up", {"number": 1}), ("look", {}), ("say", {"message": words}))


def _too_many(held: Held, words: str) -> bytes:
    return _reply(held, *(("look_it_up", {"number": number}) for number in range(60)))


def _calls(name: str, **arguments: Any) -> Making:
    return lambda held, words: _reply(held, (name, arguments))


def _raw(body: bytes) -> Making:
    return lambda held, words: body


def _error(make: Callable[[], Exception]) -> Making:
    return lambda held, words: make()


GOOD: Mapping[str, Making] = {
    "answer": _answer,
    "several": _several,
    "text": lambda held, words: _reply(held, text=words),
    "noop": _calls("noop"),
}
STEPS: Mapping[str, Making] = {
    "look": _calls("look"),
    "look_it_up": lambda held, words: _reply(held, ("look_it_up", {"number": len(words)})),
    "probe again": _calls("look_it_up", number=1),
    "slow": _calls("probe_slowly"),
    "ring": _calls("ring_slowly"),
    "gate": _calls("open_gate"),
    "delegate": _calls("delegate_task", task="Count the lamps."),
    "stop midway": lambda held, words: _reply(
        held, ("pull_the_cord", {}), ("look_it_up", {"number": 2}), ("say", {"message": words})
    ),
    "slow, then more": lambda held, words: _reply(
        held, ("probe_slowly", {}), ("look_it_up", {"number": 3}), ("say", {"message": words})
    ),
    "call brass": lambda held, words: _reply(
        held, ("say", {"message": f"@Brass, help me! {words}"})
    ),
}
BAD: Mapping[str, Making] = {
    "in vain": _calls("probe_in_vain"),
    "broken tool": _calls("probe_broken"),
    "unknown tool": _calls("fly_away"),
    "bad arguments": _calls("look_it_up", number="many", colour="red"),
    "too many": _too_many,
    "nothing": lambda held, words: _reply(held, text=""),
    "garbage": _raw(b"\xff\x00<html>"),
    "no completion": _raw(b"{}"),
    "huge": lambda held, words: _reply(held, text=f"{words} " + "word " * (HUGE // 5)),
    "odd usage": lambda held, words: completion(words, usage={"prompt_tokens": -5}),
}
FAULTS: Mapping[str, Making] = {
    "no connection": _error(lambda: ModelConnectionError("nobody answers")),
    "too late": _error(lambda: ModelTimeoutError("no whole answer")),
    "429": _error(lambda: ModelStatusError(429, "too many requests", retry_after=3.0)),
    "500": _error(lambda: ModelStatusError(500, "broken")),
    "400": _error(lambda: ModelStatusError(400, "no such thing")),
    "too long": _error(lambda: ContextLengthError(400, "too long")),
    "no reply": _error(lambda: ModelReplyError("not a completion")),
}
# The ways that end a turn without a word.
WORDLESS = ("noop", "ring")
EVERY: Mapping[str, Making] = {**GOOD, **STEPS, **BAD, **FAULTS}


class WalkedModel:
    """Answers for all assistants, each of which names itself as its model.

    Args:
        asker_of: gives the sender of a message, or "".

    Attributes:
        scripts: the assistants by key.
        ready: ways in which the next calls are answered at once.
        held: calls that wait for an answer.
        is_silent: whether no call is answered at once, whatever was chosen.
        is_late: whether a cancelled call is answered at that very moment.
        wrong: calls that should never have been made.
        posted: the number of requests so far.
        chosen: messages that were answered without a word.
        choose: gives the way in which a call is answered at once, or "" to let it wait.
        usage_of: gives the usage that the service reports for a request.
        till: its own count of all that it sent.
    """

    rate_limit_info = None

    def __init__(self, asker_of: Callable[[str], str]) -> None:
        self.scripts: dict[str, Any] = {}
        self.ready: list[str] = []
        self.held: list[Held] = []
        self.is_late = self.is_silent = False
        self.wrong: list[str] = []
        self.posted = 0
        self.choose: Callable[[], str] = self._next_ready
        self.usage_of: Callable[[Mapping[str, Any]], Mapping[str, int]] = self._little
        self.till = Till()
        self.chosen: set[str] = set()
        self._asker_of = asker_of
        self._number = 0

    def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
        self.posted += 1
        script = self.scripts[body["model"]]
        for name, is_wrong in (
            ("stopped", state.read(script, "emergency_stop")),
            ("disabled", not state.read(script, "enabled")),
            ("closing", script.work.is_closing),
        ):
            if is_wrong:
                asked_by = "".join(traceback.format_stack(limit=25)[:-1])
                self.wrong.append(f"{script.key} asked its model while {name}:\n{asked_by}")
        held = self._hold(script, body)
        if not self.is_silent and (kind := self.choose()):
            reply = self._make(kind, held)
            self._count(held, reply)
            return fail(reply) if isinstance(reply, Exception) else succeed(reply)
        self.held.append(held)
        return held.deferred

    def _little(self, body: Mapping[str, Any]) -> Mapping[str, int]:
        """Few tokens, and a different number each time."""
        return {"prompt_tokens": 5 + self.posted % 7, "completion_tokens": 1 + self.posted % 3}

    def _count(self, held: Held, made: bytes | Exception) -> None:
        """Note an answer that leaves for good."""
        if isinstance(made, bytes):
            self.till.answered(held.key, made, is_awaited=held.is_open)
        elif isinstance(made, (ModelTimeoutError, ModelReplyError)):
            self.till.given_up(held.key)

    def _next_ready(self) -> str:
        return self.ready.pop(0) if self.ready else ""

    def _hold(self, script: Any, body: Mapping[str, Any]) -> Held:
        waiting = {item["id"]: item for item in script.work.inbox}
        events = [waiting[event_id] for event_id in script.work.running if event_id in waiting]
        tokens = tuple(sorted(item["body"].split()[0] for item in events if item["body"]))
        tokens = tuple(token for token in tokens if self._asker_of(token))
        tools = frozenset(tool["function"]["name"] for tool in body.get("tools", ()))
        asker = self._asker_of(tokens[0]) if tokens else ""
        held = Held(script.key, tokens, asker, tools, self.usage_of(body))
        held.deferred = Deferred(lambda _: self._give_up(held))
        return held

    def _give_up(self, held: Held) -> None:
        """Close a call whose caller no longer waits; a late model answers at that very moment."""
        held.is_open = False
        if held in self.held:
            self.held.remove(held)
        if self.is_late and not self.is_silent:
            self._give(held, "answer")
        else:
            self.till.given_up(held.key)

    def answer(self, kind: str, index: int = 0) -> None:
        held = self.held.pop(index % len(self.held))
        self._give(held, kind)

    def _give(self, held: Held, kind: str) -> None:
        reply = self._make(kind, held)
        self._count(held, reply)
        if isinstance(reply, Exception):
            held.deferred.errback(reply)
        else:
            held.deferred.callback(reply)

    def _make(self, kind: str, held: Held) -> bytes | Exception:
        self._number += 1
        if kind in WORDLESS and held.is_open:
            self.chosen.update(held.tokens)
        return EVERY[kind](held, f"u{self._number} for {' '.join(held.tokens) or 'nobody'}.")

    def die(self) -> list[Held]:
        """End the process, in which nobody waits any more; return the waiting calls."""
        gone, self.held, self.ready = self.held, [], []
        self.till.killed(held.key for held in gone)
        return gone
