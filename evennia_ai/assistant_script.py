"""The script behind an assistant: its beat, its inbox, and the wiring of one tick.

Attach it to the character it moves: `script.obj` is that character, and None once the game has
deleted it. No rules here.
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
    attaching,
    autonomy,
    compaction,
    database_outages,
    delegating,
    incapacity,
    preparation,
    queueing,
    requests,
    starting,
    turn_lifecycle,
    upgrades,
    warming,
)
from evennia_ai.agent.failure_notices import turn_away
from evennia_ai.agent.holders import InMemory, NearBody, Settings
from evennia_ai.agent.starting import AmongMany
from evennia_ai.assistant_character import give_ears
from evennia_ai.budget.metering import turn_model
from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.turn.autonomy import Skip, may_tick
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import ConfigurationError, NobodyListensError, StaleEpochError
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.fallback import Client
from evennia_ai.memory import indexing, modes, paying
from evennia_ai.messages import outgoing
from evennia_ai.messages.thinking import Thinking
from evennia_ai.runtime import ability, rounds, services, signals, state
from evennia_ai.runtime.assistant import Clock
from evennia_ai.runtime.attributes import AllAtOnce, WatchedAttributes
from evennia_ai.runtime.slots import Seat
from evennia_ai.runtime.turns import interrupted
from evennia_ai.runtime.work import Work
from evennia_ai.tasks import programs, remote_tasks
from evennia_ai.tool_execution import execute_react_loop
from evennia_ai.tools import load_modules

STRAY = (
    "[assistant] the script {name} (#{number}) on {body} is not an assistant, since neither "
    "`assistant create` nor `adopt` made it, and does nothing. "
    "To be rid of it: scripts/delete #{number}"
)


class AssistantScript(NearBody, AmongMany, DefaultScript):
    """Moves one character. Everything it keeps is described in `runtime.state.DEFAULTS`."""

    clock: Clock = reactor
    work: Work = None  # type: ignore[assignment]  # until it is started

    @cached_property  # unlike Evennia's, not a call once it is there; it is read 80 times a turn
    def attributes(self) -> WatchedAttributes:
        """The store of its settings and its state."""
        return WatchedAttributes(self, AllAtOnce)

    @lazy_property
    def db(self) -> Settings:
        """Its settings and its state: as stored, else as they hold."""
        return Settings(self)

    @lazy_property
    def ndb(self) -> InMemory:
        """Whatever a process keeps of it until a restart."""
        return InMemory(self)

    def at_idmapper_flush(self) -> bool:
        """True where Evennia may drop it from memory: never while something lives there."""
        return bool(super().at_idmapper_flush()) and self.work is None

    def changing(self, *names: str) -> AbstractContextManager[None]:
        """Around a change of its attributes from outside: what is a setting goes on record."""
        return state.changing(self, names)

    @property
    def is_stray(self) -> bool:
        """True where it is not an assistant of the game, as of Evennia's `scripts` and `copy`."""
        return not starting.has_tag(self)

    def at_script_creation(self) -> None:
        """Set the timer; all other settings keep their defaults until somebody sets them."""
        self.persistent = True
        self.interval = state.DEFAULTS["tick_rate"]
        # Else Evennia fires the timer at once, before whoever makes it has set anything.
        self.start_delay = True

    def at_start(self, **kwargs: Any) -> None:
        """Rebuild what lives in memory, and go on with what a restart interrupted."""
        starting.read_ahead(self)
        if self.is_stray:
            logger.log_warn(STRAY.format(name=self.key, number=self.pk, body=self.obj or "no body"))
            return
        if self.work is None or self.work.is_closing:
            self._load_tools()
            services.remote_servers()
            services.remote_specialists()
            self.work = state.rebuild(self)
            signals.RUNNING[str(self.key)] = self
            approvals.move_in(self)
            upgrades.begin_record(self)
            upgrades.sort_out(self)
            approvals.take_up(self)
            programs.take_up(self)
            remote_tasks.take_up(self)
            if state.memory_config(self).enabled and not paying.is_held(self):
                services.memory().open()  # so that no turn waits for it
            indexing.soon(self)
        self.ndb.circuit_breaker_registry = self.work.breakers
        self.ndb.tool_cache = self.work.tool_cache
        if self.obj is not None:
            give_ears(self.obj)
            self.obj.assistant_script = self
        self.keep_pace()
        self.beat_soon()
        warming.begin(self)

    def _load_tools(self) -> None:
        """Load the game's tools; one that is broken must not keep the game from starting."""
        try:
            load_modules((delegating.__name__, attaching.__name__, *services.tool_modules()))
        except ConfigurationError as error:
            logger.log_err(f"[assistant] {self.key} goes on without some tools: {error}")

    def keep_pace(self) -> None:
        """Let the timer beat as its settings say, awake or asleep, from now on."""
        is_asleep = modes.is_asleep(self)
        rate = modes.nights(self).tick_rate_sleep if is_asleep else state.read(self, "tick_rate")
        task = self.ndb._task
        if task is None or task.interval == rate:
            return
        task.interval = self.interval = rate
        if task.running and task.call is not None:  # no beat of its own is under way
            task.stop()
            task.start(rate, now=False)

    def at_server_start(self) -> None:
        """Evennia revives only timers it paused itself: none after a kill, none made offline."""
        task = self.ndb._task
        if self.is_active and (task is None or not task.running):
            self._start_task(force_restart=True)

    def at_repeat(self, **kwargs: Any) -> None:
        """The timer fires."""
        self._beat()

    def at_script_delete(self) -> bool:
        """Drop what is under way; that its settings go with it is not a change of them."""
        self.at_pause()
        return bool(super().at_script_delete())

    def at_pause(self, auto_pause: bool = False, **kwargs: Any) -> None:
        """Drop what is under way; the event stays in the inbox and is taken again."""
        work = self.work
        emergency.finish()
        rounds.finish_rounds()
        if work is not None and not work.is_closing:
            work.is_closing = True
            state.bump_epoch(self)
            remote_tasks.give_up_all(self)
            state.flush(self)

    at_stop = at_pause

    def at_server_shutdown(self) -> None:
        """Drop what is under way before the process ends."""
        self.at_pause()
        services.leave_remote_servers()

    def at_server_reload(self) -> None:
        """Let go of what the next process has for itself."""
        services.leave_remote_servers()

    @property
    def silence(self) -> str:
        """The reason it does not act now, in words, or ""."""
        if state.is_stopped(self):
            return "an emergency stop is active"
        body = self.obj
        if body is None:
            return "it has no body"
        if body.is_superuser:
            return "a superuser is in its body"
        if not state.read(self, "enabled"):
            return "it is not enabled"
        if self.work is None:
            return "it is not running"
        state.safety_config(self)
        return self.work.safety_problem or ability.reason_of(body)

    def lose_body(self) -> None:
        """Let go of the body, which the game is about to delete."""
        incapacity.lose_body(self)

    def trigger_emergency_stop(
        self, reason: str, *, cause: Cause = Cause.KILL, by: str = ""
    ) -> None:
        """Stop at once."""
        emergency.trigger_emergency_stop(self, reason, cause=cause, by=by)

    def clear_emergency_stop(self, *, by: str = "") -> tuple[bool, str]:
        """Let it act again, and go on with what waits."""
        outcome = emergency.clear_emergency_stop(self, by=by)
        self.beat_soon()
        return outcome

    def ask(
        self,
        question: str,
        *,
        asker: Being | None = None,
        timeout_seconds: float | None = None,
        name: str = "",
    ) -> Deferred[str]:
        """Ask it something, from game code; as `agent.requests.ask` says."""
        return requests.ask(self, question, asker=asker, timeout_seconds=timeout_seconds, name=name)

    def enqueue(self, event: Event) -> None:
        """Take an event in. It is durable when this returns; the answer comes later."""
        dropped = state.push(self, event)
        state.write(self, pending_events=self.work.inbox)
        turn_away(self, dropped)
        self.beat_soon(state.hearing_config(self).batch_seconds, is_called=True)

    def push(self, event: Event) -> None:
        """Take an event in that somebody stores with what else he changes."""
        turn_away(self, state.push(self, event))

    def beat_soon(self, after_seconds: float = 0.0, *, is_called: bool = False) -> None:
        """Bring the next beat forward if something waits that somebody is there to hear."""
        if self.work is None or self.work.is_stopping:  # of many at once, each would be asked
            return
        if not (is_called or queueing.is_called(self)):
            return
        if after_seconds > 0:
            self.clock.callLater(after_seconds, services.pacer().call, self._beat)
        else:
            services.pacer().call(self._beat)

    def _beat(self) -> None:
        if self.work is not None:
            self.work.read_anew()
            incapacity.heed(self)
            approvals.withdraw_moot(self)
        ended, broke = database_outages.went_well, database_outages.broke
        self.at_tick().addCallbacks(lambda _: ended(self), partial(broke, self))

    def endpoint(self) -> Endpoint:
        """The model that answers for this assistant.

        Raises:
            ConfigurationError: what is set does not fit together.
        """
        return preparation.endpoint_of(self, services.endpoint())

    def client(self) -> Client:
        """A client for its model, and for those that stand in when it fails.

        Raises:
            ConfigurationError: what is set does not fit together.
        """
        return preparation.client_of(self)

    def _skips(self) -> Skip | None:
        work = self.work
        if work.is_ticking:  # as of all that wait for their model; nothing else matters then
            return Skip.TICKING
        has_event = bool(work.inbox or work.aside)
        has_reason = not has_event and (
            consolidation.move_of(self) is not None or autonomy.reason(self) is not None
        )
        if not (has_event or has_reason):  # as in most beats; the rest need not be asked then
            return Skip.NOTHING_TO_DO
        return may_tick(
            emergency_stop=state.is_stopped(self),
            enabled=not self.silence,
            is_ticking=work.is_closing,
            has_event=has_event,
            has_reason=has_reason,
        )

    @inlineCallbacks
    def at_tick(self) -> Any:
        """One pass: take what is due, answer it, settle it."""
        work = self.work
        if work is None or self._skips() is not None:
            return
        self._recover()
        if (yield consolidation.rest(self)):
            self.beat_soon()
            return
        turn = self._take()
        if not isinstance(turn, Turn):
            if turn is not None:
                self.beat_soon(turn)
            return
        work.is_ticking = True
        lines = tuple(state.read(self, "thinking_lines")) or outgoing.THINKING_LINES
        thinking = Thinking(
            lines, lambda line: outgoing.show(self.obj, line, hops=turn.hops), self.clock
        )
        try:
            yield self._think(turn)
        except (CancelledError, StaleEpochError, NobodyListensError) as error:
            turn_lifecycle.break_off(self, turn, incapacity.why_cut_off(self), error)
        except Exception as error:
            turn_lifecycle.fail(self, turn, error)
        finally:
            thinking.stop()
            work.is_ticking, work.seat = False, None
            self.beat_soon()

    def _take(self) -> Turn | float | None:
        """The turn that is due: somebody's, or one of its own when nobody waits who is there."""
        due = turn_lifecycle.take(self)
        reason = autonomy.reason(self) if due is None else None
        return due if reason is None else autonomy.begin(self, reason)

    def _recover(self) -> None:
        """Give up the event whose answer a crash or a stop cut off while it was given."""
        if cut_off := interrupted.recover(self):
            logger.log_warn(f"[assistant] {self.key}: cut off, and not repeated: {cut_off}")

    def _think(self, turn: Turn) -> Deferred[None]:
        """Run a turn, or go on with one, until it ends or is set aside; it can be dropped."""
        work = self.work
        seat = work.aside.pop(turn.scope, None)
        is_new = seat is None
        seat = work.seat = seat or Seat(turn, self._drop)
        left = seat.begin(self._answer(turn)) if is_new else seat.go_on()
        if not left.called:  # it may be over already, as where a limit ends it
            work.in_flight = seat.running
        return left

    def _drop(self, turn: Turn, failure: Failure) -> None:
        """A turn ended while it was set aside: it was cancelled, or something is broken."""
        if not failure.check(CancelledError, StaleEpochError):
            logger.log_err(f"[assistant] {self.key}: {failure.getTraceback()}")
        turn_lifecycle.break_off(self, turn, incapacity.why_cut_off(self))

    async def _answer(self, turn: Turn) -> None:
        """Run the loop and close the turn."""
        warming.give_way()
        client = self.client()
        metered = MeteredClient(self, client, turn.payer, spent=turn.spent)
        scene = await preparation.scene_for(self, client, turn)
        assessment = await preparation.assess_by_model(self, turn, metered)
        pattern = preparation.pattern_of(self, turn, scene, assessment)
        turn_lifecycle.note(self, turn, "may do", "; ".join(pattern.reasons))
        model = turn_model(self, turn, metered, scene, preparation.counter_of(client))
        stop = await execute_react_loop(self, turn, model, pattern)
        if preparation.goes_on(pattern, stop):
            turn_lifecycle.pause(self, turn, stop)
        else:
            turn_lifecycle.close(self, turn, stop)
            if not self.silence:  # closing a turn may lock it
                keep = partial(consolidation.extract, self)
                compaction.begin_if_due(self, client, before=keep)
