"""Data, files and links that an assistant attaches to its report for a peer: two tools.

The agent outside the game can read each as soon as it is attached; nobody else can. In any other
turn the tools have no use and are not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evennia_ai import audit
from evennia_ai.core.hearing.inbox import TASK
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.models import PeerTask
from evennia_ai.runtime.assistant import Character
from evennia_ai.tasks import peer_parts, peer_store, task_waits
from evennia_ai.tasks.programs import ProgramRequest
from evennia_ai.tools import tool

NO_PEER_WAITS = "nobody waits elsewhere for what is attached; only an agent elsewhere gets it"
NO_ROOM = (
    f"there is no room for it: a task has at most {peer_store.MOST_MADE} pieces, of "
    f"{peer_store.LONGEST_MADE:,} characters together"
)


def _peer_task(turn: Turn) -> PeerTask | None:
    """The peer's task that a turn works on, while it is open."""
    if not turn.events or turn.event.kind != TASK:
        return None
    wait = task_waits.of(turn.event)
    # A peer's task is always a named request; for any other the query would be in vain.
    if not isinstance(wait, ProgramRequest) or not wait.is_kept:
        return None
    task = peer_store.by_request(turn.event.id)
    return task if task is not None and task.state not in peer_store.FINAL else None


# Read at each offer of tools: outside such a task the model is not even shown these two.
def _is_for_peer(character: Character, turn: Turn) -> bool:
    return _peer_task(turn) is not None


@tool(category="safe_chain", useful_when=_is_for_peer)
def attach_data(
    character: Character,
    name: str,
    data: dict,  # type: ignore[type-arg]  # the model is told that it may be any
    *,
    turn: Turn,
) -> str:
    """Attach an object to your report, for the agent elsewhere that gave you the task.

    Args:
        name: of what it is; the same name again takes the place of what was attached before.
        data: a JSON object.
    """
    return _attach(character, turn, name, peer_parts.JSON, lambda: peer_parts.data_part(data))


@tool(category="safe_chain", useful_when=_is_for_peer)
def attach_file(
    character: Character,
    name: str,
    content: str = "",
    media_type: str = peer_parts.TEXT,
    url: str = "",
    base64: str = "",
    *,
    turn: Turn,
) -> str:
    """Attach a file to your report, for the agent elsewhere that gave you the task.

    Args:
        name: of the file; the same name again takes the place of what was attached before.
        content: its text. Give this, or one of url and base64.
        media_type: such as text/plain, text/csv or image/png.
        url: where the file is, if it is on the web.
        base64: its bytes, if it is not text.
    """
    return _attach(
        character,
        turn,
        name,
        media_type,
        lambda: peer_parts.file_part(name, media_type, content, base64, url),
    )


def _attach(
    character: Character, turn: Turn, name: str, kind: str, part: Callable[[], dict[str, Any]]
) -> str:
    """Store a part with the task, and let it be sent."""
    task, script = _peer_task(turn), character.assistant_script
    if task is None:
        raise ToolError(NO_PEER_WAITS)
    try:
        name, kind = peer_parts.named(name), peer_parts.typed(kind)
        peer_parts.check_taken(kind, peer_store.modes_of(task))
        # The id is made of the name, so that the same name again replaces what it named.
        artifact = {"id": f"made:{name}", "name": name, "parts": [part()]}
    except ValueError as error:
        raise ToolError(str(error)) from None
    if not peer_store.make(task, artifact, script.clock.seconds()):
        raise ToolError(NO_ROOM)
    audit.record("peer_attached", script, task=task.pk, number=turn.event.number, kind=kind)
    return f"{name} is attached; your report goes with it"
