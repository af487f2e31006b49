"""The scripted model in this process: the same answers and the same count as over HTTP."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from evennia_ai.errors import ModelStatusError
from tests.fakes.answers import compose_completion, count_tokens, refusal_of
from tests.fakes.behaviour import Behaviour, Script, read_behaviour


@dataclass(frozen=True, slots=True)
class Sent:
    """One answer, with the model's own count of its tokens."""

    body: Mapping[str, Any]
    prompt_tokens: int
    completion_tokens: int

    @property
    def tokens(self) -> int:
        """The tokens to be paid for."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(slots=True)
class CountedModel:
    """A transport that counts what it sends, whatever it reports.

    Attributes:
        script: how calls are treated; kind "hang" holds an answer until `release`.
        bodies: all requests, those that were refused included.
        sent: the answers that were written, and so have to be paid for.
        waiting: held answers.
        cut_short: the number of calls whose client gave up while their answer was held.
    """

    script: Script = field(default_factory=Script)
    bodies: list[Mapping[str, Any]] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    waiting: list[tuple[Deferred[bytes], bytes]] = field(default_factory=list)
    cut_short: int = 0

    def behave(self, **behaviour: Any) -> None:
        """Set how every call is treated from now on."""
        self.script.default = read_behaviour(behaviour)

    def queue(self, *behaviours: Mapping[str, Any]) -> None:
        """Set how the next calls are treated, one each."""
        self.script.queue.extend(map(read_behaviour, behaviours))

    @property
    def tokens(self) -> int:
        """The tokens of all answers, to be paid for."""
        return sum(one.tokens for one in self.sent)

    def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
        how = self.script.take_next()
        self.bodies.append(body)
        if refused := refusal_of(body, how):
            return fail(ModelStatusError(400, refused))
        if how.kind == "status":
            return fail(ModelStatusError(how.status, f"HTTP {how.status}"))
        answer = self._compose(body, how)
        if how.kind != "hang":
            return succeed(answer)
        held: Deferred[bytes] = Deferred(self._forget)
        self.waiting.append((held, answer))
        return held

    def release(self) -> None:
        """Give every held answer."""
        waiting, self.waiting = self.waiting, []
        for held, answer in waiting:
            held.callback(answer)

    def _compose(self, body: Mapping[str, Any], how: Behaviour) -> bytes:
        if how.kind == "empty_object":
            return b"{}"
        completion = compose_completion(body, how, len(self.bodies))
        self.sent.append(Sent(body, *count_tokens(body, completion)))
        return json.dumps(completion).encode()

    def _forget(self, gone: Deferred[bytes]) -> None:
        self.waiting = [pair for pair in self.waiting if pair[0] is not gone]
        self.cut_short += 1
