"""The Evennia script that runs an assistant: its timer, its inbox and the wiring of one tick.

Attach it to the character it moves: `script.obj` is that character, or None once the game has
deleted it. The module holds no rules: it calls `agent`, `approvals`, `emergency` and the rest.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property, partial
from typing import Any

from evennia.scripts.scripts import DefaultScript
from evennia.utils import logger
from evennia.utils.utils import lazy_property
from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred, inlineCallbacks
from twisted.python.failure import Failure

from evennia_ai import approvals, consolidation, emergency
from evennia_ai.agent import (
    autonomy,
    compaction,
    incapacity,
    outages,
    preparation,
    queueing,
    requests,
    starting,
    tracing,
    turn_lifecycle,
    warming,
)
from evennia_ai.agent.failure_notices import notify_dropped
from evennia_ai.agent.holders import InMemory, NearBody, Settings
from evennia_ai.agent.starting import AmongMany
from evennia_ai.assistant_character import give_ears
from evennia_ai.budget.metering import turn_model
from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.turn.autonomy import Skip, may_tick
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import NobodyListensError, StaleEpochError
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.memory import indexing, modes, paying
from evennia_ai.messages import outgoing
from evennia_ai.messages.thinking import Thinking
from evennia_ai.runtime import ability, rounds, services, signals, state
from evennia_ai.runtime.assistant import Clock
from evennia_ai.runtime.attributes import AllAtOnce, WatchedAttributes
from evennia_ai.runtime.turns import aside
from evennia_ai.runtime.work import Seat, Work
from evennia_ai.tasks import remote_tasks
from evennia_ai.tool_execution import execute_react_loop

WRONG_SETTINGS = "its settings are wrong"
STRAY = (
    "[assistant] the script {name} (#{number}) on {body} is not an assistant, since neither "
    "`assistant create` nor `adopt` made it, and does nothing. "
    "To be rid of it: scripts/delete #{number}"
)


class AssistantScript(NearBody, AmongMany, DefaultScript):
    """Runs one assistant. `runtime.state.DEFAULTS` describes everything it stores."""

    clock: Clock = reactor
    work: Work = None  # type: ignore[assignment]  # set by `at_start`

    # Not Evennia's `lazy_property`, which costs a call at each read: a turn reads this 80 times.
    @cached_property
    def attributes(self) -> WatchedAttributes:
        """The attribute handler that holds its settings and its state."""
        return WatchedAttributes(self, AllAtOnce)

    @lazy_property
    def db(self) -> Settings:
        """Settings and state: the stored value, else the value that applies by default."""
        return Settings(self)

    @lazy_property
    def ndb(self) -> InMemory:
        """Values that this process keeps in memory until it restarts."""
        return InMemory(self)

    def at_idmapper_flush(self) -> bool:
        """Tell Evennia whether it may drop the script from memory."""
        # A fresh instance from the database would have an empty `work` beside the running one.
        return bool(super().at_idmapper_flush()) and self.work is None

    def changing(self, *names: str) -> AbstractContextManager[None]:
        """Return a context manager for outside changes to attributes; settings are audited."""
        return state.changing(self, names)

    @property
    def is_stray(self) -> bool:
        """True for a script that Evennia's `scripts` or `copy` made, which is no assistant."""
        return not starting.has_tag(self)

    def at_script_creation(self) -> None:
        """Set up the timer; every other setting keeps its default until somebody changes it."""
        self.persistent = True
        self.interval = state.DEFAULTS["tick_rate"]
        # Otherwise Evennia fires the timer at once, before the caller has configured anything.
        self.start_delay = True

    def at_start(self, **kwargs: Any) -> None:
        """Rebuild the in-memory state and resume what a restart interrupted."""
        starting.read_ahead(self)
        if self.is_stray:
            logger.log_warn(STRAY.format(name=self.key, number=self.pk, body=self.obj or "no body"))
            return
        # Evennia also calls this hook when a paused or running script is started again.
        if self.work is None or self.work.is_closing:
            self._rebuild()
        self.ndb.circuit_breaker_registry = self.work.breakers
        self.ndb.tool_cache = self.work.tool_cache
        # Both live in memory only, so every start sets them again.
        if self.obj is not None:
            give_ears(self.obj)
            self.obj.assistant_script = self
            starting.free_body(self.obj)
        self.apply_tick_rate()
        self.beat_soon()
        warming.begin(self)

    def _rebuild(self) -> None:
        starting.load_tools()
        # Both connect in the background from their first use, so that no turn waits for them.
        services.remote_servers()
        services.remote_specialists()
        self.work = state.rebuild(self)
        signals.RUNNING[str(self.key)] = self
        starting.resume(self)
        if state.memory_config(self).enabled and not paying.is_held(self):
            services.memory().open()  # so that no turn waits for it
        indexing.soon(self)

    def apply_tick_rate(self) -> None:
        """Apply the tick rate that the settings give, awake or asleep, to the running timer."""
        asleep_rate = modes.sleep_schedule_of(self).tick_rate_sleep
        rate = asleep_rate if modes.is_asleep(self) else state.read(self, "tick_rate")
        task = self.ndb._task
        if task is None or task.interval == rate:
            return
        task.interval = self.interval = rate
        # Within its own beat a LoopingCall has no `call`; it picks up the new interval by itself.
        if task.running and task.call is not None:
            task.stop()
            task.start(rate, now=False)

    def at_server_start(self) -> None:
        """Start the timer where Evennia did not."""
        # Evennia revives only timers that it paused: none after a kill, none created offline.
        task = self.ndb._task
        if self.is_active and (task is None or not task.running):
            self._start_task(force_restart=True)

    def at_repeat(self, **kwargs: Any) -> None:
        """Run one beat when the timer fires."""
        self._beat()

    def at_script_delete(self) -> bool:
        """Drop what is under way before the script goes."""
        # Closed by that, it audits no changes: its settings are deleted, not changed.
        self.at_pause()
        return bool(super().at_script_delete())

    def at_pause(self, auto_pause: bool = False, **kwargs: Any) -> None:
        """Drop what is under way; its events stay in the inbox and are taken again at a start."""
        work = self.work
        # Stops and bulk acts that run in portions would lose the portions that are left.
        emergency.finish()
        rounds.finish_rounds()
        if work is not None and not work.is_closing:
            work.is_closing = True
            # Before the flush, which also stores the traces that cancelled turns leave.
            state.bump_epoch(self)
            remote_tasks.give_up_all(self)
            state.flush(self)

    at_stop = at_pause

    def at_server_shutdown(self) -> None:
        """Drop what is under way before the process ends."""
        self.at_pause()
        services.leave_remote_servers()

    def at_server_reload(self) -> None:
        """Close connections that the next process will open for itself."""
        services.leave_remote_servers()

    @property
    def silence(self) -> str:
        """The reason it does not act now, in words for anybody; "" when it may act."""
        why = self.silence_for_staff
        is_wrong = self.work is not None and why == self.work.safety_problem
        return WRONG_SETTINGS if why and is_wrong else why

    @property
    def silence_for_staff(self) -> str:
        """The same, which also says which setting is wrong."""
        if state.is_stopped(self):
            return "an emergency stop is active"
        body = self.obj
        if body is None:
            return "it has no body"
        if body.is_superuser:
            return "a superuser is in its body"
        if not state.read(self, "enabled"):
            return "it is silenced"
        if self.work is None:
            return "it is not running"
        # Reading the limits sets `safety_problem`: with broken limits it must not act at all.
        state.safety_config(self)
        return self.work.safety_problem or ability.reason_of(body)

    # Functions that take the script first are its methods.
    ask = requests.ask
    client = preparation.client_of
    lose_body = incapacity.lose_body
    trigger_emergency_stop = emergency.trigger_emergency_stop

    def clear_emergency_stop(self, *, by: str = "") -> tuple[bool, str]:
        """Lift an emergency stop and resume with the waiting messages."""
        outcome = emergency.clear_emergency_stop(self, by=by)
        self.beat_soon()
        return outcome

    def enqueue(self, event: Event) -> None:
        """Store an event in the inbox. It is durable on return; the answer comes later."""
        dropped = aside.push(self, event)
        state.write(self, pending_events=self.work.inbox)
        notify_dropped(self, dropped)
        # After a short wait, in which further messages join the same turn.
        self.beat_soon(state.hearing_config(self).batch_seconds, is_called=True)

    def push(self, event: Event) -> None:
        """Put an event into the inbox; the caller stores the inbox with other values."""
        notify_dropped(self, aside.push(self, event))

    def beat_soon(self, after_seconds: float = 0.0, *, is_called: bool = False) -> None:
        """Bring the next beat forward if something waits that can be answered now."""
        # While many are stopped at once, each would look through its inbox in vain.
        if self.work is None or self.work.is_stopping:
            return
        if not (is_called or queueing.is_called(self)):
            return
        # The pacer spreads the beats of many assistants over several turns of the reactor.
        if after_seconds > 0:
            self.clock.callLater(after_seconds, services.pacer().call, self._beat)
        else:
            services.pacer().call(self._beat)

    def _beat(self) -> None:
        if self.work is not None:
            # What it is called by is cached, and a game may rename its body at any time.
            self.work.drop_cached_settings()
            incapacity.check_body(self)
            approvals.withdraw_moot(self)
        self.at_tick().addCallbacks(
            lambda _: outages.on_beat_succeeded(self),
            partial(outages.on_beat_failed, self),
        )

    def endpoint(self) -> Endpoint:
        """The model that answers for this assistant.

        Raises:
            ConfigurationError: the model settings do not fit together.
        """
        return preparation.endpoint_of(self, services.endpoint())

    def _reason_to_skip(self) -> Skip | None:
        work = self.work
        # The cheap checks come first: most beats end here, and each runs on every assistant.
        if work.is_ticking:
            return Skip.TICKING
        has_event = bool(work.inbox or work.aside)
        has_reason = not has_event and (
            consolidation.move_of(self) is not None or autonomy.reason(self) is not None
        )
        if not (has_event or has_reason):
            return Skip.NOTHING_TO_DO
        return may_tick(
            emergency_stop=state.is_stopped(self),
            enabled=not self.silence,
            is_ticking=work.is_closing,  # as if busy: while it closes, nothing may begin
            has_event=has_event,
            has_reason=has_reason,
        )

    @inlineCallbacks
    def at_tick(self) -> Any:
        """Run one tick: take the turn that is due, answer it and close it."""
        work = self.work
        if work is None or self._reason_to_skip() is not None:
            return
        # First: what a crash cut off in the middle of an effect must not be answered again.
        if cut_off := aside.recover(self):
            logger.log_warn(f"[assistant] {self.key}: cut off, and not repeated: {cut_off}")
        if (yield consolidation.rest(self)):
            self.beat_soon()
            return
        turn = self._next_turn()
        # Not a turn but the seconds until one is due, or None.
        if not isinstance(turn, Turn):
            self._wake_in(turn)
            return
        work.is_ticking, thinking = True, None
        try:
            lines = tuple(state.read(self, "thinking_lines")) or outgoing.THINKING_LINES
            thinking = Thinking(
                lines, lambda line: outgoing.show(self.obj, line, hops=turn.hops), self.clock
            )
            yield self._run_turn(turn)
        except (CancelledError, StaleEpochError, NobodyListensError) as error:
            turn_lifecycle.break_off(self, turn, incapacity.why_cut_off(self, turn), error)
        # Whatever breaks, the sender is told and the next beat takes the next message.
        except Exception as error:
            turn_lifecycle.fail(self, turn, error)
        finally:
            if thinking is not None:
                thinking.stop()
            work.is_ticking, work.seat = False, None
            self.beat_soon()

    def _wake_in(self, seconds: float | None) -> None:
        """Beat once the next message is due; one timer, however many beats find it waiting."""
        work = self.work
        if seconds is None:
            return
        if work.wake is not None and work.wake.active():
            work.wake.reset(seconds)
        else:
            work.wake = self.clock.callLater(seconds, self.beat_soon)

    def _next_turn(self) -> Turn | float | None:
        """The turn that is due, the seconds until one is due, or None."""
        due = turn_lifecycle.take(self)
        reason = autonomy.reason(self) if due is None else None
        return due if reason is None else autonomy.begin(self, reason)

    def _run_turn(self, turn: Turn) -> Deferred[None]:
        """Start or resume a turn; the Deferred fires when it ends or is set aside."""
        work = self.work
        seat = work.aside.pop(turn.scope, None)
        is_new = seat is None
        seat = work.seat = seat or Seat(turn, self._on_end_aside)
        left = seat.begin(self._answer(turn)) if is_new else seat.go_on()
        # A turn may end before its first wait, as when a limit ends it.
        if not left.called:
            work.in_flight = seat.running
        return left

    def _on_end_aside(self, turn: Turn, failure: Failure) -> None:
        """Close a turn that was cancelled, or failed, while it was set aside."""
        if not failure.check(CancelledError, StaleEpochError):
            logger.log_err(f"[assistant] {self.key}: {failure.getTraceback()}")
        turn_lifecycle.break_off(self, turn, incapacity.why_cut_off(self, turn))

    async def _answer(self, turn: Turn) -> None:
        # The demo brain reads one prompt at a time; a prompt read ahead must not delay a reply.
        warming.give_way()
        client = self.client()
        metered = MeteredClient(self, client, turn.payer, spent=turn.spent)
        inputs = await preparation.inputs_for_turn(self, client, turn)
        assessment = await preparation.assess_by_model(self, turn, metered)
        pattern = preparation.pattern_of(self, turn, inputs, assessment)
        tracing.note(self, turn, "may do", "; ".join(pattern.reasons))
        model = turn_model(self, turn, metered, inputs, preparation.counter_of(client))
        stop = await execute_react_loop(self, turn, model, pattern)
        if preparation.goes_on(pattern, stop):
            turn_lifecycle.pause(self, turn, stop)
        else:
            turn_lifecycle.close(self, turn, stop)
            # Closing the turn may have locked the assistant.
            if not self.silence:
                # Facts are extracted while the messages are there, before they are summed up.
                extract_facts = partial(consolidation.extract, self)
                compaction.begin_if_due(self, client, before=extract_facts)
