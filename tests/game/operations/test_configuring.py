"""Settings of an assistant, shown and changed."""

import json
from typing import Any
from unittest import mock

from django.test.utils import override_settings

from evennia_ai.core.settings.assistant import SCHEMAS
from evennia_ai.core.settings.paths import NESTED
from evennia_ai.operations.settings import changing
from evennia_ai.operations.settings.checks import doubts
from evennia_ai.runtime import state
from tests.game.operations.configuring_case import ConfiguringTest
from tests.game.support import whispers


class TestSetting(ConfiguringTest):
    def test_the_answer_tells_old_and_new(self) -> None:
        assert "Ada: tick_rate is 10 now (was 5)." == self.set("tick_rate", "10").message
        assert "Ada: tick_rate is already 10." == self.set("tick_rate", 10).message
        result = changing.unset_setting(self.ada_script, "tick_rate")
        assert "Ada: tick_rate is 5, the default, now (was 10)." == result.message
        changes = [{"name": "tick_rate", "old": 10, "value": 5}]
        assert {"changes": changes} == result.data

    def test_a_value_that_is_seldom_meant_is_told(self) -> None:
        """It is set all the same, with a warning that `assistant check` repeats."""
        reason = "a name or permission that nobody has: nobody is asked."
        known = f"*#{self.account.pk}"
        for path, value, doubt in (
            ("confirm_by", "Tmo", f"confirm_by is 'Tmo', {reason}"),
            ("confirm_by", "tom", ""),
            ("confirm_by", self.account.key.upper(), ""),
            ("confirm_by", "Builder", ""),
            ("confirm_by", "staff", ""),
            ("confirm_by", "perm(Tmo)", ""),
            ("trigger_permissions", ["Bulider"], "'Bulider', a permission that nobody has."),
            ("confirm_by", "builders", ""),
            ("trigger_permissions", ["Admin", "Builders"], ""),
            ("trust_overrides", {"Bulider": 0.9}, "'Bulider', a permission that nobody has."),
            ("never_characters", ["Tom", "#999999"], "'#999999', which is nobody's number"),
            ("never_characters", [known[2:]], "which is nobody's number (#12, *#3)"),
            ("never_characters", [known], ""),
            ("max_agent_hops", 0, "max_agent_hops is 0: assistants answer each other without end."),
            ("max_agent_hops", 1, ""),
        ):
            with self.subTest(path=path, value=value):
                answer = self.set(path, value)
                lines = answer.message.splitlines()[1:]
                assert (True, bool(doubt)) == (answer.ok, bool(lines)), answer.message
                assert doubt in answer.message
                assert lines == doubts(self.ada_script, [*SCHEMAS] if doubt else [])
                changing.update_settings(self.ada_script, {path: None})

    def test_one_key_leaves_the_others(self) -> None:
        """A container is removed when its last key is unset."""
        self.set("max_iterations_per_tick", "7")
        self.set("sub_agents_enabled", "yes")
        assert {"max_iterations_per_tick": 7, "sub_agents_enabled": True} == state.read(
            self.ada_script, "execution_config"
        )
        self.set("sub_agents_enabled", "default")
        self.set("max_iterations_per_tick", None)
        assert "execution_config" not in {
            name for name, value in self.kept().items() if value not in (None, {})
        }

    def test_it_goes_on_record(self) -> None:
        with self.audited() as records:
            self.set("tick_rate", "10")
            self.set("tick_rate", "10")
        entries = [(event, facts["key"], facts["by"]) for event, facts in records]
        assert [("ConfigurationChanged", "tick_rate", "Tom")] == entries

    def test_the_beat_follows_at_once(self) -> None:
        self.set("tick_rate", "30")
        assert 30 == self.ada_script.ndb._task.interval

    def test_what_is_switched_off_stops(self) -> None:
        """An assistant that is enabled again answers what waits."""
        self.type(self.tom, "whisper Ada = hello")
        self.advance(1)
        assert self.ada_script.work.in_flight is not None
        self.set("enabled", "no")
        assert None is self.ada_script.work.in_flight
        self.model.answers.append(whispers("Hello."))
        self.set("enabled", "yes")
        self.advance(1)
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)

    def test_what_was_wrong_before_is_no_reason(self) -> None:
        """A value that code stored wrongly does not block other settings, and can be unset."""
        state.write(self.ada_script, safety_config={"loup": 1}, prompt_components="x")
        assert self.set("tick_rate", "10").ok
        assert self.set("prompt_templates.stern", "You are {name}.").ok
        assert not self.set("prompt_components.250.key", "mood").ok
        for name in ("safety_config", "prompt_components"):
            assert changing.unset_setting(self.ada_script, name).ok

    def test_a_cap_looser_than_the_games_does_not_hold(self) -> None:
        """The answer names the cap that applies."""
        caps = {"assistant": {"tokens_per_day": 1000}}
        with override_settings(EVENNIA_AI_BUDGET_CONFIG=caps):
            message = self.set("budget_config.assistant.tokens_per_day", "5000").message
            assert message.endswith(" The game allows 1000, and that holds.")
            assert self.set("budget_config.assistant.tokens_per_day", "500").message.endswith(
                "is 500 now (was 5000)."
            )

    def test_a_cap_on_money_needs_prices(self) -> None:
        """Without a price every call would be refused."""
        path = "budget_config.assistant.cost_per_day"
        with mock.patch.dict(
            "os.environ", {"EVENNIA_AI_MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        ):
            message = self.set(path, "1").message
            assert "no price is set for the model 'custom/m', and budget_config" in message
            with override_settings(EVENNIA_AI_PRICES={"m": {"input": 1, "output": 1}}):
                assert self.set(path, "1").ok
                message = self.set("llm_model", "other").message
                assert "no price is set for the model 'custom/other'" in message
                message = self.set("llm_fallback_models", "m2").message
                assert "no price is set for the model 'custom/m2'" in message

    def test_so_does_a_model_to_fall_back_to(self) -> None:
        """The game's list counts, too, unless the assistant has one of its own."""
        game = {"EVENNIA_AI_PRICES": {"m": {"input": 1, "output": 1}}}
        game["EVENNIA_AI_FALLBACK_MODELS"] = ["m2"]
        environ = {"EVENNIA_AI_MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        with mock.patch.dict("os.environ", environ), override_settings(**game):
            path = "budget_config.assistant.cost_per_day"
            assert "no price is set for the model 'custom/m2'" in self.set(path, "1").message
            assert self.set("llm_fallback_models", "local").ok
            assert self.set(path, "1").ok

    def test_it_is_all_the_same_in_every_state(self) -> None:
        """She is stopped, paused, without a body, or not running."""
        self.ada_script.trigger_emergency_stop("test")
        assert self.set("tick_rate", "10").ok
        self.ada_script.pause()
        assert self.set("trigger_permissions", "perm(Builder)").ok
        self.ada_script.obj = None
        assert self.set("trigger_permissions", "perm(Admin)").ok
        assert not self.set("trigger_permissions", "foo(bar)").ok
        self.ada_script.work = None
        assert self.set("enabled", "no").ok
        assert changing.configuration(self.ada_script).ok


class TestSeveral(ConfiguringTest):
    def test_all_or_none(self) -> None:
        before = self.kept()
        changes = {"tick_rate": 10, "llm_temperature": 7, "speed": 1}
        result = changing.update_settings(self.ada_script, changes)
        assert {"llm_temperature", "speed"} == set(result.errors)
        assert before == self.kept()

    def test_they_are_judged_together(self) -> None:
        """A template may be applied in the change that adds it."""
        changes = {
            "prompt_templates": {"stern": "You are {name}."},
            "applied_template": "stern",
            "checks.window": 5,
            "checks.anomalies": 5,
        }
        result = changing.update_settings(self.ada_script, changes, by="Tom")
        assert result.ok, result.message
        assert "stern" == state.read(self.ada_script, "applied_template")
        assert {"checks": {"window": 5, "anomalies": 5}} == self.kept()["safety_config"]
        result = changing.unset_setting(self.ada_script, "prompt_templates")
        assert "applied_template is 'stern'; there are default" in result.message

    def test_none_and_too_many_are_refused(self) -> None:
        for changes in ({}, {f"x{number}": 1 for number in range(101)}):
            result = changing.update_settings(self.ada_script, changes)
            assert "give 1 to 100 settings at once" in result.message


class TestLooking(ConfiguringTest):
    def rows(self) -> dict[str, dict[str, Any]]:
        rows = changing.configuration(self.ada_script).data["settings"]
        assert len({row["name"] for row in rows}) == len(rows)
        return {row["name"]: row for row in rows}

    def test_all_are_listed_with_their_keys(self) -> None:
        self.set("max_iterations_per_tick", "7")
        self.set("context_configs.reflection.max_iterations", "1")
        self.set("channel_configs.Public", "trigger")
        rows = self.rows()
        assert set(SCHEMAS) <= set(rows)
        expected = {
            "name": "execution_config.max_iterations_per_tick",
            "value": 7,
            "default": 5,
            "is_default": False,
            "text": "model calls in one tick, 1 to 10.",
            "type": "a whole number from 1 to 10",
        }
        assert expected == rows["execution_config.max_iterations_per_tick"]
        assert (1, 3) == self._pair(rows, "context_configs.reflection.max_iterations")
        assert ("trigger", None) == self._pair(rows, "channel_configs.Public")
        assert (25, 25) == self._pair(rows, "safety_config.loop.max_own_turns")
        assert "context_configs.tick_event.max_iterations" not in rows

    @staticmethod
    def _pair(rows: dict[str, dict[str, Any]], name: str) -> tuple[Any, Any]:
        return rows[name]["value"], rows[name]["default"]

    def test_what_the_game_sets_is_the_default(self) -> None:
        """An invalid setting of the game has no value."""
        name = "safety_config.loop.max_own_turns"
        with override_settings(EVENNIA_AI_SAFETY_CONFIG={"loop": {"max_own_turns": 7}}):
            assert (7, 7) == self._pair(self.rows(), name)
        with override_settings(EVENNIA_AI_SAFETY_CONFIG={"loup": 1}):
            assert (None, None) == self._pair(self.rows(), name)

    def test_one_is_told(self) -> None:
        """A key alone is enough."""
        self.set("tick_rate", "10")
        result = changing.show_setting(self.ada_script, "tick_rate")
        assert result.message.startswith(
            "Ada: tick_rate is 10 (default 5); a whole number from 1 to 86400. seconds between"
        )
        assert 5 == changing.show_setting(self.ada_script, "calls_per_reply").data["default"] + 1
        assert not changing.show_setting(self.ada_script, "speed").ok

    def test_each_row_is_plain(self) -> None:
        """Rows are sent as JSON over HTTP."""
        for path in (*SCHEMAS, *NESTED):
            row = changing.show_setting(self.ada_script, path).data
            assert row == json.loads(json.dumps(row)), path
        assert "safety_config.loop" in NESTED

    def test_a_secret_that_code_put_there_is_not_shown(self) -> None:
        state.write(
            self.ada_script, llm_extra_params={"api_key": "hush-hush", "a": {"token": "hh"}}
        )
        shown = changing.configuration(self.ada_script)
        assert "hush-hush" not in str(shown) + str(
            changing.show_setting(self.ada_script, "llm_extra_params.a")
        )
        assert "'hh'" not in str(shown)

    def test_what_code_stored_wrongly_is_shown(self) -> None:
        state.write(self.ada_script, channel_configs="x", context_configs={"tick_event": 5})
        rows = self.rows()
        assert ("x", {"tick_event": 5}) == (
            rows["channel_configs"]["value"],
            rows["context_configs"]["value"],
        )


class TestRight(ConfiguringTest):
    def test_what_she_may_do_to_the_game_needs_more(self) -> None:
        assert "configure" == changing.act_to_configure(["tick_rate", "speed", "confirm_by"])
        for name in changing.POWERS:
            assert "configure powers" == changing.act_to_configure(["tick_rate", name])
