"""A tool: its description for the model, and the function that runs it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any

from evennia_ai.core.turn.signatures import as_annotated, hints_of, spec_from_function
from evennia_ai.core.turn.toolspec import ToolCategory, ToolGroup, ToolSpec
from evennia_ai.core.turn.turn import Turn
from evennia_ai.runtime.assistant import Character
from evennia_ai.runtime.rights import Right

When = Callable[[Any, Turn], bool]


class Tool(ABC):
    """A tool as a class. Set the attributes, define `execute`, and register an instance.

    Attributes:
        name: letters, digits, `_` and `-`.
        description: what it does, for the model.
        parameters: JSON schema of the arguments, an object schema.
        timeout: seconds, for what waits.
        category: what may follow it.
        cacheable: whether an equal call may be answered with an earlier success.
        cache_scope: "tick" or "session".
        cache_ttl: seconds a success is kept at most; None: as long as its scope.
        is_idempotent: whether it may be tried again although it is not of the safe kind.
        needs_confirmation: whether a person has to say yes before it is run.
        confirmed_by: the right over the assistant that whoever says yes needs; None: whom
            `confirm_by` names is asked.
        heard_by: who comes to know what it is given: "nobody" or "anybody"; "": as its category
            says. In a private turn what anybody may hear is held back.
        group: the tools that it is shown with, where it is shown by need; None: always shown.
        only_reads: whether it changes nothing and tells nobody anything, so that it is run also
            where an answer is only tried.
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
        """Do it, as a character. Arguments fit the schema.

        A parameter named `turn` receives the turn. The result is text, or plain data; a mapping
        with a false "success" has failed, for the reason in its "error"; a Deferred is waited for.

        Raises:
            ToolError: it cannot be done; the text is for the model.
        """

    def question(self, character: Character, turn: Turn, arguments: Mapping[str, object]) -> str:
        """The question before a call that needs a yes; "": whether it may do that, with what.

        Raises:
            ToolError: there is nothing to ask; the text is for the model.
        """
        return ""

    def is_useful(self, character: Character, turn: Turn) -> bool:
        """True where there is any use for it now; else the model is not shown it.

        A call of it is run all the same.
        """
        return True

    # Of what is always of use `is_useful` is not asked.
    is_always_useful = False

    @cached_property
    def spec(self) -> ToolSpec:
        """A tool's description for the model, and the rules of running it."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters={"additionalProperties": False, **self.parameters},
            category=ToolCategory(self.category),
            timeout_seconds=self.timeout,
            cacheable=self.cacheable,
            cache_scope=self.cache_scope,
            cache_ttl=self.cache_ttl,
            is_idempotent=self.is_idempotent,
            needs_confirmation=self.needs_confirmation,
            heard_by=self.heard_by,
            group=self.group,
            only_reads=self.only_reads,
        )

    @cached_property
    def takes_turn(self) -> bool:
        """True where the function takes the turn."""
        return "turn" in inspect.signature(self.execute).parameters

    @property
    def module(self) -> str:
        """The place of its definition."""
        return type(self).__module__


class FunctionTool(Tool):
    """A plain function as a tool."""

    def __init__(
        self, function: Callable[..., Any], *, useful_when: When | None = None, **options: Any
    ) -> None:
        """Read the function.

        Args:
            useful_when: what `is_useful` says; None: always.
            options: fields of the spec beyond what the signature and the docstring say.

        Raises:
            TypeError: the function cannot be told to the model.
        """
        self.function, self._useful_when = function, useful_when
        is_own = type(self).is_useful is not FunctionTool.is_useful
        self.is_always_useful = useful_when is None and not is_own
        self.spec = spec_from_function(function, **options)
        for field in fields(self.spec):
            setattr(self, field.name, getattr(self.spec, field.name))
        self.timeout = self.spec.timeout_seconds
        self._hints = hints_of(function)
        known = inspect.signature(function).parameters
        self._takes_character, self.takes_turn = "character" in known, "turn" in known

    def is_useful(self, character: Character, turn: Turn) -> bool:
        """True where there is any use for it now."""
        return self._useful_when is None or self._useful_when(character, turn)

    def execute(self, character: Character, **arguments: Any) -> Any:
        """Call the function."""
        given = {"character": character} if self._takes_character else {}
        return self.function(**given, **as_annotated(self._hints, arguments))

    @property
    def module(self) -> str:
        """The place of the function's definition."""
        return self.function.__module__
