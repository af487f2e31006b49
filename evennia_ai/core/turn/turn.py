"""The turn: the one value that is carried through a tick."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from evennia_ai.core.hearing.audience import OPEN, Held, confined
from evennia_ai.core.hearing.chain import Chain
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.perception import Overheard
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.safety.audit_events import Fact
from evennia_ai.core.safety.monitor import SafetyMonitor
from evennia_ai.core.settings.safety import Checks
from evennia_ai.core.turn.conversation import Message


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one or more model calls, as the service reports them; 0 where it is silent."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(slots=True)
class MoneySpent:
    """Money that model calls have cost.

    Attributes:
        nano: nano-dollars.
        unpriced: calls whose price nobody knows.
    """

    nano: int = 0
    unpriced: int = 0

    def add(self, nano: int, *, is_priced: bool) -> None:
        """Count a call."""
        self.nano += nano
        self.unpriced += not is_priced


_USUAL_CHECKS = Checks()


def scope_of(event: str) -> str:
    """The scope of a turn, over which its limits are counted, by the id of its first event."""
    return f"task {event}"


@dataclass(slots=True)
class Turn:
    """Everything one tick works on: plain copies, never the database's own lists.

    Attributes:
        epoch: the assistant's epoch when the turn began; a later one means it was cancelled.
        events: what is being answered, oldest first: one message, or a burst of one person's.
        event: the newest of them: the one whose way and place an answer takes. Without any there is
            none.
        overheard: what else was heard before it, and may be told.
        history: the conversation before this turn.
        talk_of: ids of the people in whose turns that was said.
        has_unkept: some of that is from where, or from whom, nothing is to be kept.
        said: messages this turn adds to it.
        is_unkept: they are of somebody, or were said at a place, of whom nothing is to be kept.
        iterations: model calls made so far.
        found: names of tools that were looked up in this turn, and are on offer since.
        notices: what staff should know of how it was answered, such as a fallback model.
        effects: calls of it that others noticed.
        stale_way: the way that its answer took because its moment was over, PAGE or WHISPER, and
            all that it still says aloud takes; WAIT where that way failed; "": it was in time.
        held: the audiences of what its prompts were made of, where they are not open.
        is_apart: only turns for the same person may know of it, whatever it holds: a task, or a
            call by hand.
        asides: to whom alone something was said, by the id of the call.
        addressee: whom the call under way told something alone, or "".
        began_at: model calls made before it was set down and taken up again.
        visits: ticks that its task has had in the same context, with this one.
        model_calls: all model calls of this tick, also those beside the loop.
        tool_calls: calls run in this context of its task.
        earlier_tokens: of the ticks of its task before this one.
        delegations: tasks that its task handed to others.
        grants: how much further than its cap each limit goes, because somebody said yes.
        monitor: whether it goes in circles.
        stopped_by: the limit that ended it, or "".
        tick: the number of its tick among all of the assistant's.
        began_seconds: when this tick of it began, on the assistant's clock.
        model: what answered last, "provider/name".
        reasoning: what the model said beside its last calls.
        is_talk: its last reply was plain words and no call, and it had called nothing before.
        acts: names of the tools called in this tick.
        facts: what is not yet in the record; written with the next checkpoint.
        chain: what it belongs to, together with turns of other assistants.
        has_recited: whether the model has said its own instructions once.
        may_emote: whether the tool `emote` is on offer in it, so that what it says may be acted.
        ran: the facts of all calls of this tick, those in the record too.
        spent: what its model calls of this tick have cost.
        prompt: the fingerprints of what its prompt was made of, by the keys of the components.
    """

    epoch: int
    events: tuple[Event, ...]
    overheard: tuple[Overheard, ...] = ()
    history: list[Message] = field(default_factory=list)
    said: list[Message] = field(default_factory=list)
    iterations: int = 0
    usage: TokenUsage = field(default_factory=TokenUsage)
    found: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    effects: int = 0
    stale_way: str = ""
    held: Held = OPEN
    is_apart: bool = False
    asides: dict[str, str] = field(default_factory=dict)
    addressee: str = ""
    began_at: int = 0
    visits: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    earlier_tokens: int = 0
    delegations: int = 0
    grants: dict[str, float] = field(default_factory=dict)
    monitor: SafetyMonitor = field(default_factory=lambda: SafetyMonitor(_USUAL_CHECKS))
    stopped_by: str = ""
    tick: int = 0
    began_seconds: float = 0.0
    model: str = ""
    reasoning: str = ""
    is_talk: bool = False
    acts: list[str] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    chain: Chain = field(default_factory=Chain)
    has_recited: bool = False
    may_emote: bool = True
    ran: list[Fact] = field(default_factory=list)
    spent: MoneySpent = field(default_factory=MoneySpent)
    prompt: dict[str, str] = field(default_factory=dict)
    talk_of: frozenset[str] = frozenset()
    has_unkept: bool = False
    is_unkept: bool = False
    event: Event = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.events:
            self.event = self.events[-1]

    def hold(self, *audiences: str) -> None:
        """Note that its prompt holds something of these audiences from now on."""
        self.held |= confined(audiences)

    @property
    def is_private(self) -> bool:
        """True where only turns for the same person may know of it."""
        return self.is_apart or bool(self.held)

    @property
    def kept_audiences(self) -> Held:
        """The audiences of the messages that are kept of it, where these are not open."""
        whose = self.event.face if self.events else ""
        return self.held | {person_audience(whose)} if self.is_apart else self.held

    @property
    def hops(self) -> int:
        """The number of assistants in a row that an answer comes after."""
        return max(event.hops for event in self.events) + 1

    @property
    def payer(self) -> str:
        """The payer ("*#3"): whoever began its chain; "" for nobody."""
        return self.chain.person or (self.event.person if self.events else "")

    def count(self, used: TokenUsage) -> None:
        """Count what a model call used, for it and for its chain."""
        self.usage = self.usage + used
        self.chain.tokens += used.total_tokens

    @property
    def tokens(self) -> int:
        """Tokens of all model calls of its task."""
        return self.earlier_tokens + self.usage.total_tokens

    @property
    def scope(self) -> str:
        """The scope over which the limits of its task are counted."""
        return scope_of(self.events[0].id)

    @property
    def found_out(self) -> str:
        """The newest thing that a tool of this turn brought, or ""."""
        return next((text for success, text in self._results() if success), "")

    @property
    def problem(self) -> str:
        """The text with which the newest call failed, or ""."""
        success, text = next(self._results(), (True, ""))
        return "" if success else text

    def _results(self) -> Iterator[tuple[bool, str]]:
        """The results of its calls, the newest first."""
        for message in reversed(self.said):
            if message["role"] == "tool":
                content = json.loads(message["content"])
                yield content["success"], content["result" if content["success"] else "error"]

    @property
    def hops_granted(self) -> int:
        """The hops beyond its limit that its chain of answers was granted."""
        return max(event.hops_granted for event in self.events)

    @property
    def marks(self) -> dict[str, Any]:
        """The marks that go to the game's server along with the words that are said.

        Which chain it belongs to and what that was granted, and that a limit ended it. Who began
        the chain is not told: clients are sent these marks.
        """
        marks: dict[str, Any] = {"assistant_chain": self.chain.id} if self.chain.id else {}
        if self.hops_granted:
            marks["assistant_hops_granted"] = self.hops_granted
        if not self.stopped_by:
            return marks
        return {**marks, "limit_stopped": True, "limit_kind": self.stopped_by}
