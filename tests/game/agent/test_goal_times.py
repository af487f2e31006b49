"""Goals with a time, in a game."""

import json
from datetime import UTC, datetime
from typing import Any

import evennia
import pytest
from django.test import override_settings

from evennia_ai import audit, operations
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.audit import log
from evennia_ai.runtime import goals as stored_goals
from evennia_ai.runtime import state
from tests.game.agent.test_goals import NOOP, GoalsTest
from tests.game.support import as_data, says

HOUR, DAY = 3600.0, 86_400.0


def done(number: int, outcome: str = "done") -> bytes:
    """The model's call that completes a goal."""
    return completion(None, ("complete_goal", {"number": number, "outcome": outcome}))


class GoalTimesTest(GoalsTest):
    """Ada may act every ten minutes and four times an hour; it is noon in the game's zone."""

    def setUp(self) -> None:
        super().setUp()
        self.set(autonomy_config={"seconds": 600, "acts_per_hour": 4, "late_seconds": 900})
        now = stored_goals.clocks_of(self.ada_script)["real"]
        self.clock.advance(now.next(now.now, "12:00") - now.now)
        self.beat()

    def timed(self, when: str, text: str = "walk to the pier") -> None:
        result = operations.add_goal(self.ada_script, text, 5, None, when)
        assert result.ok, result.message
        self.beat()

    def restart(self, away_seconds: float = 0.0) -> None:
        """Stop the server and start it again later."""
        self.ada_script.at_server_reload()
        self.ada_script.at_pause()
        self.clock.advance(away_seconds)
        self.ada_script.at_start()

    def goal(self) -> dict[str, Any]:
        """The first open goal, in the form for programs."""
        return as_data(operations.list_goals(self.ada_script))["goals"][0]


class TestWhen(GoalTimesTest):
    def test_it_begins_at_its_time(self) -> None:
        """The time counts, whatever pace is set."""
        self.timed("at 14:00")
        assert 0 == sum(self.beat(600) for _ in range(11))
        assert 0 == self.beat(595)
        self.model.answers.append(says("To the pier!"))
        assert 1 == self.beat(5)
        text = "Your goal 1: walk to the pier. It was to be at 14:00, and that is now."
        assert text in self.prompt()
        assert ['Ada says, "To the pier!"'] == self.tom.heard_from(self.ada)

    def test_waiting_costs_no_statement(self) -> None:
        self.timed("at 14:00")
        self.timed("daily at dusk")
        with self.assertNumQueries(0):
            assert 0 == sum(self.beat(5) for _ in range(20))

    def test_a_daily_goal_comes_back_over_restarts(self) -> None:
        """Completing it completes this day's turn only."""
        self.timed("daily at 14:00")
        self.beat(2 * HOUR - 1)
        for day in range(3):
            self.model.answers.extend([done(1, f"day {day}"), NOOP])
            assert 2 == self.beat(1 if day == 0 else 0)
            assert '"result": "goal 1 is done for this time"' in str(self.model.bodies[-1])
            self.restart()
            assert 0 == sum(self.beat(HOUR) for _ in range(23))
            self.clock.advance(HOUR)
        assert ("daily", "active", "day 2") == tuple(
            self.goal()[key] for key in ("kind", "status", "outcome")
        )

    def test_staff_end_a_daily_goal_for_good(self) -> None:
        """The assistant's own `complete_goal` completes only the day's turn."""
        self.timed("daily at 14:00")
        operations.close_goal(self.ada_script, 1, is_completed=True)
        assert [] == operations.list_goals(self.ada_script).data.goals
        assert 0 == sum(self.beat(HOUR) for _ in range(50))

    def test_a_part_whose_whole_waits_costs_nothing(self) -> None:
        """A part may be due before its parent; it is worked on once the parent has begun."""
        self.timed("at 16:00", "open the fair")
        result = operations.add_goal(self.ada_script, "light the lamps", 5, 1, "at 14:00")
        assert result.ok, result.message
        self.beat()
        assert 0 == self.beat(2 * HOUR) + sum(self.beat(5) for _ in range(20))
        assert (0, 0) == (
            state.read(self.ada_script, "own_turns"),
            len(self.ada_script.work.autonomy.acts),
        )
        self.model.answers.append(NOOP)
        assert 1 == self.beat(2 * HOUR)
        assert "Your goal 2: light the lamps." in self.prompt()

    def test_acts_of_an_hour_hold_for_times_too(self) -> None:
        """Six goals at one time are still limited to the acts of an hour."""
        for number in range(6):
            self.timed("at 14:00", f"ring bell {number}")
        self.model.answers.extend([NOOP] * 20)
        self.beat(2 * HOUR)
        assert 3 >= sum(self.beat(5) for _ in range(700))


