"""The registry of tools: functions, classes, and what is refused."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evennia_ai.core.turn.toolspec import ToolCategory, ToolSpec
from evennia_ai.errors import ConfigurationError
from evennia_ai.tools import (
    REGISTRY,
    TOOL_REGISTRY,
    CharacterTools,
    Tool,
    load_modules,
    register,
    tool,
)


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """Put the registry back after each test."""
    load_modules()  # or a first import within a test would be undone after it
    before = dict(TOOL_REGISTRY)
    yield
    TOOL_REGISTRY.clear()
    TOOL_REGISTRY.update(before)


def ring(character: Any, bell: str) -> str:
    """Ring a bell."""
    return f"{bell} rings"


def named(name: str) -> Any:
    def made(character: Any) -> None:
        """Do it."""

    made.__name__ = name
    return made


class Ring(Tool):
    name = "ring"
    description = "Ring a bell."
    parameters = {"type": "object", "properties": {"bell": {"type": "string"}}}

    def execute(self, character: Any, **arguments: Any) -> Any:
        return arguments["bell"]


def test_a_function_with_all_options() -> None:
    decorate = tool(
        category="dangerous", timeout_seconds=4, is_idempotent=True, needs_confirmation=True
    )
    assert ring is decorate(ring)
    spec = TOOL_REGISTRY["ring"].spec
    assert (ToolCategory.DANGEROUS, 4, True, True) == (
        spec.category,
        spec.timeout_seconds,
        spec.is_idempotent,
        spec.needs_confirmation,
    )
    assert (False, None) == (spec.cacheable, spec.cache_ttl)


@pytest.mark.parametrize(
    ("cached", "options"),
    [
        pytest.param((False, "tick", None), {}, id="not"),
        pytest.param((True, "tick", 60), {"cache_seconds": 60}, id="a minute"),
        pytest.param(
            (True, "session", 0.5),
            {"cache_seconds": 0.5, "cache_scope": "session"},
            id="beyond the turn",
        ),
        pytest.param(
            (True, "tick", 9),
            {"cache_seconds": 9, "category": "async_required"},
            id="what is outside",
        ),
    ],
)
def test_caching(cached: tuple[bool, str, float | None], options: dict[str, Any]) -> None:
    tool(**options)(ring)
    spec = TOOL_REGISTRY["ring"].spec
    assert cached == (spec.cacheable, spec.cache_scope, spec.cache_ttl)


def test_a_registered_function_can_be_run_as_a_tool() -> None:
    tool(cache_seconds=5)(ring)
    entry = TOOL_REGISTRY["ring"]
    assert "big rings" == entry.execute(None, bell="big")
    assert ("ring", "Ring a bell.", 30.0, True, "tick", 5) == (
        entry.name,
        entry.description,
        entry.timeout,
        entry.cacheable,
        entry.cache_scope,
        entry.cache_ttl,
    )
    assert __name__ == entry.module


def test_a_function_need_not_know_who_acts() -> None:
    tool()(noon)
    assert "noon" == TOOL_REGISTRY["noon"].execute(object())


def noon() -> str:
    """Say when it is noon."""
    return "noon"


@pytest.mark.parametrize(
    "made", [pytest.param(Ring, id="a class"), pytest.param(Ring(), id="an instance")]
)
def test_a_class(made: Any) -> None:
    """The schema is closed to arguments that it does not name."""
    assert made is register(made)
    schema = {**Ring.parameters, "additionalProperties": False}
    assert ToolSpec("ring", "Ring a bell.", schema) == TOOL_REGISTRY["ring"].spec
    assert not TOOL_REGISTRY["ring"].takes_turn


def test_a_class_may_stay_open() -> None:
    """A schema that says itself what more it takes is left as it is."""

    class Open(Ring):
        parameters = {"type": "object", "additionalProperties": {"type": "string"}}

    register(Open)
    assert Open.parameters == TOOL_REGISTRY["ring"].spec.parameters


def test_both_names_are_one_registry() -> None:
    """The toolbox offers its content without copying it for each call."""
    assert TOOL_REGISTRY is REGISTRY
    register(Ring)
    offered = CharacterTools(None, None).specs()
    assert offered is CharacterTools(None, None).specs()
    assert TOOL_REGISTRY.keys() == offered.keys()
    assert TOOL_REGISTRY["ring"].spec is offered["ring"]
    assert len(TOOL_REGISTRY) == len(offered)


def test_a_module_may_register_its_tool_again() -> None:
    """A reload registers its own tool again, and the newer one counts."""
    tool(timeout_seconds=1)(ring)
    tool(timeout_seconds=2)(ring)
    assert 2 == TOOL_REGISTRY["ring"].spec.timeout_seconds


@pytest.mark.parametrize(
    "made", [pytest.param(ring, id="a function"), pytest.param(Ring(), id="a class")]
)
def test_two_modules_cannot_share_a_name(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    other = type("Other", (Ring,), {"__module__": "world.bells"})
    register(other)
    with pytest.raises(ConfigurationError) as refusal:
        register(made) if isinstance(made, Tool) else tool()(made)
    expected = (
        f"two tools are named 'ring': one in world.bells, one in {__name__}; rename one of them"
    )
    assert expected == str(refusal.value)
    assert "world.bells" == TOOL_REGISTRY["ring"].module


SLIPS = """
from evennia_ai.tools import Tool, register, tool
@tool
def ring(character): "Ring a bell."
"""


@pytest.mark.parametrize(
    ("told", "slip"),
    [
        pytest.param("two tools are named 'ring': one in world_of_slips, one in world_of_slips",
                     "@tool\ndef ring(character): 'Buy a ring.'", id="two functions of a name"),
        pytest.param("two tools are named 'ring': one in world_of_slips, one in world_of_slips",
                     "@register\nclass Ring(Tool):\n name, description = 'ring', 'Ring.'\n"
                     " def execute(self, character): 'Ring.'", id="a function and a class"),
        pytest.param("@tool is for functions; for the class Ring, use @register",
                     "@tool\nclass Ring(Tool): 'Ring.'", id="a class as a function"),
        pytest.param("@register is for classes based on Tool, not for <function ring",
                     "register(ring)", id="a function as a class"),
        pytest.param("@register is for classes based on Tool, not for <class ",
                     "@register\nclass Ring: 'Ring.'", id="a class of another base"),
    ],
)  # fmt: skip
def test_a_slip_in_a_module_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, slip: str
) -> None:
    source = tmp_path / "world_of_slips.py"
    source.write_text(SLIPS + slip, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError) as refusal:
        load_modules(["world_of_slips"])
    assert str(refusal.value).startswith(told)


def test_a_module_that_was_changed_may_be_imported_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tool may stand on another line by then."""
    source = tmp_path / "world_of_bells.py"
    source.write_text(SLIPS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("world_of_bells")
    source.write_text("# bells\n" + SLIPS.replace("bell.", "large bell."), encoding="utf-8")
    importlib.reload(module)
    assert "Ring a large bell." == TOOL_REGISTRY["ring"].description


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("gezeiten_für_möwen", id="letters of another alphabet"),
        pytest.param("n" * 65, id="too long"),
        pytest.param("<lambda>", id="signs"),
        pytest.param("ring\n", id="a line break"),
        pytest.param("", id="none"),
    ],
)
def test_names_that_no_provider_takes(name: str) -> None:
    """Such a name would make every request to the provider fail."""
    with pytest.raises(ConfigurationError, match=r"a name is 1 to 64 of the letters a to z"):
        tool()(named(name))
    assert name not in TOOL_REGISTRY


