"""The turn: the state that is passed through one tick."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from evennia_ai.core.hearing.audience import OPEN, Held, confined
from evennia_ai.core.hearing.chain import Chain
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.perception import Overheard
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.safety.audit_events import AuditEvent
from evennia_ai.core.safety.monitor import SafetyMonitor
from evennia_ai.core.settings.safety import Checks
from evennia_ai.core.turn.conversation import Message


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one or more model calls as the service reports them; 0 if it does not.

    Attributes:
        cached_tokens: those of the prompt that the service had in its cache.
        written_tokens: those of the prompt that it wrote into its cache.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.written_tokens + other.written_tokens,
        )


@dataclass(slots=True)
class MoneySpent:
    """The cost of model calls, as it is in the ledger.

    Attributes:
        nano: nano-dollars.
        unpriced: number of calls whose price is unknown.
        calls: number of calls that count in the ledger; a cap or a service may refuse others.
        usage: tokens of these calls; for one that was cut off the estimate.
    """

    nano: int = 0
    unpriced: int = 0
    calls: int = 0
    usage: TokenUsage = field(default_factory=TokenUsage)

    def add(self, nano: int, used: TokenUsage, *, is_priced: bool) -> None:
        """Count a call."""
        self.nano += nano
        self.usage += used
        self.unpriced += not is_priced
        self.calls += 1


# Made once, because validating a settings group for every turn costs time.
_DEFAULT_CHECKS = Checks()


def scope_of(event: str) -> str:
    """The scope over which a turn's limits are counted, from the id of its first event."""
    return f"task {event}"


