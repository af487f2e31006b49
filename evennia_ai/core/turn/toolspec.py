"""Tools as the model knows them: schemas, categories, calls and results."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

_JSON = json.JSONEncoder(ensure_ascii=False)


class ToolCategory(StrEnum):
    """Categories of tools, by what may follow them within one tick."""

    SAFE_CHAIN = "safe_chain"
    TERMINAL = "terminal"
    DANGEROUS = "dangerous"
    ASYNC_REQUIRED = "async_required"


class Fault(StrEnum):
    """Reasons why a call did not work, for statistics."""

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
    """Tools that are shown to the model together, once a message calls for one of them.

    Attributes:
        name: shown to the model when it looks for more tools.
        cues: words or phrases in their dictionary form that call for the group in a message;
            "give" covers "gives" and "giving". Without any, each tool is called for by the words
            of its own name and description.
    """

    name: str
    cues: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the model sees it, and how it may be run.

    Attributes:
        parameters: JSON schema of the arguments, an object schema.
        timeout_seconds: for all attempts together, after which the call is cancelled.
        cacheable: whether an equal call may be answered with an earlier success.
        cache_scope: "tick" or "session".
        cache_ttl: seconds a success is cached at most; None for as long as its scope.
        is_idempotent: whether it may be retried although its category is not safe.
        needs_confirmation: whether a person has to agree before it runs.
        heard_by: "nobody" or "anybody", where the category does not tell who learns of its
            arguments; see `core.hearing.audience`.
        group: the group that it is shown with, where tools are shown by need; None for always.
        only_reads: whether it changes nothing, tells nobody anything and costs nothing, so that it
            also runs when an answer is only tried out.
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

    @cached_property
    def may_repeat(self) -> bool:
        """True if a failed attempt may be retried without anyone noticing two."""
        return self.category is ToolCategory.SAFE_CHAIN or self.is_idempotent

    @cached_property
    def is_noticed(self) -> bool:
        """True if others see the call happen, so that it must not happen twice."""
        return self.category in (ToolCategory.TERMINAL, ToolCategory.DANGEROUS)

    @cached_property
    def as_function(self) -> dict[str, Any]:
        """The spec in the format of the Chat Completions API, which must not be modified."""
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
    """A call that the model asks for.

    Attributes:
        arguments: the parsed arguments; empty if there is a `problem`.
        problem: why the call cannot be run as it is (invalid JSON, for instance), or "".
        is_spoken: whether the model called nothing and this stands for plain words.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    deadline_seconds: float | None = None
    is_spoken: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of a call: success or failure, and a text for the model.

    Attributes:
        fault: why it failed; None for a success.
        error: the exception, for the decision whether to retry.
    """

    success: bool
    text: str
    fault: Fault | None = None
    error: BaseException | None = field(default=None, compare=False, repr=False)

    def as_content(self, advisory: str = "") -> str:
        """The result as JSON text for the conversation.

        Args:
            advisory: advice on how to go on, or "".
        """
        key = "result" if self.success else "error"
        content: dict[str, Any] = {"success": self.success, key: self.text}
        if advisory:
            content["advisory"] = advisory
        return _JSON.encode(content)


def offered_name(name: str, offered: Collection[str]) -> str:
    """The name of a tool as it is offered, for one in other case or with other signs for "_".

    Returns:
        The name as given if it is offered, or if no other is meant.
    """
    if name in offered:
        return name
    return {_folded(each): each for each in offered}.get(_folded(name), name)


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")
