"""The operations of one assistant, and the game's settings."""

import os
import re
import sys
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from django.apps import apps
from django.core import checks
from django.test import TestCase
from django.test.utils import override_settings

from evennia_ai import operations
from evennia_ai.agent import starting
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.scripted import ScriptedModel, completion
from evennia_ai.operations.monitoring.equipment import equipment
from evennia_ai.operations.monitoring.status import AT_ONCE, Glance
from evennia_ai.runtime import services, state
from evennia_ai.testing import forget_process
from evennia_ai.tools import load_modules
from tests.game.support import GameTest, pump, whispers


class TestOperations(GameTest):
    def test_a_created_assistant_is_found_and_listed(self) -> None:
        result = operations.create_assistant(
            "  Old   Edda ",
            location=self.room2,
            desc="Grey.",
            persona="Copies charts.",
            aliases=("edda",),
            lines={"thinking": ["{name} hums."], "failure": "{name} coughs."},
        )
        script, body = result.data.script, result.data.character
        assert result.ok
        assert "Old Edda is awake in Room2. Try: whisper Old Edda = hello" == result.message
        assert ("Old Edda", "Grey.", self.room2) == (body.key, body.db.desc, body.location)
        assert ["edda"] == body.aliases.all()
        assert script == operations.find_assistant(" old edda ")
        assert body == script.obj
        assert ["Ada", "Old Edda"] == [each.key for each in operations.list_assistants()]
        assert ["{name} hums."] == list(state.read(script, "thinking_lines"))
        assert None is operations.find_assistant("")

    def test_what_is_missing_to_think_with_is_told_at_once(self) -> None:
        """Otherwise the first failing whisper would tell it."""
        elsewhere = {"EVENNIA_AI_CACHE_DIR": self.enterContext(TemporaryDirectory())}
        for environ, modules, problem in (
            ({"EVENNIA_AI_MODEL": "local"}, {"xllamacpp": None}, 'pip install "evennia-ai[local]"'),
            ({"EVENNIA_AI_MODEL": "gpt-5", "OPENAI_API_KEY": ""}, {}, "OPENAI_API_KEY"),
            ({"EVENNIA_AI_MODEL": "local", **elsewhere}, {}, "demo brain (491 MB) is fetched"),
        ):
            with (
                self.subTest(problem),
                mock.patch.dict(os.environ, environ),
                mock.patch.dict(sys.modules, modules),
            ):
                forget_process()
                name = f"Edda {len(operations.list_assistants())}"
                result = operations.create_assistant(name, location=self.room1)
                first, _, hint = result.message.partition("\n")
                assert (True, f"{name} is awake in Room. Try: whisper {name} = hello") == (
                    result.ok,
                    first,
                )
                assert problem in hint, hint

    def test_an_assistant_may_be_made_nowhere(self) -> None:
        result = operations.create_assistant("Edda")
        assert (
            "Edda is awake, but in no room. Go to its room and type: tel Edda = here"
            == result.message
        )
        assert None is operations.status(result.data.script).data.location

    def test_the_status_is_the_same_for_people_and_programs(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        result = operations.status(self.ada_script)
        assert "Ada: thinking" == result.message
        expected = {
            "key": "Ada",
            "location": "Room",
            "enabled": True,
            "emergency_stop": False,
            "consecutive_errors": 0,
            "max_consecutive_errors": 5,
            "is_ticking": True,
            "pending_events": 1,
            "calls": 1,
        }
        assert expected == {name: getattr(result.data, name) for name in expected}
        assert "closed" == result.data.breakers["llm:scripted"]["state"]
        self.model_answers(whispers("Hello."))
        for act, mood in (
            (lambda: None, "awake"),
            (lambda: operations.set_enabled(self.ada_script, False), "silent"),
            (lambda: operations.stop(self.ada_script, "test"), "stopped"),
        ):
            act()
            assert f"Ada: {mood}" == operations.status(self.ada_script).message

    def test_many_are_looked_at_in_slices(self) -> None:
        """In the same order; one that is deleted meanwhile is left out."""
        scripts = [self.make(f"Brass{number:02}")[0] for number in range(AT_ONCE + 1)]
        names, deleted = [str(script.key) for script in scripts], scripts[3]
        seen: list[str] = []

        def show(glance: Glance) -> str:
            seen.append(glance.status.key)
            if len(seen) == 2:
                operations.delete_assistant(deleted)
            assert glance.caps is not None
            return glance.status.mood

        looking = operations.glances(scripts, show)
        assert [] == seen
        pump()
        assert [*names[:3], *names[4:]] == seen
        assert ["awake"] * AT_ONCE == looking.result

    def test_few_are_looked_at_at_once(self) -> None:
        state.write(self.ada_script, budget_config={"tokens_per_day": -1})
        looking = operations.glances([self.ada_script], lambda glance: glance.caps)
        assert [None] == looking.result

    def test_many_are_looked_at_in_as_few_statements_as_one(self) -> None:
        scripts = [self.make(f"Brass{number}")[0] for number in range(3)]
        counts = []
        for some in (scripts[:1], scripts):
            with self.statements() as made:
                looking = operations.glances(some, lambda glance: glance.status.mood)
            assert ["awake"] * len(some) == looking.result
            counts.append(len(made))
        assert counts[0] == counts[1]

    def test_an_assistant_may_have_a_model_of_its_own(self) -> None:
        edda_script, edda = self.make("Edda")
        state.write(
            edda_script,
            llm_provider="ollama",
            llm_model="big",
            llm_temperature=0.1,
            llm_extra_params={"seed": 7},
        )
        own = ScriptedModel(whispers("Hello."))
        services.pool().set_transport(edda_script.endpoint(), own)
        self.type(self.tom, "whisper Edda = hello")
        assert ['Edda whispers: "Hello."'] == self.tom.heard_from(edda)
        (body,) = own.bodies
        assert ("big", 0.1, 7) == (body["model"], body["temperature"], body["seed"])
        assert [] == self.model.bodies

    def test_a_script_without_a_body_does_nothing(self) -> None:
        self.ada_script.obj = None
        self.fire_timer()
        assert None is operations.status(self.ada_script).data.location


class TestJsonMode(GameTest):
    """A model that is held to a JSON schema."""

    environ = {"EVENNIA_AI_MODEL": "scripted", "EVENNIA_AI_TOOL_MODE": "json"}

    def test_a_whisper_is_answered(self) -> None:
        text = '{"tool": "whisper", "parameters": {"target": "Tom", "message": "Hello."}}'
        self.ask("whisper Ada = hello", completion(text))
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
        assert "json_schema" == self.model.bodies[0]["response_format"]["type"]
        assert "tools" not in self.model.bodies[0]

    def test_she_can_only_answer_who_spoke(self) -> None:
        """The schema offers whispers to Tom as the only way to speak."""
        text = '{"tool": "whisper", "parameters": {"target": "Tom", "message": "Hello."}}'
        self.ask("whisper Ada = hello", completion(text))
        schema = str(self.model.bodies[0]["response_format"])
        assert "'Tom'" in schema
        assert "'say'" not in schema


class TestSettings(TestCase):
    """Django's system check finds wrong settings."""

    def _check(self, environ: dict[str, str] | None = None, **settings: Any) -> list[Any]:
        wanted = {"EVENNIA_AI_MODEL": "scripted", **(environ or {})}
        with mock.patch.dict(os.environ, wanted, clear=True), override_settings(**settings):
            messages = checks.run_checks()
        return [each for each in messages if (each.id or "").startswith("evennia_ai.")]

    def test_right_settings_are_silent(self) -> None:
        assert [] == self._check()
        assert [] == self._check(EVENNIA_AI_TOOL_MODULES=["world.tools"])

    def test_all_wrong_settings_are_told_at_once(self) -> None:
        """Nobody has to correct one to read of the next."""
        wrong = {"EVENNIA_AI_MACROS": {"moon": "world.no.moon"}, "EVENNIA_AI_WEB_CONFIG": {"p": 1}}
        messages = self._check({"EVENNIA_AI_TOOL_MODE": "xml"}, **wrong)
        named = ("EVENNIA_AI_TOOL_MODE", *wrong)
        assert [True] * 3 == [any(name in each.msg for each in messages) for name in named]
        assert 3 == len(messages)

    def test_each_wrong_setting_is_one_error(self) -> None:
        for environ, settings, expected in (
            (
                {"EVENNIA_AI_MODEL": "m"},
                {},
                "EVENNIA_AI_MODEL is 'm' in the environment, but neither ",
            ),
            (
                {},
                {"EVENNIA_AI_STAFF_LOCK": "Builder"},
                "EVENNIA_AI_STAFF_LOCK is 'Builder'; it must be a lock such as 'perm(Builder)'",
            ),
            (
                {},
                {"EVENNIA_AI_OWNER_LOCK": "perm(Admin) or"},
                "EVENNIA_AI_OWNER_LOCK: 'perm(Admin) or' is not a lock string: ",
            ),
            (
                {"EVENNIA_AI_TOOL_MODE": "xml"},
                {},
                "EVENNIA_AI_TOOL_MODE is 'xml'; it must be native or json",
            ),
            (
                {"EVENNIA_AI_CALL_DEADLINE_SECONDS": "soon"},
                {},
                "EVENNIA_AI_CALL_DEADLINE_SECONDS is 'soon'; it must be a number above 0",
            ),
            *(
                (
                    {},
                    {"EVENNIA_AI_CALL_DEADLINE_SECONDS": value},
                    f"EVENNIA_AI_CALL_DEADLINE_SECONDS is {value!r}; it must be a number above 0",
                )
                for value in (0, -1, True, float("nan"), float("inf"), None, [])
            ),
            *(
                (
                    {},
                    {"EVENNIA_AI_MAX_CALLS_IN_FLIGHT": value},
                    f"EVENNIA_AI_MAX_CALLS_IN_FLIGHT is {value}; it must be a whole number from 1",
                )
                for value in (0.5, 2.5)
            ),
            (
                {},
                {"EVENNIA_AI_TOOL_MODULES": "world.tools"},
                "EVENNIA_AI_TOOL_MODULES is 'world.tools'; it must be a list such as ['world",
            ),
        ):
            with self.subTest(expected):
                (error,) = self._check(environ, **settings)
                assert isinstance(error, checks.Error)
                assert error.msg.startswith(expected)

    def test_a_key_that_is_not_used_is_a_warning(self) -> None:
        """It does not keep the game from starting."""
        (warning,) = self._check({"EVENNIA_AI_MODEL": "", "OPENAI_API_KEY": "sk-secret"})
        assert isinstance(warning, checks.Warning)
        assert "OPENAI_API_KEY is set but EVENNIA_AI_MODEL is not, so it is not used" == warning.msg
        assert "sk-secret" not in str(warning)

    def test_the_app_has_its_name(self) -> None:
        assert "AI assistant" == apps.get_app_config("evennia_ai").verbose_name

    def test_the_pool_is_made_from_the_settings(self) -> None:
        """The environment takes precedence."""
        with (
            mock.patch.dict(os.environ, {"EVENNIA_AI_CALL_DEADLINE_SECONDS": "7.5"}),
            override_settings(
                EVENNIA_AI_CALL_DEADLINE_SECONDS=9,
                EVENNIA_AI_MAX_CALLS_IN_FLIGHT=3,
                SERVERNAME="Mud",
            ),
        ):
            services.pool.cache_clear()
            self.addCleanup(services.pool.cache_clear)
            config = services.pool().config
        assert (7.5, 3, "Mud") == (
            config.deadline_seconds,
            config.max_calls_in_flight,
            config.app_name,
        )
        assert ".local_model" == config.state_dir.name


class TestBrokenTools(GameTest):
    """A game whose tool module has a mistake."""

    def test_it_does_not_keep_her_from_starting(self) -> None:
        with override_settings(EVENNIA_AI_TOOL_MODULES=["tests.game.tools.broken_tools"]):
            self.make("Edda")
            self.ask("whisper Edda = hello", whispers("Hello."))
        assert 'Edda whispers: "Hello."' in self.tom.seen

    def test_the_mistake_is_named(self) -> None:
        """The log and the Health page name the module and the line."""
        wrong = r"broken_tools.*needs a docstring.*broken_tools.py, line 8"
        with pytest.raises(ConfigurationError, match=wrong):
            load_modules(["tests.game.tools.broken_tools"])
        shown = [part for part in equipment().data.parts if part["level"] == "bad"]
        assert re.search(wrong, shown[-1]["told"])
        assert shown[-1]["told"].endswith("Correct that, then: evennia reload")
        load_modules()
        assert not any(part["name"] == shown[-1]["name"] for part in equipment().data.parts)

    def test_a_setting_that_is_no_list_takes_no_tool_of_the_package_away(self) -> None:
        loaded = mock.patch.object(starting, "load_modules")
        with override_settings(EVENNIA_AI_TOOL_MODULES="world.tools"), loaded as load:
            starting.load_tools()
        load.assert_called_once_with(("evennia_ai.agent.delegating", "evennia_ai.agent.attaching"))

    def test_one_module_keeps_no_other_out(self) -> None:
        with pytest.raises(ConfigurationError, match=r"broken_tools.*; .*'world\.tolls'"):
            load_modules(["tests.game.tools.broken_tools", "world.tolls"])
        load_modules()
