"""From the model's text to what players see: shown as text, never as markup or template.

`msg_contents` evaluates its template before the mapping is filled in, so model text travels in the
mapping, with `|` doubled; there braces and `$func()` are plain characters.
"""

from __future__ import annotations

import time
from typing import Any

import evennia
from django.conf import settings
from evennia.utils import logger

from evennia_ai.core.text import clean_speech, cut_at_sentence
from evennia_ai.errors import ToolError
from evennia_ai.inbound import marks

FAILURE_LINE = (
    "{name} looks away for a moment. "
    '"Forgive me, my thoughts won\'t settle. Try me again in a minute."'
)
STOPPED_LINE = "{name} does not seem to hear you."
THINKING_LINES = ("{name} thinks for a moment.", "{name} is still thinking.")
MOST_CHARACTERS = {"say": 700, "whisper": 700, "page": 700, "pose": 300}


def literal(text: str) -> str:
    """Text in a form that Evennia's markup leaves alone.

    A doubled `|` is shown as one, but the marks of clickable links (`|lc`, `|lt`, `|lu`, `|le`) are
    looked for after that, and would run a command with one click: an invisible blank parts them.
    Where the game evaluates `$func()` in all that it sends, that is escaped too.
    """
    if settings.FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED:
        text = text.replace("$", "\\$")
    return text.replace("|l", "|\u200bl").replace("|", "||")


def speech(text: str, kind: str, speaker: Any) -> str:
    """What a model wrote, cleaned, on one line, shortened for its kind, and in literal form.

    A line break would let it draw lines of its own, such as what somebody else seems to say.

    Raises:
        ToolError: nothing of it can be said.
    """
    words = " ".join(clean_speech(text, speaker=speaker.key).split())
    said = cut_at_sentence(words, MOST_CHARACTERS[kind])
    if not said:
        raise ToolError("there is nothing in the message that can be said; write plain words")
    return literal(said)


def _location(character: Any) -> Any:
    if character.location is None:
        raise ToolError("you are nowhere, so nobody can hear you")
    return character.location


def _to_room(character: Any, template: str, kind: str, hops: int, **mapping: Any) -> None:
    _location(character).msg_contents(
        text=(template, marks(kind, hops)),
        from_obj=character,
        mapping={"actor": character, **mapping},
    )


def say(character: Any, text: str, *, hops: int) -> str:
    """Say something aloud. Returns what was said."""
    allowed = character.at_pre_say(speech(text, "say", character))
    if not allowed:
        raise ToolError("you cannot speak here")
    _to_room(character, '{actor} says, "{speech}"', "say", hops, speech=allowed)
    return str(allowed)


def whisper(character: Any, target: Any, text: str, *, hops: int) -> str:
    """Whisper to somebody in the room. Returns what was said."""
    said = speech(text, "whisper", character)
    allowed = character.at_pre_say(said, whisper=True, receivers=[target])
    if not allowed:
        raise ToolError("you cannot whisper here")
    name = character.get_display_name(target)
    target.msg(
        text=(f'{name} whispers: "|n{allowed}|n"', marks("whisper", hops)), from_obj=character
    )
    return str(allowed)


def page(character: Any, account: Any, text: str, *, hops: int) -> str:
    """Page an account. Returns what was said."""
    said = speech(text, "page", character)
    account.msg(
        text=(f"|c{character.key}|n |wpages:|n {said}", marks("page", hops)), from_obj=character
    )
    return said


def emote(character: Any, text: str, *, hops: int) -> str:
    """Act in the room: the name, then the text. Returns the text."""
    action = speech(text, "pose", character)
    if action.casefold().startswith(character.key.casefold() + " "):
        action = action[len(character.key) :].lstrip()
    _to_room(character, "{actor} {action}", "pose", hops, action=action)
    return action


def _named(line: str, character: Any, looker: Any) -> str:
    return line.replace("{name}", character.get_display_name(looker))


def tell(character: Any, person: Any, line: str, *, hops: int) -> None:
    """Show one line of fiction to one person alone."""
    text = _named(line, character, person)
    person.msg(text=(text, marks("pose", hops)), from_obj=character)


def show(character: Any, line: str, *, hops: int) -> None:
    """Show one line of fiction to the room; without a room nobody sees it."""
    if character.location is None:
        return
    for person in character.location.contents:
        if person is not character:
            tell(character, person, line, hops=hops)


def alert_staff(text: str) -> None:
    """Tell the log, and every online account with the Admin permission, what really is."""
    logger.log_err(f"[assistant] {text}")
    told = set()
    for session in evennia.SESSION_HANDLER.get_sessions():
        account = session.get_account()
        if account is None or account in told or not account.check_permstring("Admin"):
            continue
        told.add(account)
        account.msg(f"|r[assistant]|n {literal(text)}")


def now() -> float:
    """Seconds since the epoch."""
    return time.time()
