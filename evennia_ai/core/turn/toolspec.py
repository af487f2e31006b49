"""Tools as the model knows them: schema, danger class, calls and results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

_JSON = json.JSONEncoder(ensure_ascii=False)


class ToolCategory(StrEnum):
    """The classes of tools, by what may follow them within one tick."""

    SAFE_CHAIN = "safe_chain"
    TERMINAL = "terminal"
    DANGEROUS = "dangerous"
    ASYNC_REQUIRED = "async_required"


class Fault(StrEnum):
    """The reason why a call did not work, for whoever counts such things."""

    UNKNOWN_TOOL = "unknown_tool"
    BAD_ARGUMENTS = "bad_arguments"
    DENIED = "denied"
    NOT_RUN = "not_run"
    FAILED = "failed"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """Tools that the model is shown together, once a message calls for one of them.

    Attributes:
        name: as the model reads it, when it looks for more tools.
        cues: words, or several with blanks between, that call for it in a message, as in a
            dictionary: "give" stands for "gives" and "giving" too. Without any, each of its tools
            is called for by the words of its own name and description.
    """

    name: str
    cues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it, and how it may be run.

    Attributes:
        parameters: JSON schema of the arguments, an object schema.
        category: what may follow it.
        timeout_seconds: for all attempts together; after this it is cancelled.
        cacheable: whether an equal call may be answered with an earlier success.
        cache_scope: "tick" or "session".
        cache_ttl: seconds a success is kept at most; None: as long as its scope.
        is_idempotent: whether it may be tried again although it is not of the safe kind.
        needs_confirmation: whether a person has to say yes before it is run.
        heard_by: "nobody" or "anybody", where that does not follow from its category: who comes to
            know what it is given; see `core.hearing.audience`.
        group: the tools that it is shown with, where it is shown by need; None: always shown.
        only_reads: whether it changes nothing, tells nobody anything and costs nothing, so that it
            is run also where an answer is only tried.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    category: ToolCategory = ToolCategory.SAFE_CHAIN
    timeout_seconds: float = 30.0
    cacheable: bool = False
    cache_scope: str = "tick"
    cache_ttl: float | None = None
    is_idempotent: bool = False
    needs_confirmation: bool = False
    heard_by: str = ""
    group: ToolGroup | None = None
    only_reads: bool = False

    @property
    def may_repeat(self) -> bool:
        """True where a failed attempt may be followed by another without anybody noticing two."""
        return self.category is ToolCategory.SAFE_CHAIN or self.is_idempotent

    @property
    def is_noticed(self) -> bool:
        """True where others see that it happened, so that it must not happen twice."""
        return self.category in (ToolCategory.TERMINAL, ToolCategory.DANGEROUS)

    def as_function(self) -> dict[str, Any]:
        """The spec in the form of the chat completions API."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for.

    Attributes:
        arguments: the parsed arguments; empty when `problem` is set.
        problem: why the call cannot be run as it is (bad JSON, say), or "".
        deadline_seconds: how long it may take, where that is less than its spec allows.
        is_spoken: the model called nothing; it stands for plain words.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    deadline_seconds: float | None = None
    is_spoken: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of a call: a text for the model, and success or not.

    Attributes:
        fault: why it did not work; None when it did.
        error: what was raised, for whoever decides whether to try again.
    """

    success: bool
    text: str
    fault: Fault | None = None
    error: BaseException | None = field(default=None, compare=False, repr=False)

    def as_content(self, advisory: str = "") -> str:
        """The result as the JSON text that goes into the conversation.

        Args:
            advisory: a word of advice on how to go on, or "".
        """
        key = "result" if self.success else "error"
        content: dict[str, Any] = {"success": self.success, key: self.text}
        if advisory:
            content["advisory"] = advisory
        return _JSON.encode(content)
