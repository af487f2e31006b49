"""The memory of a running assistant: working copies of its state, and what is under way.

`runtime.state.rebuild` makes it again at every start; nothing in here is written by itself.

Of its running turns, one at a time is in the assistant's slot, others are set aside. A turn leaves
the slot while a person is asked about one of its limits, and returns to it to go on. The slot knows
nothing of what a turn does.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from django.db.transaction import Atomic
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.python.failure import Failure

from evennia_ai.core.hearing import inbox
from evennia_ai.core.hearing.decision_traces import DecisionTraces
from evennia_ai.core.hearing.perception import Ear, Overheard
from evennia_ai.core.hearing.rate_limits import ActiveConversations, HearingConfig, SenderRegistry
from evennia_ai.core.hearing.unmarked import MOST_CALLS, Call
from evennia_ai.core.safety.audit_events import AuditEvent
from evennia_ai.core.safety.cooling import Blame
from evennia_ai.core.safety.questions import Question
from evennia_ai.core.settings.budget import BudgetConfig
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.turn import conversation
from evennia_ai.core.turn.autonomy import Autonomy
from evennia_ai.core.turn.turn import TokenUsage, Turn
from evennia_ai.engine.checkpoint import Extensions
from evennia_ai.engine.recording import TurnRing
from evennia_ai.resilience import CircuitBreakerRegistry, ToolResultCache


@dataclass(slots=True, eq=False)
class Seat:
    """One running turn, in the slot or set aside.

    Attributes:
        drop: called with the reason when the turn ends while it is set aside.
        running: the turn's coroutine; cancelling it ends the turn.
        is_due: its wait is over, and it may have the slot again.
        left: fires when it leaves the slot, by ending or being set aside; None while it is aside.
        called: fires when it gets the slot back; None unless it waits for that.
    """

    turn: Turn
    drop: Callable[[Turn, Failure], None]
    running: Deferred[None] | None = None
    is_due: bool = False
    left: Deferred[None] | None = None
    called: Deferred[None] | None = None

    def begin(self, answering: Coroutine[Deferred[object], Any, None]) -> Deferred[None]:
        """Run the turn in the slot.

        Returns:
            Fires when it leaves the slot; fails if the turn fails there.
        """
        left = self.left = Deferred()
        self.running = Deferred.fromCoroutine(answering)
        self.running.addBoth(self._end)
        return left

    def step_aside(self) -> None:
        """Leave the slot to others; the turn goes on waiting."""
        left, self.left = self.left, None
        if left is not None:
            left.callback(None)

    def come_back(self) -> Deferred[None]:
        """Ask for the slot again; fires when the turn gets it."""
        called = self.called = Deferred()
        self.is_due = True
        return called

    def go_on(self) -> Deferred[None]:
        """Give the slot back to the turn; returns the same as `begin`."""
        # Before the callback, in which the turn may run to its end.
        left = self.left = Deferred()
        called, self.called, self.is_due = self.called, None, False
        if called is not None:
            called.callback(None)
        return left

    def cancel(self) -> None:
        """End the turn, wherever it is."""
        if self.running is not None:
            self.running.cancel()

    def _end(self, outcome: Failure | None) -> None:
        left, self.left = self.left, None
        if left is not None:
            left.callback(outcome)
        # Nobody waits in the slot for a turn that ends while it is set aside.
        elif isinstance(outcome, Failure):
            self.drop(self.turn, outcome)


MOST_INNER_CALLS = 20
_NONE: frozenset[str] = frozenset()  # shared, since `set_aside` is asked for many times a turn


class InnerCall(NamedTuple):
    """A model call in a context that nobody watches.

    Attributes:
        at: seconds on the clock.
    """

    at: float
    context: str
    purpose: str
    tokens: int
    tools: tuple[str, ...]


class Unanswered(Protocol):
    """A delegated task whose agent, outside the game, waits for an answer that a turn may give."""

    scope: str

    def cancel(self) -> None:
        """Cancel the task at the agent: the turn is void."""


class ModelRequest(Protocol):
    """A model call that is under way."""

    def drop(self) -> None:
        """Close its socket; what waits for it is cancelled afterwards."""


@dataclass(slots=True)
class Work:
    """Runtime state, rebuilt at every start.

    Attributes:
        epoch: raised whenever everything under way becomes void.
        stops: number of emergency stops, also of an assistant that was stopped already.
        is_stopping: a stop is in effect but not stored yet, or could not be stored; see
            `state.is_stopped`.
        in_flight: the Deferred of the running tick, or None.
        requests: model calls under way, of turns and of everything else.
        compacting: the Deferred of a summary that is made in the background, or None.
        running: ids of the events that the running tick answers.
        seat: the running tick's turn, or None.
        wake: the timer for the beat at which the next message is due, or None.
        aside: turns that wait for a person's answer, by their scope; see `runtime.slots`.
        unanswered: tasks whose agents, outside the game, wait for an answer of its turns.
        questions: open questions to people, as `runtime.asked` read them; None: read them again.
        asked_in: the transaction that changed them, which may still be open.
        asked_about: the senders of long messages that wait for approval.
        chosen: the number of the last open line that it was chosen to answer; see
            `agent.answerers`.
        ear, rate_limits: hearing settings in effect; None: read them again.
        ear_problem: the reason some of these settings could not be read, or "".
        blame: who has to cool off, and the errors that count towards a lockout.
        overheard: messages that it heard and need not answer.
        muted: persons who muted it; they neither hear it nor are heard.
        turned_away: messages pushed out of the inbox that are not logged yet.
        turned_away_told_at: when they were logged last.
        captures: lines of command output, a list for each tool that waits for them, newest last.
        breakers: circuit breakers of its tools.
        tool_cache: results of tools that may be used again.
        compact_after: seconds on the clock before which no compaction is tried again.
        autonomy: when it last acted by itself, and how that went.
        is_asking_for_more: a question about more turns of its own is open.
        context_tokens, max_context_tokens: of the last prompt; 0 before the first.
        bounds: limits, checks and caps in effect; None: read them again.
        safety_problem: what is wrong with these settings, or "".
        extensions: how often its limits were extended without asking.
        ticks: number of its ticks; the next tick gets the following number.
        executions, metrics: its last tool calls, and totals over all of them.
        unkept: audit events that `usage` counts already, to be stored with it.
        given_up: ids of calls whose outcome is unknown.
        memory: memory settings in effect; None: read them again.
        talks: current conversations, by person; see `memory.talks`.
        beside: the Deferreds of calls that people have it make beside its turns.
        resting: the Deferred of a step of its sleep, or of fact extraction by day, or None.
        unsorted: journal entries that no facts were extracted from; None: not counted yet.
        sort_after: seconds on the clock before which no facts are extracted by day; None: not set.
        inner_calls: its newest model calls in contexts that nobody watches.
        reflect_after: seconds on the clock before which it does not reflect by day; None: not set.
        has_news: its journal may have grown since it last considered reflecting.
        indexing: the state of its memories in the vector store; see `memory.indexing`.
        lore: the lore it may tell; None: read it again; see `memory.lore`.
        profiles: profiles of those present, as read last; see `memory.profiles`.
        hushed: rooms ("#2") in which it keeps silent, and until when on the clock.
        trace_due: seconds on the clock before which its trace is not pruned again.
        unable: the persons who were told that its body cannot act; None while it can.
        calls_of_game: the newest messages that game code reported, and when.
        recorded: its last turns, as recorded.
    """

    inbox: list[inbox.Stored] = field(default_factory=list)
    history: list[conversation.Message] = field(default_factory=list)
    usage: TokenUsage = field(default_factory=TokenUsage)
    calls: int = 0
    ticks: int = 0
    executions: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    unkept: list[AuditEvent] = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)
    epoch: int = 0
    in_flight: Any = None
    requests: set[ModelRequest] = field(default_factory=set)
    compacting: Any = None
    is_ticking: bool = False
    stops: int = 0
    is_stopping: bool = False
    is_closing: bool = False
    running: frozenset[str] = frozenset()
    seat: Seat | None = None
    wake: IDelayedCall | None = None
    aside: dict[str, Seat] = field(default_factory=dict)
    unanswered: set[Unanswered] = field(default_factory=set)
    questions: tuple[Question, ...] | None = None
    asked_in: Atomic | None = None
    asked_about: list[str] = field(default_factory=list)
    chosen: int = 0
    ear: Ear | None = None
    rate_limits: HearingConfig | None = None
    ear_problem: str = ""
    senders: SenderRegistry = field(default_factory=SenderRegistry)
    blame: Blame = field(default_factory=Blame)
    conversations: ActiveConversations = field(default_factory=ActiveConversations)
    overheard: list[Overheard] = field(default_factory=list)
    decisions: DecisionTraces = field(default_factory=DecisionTraces)
    muted: set[str] = field(default_factory=set)
    turned_away: int = 0
    turned_away_told_at: float = -math.inf
    captures: list[list[str]] = field(default_factory=list)
    breakers: CircuitBreakerRegistry = field(default_factory=CircuitBreakerRegistry)
    tool_cache: ToolResultCache = field(default_factory=ToolResultCache)
    compact_after: float = 0.0
    autonomy: Autonomy = field(default_factory=Autonomy)
    is_asking_for_more: bool = False
    context_tokens: int = 0
    max_context_tokens: int = 0
    bounds: tuple[SafetyConfig, BudgetConfig] | None = None
    safety_problem: str = ""
    hushed: dict[str, float] = field(default_factory=dict)
    extensions: Extensions = field(default_factory=Extensions)
    memory: MemoryConfig | None = None
    talks: dict[str, Any] = field(default_factory=dict)
    beside: set[Any] = field(default_factory=set)
    resting: Any = None
    unsorted: int | None = None
    sort_after: float | None = None
    reflect_after: float | None = None
    has_news: bool = True
    inner_calls: deque[InnerCall] = field(default_factory=lambda: deque(maxlen=MOST_INNER_CALLS))
    indexing: Any = None
    lore: Any = None
    profiles: Any = None
    trace_due: float = 0.0
    unable: set[str] | None = None
    calls_of_game: deque[Call] = field(default_factory=lambda: deque(maxlen=MOST_CALLS))
    recorded: TurnRing = field(default_factory=TurnRing)

    @property
    def capture(self) -> list[str] | None:
        """Lines of command output for the tool that waits for them, or None."""
        return self.captures[-1] if self.captures else None

    @property
    def set_aside(self) -> frozenset[str]:
        """Ids of the events of turns that wait for a person's answer."""
        if not self.aside:
            return _NONE
        return frozenset(event.id for seat in self.aside.values() for event in seat.turn.events)

    @property
    def busy(self) -> frozenset[str]:
        """Ids of the events that are being answered, including turns that wait for a person."""
        return self.running | self.set_aside if self.aside else self.running

    def drop_cached_settings(self) -> None:
        """Drop cached settings, because one may have changed."""
        self.ear = self.rate_limits = self.bounds = self.memory = None
