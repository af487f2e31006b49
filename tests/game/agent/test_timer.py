"""The beat: its pace, and what pauses and restarts do to it."""

from evennia_ai.runtime import services, state
from tests.game.support import GameTest, pump, whispers


class TestTimer(GameTest):
    def test_the_pace_is_a_setting(self) -> None:
        """Another rate counts from the next start on."""
        assert 5 == self.ada_script.interval
        state.write(self.ada_script, tick_rate=30)
        self.ada_script.at_start()
        assert (30, 30) == (self.ada_script.interval, self.ada_script.ndb._task.interval)

    def test_a_timer_that_a_kill_left_dead_is_revived(self) -> None:
        """Evennia itself revives only a timer that it paused."""
        self.ada_script.ndb._task.stop()
        self.ada_script.at_server_start()
        assert self.ada_script.ndb._task.running

    def test_a_timer_that_was_stopped_by_hand_stays_so(self) -> None:
        self.ada_script.stop()
        self.ada_script.at_server_start()
        assert not self.ada_script.is_active

    def test_a_beat_takes_what_waits(self) -> None:
        """The event came without a beat of its own."""
        self.tom.execute_cmd("whisper Ada = hello")
        self.model.answers.append(whispers("Hello."))
        self.ada_script.at_repeat()
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
        pump()
        assert 1 == len(self.model.bodies)

    def test_one_timer_for_what_waits(self) -> None:
        """However many beats find it waiting."""
        state.write(self.ada_script, hearing_config={"cooldown_seconds": 300, "batch_seconds": 0})
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.type(self.tom, "whisper Ada = and?")
        timers = len(self.clock.getDelayedCalls())
        for _ in range(9):
            self.advance(5)
            self.ada_script.at_repeat()
        assert len(self.clock.getDelayedCalls()) <= timers
        self.advance(300 - 45 - 1)
        assert 1 == len(self.model.bodies)
        self.advance(1)
        assert 2 == len(self.model.bodies)

    def test_a_beat_during_an_answer_does_nothing(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        for _ in range(3):
            self.ada_script.at_repeat()
        pump()
        assert 1 == len(self.model.bodies)

    def test_a_beat_of_the_timer_comes_after_whoever_waits(self) -> None:
        """With nothing else due, it comes at once."""
        order: list[str] = []
        pump()
        assert self.ada_script._step_task().called
        services.pacer().call(order.append, "others")
        self.ada_script._step_task().addCallback(lambda _: order.append("beat"))
        assert [] == order
        pump()
        assert ["others", "beat"] == order

    def test_a_paused_assistant_goes_on_when_it_is_unpaused(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        self.ada_script.pause()
        assert 1 == self.model.cancelled
        self.model.answers.append(whispers("Hello."))
        self.ada_script.unpause()
        pump()
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
