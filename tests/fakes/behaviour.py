"""Behaviours of the scripted model server for one call, and reading them from JSON.

`openai_server` carries a behaviour out over HTTP; `answers` composes the answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

KINDS = (
    "answer",  # a well-formed completion, see `style`
    "hang",  # accept and say nothing until released; then answer
    "drip",  # a correct answer, one byte every `drip_seconds`, until released
    "reset",  # cut the connection without an answer
    "status",  # HTTP `status` with `retry_after_seconds` and `body`
    "html",  # 200 and a web page
    "empty_object",  # 200 and {}
    "truncated",  # a correct answer that stops in the middle of its JSON
    "wrong_type",  # a correct answer that claims to be text/plain
    "huge",  # a well-formed answer of `size_bytes`
)
STYLES = ("auto", "native", "json", "plain")


@dataclass(frozen=True)
class Behaviour:
    """The treatment of one call.

    Attributes:
        kind: one of `KINDS`.
        style: how an answer is written: `native` tool calls, `json` text, `plain` text, or `auto`,
            which gives what the request asked for.
        calls: tool calls to answer with, each `{"tool": str, "arguments": dict | str}`; a string is
            sent as it is, so that it can be broken JSON. Empty: the request decides.
        content: text to answer with in place of any tool call.
        think: put a `<think>` block before the text, as reasoning models do.
        delay_seconds: how long to wait before doing anything.
        status: HTTP status for kind `status`.
        retry_after_seconds: sent as a `Retry-After` header when not None.
        body: the error body for kind `status`; None gives the shape OpenAI uses.
        drip_seconds: pause between two bytes for kind `drip`.
        size_bytes: length of the content for kind `huge`.
        answer_tokens: the length of the model's text if nothing limited it; 0: as it comes.
        ignores_limit: write the whole text, whatever the request allows.
        refuses: the member of a request that the endpoint does not know, or "".
        usage: members of the reported usage that differ from the truth; None reports none at all.
    """

    kind: str = "answer"
    style: str = "auto"
    calls: tuple[Mapping[str, Any], ...] = ()
    content: str | None = None
    think: bool = False
    delay_seconds: float = 0.0
    status: int = 500
    retry_after_seconds: float | None = None
    body: str | None = None
    drip_seconds: float = 0.2
    size_bytes: int = 20_000_000
    answer_tokens: int = 0
    ignores_limit: bool = False
    refuses: str = ""
    usage: Mapping[str, Any] | None = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}; it must be one of {', '.join(KINDS)}")
        if self.style not in STYLES:
            raise ValueError(f"style is {self.style!r}; it must be one of {', '.join(STYLES)}")


def read_behaviour(raw: Mapping[str, Any]) -> Behaviour:
    """Make a behaviour from JSON.

    Raises:
        ValueError: a field is unknown, or a kind or style is; the message names it.
    """
    known = {each.name for each in fields(Behaviour)}
    unknown = sorted(set(raw) - known)
    if unknown:
        has = ", ".join(sorted(known))
        raise ValueError(f"a behaviour has no field {unknown[0]!r}; it has {has}")
    return Behaviour(**{**raw, "calls": tuple(raw.get("calls", ()))})


@dataclass
class Script:
    """A queue of behaviours for the coming calls, then the default for all others."""

    default: Behaviour = field(default_factory=Behaviour)
    queue: list[Behaviour] = field(default_factory=list)

    def take_next(self) -> Behaviour:
        """The behaviour for the call that has just come; a queued one is used up."""
        return self.queue.pop(0) if self.queue else self.default
