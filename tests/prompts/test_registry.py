"""Prompt settings of the game and of one assistant, and the inputs built from both."""

from types import SimpleNamespace
from typing import Any

import pytest

from evennia_ai.core.settings.game import ATTRIBUTES
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.errors import ConfigurationError
from evennia_ai.prompts import PromptInputs, build_inputs
from evennia_ai.prompts.registry import PromptRegistry
from tests.prompts.support import count

GAME = {
    "components": {250: {"key": "world", "content": "A port."}},
    "templates": {"stern": "You are {name}, and stern."},
}


def _stage(
    own: dict[str, Any] | None = None,
    context_type: ContextType = ContextType.TICK_EVENT,
    *,
    is_native: bool = True,
    **settings: Any,
) -> PromptInputs:
    """The prompt inputs of an assistant with these attributes, in a game with these settings."""
    stored = {name: setting.default for name, setting in ATTRIBUTES.items()} | (own or {})
    return build_inputs(
        stored.__getitem__,
        context_type,
        settings=SimpleNamespace(**settings),
        is_native=is_native,
        name="Ada",
        count=count,
        max_tokens=8000,
    )


def test_an_assistant_changes_what_its_game_has() -> None:
    """Only the fields that it names change; components of its own are added."""
    registry = PromptRegistry.read(
        GAME,
        {250: {"content": "A village."}, 4500: {"key": "mood", "content": "Glad."}},
        {"kind": "You are kind."},
    )
    changed = registry.components[250]
    assert ("world", "A village.") == (changed.key, changed.content)
    assert "mood" == registry.components[4500].key
    assert ["stern", "kind"] == list(registry.templates)


def test_an_assistant_switches_off_what_its_game_has() -> None:
    registry = PromptRegistry.read(GAME, {250: {"enabled": False}})
    assert (False, "A port.") == (
        registry.components[250].enabled,
        registry.components[250].content,
    )


def test_templates_are_found_by_key() -> None:
    """The default template is the empty one."""
    registry = PromptRegistry.read(GAME)
    assert ["", "", "You are {name}, and stern."] == list(
        map(registry.template, ("", "default", "stern"))
    )
    with pytest.raises(ConfigurationError, match="is 'mild'; there are default, stern"):
        registry.template("mild")


@pytest.mark.parametrize(
    ("error", "game", "components", "templates"),
    [
        pytest.param("EVENNIA_AI_PROMPTS is 5; it must be like", 5, {}, {}, id="game"),
        pytest.param("has no key 'x'; it has components, templates", {"x": 1}, {}, {}, id="key"),
        pytest.param("['components'] is 5; it", {"components": 5}, {}, {}, id="components"),
        pytest.param(
            "EVENNIA_AI_PROMPTS['components'][250] needs a key",
            {"components": {250: {}}},
            {},
            {},
            id="a component of the game",
        ),
        pytest.param("['templates'] is 5; it", {"templates": 5}, {}, {}, id="templates"),
        pytest.param("prompt_components is [5]", {}, [5], {}, id="own components"),
        pytest.param("prompt_components[250] is 5", GAME, {250: 5}, {}, id="own component"),
        pytest.param("prompt_templates: 'a b' is not a key", {}, {}, {"a b": "x"}, id="two words"),
        pytest.param("prompt_templates: 5 is not a key", {}, {}, {5: "x"}, id="a number"),
        pytest.param("'default' is not a key", {}, {}, {"default": "x"}, id="the default"),
        pytest.param("prompt_templates['a'] is ' '; it", {}, {}, {"a": " "}, id="nothing"),
        pytest.param("prompt_templates['a'] is 5; it", {}, {}, {"a": 5}, id="no text"),
        pytest.param("prompt_templates['a'] has {town}", {}, {}, {"a": "{town}"}, id="unknown"),
    ],
)
def test_what_does_not_fit_is_refused(
    error: str, game: Any, components: Any, templates: Any
) -> None:
    """The error says whose setting it is and what would be right."""
    with pytest.raises(ConfigurationError) as refusal:
        PromptRegistry.read(game, components, templates)
    assert error in str(refusal.value)


def test_an_assistant_of_which_nothing_is_set() -> None:
    inputs = _stage()
    assert (9, (), "") == (len(inputs.components), inputs.templates, inputs.template)
    assert "several tools in one reply" in inputs.texts()[0][1]
    assert "5" == inputs.value("tick_rate")
    assert "" == inputs.value("reflection_interval")
    assert "You are kind, curious and brief." == inputs.value("persona")


@pytest.mark.parametrize(
    ("expected", "own", "is_native"),
    [
        pytest.param("native", {}, True, id="of its own, native"),
        pytest.param("json", {}, False, id="of its own, json"),
        pytest.param("You are {name}, and stern.", {"applied_template": "stern"}, True, id="game"),
        pytest.param("native", {"applied_template": "default"}, True, id="the default one"),
    ],
)
def test_a_template_goes_before_the_prompt_of_its_own(
    expected: str, own: dict[str, Any], is_native: bool
) -> None:
    """Until a template is applied, the prompt for the model's way of calling tools holds."""
    prompts = {"system_prompt": "json", "system_prompt_native": "native"}
    inputs = _stage(prompts | own, is_native=is_native, EVENNIA_AI_PROMPTS=GAME)
    assert expected == inputs.template


@pytest.mark.parametrize(
    ("error", "own"),
    [
        pytest.param("applied_template is 'x'", {"applied_template": "x"}, id="no such template"),
        pytest.param("tick_event.component_overrides[250] has {town}",
                     {"context_configs": {"tick_event": {"component_overrides": {250: "{town}"}}}},
                     id="an unknown name in a context"),
        pytest.param(
            "tick_event.component_overrides[1000] changes from turn to turn, but character_context",
            {"context_configs": {"tick_event": {"component_overrides": {1000: "{memories}"}}}},
            id="memories in the head",
        ),
        pytest.param(
            "tick_event.component_overrides[1450] changes from turn to turn, but card_notes",
            {"context_configs": {"tick_event": {"component_overrides": {1450: "{entities}"}}}},
            id="people in the notes of a card",
        ),
        pytest.param("context_configs.tick_event.max_iterations is 0",
                     {"context_configs": {"tick_event": {"max_iterations": 0}}}, id="a context"),
        pytest.param("execution_config.calls_per_reply is 0",
                     {"execution_config": {"calls_per_reply": 0}}, id="execution"),
    ],
)  # fmt: skip
def test_inputs_are_not_built_from_wrong_settings(error: str, own: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        _stage(own)
    assert error in str(refusal.value)


def test_contexts_of_the_game_and_of_the_assistant_hold() -> None:
    inputs = _stage(
        {"context_configs": {"reflection": {"max_iterations": 2}}},
        ContextType.REFLECTION,
        EVENNIA_AI_CONTEXT_CONFIGS={"reflection": {"token_budget": 2000}},
    )
    assert (2, 2000) == (inputs.context.max_iterations, inputs.most_tokens)


def test_whether_several_calls_are_possible_is_known() -> None:
    """Settings and context can each forbid it."""
    for own in (
        {"execution_config": {"calls_per_reply": 1}},
        {"execution_config": {"multi_action_enabled": False}},
        {"context_configs": {"tick_event": {"allows_multi_tool": False}}},
    ):
        assert "Call one tool in a reply" in _stage(own).texts()[0][1]
