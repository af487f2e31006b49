"""Tools that a game registers."""

import json

import pytest
from django.test.utils import override_settings

from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from evennia_ai.tools import REGISTRY, load_modules
from tests.game import game_tools
from tests.game.support import GameTest, pump, whispers


@override_settings(EVENNIA_AI_TOOL_MODULES=["tests.game.game_tools"])
class TestGameTools(GameTest):
    def setUp(self) -> None:
        super().setUp()
        game_tools.pending.clear()
        self.addCleanup(game_tools.pending.clear)

    def _result(self, call: int = 1) -> dict[str, object]:
        """Result of the last tool call, as the model was sent it with its request number `call`."""
        message = self.model.bodies[call]["messages"][-1]
        return json.loads(message["content"])

    def test_the_model_is_offered_them(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        offered = {
            tool["function"]["name"]: tool["function"] for tool in self.model.bodies[0]["tools"]
        }
        assert "When the tide turns in a harbour." == offered["tide"]["description"]
        assert ["harbour"] == offered["tide"]["parameters"]["required"]

    def test_a_tool_runs_and_its_result_is_told(self) -> None:
        tide = completion(None, ("tide", {"harbour": "Greyport"}))
        self.ask("whisper Ada = when is high water?", tide, whispers("At noon."))
        assert {"success": True, "result": "at noon"} == self._result()
        assert ['Ada whispers: "At noon."'] == self.tom.heard_from(self.ada)

    def test_what_cannot_be_done_is_told_to_the_model(self) -> None:
        """A ToolError's text goes to the model, which may try again."""
        tide = completion(None, ("tide", {"harbour": "Atlantis"}))
        self.ask("whisper Ada = when?", tide, whispers("I cannot say."))
        assert {"success": False, "error": "there is no harbour Atlantis"} == self._result()

    def test_a_cached_tool_that_cannot_do_it_does_not_end_the_answer(self) -> None:
        tide = completion(None, ("depth", {"harbour": "Atlantis"}))
        self.ask("whisper Ada = how deep?", tide, whispers("I cannot say."))
        assert {"success": False, "error": "there is no harbour Atlantis"} == self._result()
        assert ['Ada whispers: "I cannot say."'] == self.tom.heard_from(self.ada)

    def test_a_defect_in_a_tool_does_not_end_the_answer(self) -> None:
        self.ask("whisper Ada = go", completion(None, ("break_down", {})), whispers("Hm."))
        expected = "break_down failed inside the game; do something else"
        assert {"success": False, "error": expected} == self._result()
        assert ['Ada whispers: "Hm."'] == self.tom.heard_from(self.ada)

    def test_a_tool_may_be_a_coroutine(self) -> None:
        self.ask("whisper Ada = go", completion(None, ("count_stars", {})), whispers("Many."))
        assert {"success": True, "result": "many"} == self._result()

    def test_a_tool_without_a_result_was_done(self) -> None:
        nothing = completion(None, ("do_nothing_in_particular", {}))
        self.ask("whisper Ada = go", nothing, whispers("Done."))
        assert {"success": True, "result": "done"} == self._result()

    def test_a_waiting_tool_has_a_time_limit(self) -> None:
        self.ask("whisper Ada = go", completion(None, ("wait_for_ship", {})))
        assert 1 == len(self.model.bodies)
        self.model.answers.append(whispers("None came."))
        self.clock.advance(4)
        assert {"success": False, "error": "wait_for_ship took longer than 4 s"} == self._result()
        assert 'Ada whispers: "None came."' == self.tom.heard_from(self.ada)[-1]

    def test_stopping_her_while_a_tool_waits_starts_nothing_more(self) -> None:
        self.ask("whisper Ada = go", completion(None, ("wait_for_ship", {})))
        self.ada_script.trigger_emergency_stop("enough")
        pump()
        assert 1 == len(self.model.bodies)
        assert not self.ada_script.work.is_ticking

    def test_an_effect_that_was_cut_off_is_not_done_again(self) -> None:
        """Nobody knows if the cancelled tool had its effect, so it is not repeated."""
        self.ask("whisper Ada = go", completion(None, ("hoist_flag", {})))
        self.ada_script.trigger_emergency_stop("enough")
        self.ada_script.clear_emergency_stop()
        pump()
        assert 1 == len(self.model.bodies)
        assert [] == self.waiting()

    def test_a_tool_may_stop_its_own_assistant(self) -> None:
        """The stop comes either within the same reactor turn or later."""
        for is_held in (False, True):
            self.forget()
            asleep = completion(None, ("fall_silent", {}))
            self.ask("whisper Ada = good night", *([] if is_held else [asleep]))
            if is_held:
                self.model_answers(asleep)
            assert state.read(self.ada_script, "emergency_stop")
            self.ada_script.clear_emergency_stop()
            pump()
            assert 1 == self.tom.seen.count("Ada yawns.")
            assert [] == self.waiting()
            self.ask("whisper Ada = good morning", whispers("Good morning."))
            assert 'Ada whispers: "Good morning."' == self.tom.heard_from(self.ada)[-1]


class TestModules(GameTest):
    def test_a_module_that_does_not_exist_is_named(self) -> None:
        expected = "EVENNIA_AI_TOOL_MODULES names 'world.tolls', which cannot be imported: "
        with pytest.raises(ConfigurationError, match=expected):
            load_modules(["world.tolls"])

    def test_loading_twice_does_no_harm(self) -> None:
        """After a reload the same tools are no clash of names."""
        load_modules(["tests.game.game_tools"])
        before = dict(REGISTRY)
        load_modules(["tests.game.game_tools"])
        assert before == REGISTRY