@dataclass(slots=True)
class Turn:
    """The state of one tick. It holds plain copies, never the database's own lists.

    Attributes:
        epoch: the assistant's epoch when the turn began; if it has changed, the turn is cancelled.
            -1, which no assistant has: this turn alone is.
        events: the messages being answered, oldest first: one, or a burst from one person.
        event: the newest of them, whose way and place the answer takes. Unset without events.
        overheard: what was heard before it, as context.
        history: the conversation before this turn.
        talk_of: ids of the people in whose turns the history was said.
        has_unkept: whether memory is off for some person or place in the history.
        said: messages that this turn adds to the history.
        is_unkept: whether memory is off for somebody or a place in this turn.
        is_overheard_unkept: whether that is so only for people that it overheard.
        iterations: model calls made so far.
        found: names of tools that were looked up in this turn and are offered since.
        notices: what staff should know about how it was answered, such as a fallback model.
        effects: number of its calls that others noticed.
        stale_way: the way its answer took because its moment was over, PAGE or WHISPER; further
            words take it too. WAIT if that way failed, "" if the answer was in time.
        held: the non-public audiences of what its prompts contain.
        is_apart: whether only turns for the same person may know of it, whatever it contains: a
            delegated task, or a tool call by staff.
        asides: the person each call spoke to privately, by the call's id.
        addressee: the person the current call spoke to privately, or "".
        began_at: model calls made before the turn was suspended and resumed.
        visits: ticks of its task in the same context, including this one.
        model_calls: all model calls of this tick, including those outside the loop.
        tool_calls: calls that its task has run in this context.
        earlier_tokens: tokens of earlier ticks of its task.
        delegations: tasks that its task has delegated.
        grants: extension of each limit that somebody granted.
        monitor: detects repetition and other runaway behaviour.
        stopped_by: the limit that ended it, or "".
        tick: number of this tick among all of the assistant's.
        began_seconds: when this tick began, on the assistant's clock.
        model: the model that answered last, "provider/name".
        reasoning: the text that came with the model's last calls.
        is_talk: whether its last reply was plain words, and it had called nothing before.
        acts: names of the tools called in this tick.
        audit_events: those not yet written; saved with the next checkpoint.
        chain: the chain it belongs to, together with turns of other assistants.
        has_recited: whether the model has recited its own instructions once.
        may_emote: whether the tool `emote` is offered, so that speech may be acted out.
        may_use: names of the tools that it may use, shown or not; None for all.
        ran: audit events of all calls of this tick, including those already written.
        spent: cost of the model calls of this tick.
        prompt: fingerprints of the prompt's components, by key.
        is_remembered: whether what was said is in the history already; its end may fail after that.
        is_settled: whether its end is stored.
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
    monitor: SafetyMonitor = field(default_factory=lambda: SafetyMonitor(_DEFAULT_CHECKS))
    stopped_by: str = ""
    tick: int = 0
    began_seconds: float = 0.0
    model: str = ""
    reasoning: str = ""
    is_talk: bool = False
    acts: list[str] = field(default_factory=list)
    audit_events: list[AuditEvent] = field(default_factory=list)
    chain: Chain = field(default_factory=Chain)
    has_recited: bool = False
    may_emote: bool = True
    may_use: Collection[str] | None = None
    ran: list[AuditEvent] = field(default_factory=list)
    spent: MoneySpent = field(default_factory=MoneySpent)
    prompt: dict[str, str] = field(default_factory=dict)
    talk_of: frozenset[str] = frozenset()
    has_unkept: bool = False
    is_unkept: bool = False
    is_overheard_unkept: bool = False
    is_remembered: bool = False
    is_settled: bool = False
    event: Event = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.events:
            self.event = self.events[-1]

    def void(self) -> None:
        """Let nothing happen any more that it still wants to do."""
        self.epoch = -1

    @property
    def is_called_off(self) -> bool:
        """True if it was voided by itself, as by a mute of whoever asked."""
        return self.epoch < 0

    def hold(self, *audiences: str) -> None:
        """Note that its prompt contains something of these audiences from here on."""
        self.held |= confined(audiences)

    @property
    def is_private(self) -> bool:
        """True if only turns for the same person may know of it."""
        return self.is_apart or bool(self.held)

    @property
    def kept_audiences(self) -> Held:
        """The non-public audiences of the messages that are stored of it."""
        whose = self.event.face if self.events else ""
        return self.held | {person_audience(whose)} if self.is_apart else self.held

    @property
    def named(self) -> dict[str, str]:
        """The ids of those who speak in it, by name."""
        speakers = {item.name: item.mask or item.person for item in self.overheard}
        speakers |= {event.sender_name: event.face for event in self.events}
        return {name: person for name, person in speakers.items() if name and person}

    @property
    def hops(self) -> int:
        """The number of assistants in a row that an answer would come after."""
        return max(event.hops for event in self.events) + 1

    @property
    def payer(self) -> str:
        """The payer ("*#3"): the person who began the chain, or ""."""
        return self.chain.person or (self.event.person if self.events else "")

    def count(self, used: TokenUsage) -> None:
        """Count the usage of a model call for the turn and for its chain."""
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
        """The newest successful tool result of this turn, or ""."""
        return next((text for success, text in self._results() if success), "")

    @property
    def problem(self) -> str:
        """The error of the newest call, or "" if it succeeded."""
        success, text = next(self._results(), (True, ""))
        return "" if success else text

    def _results(self) -> Iterator[tuple[bool, str]]:
        """Results of its calls, the newest first."""
        for message in reversed(self.said):
            if message["role"] == "tool":
                content = json.loads(message["content"])
                yield content["success"], content["result" if content["success"] else "error"]

    @property
    def hops_granted(self) -> int:
        """Hops beyond the limit that were granted to its chain."""
        return max(event.hops_granted for event in self.events)

    @property
    def marks(self) -> dict[str, Any]:
        """Marks that are sent along with the words it says.

        They name the chain and its grants, and the limit that ended the turn. The person who began
        the chain is left out: these marks are also sent to clients.
        """
        marks: dict[str, Any] = {"assistant_chain": self.chain.id} if self.chain.id else {}
        if self.hops_granted:
            marks["assistant_hops_granted"] = self.hops_granted
        if not self.stopped_by:
            return marks
        return {**marks, "limit_stopped": True, "limit_kind": self.stopped_by}
