"""The record of a turn as it goes: what the model was sent and gave, what each tool came to.

It lives in memory alone, and holds references: prompts, replies and calls do not change once they
are made. What of it anybody may read is decided where it is shown, by the audiences of the turn.
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

MOST_TURNS, MOST_CHARACTERS = 50, 200_000
# What a token may have at most; characters are not counted one by one.
CHARACTERS_OF_A_TOKEN = 4
Told = Callable[[], None]


@dataclass(slots=True)
class RecordedCall:
    """A call of the model: what it was sent and what it gave.

    Attributes:
        began: seconds on the clock.
        prompt: as it was composed, of which the last word after a limit sends a part.
        messages: as they were sent; fewer where they take too much room.
        tools: those that the model was shown.
        reply: None while it is waited for, and where it failed.
        error: why there is no reply, or "".
        seconds: how long it took; None while it is waited for.
        nano: nano-dollars that it cost.
        is_priced: somebody set what it costs; so it is taken to be while it is waited for.
        is_cut: what was sent, or its reply, is no longer kept in full.
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
    """A call of a tool and what it came to.

    Attributes:
        began: seconds on the clock.
        text: what the model was told of it, or what was raised.
        success: None while it runs.
        seconds: how long it took; None while it runs.
        is_cut: its text, or its arguments, are no longer kept in full.
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
        """True where there is such a tool; of another the name is the model's own words."""
        return self.fault is not Fault.UNKNOWN_TOOL


Step = RecordedCall | ToolUse


@dataclass(slots=True)
class RecordedTurn:
    """A turn, or the part of one that one tick made of it.

    Attributes:
        turn: what it was about, who may know of it, and what it used.
        began, ended: seconds on the clock; `ended` is None while it goes on.
        stop: why it ended, without the errors that led to it; None where it was broken off.
        limit: the kind of the limit that ended it, or "".
        broke_off: the kind of error that broke it off, or "".
        room: characters that may still be kept of it.
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
        """Keep why it ended, but not what was raised, which holds on to the frames it came by."""
        if stop.limit is not None:
            self.limit, stop = stop.limit.kind, replace(stop, limit=None)
        self.stop = stop

    def keep_call(self, call: RecordedCall) -> None:
        """Take room for a call of the model; what has none is kept as far as it has."""
        prompt = call.prompt
        size = CHARACTERS_OF_A_TOKEN * (prompt.tokens - prompt.tool_tokens)
        if call.reply is not None:
            size += len(call.reply.content) + sum(map(_size_of, call.reply.tool_calls))
        if size > self.room:
            size = self._cut(call)
        self.room -= size

    def _cut(self, call: RecordedCall) -> int:
        """Keep the newest messages of a call, and no blocks; returns what these take."""
        call.is_cut, call.prompt = True, replace(call.prompt, messages=[], blocks=[])
        kept: list[Message] = []
        size = self._cut_reply(call)
        # The newest tell why it did what it did; the head is alike in all.
        for message in reversed(call.messages):
            size_of_it = len(str(message))
            if size + size_of_it > self.room:
                break
            size += size_of_it
            kept.append(message)
        call.messages = kept[::-1]
        return size

    def _cut_reply(self, call: RecordedCall) -> int:
        """Keep the beginning of a reply, and calls as far as there is room; returns its size."""
        if call.reply is None:
            return 0
        content = call.reply.content[: self.room]
        size, calls = len(content), []
        for each in call.reply.tool_calls:
            kept = _kept(each, self.room - size)
            size += _size_of(kept)
            calls.append(kept)
        call.reply = replace(call.reply, content=content, tool_calls=tuple(calls))
        return size

    def keep_use(self, use: ToolUse) -> None:
        """Take room for a call and its text; the beginning is kept of a text that is too long."""
        kept = _kept(use.call, self.room)
        use.is_cut, use.call = kept is not use.call, kept
        self.room -= _size_of(kept)
        if len(use.text) > self.room:
            use.text, use.is_cut = use.text[: self.room], True
        self.room -= len(use.text)


def _size_of(call: ToolCall) -> int:
    """The room that a call takes, beside a name as tools have them."""
    beyond = max(0, len(call.name) - LONGEST_TOOL_NAME)
    return beyond + (len(str(call.arguments)) if call.arguments else 0)


def _kept(call: ToolCall, room: int) -> ToolCall:
    """A call as far as there is room: without its arguments, and with a name that a tool may have.

    Where there is enough it is the call itself.
    """
    if _size_of(call) <= room:
        return call
    return replace(call, name=call.name[:LONGEST_TOOL_NAME], arguments={})


Listener = Callable[[str, RecordedTurn], None]


class TurnRing:
    """The last turns of an assistant, in memory.

    Args:
        most: how many are kept; 0: none.
        most_characters: of each; what is beyond is left out of it.
        tell: called at each change.
        name: of the assistant, for the listeners.
        listeners: called with that and each record that has ended, and never raise.
    """

    def __init__(
        self,
        most: int = MOST_TURNS,
        most_characters: int = MOST_CHARACTERS,
        tell: Told = lambda: None,
        name: str = "",
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.most_characters, self.tell = most_characters, tell
        self._name, self._listeners = name, listeners
        self._turns: deque[RecordedTurn] = deque(maxlen=most)
        self._last: Prompt | None = None

    @property
    def is_on(self) -> bool:
        """True where anything is recorded at all."""
        return self._turns.maxlen != 0 or bool(self._listeners)

    def newest(self) -> list[RecordedTurn]:
        """All that are kept, the newest first."""
        return list(reversed(self._turns))

    def find(self, number: int, at: float | None = None) -> list[RecordedTurn]:
        """The records of the turns that answered a message, the oldest first.

        Args:
            at: when it was heard: a crash may have used a number twice.
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
        """Run a turn with its ports recorded, from its beginning to however it ends.

        Args:
            running: the turn, given the ports to run it with.
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
            # A copy: a listener may leave the list while it is told.
            for listener in tuple(self._listeners):
                listener(self._name, record)

    def share(self, prompt: Prompt) -> None:
        """Let a prompt hold the texts of the one before it, as far as both begin alike.

        The head is made anew for each call: fifty turns would hold a hundred copies of it.
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
                # Equal, but a copy: the older one is held by both, and this one is freed.
                mine[place] = other

    def forget(self) -> None:
        """Forget all: prompts quote people in places that nobody can name."""
        self._turns.clear()
        self._last = None
        self.tell()


class RecordedModel:
    """A model that is recorded: it composes and answers as the one inside does.

    Args:
        compose: makes the prompt of the next call.
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
            # In `finally`: also a call that was cancelled took what it was sent.
            record.keep_call(call)
            self._tell()


class RecordedTools:
    """A toolbox that is recorded.

    Args:
        clock: seconds.
    """

    __slots__ = ("_clock", "_inner", "_record", "_tell", "specs")

    def __init__(
        self, inner: Toolbox, record: RecordedTurn, clock: Callable[[], float], tell: Told
    ) -> None:
        self._inner, self._record, self._clock, self._tell = inner, record, clock, tell
        self.specs = inner.specs  # which is asked several times a step

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
            # Trimmed once it is over: only then the room that it takes is known.
            record.keep_use(use)
            self._tell()
