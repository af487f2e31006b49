"""A server's tools and answers made fit for a model: valid names, bounded texts, usable schemas."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evennia_ai.core.text.cleaning import one_line, strip_control
from evennia_ai.core.text.reading import is_deep
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.toolspec import ToolGroup, ToolSpec
from evennia_ai.mcp.config import ServerConfig

if TYPE_CHECKING:
    from mcp.types import ContentBlock

MOST_TOOLS = 200
# Tools left out that are named, in the log and to people; a server may list a million.
MOST_LEFT_OUT = 50
# Model services accept names of up to 64 letters, digits, hyphens and underscores.
MOST_NAME_CHARS = 64
MOST_DESCRIPTION_CHARS = 1_000
MOST_SCHEMA_BYTES = 20_000
MOST_SCHEMA_DEPTH = 30
MOST_RESULT_CHARS = 8_000
MOST_ERROR_CHARS = 1_000
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_MARK_CHARS = 8


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server describes it."""

    name: str
    description: str
    parameters: Any
    is_read_only: bool = False
    is_idempotent: bool = False
    needs_task: bool = False


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool on offer.

    Attributes:
        name: its name on the server; the model knows it by the spec's name.
    """

    name: str
    spec: ToolSpec


@dataclass(frozen=True, slots=True)
class Listing:
    """A server's tools by the names that the model knows, and the reasons for those left out."""

    tools: dict[str, RemoteTool] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def make_listing(config: ServerConfig, listed: Iterable[Listed]) -> Listing:
    """Turn a server's list of tools into those that the model is offered."""
    wanted: dict[str, Listed] = {}
    for tool in listed:
        if config.tools is None or tool.name in config.tools:
            # If a name is listed twice, the first counts: a call could not tell them apart.
            wanted.setdefault(tool.name, tool)
    names = _offered_names(config.name, list(wanted))
    tools: dict[str, RemoteTool] = {}
    left_out = [
        f"{name}: the server has no such tool"
        for name in sorted(config.tools or ())
        if name not in wanted
    ]
    for tool in wanted.values():
        problem = _problem_of(tool)
        if names[tool.name] in tools:
            problem = "its name is another tool's"
        elif len(tools) >= MOST_TOOLS:
            problem = f"a server may offer {MOST_TOOLS} tools"
        if problem:
            left_out.append(f"{one_line(tool.name, MOST_NAME_CHARS)}: {problem}")
        else:
            tools[names[tool.name]] = RemoteTool(tool.name, _spec(config, names[tool.name], tool))
    if rest := left_out[MOST_LEFT_OUT:]:
        left_out[MOST_LEFT_OUT:] = [counted(len(rest), "more tools")]
    return Listing(tools, tuple(left_out))


def _spec(config: ServerConfig, name: str, tool: Listed) -> ToolSpec:
    description = strip_control(tool.description).strip()
    if len(description) > MOST_DESCRIPTION_CHARS:
        description = description[: MOST_DESCRIPTION_CHARS - 1].rstrip() + "…"
    is_cacheable = tool.is_read_only and config.cache_seconds is not None
    return ToolSpec(
        name,
        description or one_line(tool.name, MOST_DESCRIPTION_CHARS),
        # MCP lets a schema leave `properties` out, but some model services require it.
        {"properties": {}} | tool.parameters,
        category=config.category,
        timeout_seconds=config.timeout_seconds,
        cacheable=is_cacheable,
        cache_scope="session" if is_cacheable else "tick",
        cache_ttl=config.cache_seconds if is_cacheable else None,
        is_idempotent=tool.is_read_only or tool.is_idempotent,
        needs_confirmation=config.needs_confirmation,
        heard_by="nobody" if config.may_hear_private else "anybody",
        group=ToolGroup(config.name),
    )


def _offered_names(server: str, names: list[str]) -> dict[str, str]:
    """Make names that every model service accepts.

    A name that was cut, or that became the same as another, ends in a digest of the original.
    """
    fitted = {name: f"{server}__{_NOT_IN_NAMES.sub('_', name)}" for name in names}
    clashes = Counter(fitted.values())
    offered = {}
    for name, fit in fitted.items():
        is_changed = fit != f"{server}__{name}"
        is_long = len(fit) > MOST_NAME_CHARS
        if is_long or (is_changed and clashes[fit] > 1):
            mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_MARK_CHARS]
            fit = f"{fit[: MOST_NAME_CHARS - _MARK_CHARS - 1]}_{mark}"
        offered[name] = fit
    return offered


def _problem_of(tool: Listed) -> str:
    """The reason why the model cannot be given this tool, or ""."""
    if tool.needs_task:
        return "it can only be called as a task of MCP, which is not supported"
    schema = tool.parameters
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "its arguments are not described by an object schema"
    if not isinstance(schema.get("properties", {}), dict):
        return "the properties in its schema are no mapping"
    if is_deep(schema, MOST_SCHEMA_DEPTH):
        return f"its schema is nested more than {MOST_SCHEMA_DEPTH} deep"
    try:
        size = len(json.dumps(schema, ensure_ascii=False, allow_nan=False).encode())
    except ValueError:
        return "its schema cannot be sent as JSON"
    return f"its schema has more than {MOST_SCHEMA_BYTES} bytes" if size > MOST_SCHEMA_BYTES else ""


def as_text(content: Iterable[ContentBlock], structured: object) -> str:
    """Turn an answer into text: its texts line by line, and anything else named; "" if it is empty.

    Args:
        content: content blocks of MCP (`type`, `text`, `mime_type`, ...).
        structured: the answer as a JSON value, used if there is no text.
    """
    content = list(content)
    texts = [block.text for block in content if block.type == "text"]
    rest = [_name(block) for block in content if block.type != "text"]
    if not any(text.strip() for text in texts) and structured is not None:
        texts = [json.dumps(structured, ensure_ascii=False)]
    return bounded("\n".join(filter(None, [*texts, *rest])), MOST_RESULT_CHARS)


def bounded(text: str, most: int) -> str:
    """Remove control characters; a long text is cut, and says so."""
    size = len(text)
    # Cut before cleaning, since a text may have megabytes; to twice the length, since cleaning
    # shortens it.
    text = strip_control(text[: 2 * most]).strip()
    if size <= 2 * most and len(text) <= most:
        return text
    return f"{text[:most].rstrip()}… [cut: the whole has {size} characters]"


def _name(block: ContentBlock) -> str:
    if block.type == "resource":
        resource = block.resource
        text = getattr(resource, "text", None)
        return text if text is not None else f"[a file: {one_line(str(resource.uri))}]"
    if block.type == "resource_link":
        return f"[a link: {one_line(str(block.uri))}]"
    kind = {"image": "an image", "audio": "a sound"}.get(block.type, "something unknown")
    return f"[{kind}, {one_line(str(getattr(block, 'mime_type', '') or 'of no known type'), 60)}]"
