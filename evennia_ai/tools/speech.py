"""Tools that speak: say, whisper, page, channel, emote. Each ends the turn."""

from __future__ import annotations

import evennia
from evennia.comms.models import ChannelDB

from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Account, GameObject
from evennia_ai.errors import ToolDeniedError, ToolError
from evennia_ai.messages import outgoing
from evennia_ai.messages.incoming import face_of, id_of
from evennia_ai.runtime import names
from evennia_ai.runtime.assistant import Character
from evennia_ai.tools.groups import FAR
from evennia_ai.tools.orders import may
from evennia_ai.tools.registry import tool
from evennia_ai.tools.senses import find_listener


@tool(category="terminal")
def say(character: Character, message: str, *, turn: Turn) -> str:
    """Say something aloud to everybody in the room.

    Args:
        message: the words to say, in plain text.
    """
    may_emote = _may_emote(character, turn)
    outgoing.say(character, message, hops=turn.hops, more=turn.marks, may_emote=may_emote)
    return "said"


def _may_emote(character: Character, turn: Turn) -> bool:
    """True if stage directions in a text may be posed: `emote` is available and allowed."""
    try:
        return turn.may_emote and may(character, character, "tool_emote", turn, default=True)
    except ToolDeniedError:
        # Whoever gave the order may not pose: the words are still said, without the pose.
        return False


@tool(category="terminal")
def whisper(character: Character, target: str, message: str, *, turn: Turn) -> str:
    """Whisper to one person in the room; nobody else hears it.

    Args:
        target: name of the person.
        message: the words to whisper, in plain text.
    """
    person = find_listener(character, target, turn)
    if person is character:
        raise ToolError("you cannot whisper to yourself; name the person you want to answer")
    if person is character.location and not names.is_character(person):
        raise ToolError("a room has no ears; name a person")
    outgoing.whisper(character, person, message, hops=turn.hops, more=turn.marks)
    turn.addressee = face_of(person, character)
    return f"whispered to {names.name_of(person, character)}"


def find_online(name: str, asker_id: str, character: Character) -> Account:
    """Find the account of an online player by its name or the name of its character.

    The person being answered takes precedence over others of that name, and accounts over
    characters. A character known by a description is only found by that.
    """
    wanted = names.folded(name.strip())
    online = [
        (each.get_account(), each.get_puppet()) for each in evennia.SESSION_HANDLER.get_sessions()
    ]
    playing: list[tuple[Account, GameObject | None]] = [
        (account, puppet) for account, puppet in online if account is not None
    ]
    by_account = [
        account
        for account, _ in playing
        if names.folded(names.name_of(account, character)) == wanted
    ]
    by_puppet = [
        account
        for account, puppet in playing
        if puppet is not None and _is_first_name(puppet, wanted, character)
    ]
    for account in (*by_account, *by_puppet):
        if id_of(account) == asker_id:
            return account
    accounts = by_account or by_puppet
    if not accounts:
        raise ToolError(f"nobody named {name} is online")
    # An account with several sessions is in the list several times.
    if len(set(accounts)) > 1:
        raise ToolError(f"several players are named {name}; use the name of the account")
    return accounts[0]


def _is_first_name(puppet: GameObject, wanted: str, character: Character) -> bool:
    if names.has_description(puppet):
        return names.is_called(puppet, wanted, character)
    return names.folded(names.called(puppet, character)[0]) == wanted


@tool(category="terminal", group=FAR)
def page(character: Character, target: str, message: str, *, turn: Turn) -> str:
    """Send a private message to a player who is somewhere else.

    Args:
        target: name of the player.
        message: the words to send, in plain text.
    """
    account = find_online(target, turn.event.person, character)
    # The lock of Evennia's own page command: `cmd:not pperm(page_banned)`.
    banned = character.permissions.check("page_banned")
    if banned or not may(character, account, "msg", turn, default=True):
        raise ToolError(f"you are not allowed to page {target}")
    outgoing.page(character, account, message, hops=turn.hops, more=turn.marks)
    turn.addressee = face_of(account, character)
    return f"paged {names.name_of(account, character)}"


@tool(category="terminal", group=FAR)
def channel(character: Character, channel: str, message: str, *, turn: Turn) -> str:
    """Say something on a channel that you listen to.

    Args:
        channel: name of the channel.
        message: the words to say, in plain text.
    """
    wanted = channel.strip().casefold()
    heard = [known for known in ChannelDB.objects.order_by("pk") if known.has_connection(character)]
    joined = next((known for known in heard if known.key.casefold() == wanted), None)
    if joined is None:
        names = ", ".join(known.key for known in heard) or "none"
        raise ToolError(f"you listen to no channel {channel!r}; you listen to {names}")
    if not may(character, joined, "send", turn):
        raise ToolError(f"you may not speak on the channel {joined.key}")
    outgoing.channel(character, joined, message, hops=turn.hops, more=turn.marks)
    return f"said on {joined.key}"


@tool(category="terminal")
def emote(character: Character, action: str, *, turn: Turn) -> str:
    """Do something that everybody in the room sees.

    Args:
        action: what you do, without your name, such as: smiles and nods.
    """
    outgoing.emote(character, action, hops=turn.hops, more=turn.marks)
    return "done"