class TestMissed(GoalTimesTest):
    """A missed time is reported and not caught up."""

    def test_days_away_are_told_once(self) -> None:
        """Four days with three goals cause one call and one line to staff."""
        self.timed("daily at 14:00")
        self.timed("at 15:00", "light the lamp")
        self.timed("daily at 16:00", "close the gate")
        self.restart(4 * DAY)
        self.model.answers.append(NOOP)
        assert 1 == sum(self.beat(30) for _ in range(20))
        prompt = self.prompt()
        assert "goal 1, walk to the pier (daily at 14:00), 4 times" in prompt
        assert "goal 2, light the lamp (at 15:00)" in prompt
        assert "None of it is caught up." in prompt
        assert 1 == sum("could not act when it was time" in line for line in self.sent_to_staff())
        goals = operations.list_goals(self.ada_script).data
        assert [1, 3] == [goal["id"] for goal in goals.goals]
        assert ["missed: it was to be at 15:00"] == [goal["outcome"] for goal in goals.closed]

    def test_while_it_may_not_act(self) -> None:
        for name, off, on in (
            (
                "stopped",
                lambda: self.ada_script.trigger_emergency_stop("a test"),
                self.ada_script.clear_emergency_stop,
            ),
            (
                "disabled",
                lambda: operations.set_enabled(self.ada_script, False),
                lambda: operations.set_enabled(self.ada_script, True),
            ),
        ):
            with self.subTest(name):
                self.timed("in 1 hour")
                off()
                assert 0 == self.beat(2 * HOUR)
                on()
                self.model.answers.append(NOOP)
                assert 1 == self.beat(5)
                assert "could not act when it was time for: goal" in self.prompt()

    def test_a_little_late_is_on_time(self) -> None:
        self.timed("at 14:00")
        self.restart(2 * HOUR + 600)
        self.model.answers.append(NOOP)
        assert 1 == self.beat(0)
        assert "and that is now" in self.prompt()

    def test_what_is_missed_stands_in_the_record(self) -> None:
        self.timed("daily at 14:00")
        self.timed("at 15:00")
        self.restart(3 * DAY)
        self.model.answers.append(NOOP)
        self.beat(5)
        self.clock.advance(0)
        audit.flush()
        entries = log.audit_log(self.ada_script, events=["goal_time_missed"]).data.entries
        assert "missed times of goal 1: 3" in str(entries)
        assert [] == log.check_audit(self.ada_script, fresh=True).data


def game_day(hour: int, year: int = 1420) -> Any:
    """Settings by which it is this hour of the game's calendar."""
    then = datetime(year, 3, 1, hour, 0, tzinfo=UTC).timestamp()
    return override_settings(TIME_GAME_EPOCH=then - evennia.gametime.gametime(absolute=False))


class TestGameTime(GoalTimesTest):
    """Goals by the game's own calendar."""

    def test_at_dusk_to_the_pier(self) -> None:
        """It begins at the game's dusk, however much real time that takes."""
        with game_day(17):
            self.timed("at dusk")
            assert 0 == self.beat(300)
        with game_day(18):
            self.model.answers.append(NOOP)
            assert 1 == self.beat(60)
        assert "It was to be at dusk, and that is now." in self.prompt()

    def test_a_game_that_is_set_back_years(self) -> None:
        """An earlier epoch must not leave the goal waiting for years."""
        with game_day(17):
            self.timed("daily at dusk")
        for year in (1390, 1380):
            with game_day(17, year):
                before = len(self.model.bodies)
                assert 0 == self.beat(60)
                moment = datetime.fromisoformat(self.goal()["next_at"])
                assert DAY > moment.timestamp() - self.clock.seconds() > 0
                with self.assertNumQueries(0):
                    assert before == len(self.model.bodies) + self.beat(60)
            with game_day(18, year):
                self.model.answers.append(done(1))
                self.model.answers.append(NOOP)
                assert 2 == self.beat(60)

    def test_a_game_that_stands_still(self) -> None:
        """With TIME_FACTOR 0 no hour comes, and a new goal by game time is refused."""
        with game_day(17):
            self.timed("daily at dusk")
        with game_day(17), override_settings(TIME_FACTOR=0):
            assert 0 == sum(self.beat(60) for _ in range(5))
            assert self.goal()["next_at"] is None
            refused = operations.add_goal(self.ada_script, "sleep", 5, None, "at dusk")
            assert (False, True) == (refused.ok, "stands still" in refused.message)

    def test_a_game_names_its_hours(self) -> None:
        """EVENNIA_AI_NAMED_HOURS moves known hours and adds new ones."""
        named = {"dusk": "21:00", "curfew": "22:30"}
        with game_day(17), override_settings(EVENNIA_AI_NAMED_HOURS=named):
            self.timed("daily at curfew")
            assert (
                "22:30" == state.read(self.ada_script, "current_goals")["goals"][0]["timing"]["at"]
            )
            assert "21:00" == stored_goals.named_hours()["dusk"]

    def test_hours_that_are_none(self) -> None:
        for named, wrong in (
            ({"dusk": "late"}, "'dusk'"),
            ({"dusk": 18}, "'dusk'"),
            ({"at dusk": "18:00"}, "'at dusk'"),
            ("18:00", "'18:00'"),
        ):
            with (
                self.subTest(wrong),
                override_settings(EVENNIA_AI_NAMED_HOURS=named),
                pytest.raises(ConfigurationError, match=wrong),
            ):
                stored_goals.named_hours()

    def test_a_calendar_of_the_games_own(self) -> None:
        """TIME_UNITS of Evennia's calendar contrib is honoured."""
        units = {"sec": 1, "min": 10, "hour": 1000, "day": 10_000}
        with override_settings(TIME_UNITS=units, TIME_GAME_EPOCH=0.0):
            clock = stored_goals.clocks_of(self.ada_script)["game"]
            assert (10_000, 1000, 10) == (clock.day, clock.hour, clock.minute)


