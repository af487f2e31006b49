"""Silencing or starting all assistants, while the game goes on and later commands count."""

from typing import Any
from unittest import mock

from twisted.internet import reactor
from twisted.internet.defer import Deferred

from evennia_ai import audit, operations
from evennia_ai.operations.settings import changing
from evennia_ai.runtime import game_thread, rounds, state
from tests.game.emergency.stopping import SafetyTest
from tests.game.support import pump


class TestRounds(SafetyTest):
    """A dozen assistants, of whom one is silenced in each turn of the reactor."""

    def setUp(self) -> None:
        super().setUp()
        self.enterContext(mock.patch.object(game_thread, "SLICE_SECONDS", 0.0))
        self.addCleanup(pump)
        self.crowd = [self.ada_script, *(self.make(f"Brass{n}")[0] for n in range(rounds.FEW))]

    def silent(self) -> list[bool]:
        return [not state.read(script, "enabled") for script in self.crowd]

    def set_all(self, *, enabled: bool) -> Deferred[Any]:
        done = operations.set_all_enabled(self.crowd, enabled, by="Mira")
        reactor.iterate(0)
        return done

    def test_the_game_goes_on_between_two(self) -> None:
        """Each is recorded under whoever gave the command, who is told when all are done."""
        with self.audited() as records, audit.acting("Mira", "api"):
            silenced, seen = self.set_all(enabled=False), []
            while not silenced.called:
                seen.append(sum(self.silent()))
                reactor.iterate(0)
        count = len(self.crowd)
        assert list(range(1, count)) == sorted({*seen} - {count})
        assert (count, f"{count} assistants are silent") == (
            silenced.result.data,
            silenced.result.message.partition(".")[0],
        )
        by = [facts["by"] for _, facts in records if "by" in facts]
        assert ["Mira"] * count == by

    def test_what_is_said_meanwhile_counts(self) -> None:
        silenced = self.set_all(enabled=False)
        assert operations.set_enabled(self.crowd[-1], True).ok
        assert changing.set_setting(self.crowd[-2], "enabled", "yes").ok
        started = operations.set_all_enabled(self.crowd[3:6], True)
        assert 3 == started.result.data
        pump()
        count = len(self.crowd)
        assert count == silenced.result.data
        awake = {3, 4, 5, count - 2, count - 1}
        assert awake == {n for n, is_silent in enumerate(self.silent()) if not is_silent}

    def test_two_rounds_are_one_after_the_other(self) -> None:
        first, second = self.set_all(enabled=False), self.set_all(enabled=True)
        pump()
        assert (len(self.crowd), False) == (first.result.data, any(self.silent()))
        assert len(self.crowd) == second.result.data

    def test_a_process_that_ends_does_the_rest_first(self) -> None:
        """A reload right after the command must find all of them silent."""
        silenced = self.set_all(enabled=False)
        self.crowd[-1].at_server_shutdown()
        assert all(self.silent())
        pump()
        assert len(self.crowd) == silenced.result.data

    def test_one_that_is_deleted_keeps_no_other_from_it(self) -> None:
        """A deletion is as the end of a process: the rest is done first."""
        silenced = self.set_all(enabled=False)
        self.crowd[-1].delete()
        pump()
        assert len(self.crowd) == silenced.result.data
        assert all(self.silent()[:-1])

    def test_one_that_breaks_keeps_no_other_from_it(self) -> None:
        write, broken = state.write, self.crowd[1]

        def breaks(script: Any, *facts: Any, **values: Any) -> None:
            if script is broken and "enabled" in values:
                raise OSError("the disk is full")
            write(script, *facts, **values)

        with (
            mock.patch.object(state, "write", breaks),
            mock.patch.object(rounds.logger, "log_trace") as logged,
        ):
            silenced = self.set_all(enabled=False)
            pump()
        assert len(self.crowd) - 1 == silenced.result.data
        assert [self.crowd.index(broken)] == [n for n, each in enumerate(self.silent()) if not each]
        assert 1 == logged.call_count
