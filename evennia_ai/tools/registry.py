"""The registry of tools, with `@tool` for functions and `register` for classes."""

from __future__ import annotations

import importlib
import inspect
import math
import re
import sys
import traceback
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack, overload

from evennia_ai.core.hearing.audience import DECLARED
from evennia_ai.core.turn.signatures import INJECTED
from evennia_ai.core.turn.toolspec import ToolCategory, ToolGroup, ToolSpec
from evennia_ai.errors import ConfigurationError
from evennia_ai.tools.base import FunctionTool, Tool, When
from evennia_ai.tools.schema import defaults_problem
from evennia_ai.tools.validator import schema_problem, stray_argument

BUILT_IN = tuple(
    f"evennia_ai.tools.{name}"
    for name in (
        "speech",
        "senses",
        "places",
        "control",
        "self_state",
        "guidelines",
        "notes",
        "goals",
        "memory",
        "journal",
        "projects",
        "sleep",
        "item_tools",
        "game",
    )
)
PACKAGE = str(Path(__file__).parents[1])
SCOPES = ("tick", "session")
CACHEABLE = (ToolCategory.SAFE_CHAIN, ToolCategory.ASYNC_REQUIRED)
FLAGS = ("cacheable", "is_idempotent", "needs_confirmation", "only_reads")
RESERVED = frozenset(("self", *INJECTED))
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

TOOL_REGISTRY: dict[str, Tool] = {}
# Modules that could not be imported, with the reason. The game runs without their tools.
BROKEN: dict[str, str] = {}
REGISTRY = TOOL_REGISTRY
# By tool: its place in its module, and the import of the module that registered it.
_ORIGINS: dict[str, tuple[object, object]] = {}

Made = TypeVar("Made", bound="Tool | type[Tool]")
Function = TypeVar("Function", bound=Callable[..., Any])


class _Specs(Mapping[str, ToolSpec]):
    """A live view of the specs of registered tools; a copy at every step would cost time."""

    def __getitem__(self, name: str) -> ToolSpec:
        return TOOL_REGISTRY[name].spec

    def items(self) -> ItemsView[str, ToolSpec]:
        """All items at once: the inherited ItemsView looks up each name in Python code."""
        return {name: tool.spec for name, tool in TOOL_REGISTRY.items()}.items()

    def __iter__(self) -> Iterator[str]:
        return iter(TOOL_REGISTRY)

    def __len__(self) -> int:
        return len(TOOL_REGISTRY)


SPECS: Mapping[str, ToolSpec] = _Specs()


def _is_duration(value: object) -> bool:
    # bool is a subclass of int: `timeout_seconds=True` is a mistake and not one second.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and value > 0


def _problem(spec: ToolSpec) -> str:
    """The problem of a spec, or ""."""
    if not spec.description.strip():
        return "it needs a description: the model reads it"
    if problem := schema_problem(spec.parameters) or stray_argument(spec.parameters):
        return f"its parameters are not a JSON schema of an object: {problem}"
    if taken := RESERVED.intersection(spec.parameters.get("properties", {})):
        return f"an argument cannot be called {', '.join(sorted(taken))}: the game gives that"
    if not _is_duration(spec.timeout_seconds):
        return f"its timeout is {spec.timeout_seconds!r}; it must be seconds above 0"
    if spec.cache_ttl is not None and not _is_duration(spec.cache_ttl):
        return f"it is cached for {spec.cache_ttl!r}; that must be seconds above 0, or None"
    if spec.cache_scope not in SCOPES:
        return f"its cache scope is {spec.cache_scope!r}; it must be {' or '.join(SCOPES)}"
    if spec.cacheable and spec.category not in CACHEABLE:
        return f"what is {spec.category.value} has to be done each time; it cannot be cached"
    return (
        defaults_problem(spec.parameters)
        or _problem_of_flags(spec)
        or _problem_of_hearers(spec)
        or _problem_of_group(spec.group)
    )


def _problem_of_flags(spec: ToolSpec) -> str:
    wrong = next((name for name in FLAGS if not isinstance(getattr(spec, name), bool)), "")
    return wrong and f"{wrong} is {getattr(spec, wrong)!r}; it must be True or False"


def _problem_of_hearers(spec: ToolSpec) -> str:
    if spec.heard_by in ("", *DECLARED):
        return ""
    names = " or ".join(map(repr, DECLARED))
    return f"it is heard by {spec.heard_by!r}; that must be {names}, or nothing"


def _problem_of_group(group: ToolGroup | None) -> str:
    """The problem of a group, or "". Types are checked too, as nothing else does so."""
    if group is None:
        return ""
    wanted = "ToolGroup('shop', ('buy', 'sell')), or None"
    if not isinstance(group, ToolGroup) or not isinstance(group.name, str):
        return f"its group is {group!r}; it must be like {wanted}"
    is_listed = isinstance(group.cues, tuple) and all(isinstance(cue, str) for cue in group.cues)
    if not _NAME.fullmatch(group.name):
        return f"its group is named {group.name!r}; a name is letters, digits, _ and -"
    if not is_listed or not all(cue.strip() for cue in group.cues):
        return f"the cues of its group are {group.cues!r}; they must be words, as in {wanted}"
    return ""


def _check(made: Tool) -> None:
    if not isinstance(made.name, str) or not _NAME.fullmatch(made.name):
        raise ConfigurationError(
            f"{made.module} has a tool named {made.name!r}; a name is 1 to 64 of the letters a to "
            "z, digits, _ and -"
        )
    known = TOOL_REGISTRY.get(made.name)
    if known is not None and _is_another(made, known):
        raise ConfigurationError(
            f"two tools are named {made.name!r}: one in {known.module}, "
            f"one in {made.module}; rename one of them"
        )
    try:
        problem = _problem(made.spec)
    except (TypeError, ValueError) as error:
        problem = str(error)
    if problem:
        raise ConfigurationError(f"tool {made.name!r} of {made.module}: {problem}")


