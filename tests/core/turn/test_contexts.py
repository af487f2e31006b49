"""The seven contexts of a model call, and their settings."""

from typing import Any

import pytest

from evennia_ai.core.turn.contexts import (
    CONTEXTS,
    FULL,
    MAIN_PARTS,
    ContextConfig,
    ContextFields,
    ContextType,
    PromptPart,
    context_for,
    part_before,
)
from evennia_ai.core.turn.execution import ExecutionMode
from evennia_ai.core.turn.toolspec import ToolCategory
from evennia_ai.errors import ConfigurationError

EVENT, REFLECTION = CONTEXTS[ContextType.TICK_EVENT], CONTEXTS[ContextType.REFLECTION]
OWN = CONTEXTS[ContextType.TICK_AUTONOMOUS]
TEXTS = "it must be a list of texts, or none"
NUMBERS = "each of them one of 0, 1000,"
MODES = "it must be one of single_action, react_loop"


@pytest.mark.parametrize(
    ("context_type", "components", "iterations", "mode"),
    [
        pytest.param("tick_event", 9, 5, "react_loop", id="answering"),
        pytest.param("tick_autonomous", 9, 5, "react_loop", id="on its own"),
        pytest.param("reflection", 3, 3, "react_loop", id="reflection"),
        pytest.param("reflection_cont", 2, 2, "react_loop", id="reflection goes on"),
        pytest.param("sleep_consolidate", 2, 10, "react_loop", id="sleep"),
        pytest.param("goal_decompose", 3, 1, "single_action", id="planning"),
        pytest.param("pre_compaction", 4, 5, "react_loop", id="before forgetting"),
    ],
)
def test_the_seven(context_type: str, components: int, iterations: int, mode: str) -> None:
    context = CONTEXTS[ContextType(context_type)]
    got = (len(context.enabled_components), context.max_iterations, context.execution_mode)
    assert (components, iterations, mode) == got
    assert context_type == context.context_type


def test_there_are_no_others() -> None:
    assert set(ContextType) == set(CONTEXTS)


@pytest.mark.parametrize(
    "context_type",
    [
        pytest.param(ContextType.REFLECTION, id="reflection"),
        pytest.param(ContextType.REFLECTION_CONT, id="reflection goes on"),
        pytest.param(ContextType.SLEEP_CONSOLIDATE, id="sleep"),
        pytest.param(ContextType.GOAL_DECOMPOSE, id="planning"),
        pytest.param(ContextType.PRE_COMPACTION, id="before forgetting"),
    ],
)
def test_where_nobody_watches_nothing_is_said_or_done(context_type: ContextType) -> None:
    """The five inner contexts neither speak, nor change the world, nor hand a task on."""
    context = CONTEXTS[context_type]
    quiet = {ToolCategory.SAFE_CHAIN, ToolCategory.ASYNC_REQUIRED}
    assert (quiet, False) == (context.allowed_tool_categories, context.allows_sub_agents)
    assert context.tool_filter is not None


def test_planning_has_no_tools() -> None:
    """The plan is the answer itself."""
    assert frozenset() == CONTEXTS[ContextType.GOAL_DECOMPOSE].tool_filter


@pytest.mark.parametrize(
    ("part", "number"),
    [
        pytest.param(PromptPart.SYSTEM_PROMPT, 0, id="the first itself"),
        pytest.param(PromptPart.SYSTEM_PROMPT, 999, id="the end of the first gap"),
        pytest.param(PromptPart.CHARACTER, 1000, id="the second itself"),
        pytest.param(PromptPart.CHARACTER, 1499, id="the end of a short gap"),
        pytest.param(PromptPart.ENTITIES, 1501, id="the beginning of a gap"),
        pytest.param(PromptPart.TOOL_RESULT, 7999, id="after the last"),
    ],
)
def test_whose_gap_an_id_is_in(part: PromptPart, number: int) -> None:
    """A component of the game's own belongs to the part before it."""
    assert part is part_before(number)


def test_an_own_component_is_shown_with_the_part_before_it() -> None:
    hidden = EVENT.changed({"enabled_components": [0, 1000, 6000]})
    assert (True, True, False, False) == tuple(map(hidden.shows, (0, 1250, 4000, 4100)))