class TestSetting(GoalTimesTest):
    def test_what_staff_type(self) -> None:
        rows = (
            ("assistant goal Ada at 18:30 = ring the bell", "Ada has goal 1, at 18:30."),
            ("assistant goal Ada 8 daily at dusk = to the pier", "Ada has goal 2, daily at dusk."),
            ("assistant goal Ada under 1 in 2 hours = oil the bell", "Ada has goal 3, on "),
            (
                "assistant goal Ada at teatime = eat",
                "'at teatime' is not a time; times are: at 18:30",
            ),
            ("assistant goal Ada 8 9 = eat", "'9' is not a time"),
            ("assistant goal Ada", "  2. to the pier (priority 8, daily at dusk)"),
        )
        for line, answer in rows:
            with self.subTest(line=line):
                self.type(self.tom, line)
                assert answer in self.tom.ndb.messages[-1].raw

    def test_it_sets_itself_a_time(self) -> None:
        """The model may give a time with `create_goal`."""
        self.give()
        wrong = {"text": "sleep", "priority": 2, "when": "someday"}
        given = {"text": "watch the stars", "priority": 2, "when": "daily at midnight"}
        calls = [completion(None, ("create_goal", each)) for each in (wrong, given)]
        self.model.answers.extend([*calls, NOOP])
        self.beat(600)
        results = [json.loads(m["content"]) for m in self.model.bodies[-1]["messages"][-3::2]]
        assert "'someday' is not a time" in results[0]["error"]
        assert "goal 2 is set" == results[1]["result"]
        second = as_data(operations.list_goals(self.ada_script))["goals"][1]
        assert ("self", "daily", "daily at midnight") == (
            second["by"],
            second["kind"],
            second["when"],
        )

    def test_when_it_comes_is_told_by_the_wall(self) -> None:
        """Programs get real time, or null once a single time has passed."""
        self.timed("at 14:00")
        assert datetime.fromtimestamp(self.clock.seconds() + 2 * HOUR, UTC) == (
            datetime.fromisoformat(self.goal()["next_at"])
        )
        self.model.answers.append(NOOP)
        self.beat(2 * HOUR)
        assert (None, "at 14:00", "once") == tuple(
            self.goal()[key] for key in ("next_at", "when", "kind")
        )

    def test_a_model_that_splits_for_ever_stops(self) -> None:
        """Limits on turns, depth and number hold."""
        self.set(autonomy_config={"seconds": 10, "acts_per_hour": 1000})
        self.give()
        for _ in range(12):
            goals = operations.list_goals(self.ada_script).data.goals
            parts = [[f"{goal['id']}.{part}" for part in range(7)] for goal in goals]
            self.model.answers.clear()
            self.model.answers.extend(
                completion(None, ("split_goal", {"number": goal["id"], "parts": part}))
                for goal, part in zip(reversed(goals), reversed(parts), strict=True)
            )
            self.model.answers.extend([NOOP] * 2)
            self.beat(600)
        goals = operations.list_goals(self.ada_script).data.goals
        assert 8 < len(goals) <= 50
        by_number = {goal["id"]: goal["parent"] for goal in goals}
        for number in by_number:
            depth = 1
            while (number := by_number[number]) is not None:
                depth += 1
            assert depth <= 4