def _is_another(made: Tool, known: Tool) -> bool:
    """False if a module that was imported anew registers its tool again."""
    if made.module != known.module:
        return True
    place, module = _ORIGINS.get(known.name, (None, None))
    now_at, now_in = _origin_of(made)
    return place != now_at and module is now_in


def _origin_of(made: Tool) -> tuple[object, object]:
    code = getattr(getattr(made, "function", None), "__code__", None)
    place = type(made).__qualname__ if code is None else code.co_firstlineno
    # Each import of a module, also by importlib.reload, makes another `__spec__`.
    return place, getattr(sys.modules.get(made.module), "__spec__", None)


def register(made: Made) -> Made:
    """Register a tool: an instance, or, as a decorator, a class without constructor arguments.

    Raises:
        ConfigurationError: the tool is invalid, or there is another one of that name.
    """
    ready = made() if isinstance(made, type) else made
    if not isinstance(ready, Tool):
        raise ConfigurationError(
            f"@register is for classes based on Tool, not for {made!r}; for a function, use @tool"
        )
    _check(ready)
    TOOL_REGISTRY[ready.name] = ready
    _ORIGINS[ready.name] = _origin_of(ready)
    return made


class ToolOptions(TypedDict, total=False):
    """The options of `tool`; see there."""

    category: str
    timeout_seconds: float
    cache_seconds: float | None
    cache_scope: str
    is_idempotent: bool
    needs_confirmation: bool
    heard_by: str
    useful_when: When | None
    group: ToolGroup | None
    only_reads: bool


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[Function], Function]: ...
def tool(
    function: Function | None = None, /, **options: Unpack[ToolOptions]
) -> Function | Callable[[Function], Function]:
    """Register a function as a tool, as `@tool` or `@tool(category="terminal")`.

    Args:
        category: safe_chain for reading (the default), terminal for speaking, dangerous for
            changes, async_required for waiting.
        timeout_seconds: time after which a function that is async or returns a Deferred is
            cancelled; 30 by default.
        cache_seconds: how long a success answers identical calls; None: not cached.
        cache_scope: "tick" keeps it for the turn, "session" until a restart.
        is_idempotent: True if running it twice has the same effect as once, so that it may be
            retried.
        needs_confirmation: True if a person has to approve each call.
        heard_by: who learns its arguments, if the category does not say: "nobody" or "anybody".
        useful_when: called with the character and the turn; returns whether to show the tool now.
        group: show the tool when a message calls for this group; None: always.
        only_reads: True if it changes nothing and tells nobody anything, so that it also runs on
            the test bench; the default for cached tools.

    Raises:
        ConfigurationError: the tool is invalid.
    """
    if function is None:
        return partial(_register_function, **options)
    if not callable(function):
        raise ConfigurationError(
            f"@tool({function!r}): options are given by name, as in @tool(category={function!r})"
        )
    return _register_function(function, **options)


def _register_function(function: Function, **options: Unpack[ToolOptions]) -> Function:
    if isinstance(function, type):
        raise ConfigurationError(
            f"@tool is for functions; for the class {function.__name__}, use @register"
        )
    if unknown := sorted(options.keys() - ToolOptions.__annotations__.keys()):
        known = ", ".join(ToolOptions.__annotations__)
        raise ConfigurationError(
            f"tool {function.__name__!r}: there is no option {unknown[0]!r}; there are {known}"
        )
    _check_condition(function, options.get("useful_when"))
    cache_seconds = options.pop("cache_seconds", None)
    category = _category(options.pop("category", "safe_chain"), function)
    is_cached = cache_seconds is not None
    options.setdefault("only_reads", is_cached)
    register(
        FunctionTool(
            function, category=category, cacheable=is_cached, cache_ttl=cache_seconds, **options
        )
    )
    return function


def _check_condition(function: Callable[..., Any], useful_when: When | None) -> None:
    try:
        if useful_when is not None:
            inspect.signature(useful_when).bind(None, None)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"tool {function.__name__!r}: its useful_when is {useful_when!r}; it must be "
            "a function of the character and the turn"
        ) from None


def _category(name: str, function: Callable[..., Any]) -> ToolCategory:
    try:
        return ToolCategory(name)
    except ValueError:
        kinds = ", ".join(ToolCategory)
        raise ConfigurationError(
            f"tool {function.__name__!r}: its category is {name!r}; it must be one of {kinds}"
        ) from None


def load_modules(paths: Iterable[str] = ()) -> None:
    """Import the built-in tool modules and the game's. A broken one does not stop the others.

    Raises:
        ConfigurationError: a module cannot be imported; the reason is in BROKEN as well.
    """
    # A module that has been repaired since the last start is no longer broken.
    BROKEN.clear()
    for path in (*BUILT_IN, *paths):
        try:
            importlib.import_module(path)
        except ConfigurationError as error:
            BROKEN[path] = f"{error}{_line_of(error)}"
        except Exception as error:
            BROKEN[path] = (
                f"EVENNIA_AI_TOOL_MODULES names {path!r}, which cannot be imported: "
                f"{error or type(error).__name__}{_line_of(error)}"
            )
    if BROKEN:
        raise ConfigurationError("; ".join(BROKEN.values()))


def _line_of(error: Exception) -> str:
    """The file and line of the game's code that raised an error; "" if it is not in the trace."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if not each.filename.startswith((PACKAGE, "<frozen "))]
    outside = [each for each in own if each.filename != importlib.__file__]
    return f" ({outside[-1].filename}, line {outside[-1].lineno})" if outside else ""