def test_the_longest_name() -> None:
    name = "Ring-2_" + "n" * 57
    tool()(named(name))
    assert name in TOOL_REGISTRY


@pytest.mark.parametrize(
    ("told", "changes"),
    [
        pytest.param("it needs a description: the model reads it", {"description": " "}, id="mute"),
        pytest.param("its parameters are not a JSON schema of an object: its type must be",
                     {"parameters": {"type": "array"}}, id="a list of arguments"),
        pytest.param("its parameters are not a JSON schema of an object: 'text' is not",
                     {"parameters": {"type": "object", "properties": {"x": {"type": "text"}}}},
                     id="a type that is none"),
        pytest.param("its parameters are not a JSON schema of an object: 'bell' belongs below",
                     {"parameters": {"bell": {"type": "string"}}}, id="no properties"),
        pytest.param("an argument cannot be called character, turn: the game gives that",
                     {"parameters": {"properties": {"turn": {}, "character": {}, "x": {}}}},
                     id="what the game gives"),
        pytest.param("'sofa' is not a valid ToolCategory", {"category": "sofa"}, id="category"),
        pytest.param("its timeout is 0; it must be", {"timeout": 0}, id="no time"),
        pytest.param("its timeout is True; it must be", {"timeout": True}, id="a truth"),
        pytest.param("its timeout is inf; it must be", {"timeout": float("inf")}, id="for ever"),
        pytest.param("it is cached for -1; that must be", {"cache_ttl": -1}, id="cached for less"),
        pytest.param("its cache scope is 'day'", {"cache_scope": "day"}, id="scope"),
        pytest.param("only_reads is 'no'; it must be True or False", {"only_reads": "no"},
                     id="a word for no"),
        pytest.param('the default of x must be a whole number, not "one"',
                     {"parameters": {"properties": {"x": {"type": "integer", "default": "one"}},
                                     "required": ["y"]}}, id="a default"),
        pytest.param("what is terminal has to be done each time",
                     {"category": "terminal", "cacheable": True}, id="speech from the cache"),
        pytest.param("what is dangerous has to be done each time",
                     {"category": ToolCategory.DANGEROUS, "cacheable": True},
                     id="a change from the cache"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_tool_is_told_at_start(told: str, changes: dict[str, Any]) -> None:
    kind = type("Made", (Ring,), {**changes, "__module__": "world.bells"})
    with pytest.raises(ConfigurationError) as refusal:
        register(kind)
    assert str(refusal.value).startswith(f"tool 'ring' of world.bells: {told}")
    assert "ring" not in TOOL_REGISTRY


def test_an_unknown_category_of_a_function() -> None:
    expected = (
        "tool 'ring': its category is 'sofa'; it must be one of "
        "safe_chain, terminal, dangerous, async_required"
    )
    with pytest.raises(ConfigurationError, match=expected):
        tool(category="sofa")(ring)


@pytest.mark.parametrize("condition", [True, "always", lambda character: True])
def test_a_condition_that_cannot_be_called(condition: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^tool 'ring': its useful_when is .*of the char"):
        tool(useful_when=condition)(ring)
    assert "ring" not in TOOL_REGISTRY


def test_a_decorator_without_brackets() -> None:
    assert ring is tool(ring)
    spec = TOOL_REGISTRY["ring"].spec
    assert (ToolCategory.SAFE_CHAIN, 30.0, None) == (
        spec.category,
        spec.timeout_seconds,
        spec.cache_ttl,
    )


def test_an_option_without_its_name() -> None:
    with pytest.raises(ConfigurationError, match=r"@tool\(category='terminal'\)"):
        tool("terminal")


def test_an_option_that_is_none() -> None:
    expected = "tool 'ring': there is no option 'cache'; there are category, timeout_seconds, "
    with pytest.raises(ConfigurationError, match=expected):
        tool(cache=5)(ring)
    assert "ring" not in TOOL_REGISTRY


def test_a_class_without_execute_is_no_tool() -> None:
    with pytest.raises(TypeError, match="execute"):
        register(type("Mute", (Tool,), {}))


def test_a_module_with_a_wrong_tool_is_told_of_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is about the tool, not about an import, and names the line."""
    source = "from evennia_ai.tools import tool\n@tool(category='sofa')\ndef sit(character): 'Sit.'"
    (tmp_path / "world_of_sofas.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    expected = r"^tool 'sit': its category is 'sofa'.*world_of_sofas\.py, line 2\)$"
    with pytest.raises(ConfigurationError, match=expected):
        load_modules(["world_of_sofas"])


# Tools of the package that also run where an answer is only tried.
ONLY_READ = frozenset(
    (
        "noop",
        "find_tools",
        "time",
        "look",
        "inspect_location",
        "exits",
        "who_is_here",
        "search_objects",
        "my_state",
        "recall_memories",
        "read_journal",
        "search_journal",
        "read_notes",
        "list_goals",
        "list_projects",
    )
)


def test_who_only_reads() -> None:
    """A new tool that only reads has to be added here on purpose."""
    ours = {
        name for name, each in TOOL_REGISTRY.items() if each.module.startswith("evennia_ai.tools")
    }
    assert ONLY_READ == {name for name in ours if TOOL_REGISTRY[name].spec.only_reads}


def test_what_is_cached_only_reads() -> None:
    """An equal call need not be made at all, so this is the default of a cached tool."""
    tool(cache_seconds=60)(named("gaze"))
    tool(cache_seconds=60, only_reads=False)(named("stare"))
    tool(only_reads=True)(named("glance"))
    flags = {name: TOOL_REGISTRY[name].spec.only_reads for name in ("gaze", "stare", "glance")}
    assert {"gaze": True, "stare": False, "glance": True} == flags
