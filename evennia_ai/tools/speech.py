"""Tools that are heard: say, whisper, page, emote. Each ends the turn."""

from __future__ import annotations

from typing import Any

import evennia

from evennia_ai import outbound
from evennia_ai.core.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.tools.registry import tool
from evennia_ai.tools.senses import find_here


@tool(category="terminal")
def say(character: Any, message: str, *, turn: Turn) -> str:
    """Say something aloud to everybody in the room.

    Args:
        message: the words to say, in plain text.
    """
    outbound.say(character, message, hops=turn.event.hops + 1)
    return "said"


@tool(category="terminal")
def whisper(character: Any, target: str, message: str, *, turn: Turn) -> str:
    """Whisper to one person in the room; nobody else hears it.

    Args:
        target: name of the person.
        message: the words to whisper, in plain text.
    """
    person = find_here(character, target)
    if person is character:
        raise ToolError("you cannot whisper to yourself; name the person you want to answer")
    if person is character.location:
        raise ToolError("a room has no ears; name a person")
    outbound.whisper(character, person, message, hops=turn.event.hops + 1)
    return f"whispered to {person.key}"


def _find_online(name: str) -> Any:
    """The account of an online player, by account name or by the name of the played character."""
    wanted = name.strip().casefold()
    for session in evennia.SESSION_HANDLER.get_sessions():
        account, puppet = session.get_account(), session.get_puppet()
        names = [being.key.casefold() for being in (account, puppet) if being is not None]
        if account is not None and wanted in names:
            return account
    raise ToolError(f"nobody named {name} is online")


@tool(category="terminal")
def page(character: Any, target: str, message: str, *, turn: Turn) -> str:
    """Send a private message to a player who is somewhere else.

    Args:
        target: name of the player.
        message: the words to send, in plain text.
    """
    account = _find_online(target)
    banned = character.permissions.check("page_banned")
    if banned or not account.access(character, "msg", default=True):
        raise ToolError(f"you are not allowed to page {target}")
    outbound.page(character, account, message, hops=turn.event.hops + 1)
    return f"paged {account.key}"


@tool(category="terminal")
def emote(character: Any, action: str, *, turn: Turn) -> str:
    """Do something that everybody in the room sees.

    Args:
        action: what you do, without your name, such as: smiles and nods.
    """
    outbound.emote(character, action, hops=turn.event.hops + 1)
    return "done"