@pytest.mark.parametrize(
    ("field", "given", "expected"),
    [
        pytest.param("enabled_components", [6000, 0, 0], (0, 6000), id="components"),
        pytest.param("component_overrides", {4000: "Aims"}, {4000: "Aims"}, id="other texts"),
        pytest.param("tool_filter", ["look"], {"look"}, id="tools"),
        pytest.param("tool_filter", None, None, id="all tools"),
        pytest.param("tool_filter", [], frozenset(), id="no tools"),
        pytest.param("token_budget", 500, 500, id="the least budget"),
        pytest.param("token_budget", None, None, id="no budget"),
        pytest.param("execution_mode", "single_action", "single_action", id="mode"),
        pytest.param("max_iterations", 1, 1, id="the fewest steps"),
        pytest.param("max_iterations", 10, 10, id="the most steps"),
        pytest.param("allowed_tool_categories", {"terminal"}, {"terminal"}, id="kinds"),
        pytest.param("allowed_tool_categories", None, None, id="all kinds"),
        pytest.param("terminal_ends_loop", False, False, id="going on after speech"),
        pytest.param("dangerous_requires_confirm", True, True, id="asking first"),
        pytest.param("allows_multi_tool", False, False, id="one call"),
        pytest.param("allows_sub_agents", False, False, id="nobody helps"),
    ],
)
def test_a_field_is_changed(field: str, given: Any, expected: Any) -> None:
    changed = EVENT.changed({field: given})
    assert expected == getattr(changed, field)
    others = [name for name in ContextConfig.model_fields if name != field]
    assert [getattr(EVENT, n) for n in others] == [getattr(changed, n) for n in others]


