"""A property of settings: any input is stored and works, or is refused and changes nothing."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from evennia_ai.agent import autonomy, ear_settings, preparation
from evennia_ai.core.settings.assistant import SCHEMAS
from evennia_ai.core.settings.paths import NESTED
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.operations.settings.changing import set_setting, show_setting
from evennia_ai.runtime import state
from tests.game.support import GameTest

PATHS = sorted([*SCHEMAS, *NESTED])
OPEN = (
    "channel_configs.{}",
    "trust_overrides.{}",
    "prompt_components.{}.content",
    "prompt_templates.{}",
    "llm_extra_params.{}",
    "context_configs.tick_event.component_overrides.{}",
)
WORDS = (
    *("yes", "off", "none", "default", "null", "0", "-1", "1", "7", "0.5", "1e400", "nan", "x"),
    *("trigger", "ask", "high", "all", "stern", "perm(Builder)", "perm(", "a, b", "[]", "{}"),
    *('["say"]', "[[1, 2]]", '{"a": 1}', '{"mode": "trigger"}', '{"250": {"key": "a"}}', "{foo}"),
    *("{name} {", "|rred", "ünï", "\u200b", "\x00", "[1, 1000, 0, 6000]", "(", "9" * 30),
)
NAMES = st.sampled_from(["Public", "perm(Builder)", "250", "1000", "stern", "a.b", "api_key", "é"])
ANY_PATH = st.one_of(
    st.sampled_from(PATHS), st.builds(str.format, st.sampled_from(OPEN), NAMES), st.text(max_size=9)
)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


class TestAnyText(GameTest):
    def everything(self) -> dict[str, Any]:
        return {name: self.ada_script.attributes.get(name) for name in SCHEMAS}

    def complaint(self) -> str:
        """The problems with its settings that a running assistant reports."""
        script = self.ada_script
        script.work.drop_cached_settings()
        ear_settings.read_ear(script)
        state.safety_config(script)
        state.hearing_config(script)
        wanted = state.read(script, "autonomy_config")
        config = autonomy.config(script)
        assert all(value == getattr(config, name) for name, value in wanted.items())
        ExecutionConfig.from_stored(state.read(script, "execution_config"))
        client = script.client()
        for context_type in ContextType:
            preparation.prompt_inputs(script, client, context_type)
        return str(script.work.ear_problem + script.work.safety_problem)

    def test_it_works_or_changes_nothing(self) -> None:
        """Paths are every setting, keys of settings, and nonsense."""

        @settings(parent=settings(), max_examples=max(80, settings().max_examples))
        @given(ANY_PATH, st.one_of(st.sampled_from(WORDS), st.text(max_size=20), DATA))
        @example("llm_provider", "ollama")
        @example("autonomy_config.seconds", "9" * 30)
        def check(path: str, value: Any) -> None:
            self._check(path, value)

        check()

    def _check(self, path: str, value: Any) -> None:
        before = self.everything()
        result = set_setting(self.ada_script, path, value)
        assert "" == self.complaint(), (path, value, result.message)
        if not result.ok:
            assert before == self.everything()
            assert result.errors
            return
        (change,) = result.data["changes"]
        row = show_setting(self.ada_script, change["name"]).data
        assert change["value"] == row["value"]
