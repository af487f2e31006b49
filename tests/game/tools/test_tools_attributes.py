"""The tools `set_attribute` and `time`."""

from typing import Any

from django.test.utils import override_settings

from evennia_ai.runtime import state
from tests.game.tools.tool_case import ToolTest


class TestSetAttribute(ToolTest):
    def setUp(self) -> None:
        """Let Ada set the mood of a sign."""
        super().setUp()
        state.write(self.ada_script, attribute_allowlist=["Mood", "desc"])
        self.sign = self.make_thing("sign")
        self.sign.locks.add("ai_set:all();edit:perm(Admin)")

    def set(self, value: Any, name: str = "mood", target: str = "sign") -> tuple[bool, str]:
        return self.do("set_attribute", target=target, name=name, value=value)

    def test_plain_values_are_set(self) -> None:
        for value in ("sad", 3, 1.5, True, None, [1, "a"], {"a": [None]}):
            with self.subTest(value):
                assert (True, "mood of sign is set") == self.set(value)
                assert value == self.sign.db.mood
        assert (True, "mood of sign is set") == self.set("glad", " MOOD ")
        assert "glad" == self.sign.attributes.get("mood")

    def test_by_either_lock(self) -> None:
        """The game's own lock for editing counts, or the one for assistants."""
        self.sign.locks.add("ai_set:false();edit:all()")
        assert (True, "mood of sign is set") == self.set(1)
        self.sign.locks.add("edit:perm(Admin)")
        assert (False, "you are not allowed to change sign") == self.set(2)
        self.room1.locks.add(f"ai_set:id({self.ada.id})")
        assert (True, "mood of Room is set") == self.set(3, target="here")
        assert (1, 3) == (self.sign.db.mood, self.room1.db.mood)

    def test_without_a_lock_nothing_is_let(self) -> None:
        for target in ("Ada", "Tom", "Obj", "here"):
            with self.subTest(target):
                is_set, answer = self.set("x", target=target)
                assert (False, "you are not allowed to change") == (is_set, answer[:29])

    def test_an_attribute_may_have_locks_of_its_own(self) -> None:
        self.sign.db.mood = "calm"
        self.sign.attributes.get("mood", return_obj=True).locks.add("attredit:false()")
        assert (False, "you are not allowed to change sign") == self.set("wild")
        self.sign.attributes.remove("desc")
        self.sign.locks.add("attrcreate:false()")
        assert (False, "you are not allowed to change sign") == self.set("a sign", "desc")
        assert "calm" == self.sign.db.mood

    def test_only_what_is_on_the_list(self) -> None:
        for name in ("moods", "moo", "creator_id", "_mood", "mood;desc", "", "tom/mood"):
            with self.subTest(name):
                is_set, answer = self.set("x", name)
                assert not is_set
                assert answer.startswith("you are not allowed to set")
                assert answer.endswith("; you may set mood, desc")
        state.write(self.ada_script, attribute_allowlist=())
        expected = "you are allowed none: your owner put nothing on attribute_allowlist"
        assert (False, expected) == self.set("x")

    def test_text_is_shown_as_text(self) -> None:
        """Otherwise a description could hold a link that runs a command when clicked."""
        self.set("|lcquit|ltclick|le |rred", "desc")
        shown = self.told("look", target="sign")
        assert "|" in shown
        assert "click" in shown
        assert "|lc" not in self.sign.db.desc
        self.set({"|lcquit|ltx|le": ["|lcquit|ltx|le"]})
        assert "|lc" not in str(self.sign.db.mood)

    def test_a_value_has_a_bound(self) -> None:
        for value in ("x" * 1000, ["x" * 100] * 20):
            with self.subTest(len(value)):
                assert (False, "a value has at most 1000 characters") == self.set(value)

    def test_not_while_a_player_is_in_her_body(self) -> None:
        """The player's rights would count then."""
        self.account.puppet_object(self.session, self.ada)
        assert (False, "you do not do that while a player is in your body") == self.set("x")
        self.account.puppet_object(self.session, self.tom)


class TestTime(ToolTest):
    def test_both_times(self) -> None:
        self.clock.advance(86_400 * 365)
        text = self.told("time")
        assert text.startswith("In the game: ")
        assert text.endswith("In the real world: Friday 01 January 1971, 00:00 UTC.")

    def test_the_real_time_is_that_of_the_games_zone(self) -> None:
        """Times of goals are read in that zone, too."""
        with override_settings(TIME_ZONE="Asia/Tokyo"):
            text = self.told("time")
        assert text.endswith("In the real world: Thursday 01 January 1970, 09:00 JST.")

    def test_a_calendar_of_the_games_own(self) -> None:
        """Its units have their longest names, the biggest first."""
        units = {"sec": 1, "min": 60, "moon": 600, "moons and a half": 600}
        with override_settings(TIME_UNITS=units):
            text = self.told("time")
        assert text.startswith("In the game: moons and a half ")
        assert ", min " in text
        assert ", sec " in text

    def test_a_date_beyond_all_calendars(self) -> None:
        """It is told in seconds."""
        with override_settings(TIME_GAME_EPOCH=10**15):
            assert self.told("time").startswith("In the game: second 10")
