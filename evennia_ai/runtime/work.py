"""The memory of an assistant that runs: working copies of its state, and what is under way.

Rebuilt at every start by `runtime.state.rebuild`; nothing here is written by itself.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from django.db.transaction import Atomic

from evennia_ai.core.hearing import inbox
from evennia_ai.core.hearing.decision_traces import DecisionTraces
from evennia_ai.core.hearing.perception import Ear, Overheard
from evennia_ai.core.hearing.rate_limits import ActiveConversations, HearingConfig, SenderRegistry
from evennia_ai.core.hearing.unmarked import MOST_CALLS, Call
from evennia_ai.core.safety.audit_events import Fact
from evennia_ai.core.safety.cooling import Blame
from evennia_ai.core.safety.questions import Question
from evennia_ai.core.settings.budget import BudgetConfig
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.turn import conversation
from evennia_ai.core.turn.autonomy import Autonomy
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.engine.checkpoint import Extensions
from evennia_ai.engine.recording import TurnRing
from evennia_ai.resilience import CircuitBreakerRegistry, ToolResultCache
from evennia_ai.runtime.slots import Seat

MOST_INNER_CALLS = 20
_NONE: frozenset[str] = frozenset()


class InnerCall(NamedTuple):
    """A model call in a context that nobody watches.

    Attributes:
        at: seconds on the clock.
        tools: names of those that the model called.
    """

    at: float
    context: str
    purpose: str
    tokens: int
    tools: tuple[str, ...]


class Unanswered(Protocol):
    """A task whose agent, outside the game, waits for an answer that a turn may give.

    Attributes:
        scope: of the turn that gave it.
    """

    scope: str

    def cancel(self) -> None:
        """Call it off there: the turn is void."""


class ModelRequest(Protocol):
    """A model call that is under way, whoever waits for it."""

    def drop(self) -> None:
        """Close its socket; who waits for it is cancelled afterwards."""


@dataclass(slots=True)
class Work:
    """Runtime state, rebuilt at every start.

    Attributes:
        epoch: goes up whenever everything under way is void.
        stops: how many emergency stops there were, of one that was stopped already too.
        is_stopping: an emergency stop is not stored yet, or could not be; see `state.is_stopped`.
        in_flight: the Deferred of the running tick, or None.
        requests: its model calls that are under way, of turns and of all else.
        compacting: the Deferred of a summary that is being made beside it, or None.
        running: ids of the events that the running tick answers.
        seat: the running of that tick's turn, or None.
        aside: turns that wait beside it for a person's answer, by their scope; see `runtime.slots`.
        unanswered: what agents outside the game ask of its turns, while nobody sees to it.
        questions: what people are asked for it, as `runtime.asked` read it, or None when that has
            to be read anew.
        asked_in: the transaction in which that changed, which perhaps is open still.
        asked_about: the senders of messages that wait for leave to be as long as they are.
        chosen: the number of the last open line that it was chosen to answer; see
        `agent.answerers`.
        ear, rate_limits: settings of hearing, or None when they have to be read anew.
        ear_problem: why some of its settings could not be read, or "".
        blame: who has to wait, and what counts towards a lockout.
        overheard: what it heard and need not answer.
        muted: the persons who want neither to hear it nor to be heard.
        turned_away: messages that had to make room in the inbox, of which no log tells yet.
        turned_away_told_at: when the log was told last.
        capture: lines of command output for a tool that waits for them, or None.
        breakers: one for each tool.
        tool_cache: results of tools that may be used again.
        compact_after: seconds on the clock before which no compaction is tried again.
        autonomy: when it last did something of its own accord, and how that went.
        context_tokens, max_context_tokens: of the last prompt, 0 before the first.
        bounds: its limits, checks and caps, or None when they have to be read anew.
        safety_problem: what is wrong with these settings, or "".
        extensions: how often its limits were extended without asking.
        ticks: how many it had, and its own number of the next one less one.
        executions, metrics: its last tool calls, and what all of them add up to.
        unkept: facts of what `usage` counts already, to be written with it.
        given_up: ids of calls of which nobody knows whether they happened.
        memory: what it remembers, or None when that has to be read anew.
        talks: its working memory, by person: the talk that is going on; see `memory.talks`.
        beside: the Deferreds of calls that people let it make beside its turns.
        resting: the Deferred of a step of its sleep, or of facts drawn while awake, or None.
        unsorted: entries of the journal that no facts were drawn from; None: not counted yet.
        sort_after: seconds on the clock before which none are drawn while awake; None: not set.
        inner_calls: its newest model calls in contexts that nobody watches.
        reflect_after: seconds on the clock before which it thinks nothing over while awake; None:
            not set.
        has_news: something may have come into its journal since it looked whether to do so.
        indexing: what is known of its memories in the store; see `memory.indexing`.
        lore: the lore it may tell, or None when that has to be read; see `memory.lore`.
        profiles: those of the beings that are there, as they were read; see `memory.profiles`.
        hushed: rooms ("#2") in which it keeps silent, and until when on the clock.
        trace_due: seconds on the clock before which its trace is not pruned again.
        unable: while its body cannot act, the persons who were told so; else None.
        calls_of_game: the newest messages that game code told it of, and when.
        recorded: its last turns as they were.
    """

    inbox: list[inbox.Stored] = field(default_factory=list)
    history: list[conversation.Message] = field(default_factory=list)
    usage: TokenUsage = field(default_factory=TokenUsage)
    calls: int = 0
    ticks: int = 0
    executions: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    unkept: list[Fact] = field(default_factory=list)
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
    capture: list[str] | None = None
    breakers: CircuitBreakerRegistry = field(default_factory=CircuitBreakerRegistry)
    tool_cache: ToolResultCache = field(default_factory=ToolResultCache)
    compact_after: float = 0.0
    autonomy: Autonomy = field(default_factory=Autonomy)
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
    def set_aside(self) -> frozenset[str]:
        """Ids of the events of turns that wait for a person's answer."""
        if not self.aside:
            return _NONE
        return frozenset(event.id for seat in self.aside.values() for event in seat.turn.events)

    @property
    def busy(self) -> frozenset[str]:
        """Ids of the events that are being answered, be it that a person is asked meanwhile."""
        return self.running | self.set_aside if self.aside else self.running

    def read_anew(self) -> None:
        """A setting may have changed."""
        self.ear = self.rate_limits = self.bounds = self.memory = None
