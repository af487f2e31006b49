"""Tools of MCP servers and cards of remote agents that are held back: shown, and approved.

Approval needs the tool's mark, a digest of its description and schema, so that a tool which changes
again while a person reads it is not approved unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from typing_extensions import TypedDict

from evennia_ai import audit
from evennia_ai.a2a_client.agents import PREFIX
from evennia_ai.mcp.pins import HeldTool, mark_of
from evennia_ai.operations.result import Result, note, one_of
from evennia_ai.operations.settings.changing import signed
from evennia_ai.runtime import services

NEW, CHANGED = "new", "changed"
ALLOW = "assistant tools allow {name} = {mark}"  # a command, for the reader to type
WHY = {NEW: "it is new", CHANGED: "it has changed since it was allowed"}
READ_FIRST = (
    "A model that is offered a tool reads its description and its schema, and may do what they "
    "say. Read the changes before you allow it:"
)


class HeldRow(TypedDict):
    """A tool that no model is offered until a person approves it."""

    name: str
    server: str
    why: Annotated[str, one_of([NEW, CHANGED])]
    difference: Annotated[
        list[str],
        note("Removed (-) and added (+) lines of its description, as sent by its server."),
    ]
    mark: Annotated[str, note("Mark to send to allow this tool.")]


class HeldServer(TypedDict):
    """All tools of a server that are held back."""

    name: str
    tools: int
    mark: Annotated[str, note("Mark to send to allow all tools of the server.")]


@dataclass(frozen=True, slots=True)
class HeldTools:
    """The tools that are held back, and their servers."""

    tools: list[HeldRow]
    servers: list[HeldServer]


@dataclass(frozen=True, slots=True)
class AllowedTools:
    """The tools that are offered from now on."""

    tools: list[str]


def held_back() -> Mapping[str, tuple[HeldTool, ...]]:
    """Everything held back: tools by MCP server, cards by `a2a:` and the agent's name."""
    return {**services.remote_servers().held(), **services.remote_specialists().held()}


def held_tools() -> Result[HeldTools]:
    """List the tools and agents' cards that are held back, with what has changed in each."""
    by_server = held_back()
    rows = [_row(server, tool) for server, tools in by_server.items() for tool in tools]
    servers: list[HeldServer] = [
        {"name": name, "tools": len(tools), "mark": mark_of(tools)}
        for name, tools in by_server.items()
    ]
    if not rows:
        return Result(True, "No tool is held back.", HeldTools([], []))
    lines = [READ_FIRST]
    for row in rows:
        lines += ["", f"{row['name']}: {WHY[row['why']]}", *(f"  {x}" for x in row["difference"])]
        lines.append(ALLOW.format(name=row["name"], mark=row["mark"]))
    lines += [
        f"\nAll {each['tools']} of {each['name']}: {ALLOW.format(**each)}"
        for each in servers
        if each["tools"] > 1
    ]
    return Result(True, "\n".join(lines), HeldTools(rows, servers))


def allow_tools(name: str, mark: str, *, by: str) -> Result[AllowedTools]:
    """Approve a tool that is held back, or all of a server, as a person has read them.

    Args:
        name: name of the tool or of the server.
        mark: the mark that `held_tools` gave.
        by: name for the audit log.
    """
    by_server = held_back()
    for server, tools in by_server.items():
        for tool in tools:
            if tool.name == name:
                return _allow(server, [tool], tool.now.mark == mark, by)
    if name in by_server:
        return _allow(name, by_server[name], mark_of(by_server[name]) == mark, by)
    return Result.not_found(f"No tool and no server {name[:80]!r} is held back.")


def _allow(
    server: str, tools: Iterable[HeldTool], is_as_seen: bool, by: str
) -> Result[AllowedTools]:
    names = [tool.name for tool in tools]
    if not is_as_seen:
        return Result.conflict(
            f"That is not the mark of {', '.join(names)} as it is now; review it again: "
            "assistant tools held"
        )
    # Agents' cards are held under `a2a:` and the agent's name, which no MCP server can have.
    agent = services.remote_specialists().find(server.removeprefix(PREFIX))
    if server.startswith(PREFIX) and agent is not None:
        agent.allow(tools, by)
    else:
        services.remote_servers().allow(server, tools, by)
    with signed(by):
        for tool in tools:
            audit.record("remote_tool_allowed", audit.GAME, tool=tool.name, mark=tool.now.mark)
    return Result(True, f"{', '.join(names)}: offered from now on.", AllowedTools(names))


def _row(server: str, tool: HeldTool) -> HeldRow:
    return {
        "name": tool.name,
        "server": server,
        "why": NEW if tool.before is None else CHANGED,
        "difference": tool.difference(),
        "mark": tool.now.mark,
    }
