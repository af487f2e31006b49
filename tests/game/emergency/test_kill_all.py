"""Stopping several assistants at once, and the cause that counts after two stops."""

import os
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from unittest import mock

from django.db import DatabaseError, connection
from twisted.internet import reactor

from evennia_ai import audit, operations
from evennia_ai.core.safety.lockout import Cause, State
from evennia_ai.core.turn import executions
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.emergency import PORTION, state_of, stop_all, stopping, trigger_emergency_stop
from evennia_ai.operations.audit import log
from evennia_ai.operations.tools.running import execute_tool
from evennia_ai.runtime import game_thread, services, state, turns
from tests.game.emergency.stopping import RETURNED, SafetyTest
from tests.game.support import pump, whispers


class TestAll(SafetyTest):
    def test_all_are_stopped_with_one_line_to_staff(self) -> None:
        brass_script, brass = self.make("Brass")
        self.type(self.tom, "whisper Ada = hello")
        self.type(self.tom, "whisper Brass = hello")
        with self.audited() as records:
            stopped = stop_all([self.ada_script, brass_script], "a fire", "Tom")
        assert 2 == stopped.result
        assert 2 == self.model.cancelled
        assert [RETURNED] == self.tom.heard_from(self.ada)
        assert [RETURNED.replace("Ada", "Brass")] == self.tom.heard_from(brass)
        (line,) = self.sent_to_staff()
        dropped = "2 calls in flight were dropped; 2 waiting messages were returned to Tom."
        until = "To let it go on: assistant emergency clear <name>"
        assert line.endswith(f"Ada and Brass are stopped: a fire. {dropped} {until}")
        stops = [event for event, _ in records if event == "EmergencyStopTriggered"]
        assert 2 == len(stops)

    def test_all_are_cancelled_before_anything_is_stored(self) -> None:
        """A transaction may have to wait, so all calls are cancelled before the first."""
        brass_script, _ = self.make("Brass")
        self.type(self.tom, "whisper Ada = hello")
        self.type(self.tom, "whisper Brass = hello")
        seen: list[int] = []

        def watch(execute: Any, sql: str, *rest: Any) -> Any:
            if sql.startswith(("SAVEPOINT", "INSERT", "UPDATE", "DELETE")):
                seen.append(self.model.cancelled)
            return execute(sql, *rest)

        with connection.execute_wrapper(watch):
            stop_all([self.ada_script, brass_script], "test", "Tom")
        assert {2} == set(seen)

    def test_every_socket_is_closed_before_any_turn_is_unwound(self) -> None:
        """Unwinding a turn takes many times as long as closing its socket."""
        brass_script, _ = self.make("Brass")
        scripts, closed = [self.ada_script, brass_script], []
        for script in scripts:
            self.type(self.tom, f"whisper {script.obj.key} = hello")
            noting = mock.Mock(drop=lambda: closed.append(self.model.cancelled))
            script.work.requests.add(noting)
        stop_all(scripts, "test", "Tom")
        assert [0, 0] == closed
        assert 2 == self.model.cancelled

    def test_a_call_that_ended_is_no_longer_under_way(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert set() == self.ada_script.work.requests
        self.type(self.tom, "whisper Ada = again")
        assert 1 == len(self.ada_script.work.requests)
        stop_all([self.ada_script], "test", "Tom")
        assert set() == self.ada_script.work.requests

    def test_a_slot_that_is_freed_starts_nobody_who_is_stopped_next(self) -> None:
        with mock.patch.dict(os.environ, {"EVENNIA_AI_MAX_CALLS_IN_FLIGHT": "1"}):
            services.pool.cache_clear()
            services.pool().set_transport(services.endpoint(), self.model)
        brass_script, _ = self.make("Brass")
        self.make("Edda")
        for name in ("Ada", "Brass", "Edda"):
            self.type(self.tom, f"whisper {name} = hello")
        assert 1 == len(self.model.bodies)
        stop_all([self.ada_script, brass_script], "test", "Tom")
        assert (1, 2) == (self.model.cancelled, len(self.model.bodies))
        assert "You are Edda" in str(self.model.bodies[1])

    def test_who_is_stopped_already_is_not_counted(self) -> None:
        brass_script, _ = self.make("Brass")
        operations.stop(brass_script, "first")
        assert 1 == stop_all([self.ada_script, brass_script], "test", "Tom").result
        assert 0 == stop_all([self.ada_script, brass_script], "test", "Tom").result
        assert 2 == len(self.sent_to_staff())

    def test_one_that_cannot_be_stored_spoils_no_other(self) -> None:
        """After the failure each is stored by itself, and counted once."""
        brass_script, _ = self.make("Brass")
        self.type(self.tom, "whisper Ada = hello")
        self.type(self.tom, "whisper Brass = hello")
        writes = _SpoiledOnce()
        with connection.execute_wrapper(writes):
            assert 2 == stop_all([self.ada_script, brass_script], "test", "Tom").result
        pump()
        for script in (self.ada_script, brass_script):
            script.attributes.reset_cache()
            assert State.STOPPED is state_of(script)
            page = log.audit_log(script, limit=9, events=("TickCompleted",)).data
            assert (1, 1) == (script.db.usage["calls"], len(page.entries))


class TestMany(SafetyTest):
    """More assistants than are stored in one turn of the reactor."""

    def many(self) -> list[Any]:
        """Ada, and enough others for a second portion."""
        return [self.ada_script, *(self.make(f"Brass{n}")[0] for n in range(PORTION))]

    def test_the_last_ones_are_stored_later_and_do_not_act_before(self) -> None:
        """Their new messages are returned, and the record names the person."""
        *first, last = self.many()
        with self.audited() as records, audit.acting("Tom", "api"):
            stopped = stop_all([*first, last], "a fire", "Tom")
        assert [State.STOPPED] * PORTION == [state_of(script) for script in first]
        assert (False, False) == (stopped.called, bool(last.db.emergency_stop))
        last.enqueue(self.event("m1", self.tom))
        last.at_repeat()
        assert [] == self.model.bodies
        with self.audited() as later:
            pump()
        assert (PORTION + 1, State.STOPPED, []) == (stopped.result, state_of(last), last.work.inbox)
        assert [RETURNED.replace("Ada", last.key)] == self.tom.heard_from(last.obj)
        stops = [facts for event, facts in records + later if event == "EmergencyStopTriggered"]
        assert [("Tom", "api")] * (PORTION + 1) == [(each["by"], each["via"]) for each in stops]
        assert 1 == len(self.sent_to_staff())

    def test_no_tool_is_run_by_hand_for_those_that_wait(self) -> None:
        *_, last = crowd = self.many()
        stop_all(crowd, "a fire", "Tom")
        message = execute_tool(last, "look", {}, person=self.tom).result.message
        assert f"{last.key} cannot do anything now: an emergency stop is active." == message
        assert not last.db.emergency_stop
        pump()
        assert operations.clear(last).ok
        assert execute_tool(last, "look", {}, person=self.tom).result.ok

    def test_one_that_is_stopped_meanwhile_is_cancelled_first(self) -> None:
        """Storing the others may have to wait or fail."""
        self.type(self.tom, "whisper Ada = hello")
        seen: list[int] = []

        def watch(execute: Any, sql: str, *rest: Any) -> Any:
            seen.append(self.model.cancelled)
            return execute(sql, *rest)

        ada, *others = [*self.many(), self.make("Edda")[0]]
        stopped = stop_all(others, "a fire", "Tom")
        with connection.execute_wrapper(watch):
            trigger_emergency_stop(ada, "test")
        assert {1} == set(seen)
        assert (State.STOPPED, False) == (state_of(ada), stopped.called)
        pump()
        assert PORTION + 1 == stopped.result

    def test_earlier_stops_that_cannot_be_ended_keep_none_from_it(self) -> None:
        ada, brass = self.ada_script, self.make("Brass")[0]
        with mock.patch.object(stopping, "finish", side_effect=DatabaseError("the disk is full")):
            trigger_emergency_stop(ada, "test")
            stop_all([brass], "test")
        assert [State.STOPPED] * 2 == [state_of(ada), state_of(brass)]

    def test_one_that_waits_is_not_stopped_twice(self) -> None:
        *_, last = crowd = self.many()
        with self.audited() as records:
            stopped = stop_all(crowd, "a fire", "Tom")
            message = operations.stop(last, "test", by="Mira").message
        assert "is already stopped" in message
        assert (PORTION + 1, "Tom") == (stopped.result, last.db.lockout["by"])
        assert PORTION + 1 == [event for event, _ in records].count("EmergencyStopTriggered")
        assert 1 == len(self.sent_to_staff())

    def test_a_hook_of_the_game_may_stop_others_meanwhile(self) -> None:
        """The hook stops one that waits and one that is not among them."""
        first, *_, last = crowd = self.many()
        edda, _ = self.make("Edda")
        ends: list[Any] = []

        def stop_others(*_: Any, **__: Any) -> None:
            first.obj.msg = mock.Mock()
            for script in (last, edda):
                trigger_emergency_stop(script, "a hook")

        first.obj.msg = stop_others
        with self.audited() as records:
            stopped = stop_all(crowd, "a fire", "Tom").addBoth(ends.append)
            assert [] == ends
            pump()
        assert ([PORTION], True) == (ends, stopped.called)
        assert {State.STOPPED} == {state_of(script) for script in (*crowd, edda)}
        assert PORTION + 2 == [event for event, _ in records].count("EmergencyStopTriggered")

    def test_one_that_breaks_keeps_no_other_from_it(self) -> None:
        """A broken object among them has not even a name."""
        crowd = self.many()
        bare = SimpleNamespace(db=SimpleNamespace(), obj=_Nameless())
        with self.logged():
            stopped = stop_all([bare, *crowd], "a fire", "Tom")
            pump()
        assert {State.STOPPED} == {state_of(script) for script in crowd}
        assert PORTION + 1 == stopped.result
        (line,) = self.sent_to_staff()
        assert " are stopped: a fire." in line

    def test_what_is_left_is_stored_before_a_server_ends_or_one_is_cleared(self) -> None:
        """A reload right after the command must find all of them stopped."""
        crowd = self.many()
        stopped = stop_all(crowd, "a fire", "Tom")
        crowd[0].at_server_shutdown()
        assert (PORTION + 1, State.STOPPED) == (stopped.result, state_of(crowd[-1]))
        cleared = operations.clear_all(crowd)
        pump()
        assert PORTION + 1 == cleared.result.data
        stopped = stop_all(crowd, "a fire", "Tom")
        assert operations.clear(crowd[-1]).ok
        assert (PORTION + 1, State.WAITING_FOR_EVENT) == (stopped.result, state_of(crowd[-1]))


class TestPortions(SafetyTest):
    """Five assistants, of which two are cancelled or stored in one turn of the reactor."""

    def setUp(self) -> None:
        super().setUp()
        services.pacer().call(str)  # begins a time slice, in which all earlier work ends
        pump()
        for what in (
            mock.patch.multiple(stopping, CANCELS=2, PORTION=2),
            mock.patch.object(services.pacer(), "_slice", 0.0),
        ):
            self.enterContext(what)
        self.crowd = [self.ada_script, *(self.make(f"Brass{n}")[0] for n in range(4))]

    def ask(self) -> None:
        for script in self.crowd:
            self.type(self.tom, f"whisper {script.key} = hello")

    def test_all_are_void_at_once_and_the_game_goes_on_between_two_portions(self) -> None:
        """A late answer is not said, and all are cancelled before any is stored."""
        self.ask()
        stopped, seen = stop_all(self.crowd, "a fire", "Tom"), []
        assert 0 == self.model.cancelled
        self.model.answer(whispers("Too late."))
        assert [] == self.tom.heard_from(self.ada)

        def look() -> None:
            stored = sum(bool(script.db.emergency_stop) for script in self.crowd)
            seen.append((self.model.cancelled, stored))
            if not stopped.called:
                reactor.callLater(0, look)

        look()
        pump()
        assert (4, 5) == seen[-1]
        assert {4} == {cancelled for cancelled, stored in seen if stored}
        steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(seen)]
        assert (2, 2) == tuple(map(max, zip(*steps, strict=True)))

    def test_typed_twice_it_is_one_stop(self) -> None:
        """The second must not do the first one's remaining work at once."""
        self.ask()
        first, second = stop_all(self.crowd, "a fire", "Tom"), stop_all(self.crowd, "again", "Tom")
        assert (False, False, 0) == (first.called, second.called, self.model.cancelled)
        pump()
        assert (5, 0, 5) == (first.result, second.result, self.model.cancelled)
        assert 1 == len(self.sent_to_staff())

    def test_a_slot_that_is_freed_starts_nobody_who_is_cancelled_later(self) -> None:
        with mock.patch.dict(os.environ, {"EVENNIA_AI_MAX_CALLS_IN_FLIGHT": "1"}):
            services.pool.cache_clear()
            services.pool().set_transport(services.endpoint(), self.model)
        self.ask()
        stop_all(self.crowd, "a fire", "Tom")
        pump()
        assert (1, 1) == (self.model.cancelled, len(self.model.bodies))
        operations.clear(self.ada_script)
        self.type(self.tom, "whisper Ada = hello")
        assert 2 == len(self.model.bodies)

    def test_none_at_all_keep_nobody_waiting(self) -> None:
        assert 0 == stop_all([], "a fire", "Tom").result
        self.test_a_slot_that_is_freed_starts_nobody_who_is_cancelled_later()

    def test_what_was_used_is_stored_with_the_stop_and_is_nobodys_act(self) -> None:
        """The record of the cut-off turn comes before the stop's and names nobody."""
        self.ask()
        with audit.acting("Tom", "api"):
            stop_all(self.crowd, "a fire", "Tom")
        with self.audited() as records:
            pump()
        events = [
            (event, facts.get("by"))
            for event, facts in records
            if event in ("TickCompleted", "EmergencyStopTriggered")
        ]
        assert [("TickCompleted", None), ("EmergencyStopTriggered", "Tom")] * 5 == events
        assert {1} == {script.db.usage["calls"] for script in self.crowd}

    def test_a_call_that_ends_after_its_turn_is_void_is_recorded_once(self) -> None:
        """The record has its result and does not call it lost."""
        call, turn = ToolCall("c1", "page", {}), Turn(0, ())
        noted = {"tool": "page", "call_id": "c1", "arguments": {}}
        state.write(self.ada_script, current_tool_call=turns.as_noted(turn) | noted)
        result, spec = ToolResult(True, "paged"), ToolSpec("page", "", {})
        fact = executions.tool_executed(turn, call, result, seconds=0.0, spec=spec)
        self.ada_script.work.unkept.append(fact)
        with self.audited() as records:
            stop_all(self.crowd, "a fire", "Tom")
            pump()
        calls = [facts for event, facts in records if event == "ToolExecuted"]
        assert [("c1", True)] == [(each["call_id"], each["success"]) for each in calls]
        assert self.ada_script.db.current_tool_call is None

    def test_a_shutdown_in_the_middle_ends_it(self) -> None:
        self.ask()
        stopped = stop_all(self.crowd, "a fire", "Tom")
        self.crowd[-1].at_server_shutdown()
        assert (5, 5) == (stopped.result, self.model.cancelled)
        assert {State.STOPPED} == {state_of(script) for script in self.crowd}

    def test_all_are_cleared_each_in_its_own_time(self) -> None:
        stop_all(self.crowd, "a fire", "Tom")
        pump()
        with mock.patch.object(game_thread, "SLICE_SECONDS", 0.0):
            cleared, seen = operations.clear_all(self.crowd, by="Mira"), []

            def look() -> None:
                seen.append(sum(not script.db.emergency_stop for script in self.crowd))
                if seen[-1] == 2:
                    trigger_emergency_stop(self.crowd[-1], "again", by="Tom")
                    trigger_emergency_stop(self.crowd[0], "again", by="Tom")
                    self.crowd[-2].delete()
                elif not cleared.called:
                    reactor.callLater(0, look)

            look()
            pump()
        assert [0, 1, 2] == sorted(set(seen))
        assert 3 == cleared.result.data
        states = [state_of(script) is State.STOPPED for script in self.crowd if script.pk]
        assert [True, False, False, True] == states

    def test_a_crash_while_all_are_cleared(self) -> None:
        stop_all(self.crowd, "a fire", "Tom")
        pump()
        audit.flush()
        with self.audited() as records, mock.patch.object(game_thread, "SLICE_SECONDS", 0.0):
            cleared = operations.clear_all(self.crowd).addErrback(str)
            reactor.iterate(0)
            cleared.cancel()
            pump()
        assert 1 == [event for event, _ in records].count("EmergencyStopCleared")
        assert [False, True, True, True, True] == [s.db.emergency_stop for s in self.crowd]