@pytest.mark.parametrize(
    ("told", "field", "given"),
    [
        pytest.param("it has enabled_components,", "colour", "red", id="unknown"),
        pytest.param("it has enabled_components,", "context_type", "reflection", id="fixed"),
        pytest.param(NUMBERS, "enabled_components", 0, id="no list"),
        pytest.param(NUMBERS, "enabled_components", [True], id="a bool"),
        pytest.param(NUMBERS, "enabled_components", [0, 5], id="own id"),
        pytest.param("it must be texts by", "component_overrides", ["a"], id="no mapping"),
        pytest.param("it must be texts by", "component_overrides", {"4000": "a"}, id="text id"),
        pytest.param("it must be texts by", "component_overrides", {True: "a"}, id="bool id"),
        pytest.param("it must be texts by", "component_overrides", {-1: "a"}, id="negative id"),
        pytest.param("it must be texts by", "component_overrides", {4000: 1}, id="no text"),
        pytest.param("3000, 5000, 6000, 7000 have no text", "component_overrides", {6000: "a"},
                     id="event"),
        pytest.param(TEXTS, "tool_filter", "look", id="one name"),
        pytest.param(TEXTS, "tool_filter", [1], id="no name"),
        pytest.param(TEXTS, "tool_filter", [""], id="empty name"),
        pytest.param("a whole number from 500 to 100000000, or none", "token_budget", 499,
                     id="a tiny budget"),
        pytest.param("a whole number from 500 to 100000000, or none", "token_budget", True,
                     id="a bool budget"),
        pytest.param(MODES, "execution_mode", "plan_execute", id="plan"),
        pytest.param(MODES, "execution_mode", "fast", id="no mode"),
        pytest.param("it must be a whole number from 1 to 10", "max_iterations", 0, id="no steps"),
        pytest.param("it must be a whole number from 1 to 10", "max_iterations", 11,
                     id="too many steps"),
        pytest.param("it must be a whole number from 1 to 10", "max_iterations", "5",
                     id="a text of steps"),
        pytest.param("it must be a whole number from 1 to 10", "max_iterations", True,
                     id="a bool of steps"),
        pytest.param("of async_required, dangerous, safe_chain, terminal",
                     "allowed_tool_categories", ["nice"], id="no kind"),
        pytest.param("it must be True or False", "terminal_ends_loop", 0, id="no bool"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(told: str, field: str, given: Any) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        EVENT.changed({field: given})
    assert told in str(refusal.value)
    assert str(refusal.value).startswith("context_configs.tick_event")
    assert field in str(refusal.value)


@pytest.mark.parametrize(
    ("told", "context", "overrides"),
    [
        pytest.param("leaves out 0;", EVENT, {"enabled_components": [6000]}, id="no rules"),
        pytest.param("leaves out 6000;", EVENT, {"enabled_components": [0]}, id="no event"),
        pytest.param("leaves out 0;", REFLECTION, {"enabled_components": [5000]}, id="inner"),
        pytest.param("leaves out 0;", OWN, {"enabled_components": [6000]}, id="on its own"),
        pytest.param("allows more than async_required, safe_chain", REFLECTION,
                     {"allowed_tool_categories": ["safe_chain", "terminal"]},
                     id="speaking while nobody watches"),
        pytest.param("allows more than async_required, safe_chain", REFLECTION,
                     {"allowed_tool_categories": None}, id="everything while nobody watches"),
        pytest.param("must stay True", EVENT.changed({"dangerous_requires_confirm": True}),
                     {"dangerous_requires_confirm": False}, id="asking no more"),
    ],
)  # fmt: skip
def test_what_keeps_it_safe_stays(
    told: str, context: ContextConfig, overrides: dict[str, Any]
) -> None:
    """Rules, event, a required consent and the quiet of inner contexts cannot be disabled."""
    with pytest.raises(ConfigurationError) as refusal:
        context.changed(overrides)
    assert told in str(refusal.value)


def test_an_inner_context_may_do_with_less() -> None:
    changed = REFLECTION.changed(
        {"allowed_tool_categories": ["safe_chain"], "enabled_components": [0, 5000]}
    )
    got = (changed.allowed_tool_categories, changed.enabled_components)
    assert ({"safe_chain"}, (0, 5000)) == got


@pytest.mark.parametrize("kind", sorted(MAIN_PARTS), ids=str)
def test_an_inner_context_has_no_key_that_means_nothing_there(kind: ContextType) -> None:
    for name in ("terminal_ends_loop", "dangerous_requires_confirm", "allows_sub_agents"):
        with pytest.raises(
            ConfigurationError, match=rf"context_configs.{kind} has no key '{name}'"
        ):
            CONTEXTS[kind].changed({name: True})


@pytest.mark.parametrize("kind", sorted(MAIN_PARTS), ids=str)
def test_an_inner_context_shows_what_it_is_about(kind: ContextType) -> None:
    """The part that holds its subject cannot be left out."""
    context, main = CONTEXTS[kind], int(MAIN_PARTS[kind])
    assert (True, False) == (context.is_inner, EVENT.is_inner)
    assert main in context.enabled_components
    with pytest.raises(ConfigurationError, match=rf"leaves out {main};"):
        context.changed({"enabled_components": [0]})


def test_overrides_must_be_a_mapping() -> None:
    with pytest.raises(
        ConfigurationError, match=r"tick_event is 5; it must be a mapping of enabled_comp"
    ):
        EVENT.changed(5)  # type: ignore[arg-type]


def test_an_assistant_goes_before_its_game() -> None:
    context = context_for(
        ContextType.TICK_EVENT,
        {"tick_event": {"max_iterations": 3, "token_budget": 2000}},
        {"tick_event": {"max_iterations": 2}, "reflection": {"max_iterations": 1}},
    )
    expected = (2, 2000, ExecutionMode.REACT_LOOP)
    assert expected == (context.max_iterations, context.token_budget, context.execution_mode)


def test_what_the_game_demands_an_assistant_cannot_undo() -> None:
    game = {"tick_event": {"dangerous_requires_confirm": True}}
    with pytest.raises(ConfigurationError, match=r"context_configs\.tick_event\.dangerous"):
        context_for(
            ContextType.TICK_EVENT, game, {"tick_event": {"dangerous_requires_confirm": False}}
        )


@pytest.mark.parametrize(
    ("told", "game", "own"),
    [
        pytest.param("EVENNIA_AI_CONTEXT_CONFIGS is 5; it", 5, {}, id="no mapping"),
        pytest.param("EVENNIA_AI_CONTEXT_CONFIGS has no context 'x'; ", {"x": {}}, {}, id="game"),
        pytest.param("context_configs has no context 5; there are tick_", {}, {5: {}}, id="own"),
        pytest.param(
            "EVENNIA_AI_CONTEXT_CONFIGS.tick_event has no key 'x'",
            {"tick_event": {"x": 1}},
            {},
            id="field",
        ),
    ],
)
def test_wrong_places_are_named(told: str, game: Any, own: Any) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        context_for(ContextType.TICK_EVENT, game, own)
    assert str(refusal.value).startswith(told)


def test_every_field_that_can_be_changed_is_one() -> None:
    """The fields of a context and the settings for them are the same, except for the fixed ones."""
    fixed = {"context_type", "name", "description"}
    assert set(ContextConfig.model_fields) - fixed == set(ContextFields.model_fields)
    assert FULL == EVENT.enabled_components
