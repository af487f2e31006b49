"""Idleness: an assistant at rest makes no model call, not even by an earlier timer."""

from collections.abc import Callable, Iterator
from typing import Any

import evennia
from twisted.internet.task import Clock

from evennia_ai import operations
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.emergency import trigger_emergency_stop
from evennia_ai.llm.scripted import completion
from tests.game.emergency.stopping import SafetyTest

NOOP = completion(None, ("noop", {}))


class IdleTest(SafetyTest):
    """Ada has a goal, and waits for a second message before each answer."""

    hearing = {"batch_seconds": 2, "cooldown_seconds": 30}

    def setUp(self) -> None:
        super().setUp()
        self.make_ready()

    def make_ready(self) -> None:
        """Give Ada a goal and let its time come."""
        self.set(autonomy_config={"seconds": 10}, compact_enabled=False)
        operations.add_goal(self.ada_script, "find the atlas")
        self.fire_timer()
        self.clock.advance(11)

    def pass_time(self) -> int:
        """Let all timers run out and beats pass; returns the number of model calls."""
        before = len(self.model.bodies)
        for seconds in (0, 1, 2, 30, 60, 3600):
            self.advance(seconds)
            self.fire_timer()
        return len(self.model.bodies) - before


WAYS_TO_REST: dict[str, Callable[[Any], object]] = {
    "not enabled": lambda script: operations.set_enabled(script, False),
    "stopped": lambda script: operations.stop(script, "test"),
    "locked": lambda script: trigger_emergency_stop(script, "test", cause=Cause.LOOP),
    "paused": lambda script: script.pause(),
    "without a body": lambda script: setattr(script, "obj", None),
}


class TestAtRest(IdleTest):
    """Put to rest while something was pending."""

    def each_way(self, *others: str) -> Iterator[Callable[[Any], object]]:
        """Every way to be at rest except `others`, each with a new Ada."""
        for name, rest in WAYS_TO_REST.items():
            if name in others:
                continue
            with self.subTest(name):
                self.ada_script.delete()
                self.ada.delete()
                self.model.answers.clear()
                self.ada_script, self.ada = self.make("Ada")
                self.clock = self.ada_script.clock = Clock()
                self.make_ready()
                yield rest

    def test_a_beat_that_is_due(self) -> None:
        for rest in self.each_way():
            rest(self.ada_script)
            assert 0 == self.pass_time()

    def test_a_beat_that_is_on_its_way(self) -> None:
        """An extra beat was requested and has not fired yet."""
        for rest in self.each_way():
            self.queue(1)
            self.ada_script.beat_soon()
            rest(self.ada_script)
            assert 0 == self.pass_time()

    def test_a_message_that_waits_for_a_second_one(self) -> None:
        """The timer of `batch_seconds` runs out."""
        for rest in self.each_way():
            count = len(self.model.bodies)
            self.type(self.tom, "whisper Ada = hello")
            assert count == len(self.model.bodies)
            rest(self.ada_script)
            assert 0 == self.pass_time()

    def test_a_message_that_waits_out_a_cooldown(self) -> None:
        for rest in self.each_way():
            self.type(self.tom, "whisper Ada = hello")
            self.model.answers.append(NOOP)
            self.advance(2)
            self.type(self.tom, "whisper Ada = hello?")
            rest(self.ada_script)
            assert 0 == self.pass_time()

    def test_a_call_that_is_under_way(self) -> None:
        for rest in self.each_way("without a body"):
            self.type(self.tom, "whisper Ada = hello")
            self.advance(2)
            cancelled = self.model.cancelled
            rest(self.ada_script)
            assert cancelled + 1 == self.model.cancelled
            assert 0 == self.pass_time()


class TestNobodyAbout(IdleTest):
    """Awake, with a goal, in a game without players."""

    def setUp(self) -> None:
        super().setUp()
        self.account.unpuppet_object(self.session)
        self.mira.sessions.clear()
        evennia.SESSION_HANDLER.clear()

    def tearDown(self) -> None:
        """The base class expects the session to be there."""
        self.log_in()
        super().tearDown()

    def log_in(self) -> None:
        """Put Tom's session back, without a character."""
        evennia.SESSION_HANDLER[self.session.sessid] = self.session

    def test_nothing_is_done(self) -> None:
        assert 0 == self.pass_time()

    def test_unless_an_owner_wants_it(self) -> None:
        """`autonomy_config.when_nobody_is_online` allows it."""
        self.set(autonomy_config={"seconds": 10, "when_nobody_is_online": True})
        self.model.answers.extend([NOOP] * 10)
        assert 1 <= self.pass_time()

    def test_a_bot_is_nobody(self) -> None:
        """A relay that is always logged in must keep no assistant busy."""
        self.account.is_bot = True
        self.log_in()
        assert 0 == self.pass_time()

    def test_somebody_comes(self) -> None:
        assert 0 == self.pass_time()
        self.log_in()
        self.model.answers.append(NOOP)
        self.fire_timer()
        assert 1 == len(self.model.bodies)
