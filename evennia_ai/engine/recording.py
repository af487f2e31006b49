"""The recording of turns: what the model was sent and answered, and what each tool returned.

It is kept in memory only, by reference, since prompts, replies and calls are never modified. The
audiences of the turn decide who may read which part; the code that shows it checks that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evennia_ai.core.turn.conversation import LONGEST_TOOL_NAME, Message
from evennia_ai.core.turn.react import Stop
from evennia_ai.core.turn.toolspec import Fault, ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Compose, Model, Ports, Prompt, Reply, Specs, Toolbox

# Defaults for each assistant: turns kept, and characters of each.
MOST_TURNS, MOST_CHARACTERS = 50, 200_000
# The size of a prompt is estimated from its tokens: counting its characters would take too long.
CHARACTERS_OF_A_TOKEN = 4
Notify = Callable[[], None]


@dataclass(slots=True)
class RecordedCall:
    """A model call: the prompt and the reply.

    Attributes:
        error: the error text, or "".
        nano: cost in nano-dollars.
        began: seconds on the clock.
        prompt: the composed prompt; the last call after a limit sends only a part of it.
        messages: the messages sent; cut to the newest ones if they take too much space.
        reply: None while the call runs, and if it failed.
        seconds: duration; None while the call runs.
        is_priced: True if the model has a known price; assumed while the call runs.
        is_cut: True if messages or reply are not kept in full.
    """

    began: float
    prompt: Prompt
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    reply: Reply | None = None
    error: str = ""
    seconds: float | None = None
    nano: int = 0
    is_priced: bool = True
    is_cut: bool = False


@dataclass(slots=True)
class ToolUse:
    """A tool call and its result.

    Attributes:
        began: seconds on the clock.
        text: the result as the model got it, or the error text.
        success: None while the call runs.
        seconds: duration; None while the call runs.
        is_cut: True if text or arguments are not kept in full.
    """

    began: float
    call: ToolCall
    text: str = ""
    success: bool | None = None
    fault: Fault | None = None
    seconds: float | None = None
    is_cut: bool = False

    @property
    def is_known(self) -> bool:
        """True if the tool exists; an invented name may quote private words."""
        return self.fault is not Fault.UNKNOWN_TOOL


Step = RecordedCall | ToolUse


@dataclass(slots=True)
class RecordedTurn:
    """The recording of a turn, or of the part of it that one tick ran.

    Attributes:
        turn: its events, audiences and usage.
        began, ended: seconds on the clock; `ended` is None while it runs.
        stop: its end, without the error that led to it; None if it was interrupted.
        limit: the kind of limit that ended it, or "".
        broke_off: the type of the error that interrupted it, or "".
        room: characters that may still be stored.
    """

    turn: Turn
    began: float
    room: int
    steps: list[Step] = field(default_factory=list)
    ended: float | None = None
    stop: Stop | None = None
    limit: str = ""
    broke_off: str = ""

    def end(self, stop: Stop) -> None:
        """Store the stop, without its error."""
        # An exception keeps its traceback alive, and with it the variables of all its frames.
        if stop.limit is not None:
            self.limit, stop = stop.limit.kind, replace(stop, limit=None)
        self.stop = stop

    def record_call(self, call: RecordedCall) -> None:
        """Account for the size of a model call, and cut it if it is too large."""
        prompt = call.prompt
        size = CHARACTERS_OF_A_TOKEN * (prompt.tokens - prompt.tool_tokens)
        if call.reply is not None:
            size += len(call.reply.content) + sum(map(_size_of, call.reply.tool_calls))
        if size > self.room:
            size = self._cut(call)
        self.room -= size

    def _cut(self, call: RecordedCall) -> int:
        """Keep only the newest messages of a call; return their size."""
        call.is_cut, call.prompt = True, replace(call.prompt, messages=[], blocks=[])
        newest: list[Message] = []
        size = self._cut_reply(call)
        # The newest messages explain the model's answer; the head is the same in all calls.
        for message in reversed(call.messages):
            message_size = len(str(message))
            if size + message_size > self.room:
                break
            size += message_size
            newest.append(message)
        call.messages = newest[::-1]
        return size

    def _cut_reply(self, call: RecordedCall) -> int:
        """Keep the beginning of a reply, and its calls as far as they fit; return their size."""
        if call.reply is None:
            return 0
        content = call.reply.content[: self.room]
        size, calls = len(content), []
        for each in call.reply.tool_calls:
            recorded = _kept(each, self.room - size)
            size += _size_of(recorded)
            calls.append(recorded)
        call.reply = replace(call.reply, content=content, tool_calls=tuple(calls))
        return size

    def record_use(self, use: ToolUse) -> None:
        """Account for the size of a tool call, and cut its text if it is too long."""
        recorded = _kept(use.call, self.room)
        use.is_cut, use.call = recorded is not use.call, recorded
        self.room -= _size_of(recorded)
        if len(use.text) > self.room:
            use.text, use.is_cut = use.text[: self.room], True
        self.room -= len(use.text)


def _size_of(call: ToolCall) -> int:
    """The size of a call in characters; a name of normal length is not counted."""
    beyond = max(0, len(call.name) - LONGEST_TOOL_NAME)
    return beyond + (len(str(call.arguments)) if call.arguments else 0)


def _kept(call: ToolCall, room: int) -> ToolCall:
    """The call itself if it fits; otherwise a copy without arguments and with a shortened name."""
    if _size_of(call) <= room:
        return call
    return replace(call, name=call.name[:LONGEST_TOOL_NAME], arguments={})


Listener = Callable[[str, RecordedTurn], None]


class TurnRing:
    """A ring buffer of an assistant's latest turns.

    Args:
        most: number of turns kept; 0: none.
        most_characters: the most characters kept of each.
        listeners: called with the name and each recording that has ended; they must not raise.
    """

    def __init__(
        self,
        most: int = MOST_TURNS,
        most_characters: int = MOST_CHARACTERS,
        tell: Notify = lambda: None,
        name: str = "",
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.most_characters, self.tell = most_characters, tell
        self._name, self._listeners = name, listeners
        self._turns: deque[RecordedTurn] = deque(maxlen=most)
        self._last: Prompt | None = None

    @property
    def is_on(self) -> bool:
        """True if turns are recorded at all."""
        return self._turns.maxlen != 0 or bool(self._listeners)

    def newest(self) -> list[RecordedTurn]:
        """All recordings, newest first."""
        return list(reversed(self._turns))

    def find(self, number: int, at: float | None = None) -> list[RecordedTurn]:
        """The recordings of turns that answered a message, oldest first.

        Args:
            at: time of the message; after a crash, two messages may have the same number.
        """
        return [
            record
            for record in self._turns
            for event in record.turn.events
            if event.number == number and at in (None, event.at)
        ]

    async def run(
        self,
        turn: Turn,
        ports: Ports,
        running: Callable[[Ports], Awaitable[Stop]],
        clock: Callable[[], float],
    ) -> Stop:
        """Run a turn and record it.

        Args:
            clock: seconds.
        """
        record = RecordedTurn(turn, clock(), self.most_characters)
        self._turns.append(record)
        model = RecordedModel(ports.model, ports.compose, record, clock, self)
        tools = RecordedTools(ports.toolbox, record, clock, self.tell)
        self.tell()
        try:
            stop = await running(replace(ports, model=model, toolbox=tools, compose=model.compose))
            record.end(stop)
            return stop
        except BaseException as error:
            record.broke_off = type(error).__name__
            raise
        finally:
            record.ended = clock()
            self.tell()
            # A copy, because a listener may remove itself from the list.
            for listener in tuple(self._listeners):
                listener(self._name, record)

    def share(self, prompt: Prompt) -> None:
        """Replace the beginning of a prompt by equal objects of the previous one, to save memory.

        The head is built anew for each call, so fifty turns would hold a hundred copies of it.
        """
        last, self._last = self._last, prompt
        if last is None:
            return
        both: tuple[tuple[list[Any], list[Any]], ...] = (
            (prompt.messages, last.messages),
            (prompt.blocks, last.blocks),
        )
        for mine, theirs in both:
            for place, other in enumerate(theirs[: len(mine)]):
                if mine[place] != other:
                    break
                mine[place] = other  # equal; the copy is freed

    def forget(self) -> None:
        """Remove everything: when a person is forgotten, any prompt may quote them."""
        self._turns.clear()
        self._last = None
        self.tell()


class RecordedModel:
    """A model port that records its calls.

    Args:
        clock: seconds.
    """

    __slots__ = ("_clock", "_compose", "_inner", "_prompt", "_record", "_ring", "_tell")

    def __init__(
        self,
        inner: Model,
        compose: Compose,
        record: RecordedTurn,
        clock: Callable[[], float],
        ring: TurnRing,
    ) -> None:
        self._inner, self._compose, self._record = inner, compose, record
        self._clock, self._ring, self._tell = clock, ring, ring.tell
        self._prompt = Prompt([], 0, 1)

    def compose(self, turn: Turn, specs: Specs) -> Prompt:
        """The prompt of the next call."""
        self._prompt = prompt = self._compose(turn, specs)
        self._ring.share(prompt)
        return prompt

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """See `Model`."""
        record, began = self._record, self._clock()
        spent = record.turn.spent
        call = RecordedCall(began, self._prompt, messages, tools)
        before, unpriced = spent.nano, spent.unpriced
        record.steps.append(call)
        self._tell()
        try:
            call.reply = reply = await self._inner.ask(messages, tools)
            return reply
        except BaseException as error:
            call.error = str(error) or type(error).__name__
            raise
        finally:
            call.seconds, call.nano = self._clock() - began, spent.nano - before
            call.is_priced = spent.unpriced == unpriced
            # In `finally`, because the prompt of a cancelled call takes memory too.
            record.record_call(call)
            self._tell()


class RecordedTools:
    """A toolbox that records its calls.

    Args:
        clock: seconds.
    """

    __slots__ = ("_clock", "_inner", "_record", "_tell", "specs")

    def __init__(
        self, inner: Toolbox, record: RecordedTurn, clock: Callable[[], float], tell: Notify
    ) -> None:
        self._inner, self._record, self._clock, self._tell = inner, record, clock, tell
        self.specs = inner.specs  # not a method: it is called several times per step

    async def run(self, call: ToolCall, turn: Turn) -> ToolResult:
        """See `Toolbox`."""
        record, began = self._record, self._clock()
        use = ToolUse(began, call)
        record.steps.append(use)
        self._tell()
        try:
            result = await self._inner.run(call, turn)
            use.success, use.text, use.fault = result.success, result.text, result.fault
            return result
        except BaseException as error:
            use.success, use.text = False, str(error) or type(error).__name__
            raise
        finally:
            use.seconds = self._clock() - began
            # Cut only now that its size is known.
            record.record_use(use)
            self._tell()
