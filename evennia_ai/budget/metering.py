"""The model of one turn: its calls are metered and end with the time limit of the tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from twisted.internet.defer import TimeoutError as DeadlineError

from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.memory.phrasing import mended
from evennia_ai.core.safety.limits import LimitKind
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.core.turn.trace import fingerprints
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Prompt, Reply, Specs
from evennia_ai.errors import LimitReachedError, ModelTimeoutError, NoFreeSlotError
from evennia_ai.llm.token_counter import TokenCounter
from evennia_ai.prompts import PromptInputs, compose
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant, Clock
from evennia_ai.runtime.work import Work

# The argument with the spoken text, in every tool by which a small model answers.
MESSAGE = "message"
# Tokens of an answer that is plain speech: enough for one line and a little more.
MOST_SAID_TOKENS = 96


class TickClock:
    """The time limit of one tick. Time that a person grants counts from the moment of the grant.

    Args:
        seconds: the limit; 0: none.
    """

    def __init__(self, turn: Turn, seconds: float, clock: Clock) -> None:
        self.turn, self.seconds, self.clock = turn, seconds, clock
        self._ends_at = clock.seconds() + seconds
        self._granted = turn.grants.get(LimitKind.TICK_SECONDS, 0.0)

    def left(self) -> float | None:
        """Seconds left, or None without a limit.

        Raises:
            LimitReachedError: no time is left.
        """
        if not self.seconds:
            return None
        # The person may have taken longer to answer than the tick had left.
        granted = self.turn.grants.get(LimitKind.TICK_SECONDS, 0.0)
        if granted > self._granted:
            self._ends_at = self.clock.seconds() + granted - self._granted
            self._granted = granted
        seconds = self._ends_at - self.clock.seconds()
        if seconds <= 0:
            raise self.hit()
        return seconds

    def hit(self) -> LimitReachedError:
        """The error for the reached limit."""
        cap = self.seconds + self._granted
        return LimitReachedError(
            LimitKind.TICK_SECONDS, used=cap, cap=cap, amount=self.seconds, scope=self.turn.scope
        )


@dataclass(slots=True)
class TurnModel:
    """The model port of one turn, and its prompts.

    The token counts of the service correct the estimates. The last call after a limit has a
    deadline of its own, because the tick's time may be used up.

    Args:
        metered: the client, which accounts for its calls.
        wrap_up_seconds: the deadline of the last call after a limit.
    """

    metered: MeteredClient
    inputs: PromptInputs
    counter: TokenCounter
    work: Work
    turn: Turn
    time: TickClock
    wrap_up_seconds: float
    _estimated: int = 0

    @property
    def is_small(self) -> bool:
        """True for a model without native tool calls, whose prompt names the fitting tool."""
        return not self.metered.client.supports_tools

    def compose(self, turn: Turn, specs: Specs) -> Prompt:
        """The prompt of the next call."""
        prompt = compose(self.inputs, turn, specs)
        if not turn.prompt:
            turn.prompt = fingerprints([("persona", self.inputs.text), *prompt.sources])
        self._estimated = self.work.context_tokens = prompt.tokens
        self.work.max_context_tokens = prompt.max_tokens
        return prompt

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """Ask for one completion.

        Raises:
            LimitReachedError: a limit on time or money allows no call, or ended this one.
            ModelError: the service failed.
            CircuitOpenError: the circuit breaker is open.
            ConfigurationError: costs are capped, and the model has no known price.
        """
        seconds = self.wrap_up_seconds if self.turn.stopped_by else self.time.left()
        purpose = "wrap_up" if self.turn.stopped_by else "turn"
        bounds: dict[str, Any] = {}
        # A small model that can only speak is asked for one line of plain text, not for JSON.
        if self.inputs.is_plain(spec.name for spec in tools):
            tools, bounds = (), {"max_tokens": MOST_SAID_TOKENS, "stop": ["\n"]}
        paid = self.metered.ask(messages, tools, purpose=purpose, tokens=self._estimated, **bounds)
        try:
            reply: Reply = await (paid.addTimeout(seconds, self.time.clock) if seconds else paid)
        # The tick's time ran out before the call's own deadline; the service is not to blame.
        except DeadlineError:
            if self.turn.stopped_by:
                text = f"no last word within {self.wrap_up_seconds:g} s"
                raise ModelTimeoutError(text) from None
            raise self.time.hit() from None
        except ModelTimeoutError as error:
            # No person is asked for more time if it is only the last word, or if nothing was sent.
            if self.turn.stopped_by or isinstance(error, NoFreeSlotError):
                raise
            raise self._call_time_over() from error
        self.counter.note_usage(self._estimated, reply.usage)
        self.turn.model = self.metered.name_of(reply)
        return self._mended(reply) if self.inputs.is_grounded else reply

    def _mended(self, reply: Reply) -> Reply:
        """A small model's reply, corrected by the note that was in its prompt."""
        event, note = self.turn.event, self.inputs.hint
        line, names = event.body, f"{self.inputs.name} {event.sender_name}"
        calls = tuple(
            replace(call, arguments={**call.arguments, MESSAGE: mended(message, line, note, names)})
            if isinstance(message := call.arguments.get(MESSAGE), str)
            else call
            for call in reply.tool_calls
        )
        content = reply.content if calls else mended(reply.content, line, note, names)
        return replace(reply, content=content, tool_calls=calls)

    def _call_time_over(self) -> LimitReachedError:
        """The call's deadline as a limit; if a person grants more time, the call is repeated."""
        seconds = self.metered.client.deadline_seconds
        turn = self.turn
        cap = seconds + turn.grants.get(LimitKind.MODEL_CALL_SECONDS, 0.0)
        return LimitReachedError(
            LimitKind.MODEL_CALL_SECONDS, used=cap, cap=cap, amount=seconds, scope=turn.scope
        )


def turn_model(
    script: Assistant,
    turn: Turn,
    metered: MeteredClient,
    inputs: PromptInputs,
    counter: TokenCounter,
) -> TurnModel:
    """The model port of a turn."""
    timeout = state.safety_config(script).timeout
    return TurnModel(
        metered,
        inputs,
        counter,
        script.work,
        turn,
        TickClock(turn, timeout.tick_seconds, script.clock),
        timeout.wrap_up_seconds,
    )