class TestOverALockout(SafetyTest):
    def test_a_kill_over_a_lockout_is_a_stop(self) -> None:
        trigger_emergency_stop(self.ada_script, "in circles", cause=Cause.REPEAT)
        assert State.SAFETY_LOCKOUT is state_of(self.ada_script)
        assert "Ada is stopped." in operations.stop(self.ada_script, "test", by="Tom").message
        assert (State.STOPPED, "Tom") == (state_of(self.ada_script), self.stored("lockout")["by"])

    def test_a_lockout_changes_nothing_of_a_stop_or_another_lockout(self) -> None:
        for first in (Cause.KILL, Cause.REPEAT):
            trigger_emergency_stop(self.ada_script, "first", cause=first)
            count = len(self.sent_to_staff())
            trigger_emergency_stop(self.ada_script, "second", cause=Cause.BUDGET)
            assert (first.value, count) == (
                self.stored("lockout")["cause"],
                len(self.sent_to_staff()),
            )
            operations.clear(self.ada_script)


class _Nameless:
    """A body whose name cannot be read."""

    @property
    def key(self) -> str:
        raise RuntimeError("no name")


class _SpoiledOnce:
    """A database whose third write fails."""

    def __init__(self) -> None:
        self._writes = 0

    def __call__(self, execute: Any, sql: str, *rest: Any) -> Any:
        self._writes += sql.startswith(("INSERT", "UPDATE", "DELETE"))
        if self._writes == 3:
            self._writes += 1
            raise DatabaseError("the disk is full")
        return execute(sql, *rest)
