"""A tool: its description for the model, and the function that runs it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property
from typing import Any

from evennia_ai.core.turn.signatures import as_annotated, hints_of, spec_from_function
from evennia_ai.core.turn.toolspec import ToolCategory, ToolGroup, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.runtime.assistant import Character
from evennia_ai.runtime.rights import Right

When = Callable[[Any, Turn], bool]


@contextmanager
def refusals() -> Iterator[None]:
    """Tell the model why something is refused: the text of a ValueError within the block."""
    try:
        yield
    except ValueError as error:
        raise ToolError(str(error)) from None


class Tool(ABC):
    """A tool as a class. Set the attributes, define `execute`, and register an instance.

    Attributes:
        name: letters, digits, `_` and `-`.
        description: text for the model.
        parameters: JSON schema of the arguments, an object schema.
        timeout: limit in seconds for tools that wait.
        category: decides what may follow the tool in a turn.
        cacheable: True if an earlier success may answer an identical call.
        cache_scope: "tick" or "session".
        cache_ttl: maximum age of a cached success in seconds; None: as long as its scope.
        is_idempotent: True if it may be retried although its category is not safe.
        needs_confirmation: True if a person has to approve each call.
        confirmed_by: the right over the assistant that the approver needs; None: the people in
            `confirm_by` are asked.
        heard_by: who learns its arguments: "nobody" or "anybody"; "": according to its category.
            In a private turn, calls that anybody may hear are held back.
        group: the group it is shown with, when tools are shown by need; None: always shown.
        only_reads: True if it changes nothing and tells nobody anything, so that it also runs on
            the test bench.
    """

    name: str = ""
    description: str = ""
    parameters: Mapping[str, Any] = {"type": "object", "properties": {}}
    timeout: float = 30.0
    category: ToolCategory | str = ToolCategory.SAFE_CHAIN
    cacheable: bool = False
    cache_scope: str = "tick"
    cache_ttl: float | None = None
    is_idempotent: bool = False
    needs_confirmation: bool = False
    confirmed_by: Right | None = None
    heard_by: str = ""
    group: ToolGroup | None = None
    only_reads: bool = False

    @abstractmethod
    def execute(self, character: Character, **arguments: Any) -> Any:
        """Run the tool as a character, with arguments that match the schema.

        A parameter named `turn` receives the turn. The result is text or plain data. A mapping
        with a false "success" is a failure, with the reason in "error". A Deferred is awaited.

        Raises:
            ToolError: the action is not possible; the text is for the model.
        """

    def question(self, character: Character, turn: Turn, arguments: Mapping[str, object]) -> str:
        """The question to the approver of a call; "" for a default question with the arguments.

        Raises:
            ToolError: the call is refused without asking; the text is for the model.
        """
        return ""

    def is_useful(self, character: Character, turn: Turn) -> bool:
        """True if the tool is of use now. If not, the model is not shown it, but may call it."""
        return True

    # If True, `is_useful` is not called, which saves time at every step.
    is_always_useful = False

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool's description for the model, and the rules for running it."""
        values: dict[str, Any] = {
            each.name: getattr(self, each.name, None) for each in fields(ToolSpec)
        }
        values["parameters"] = {"additionalProperties": False, **self.parameters}
        values["category"] = ToolCategory(self.category)
        values["timeout_seconds"] = self.timeout
        return ToolSpec(**values)

    @cached_property
    def takes_turn(self) -> bool:
        """True if `execute` has a parameter `turn`."""
        return "turn" in inspect.signature(self.execute).parameters

    @property
    def module(self) -> str:
        """The module that defines the tool."""
        return type(self).__module__


class FunctionTool(Tool):
    """A plain function as a tool."""

    def __init__(
        self, function: Callable[..., Any], *, useful_when: When | None = None, **options: Any
    ) -> None:
        """Derive the spec from the function's signature and docstring.

        Args:
            useful_when: implementation of `is_useful`; None: always useful.
            options: further fields of the spec.

        Raises:
            TypeError: the signature cannot be expressed as a JSON schema.
        """
        self.function = function
        # A game's subclass may override the method instead.
        self.is_always_useful = useful_when is None and type(self).is_useful is Tool.is_useful
        if useful_when is not None:
            self.is_useful = useful_when  # type: ignore[method-assign, assignment]
        self.spec = spec_from_function(function, **options)
        for field in fields(self.spec):
            setattr(self, field.name, getattr(self.spec, field.name))
        self.timeout = self.spec.timeout_seconds
        self._hints = hints_of(function)
        known = inspect.signature(function).parameters
        self._takes_character, self.takes_turn = "character" in known, "turn" in known

    def execute(self, character: Character, **arguments: Any) -> Any:
        """Call the function."""
        extra = {"character": character} if self._takes_character else {}
        return self.function(**extra, **as_annotated(self._hints, arguments))

    @property
    def module(self) -> str:
        """The module that defines the function."""
        return self.function.__module__
