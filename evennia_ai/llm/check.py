"""Check of an endpoint with real requests: can an assistant work with it?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import urlsplit

from twisted.internet import reactor as default_reactor
from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.reading import read_json
from evennia_ai.core.turn.conversation import Message, user_message
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.engine.ports import Reply
from evennia_ai.errors import (
    ConfigurationError,
    LimitReachedError,
    ModelError,
    ModelStatusError,
    StoppedError,
)
from evennia_ai.llm.answer_limits import Generation
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.pool import Pool
from evennia_ai.llm.transport import OpenAITransport

# Servers such as Ollama silently cut a prompt that does not fit into their configured context.
LONG_PROMPT_WORDS = 2000
ADVICE = "try EVENNIA_AI_TOOL_MODE=json, or another model"
NOT_FOUND = 404
# Statuses by which services refuse tools.
ABOUT_REQUEST = (400, NOT_FOUND, 422)
PROBE = ToolSpec(
    "ring_bell",
    "Ring the bell a number of times.",
    {
        "type": "object",
        "properties": {"times": {"type": "integer"}},
        "required": ["times"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one probe; `text` says what was seen, or what to do about it."""

    name: str
    ok: bool
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """The results of all probes."""

    title: str
    lines: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        """True if every probe succeeded."""
        return all(line.ok for line in self.lines)


class PayingClient(Protocol):
    """A client that accounts for what its calls cost."""

    def ask(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, purpose: str
    ) -> Deferred[Reply]:
        """Ask for one completion."""


Paid = Callable[[Any], PayingClient]
PURPOSE = "check"


def check_endpoint(
    endpoint: Endpoint,
    pool: Pool,
    *,
    paid: Paid | None = None,
    generation: Generation = Generation(),
    reactor: Reactor = default_reactor,
) -> Deferred[Report]:
    """Ask each address for its models, a sentence, a tool call and an answer to a long prompt.

    An open circuit breaker does not prevent the check; an answer closes it, and failures are not
    counted.

    Args:
        paid: wraps a client into one that accounts for its calls; None: they are not accounted for.
        generation: the assistant's sampling settings, which the endpoint may refuse.
    """

    async def check_all() -> Report:
        lines: list[CheckResult] = []
        for one in endpoint.each:
            results = await _Check(one, pool, paid, generation, reactor).run()
            lines += (
                replace(line, name=f"{line.name} at {one.base_url}") if endpoint.replicas else line
                for line in results
            )
        return Report(endpoint.describe(), tuple(lines))

    return Deferred.fromCoroutine(check_all())


class _Check:
    def __init__(
        self,
        endpoint: Endpoint,
        pool: Pool,
        paid: Paid | None,
        generation: Generation,
        reactor: Reactor,
    ) -> None:
        self._endpoint = endpoint
        self._client = pool.trial_client(endpoint, generation)
        self._pool = pool
        self._paying_client = None if paid is None else paid(self._client)
        self._transport = pool.transport(endpoint)
        self._reactor = reactor

    async def run(self) -> list[CheckResult]:
        """Run all probes in turn; if the endpoint does not answer the first, skip the others."""
        lines = [await self._try("answers", self._answers)]
        if lines[0].ok:
            self._pool.note_answer(self._endpoint)
            lines.append(await self._try("model", self._model))
            lines.append(await self._try("tool calls", self._tool_call))
            lines.append(await self._try("context", self._context))
        return lines

    async def _try(
        self, name: str, probe: Callable[[], Awaitable[tuple[bool, str]]]
    ) -> CheckResult:
        try:
            ok, text = await probe()
        # A ConfigurationError says that costs are capped, and this model has no known price.
        except (ModelError, LimitReachedError, StoppedError, ConfigurationError) as error:
            ok, text = False, str(error)
        return CheckResult(name, ok, text)

    async def _ask(self, text: str, tools: Sequence[ToolSpec] = ()) -> tuple[Reply, float]:
        began = self._reactor.seconds()
        messages = [{"role": "system", "content": "You are a bell keeper."}, user_message(text)]
        if self._paying_client is None:
            reply = await self._client.chat_completion(messages, tools)
        else:
            reply = await self._paying_client.ask(messages, tools, purpose=PURPOSE)
        return reply, self._reactor.seconds() - began

    async def _answers(self) -> tuple[bool, str]:
        try:
            reply, seconds = await self._ask("Say hello in one word.")
        except ModelStatusError as error:
            url = self._endpoint.base_url
            if error.status != NOT_FOUND or urlsplit(url).path:
                raise
            return False, f"{error}; most base URLs end in /v1: try {url}/v1"
        tokens = reply.usage.completion_tokens if reply.usage.prompt_tokens else 0
        rate = tokens / seconds if seconds > 0 else 0.0
        decimals = 1 if rate < 10 else 0
        speed = f", {rate:.{decimals}f} tokens a second" if rate else ""
        counted = "" if reply.usage.prompt_tokens else "; it reports no token usage"
        return True, f"answered in {seconds:.1f} s{speed}{counted}"

    async def _model(self) -> tuple[bool, str]:
        if not isinstance(self._transport, OpenAITransport):
            return True, self._endpoint.model
        model = self._endpoint.model
        names = await self._listed(self._transport)
        if not names:
            return True, f"{model} (the endpoint does not list its models)"
        # Ollama lists a model with its tag, Gemini below "models/"; both take it without.
        if {model, f"{model}:latest", f"models/{model}"}.intersection(names):
            return True, f"{model} is known"
        shown = one_line(", ".join(sorted(names)[:6]), 200)
        return False, f"{model} is not among its models; it has {shown}"

    async def _listed(self, transport: OpenAITransport) -> list[str]:
        call = transport.models().addTimeout(self._client.deadline_seconds, self._reactor)
        try:
            return [str(item["id"]) for item in read_json(await call)["data"]]
        # Many services have no list of models, or another format, and answer all the same.
        except (ModelStatusError, DeadlineError, ValueError, KeyError, TypeError):
            return []

    async def _tool_call(self) -> tuple[bool, str]:
        try:
            reply, _ = await self._ask("Ring the bell three times.", (PROBE,))
        except ModelStatusError as error:
            if error.status not in ABOUT_REQUEST:
                raise
            return False, f"{error}; {ADVICE}"
        call = next(iter(reply.tool_calls), None)
        if call is not None and call.name == PROBE.name and not call.problem:
            return True, f"work ({self._client.tool_mode})"
        if call is not None:
            return False, f"{call.problem or f'it called {call.name}, not {PROBE.name}'}; {ADVICE}"
        return (
            False,
            f"it answered {one_line(reply.content, 60)!r} instead of a tool call; {ADVICE}",
        )

    async def _context(self) -> tuple[bool, str]:
        text = "storm " * LONG_PROMPT_WORDS + "\nHow is the weather? One word."
        reply, seconds = await self._ask(text)
        size = reply.usage.prompt_tokens
        # Each word is one token at least; fewer means that the server cut the prompt.
        if 0 < size < LONG_PROMPT_WORDS:
            return False, (
                f"only {size} tokens of a prompt of {LONG_PROMPT_WORDS} words were read; "
                "raise the model's context size"
            )
        length = f"{size} tokens" if size else f"{LONG_PROMPT_WORDS} words"
        return True, f"a prompt of {length} is read, in {seconds:.1f} s"
