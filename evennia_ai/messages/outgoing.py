"""From the model's text to what players see: shown as text, never as markup or template.

`msg_contents` evaluates its template before it fills the mapping in, so model text travels in the
mapping with `|` doubled; in there braces and `$func()` are plain characters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import evennia
from evennia.utils import logger

from evennia_ai.core.hearing.perception import PRIVATE
from evennia_ai.core.safety.notices import Notice
from evennia_ai.core.text.cleaning import cut_at_sentence
from evennia_ai.core.text.phrasing import Phrased
from evennia_ai.core.typed_objects import Account, Being, Channel, GameObject, TypedObject
from evennia_ai.errors import ToolDeniedError, ToolError
from evennia_ai.messages import lines
from evennia_ai.messages.incoming import marks, person_of, speaking
from evennia_ai.messages.lines import literal, send_now
from evennia_ai.runtime import ability, names, signals
from evennia_ai.runtime.assistant import Assistant

FAILURE_LINE = (
    "{name} looks away for a moment. "
    '"Forgive me, my thoughts won\'t settle. Try me again in a minute."'
)
STOPPED_LINE = "{name} does not seem to hear you."
MUTED_LINE = "You have muted {name}, so that was not heard. To undo: assistant unmute {name}"
HUSHED_LINE = "{name} keeps a finger on closed lips."
TOO_LONG_LINE = (
    '{name} shakes a weary head. "That is too long for me. Say it in at most {most} characters."'
)
TOO_MUCH_LINE = (
    '{name} raises a hand. "One thing at a time, please. I could not follow all of that; ask me '
    'again in a minute."'
)
LATER_LINE = '{name} nods. "One moment, please. I will get to that."'
ASKING_LINE = '{name} pauses. "I have to ask about that first."'
THINKING_LINES = ("{name} thinks for a moment.", "{name} is still thinking.")
Marks = Mapping[str, object]  # options beyond those that every message of an assistant has
NO_MORE: Marks = MappingProxyType({})
# Of one message; what is longer is cut at a sentence.
MOST_CHARACTERS = {"say": 700, "whisper": 700, "page": 700, "channel": 400, "pose": 300}


def speech(text: str, kind: str, speaker: GameObject) -> str:
    """Model text as it is said: cleaned, on one line, shortened for its kind, and escaped.

    Raises:
        ToolError: nothing in it can be said.
    """
    return _one_literal_line(lines.phrased(text, kind, speaker).words, kind)


def _one_literal_line(text: str, kind: str) -> str:
    # A line break would let the model draw lines of its own, such as another player's speech.
    words = " ".join(text.split())
    line = cut_at_sentence(words, MOST_CHARACTERS[kind])
    if not line:
        raise ToolError("there is nothing in the message that can be said; write plain words")
    return literal(line)


def muters(character: GameObject, beings: Collection[Being]) -> list[Being]:
    """The beings among these who have muted the assistant in this body."""
    script = getattr(character, "assistant_script", None)
    work = script.work if script is not None else None
    if work is None or not work.muted:
        return []
    return [being for being in beings if person_of(being) in work.muted]


def is_hushed(script: Assistant | None, room: GameObject) -> bool:
    """True while an assistant was asked to be quiet in a room."""
    if script is None or script.work is None or room is None:
        return False
    hushed = script.work.hushed
    if room.dbref not in hushed:
        return False
    if hushed[room.dbref] > script.clock.seconds():
        return True

    del hushed[room.dbref]
    return False


def _refuse_unable(character: GameObject) -> None:
    if why := ability.reason_of(character):
        raise ToolDeniedError(f"you cannot do that now: {why}")


def _refuse_hushed(character: GameObject) -> None:
    if is_hushed(getattr(character, "assistant_script", None), character.location):
        raise ToolDeniedError("you were asked to be quiet here; whisper, or let it be")


def _words(text: str, kind: str, speaker: GameObject) -> str:
    """Model text as it can be sent; if it is sent as an emote, nothing is parsed in it."""
    return _sendable(lines.phrased(text, kind, speaker).words, kind, speaker)


def _sendable(words: str, kind: str, speaker: GameObject) -> str:
    line = _one_literal_line(words, kind)
    return lines.as_words(line) if lines.emote_of(speaker) else line


def _audible_room(character: GameObject) -> Any:
    """The room in which everybody hears what is said aloud."""
    room = character.location
    if room is None:
        raise ToolError("you are nowhere, so nobody can hear you")
    others = (being for being in room.contents if being is not character)
    if room.location is not None and not any(map(names.is_character, others)):
        raise ToolError("you are inside something, where nobody can hear you; whisper instead")
    return room


def _emote(
    send: lines.Send,
    character: GameObject,
    emote: str,
    options: Marks,
    *,
    to: Being | None = None,
    adds_name: bool = False,
) -> None:
    """Send an emote as the game's own commands do.

    Args:
        to: the only recipient; None: the room.
        adds_name: begin with the character's name if the emote does not refer to it.
    """
    receivers = [to]
    if to is None:
        here = _audible_room(character).contents
        deaf = muters(character, here)
        receivers = [being for being in here if being not in deaf]
    # `send_emote` takes no options of ours.
    with speaking(character, options):
        send(
            character,
            receivers,
            emote,
            msg_type=options["type"],
            anonymous_add="first" if adds_name else None,
        )


def _to_room(character: GameObject, template: str, options: Marks, **mapping: Any) -> None:
    room = _audible_room(character)
    room.msg_contents(
        text=(template, dict(options)),
        exclude=muters(character, room.contents),
        from_obj=character,
        mapping={"actor": character, **mapping},
    )


def _note_said(character: GameObject, text: str, source: str, to: TypedObject) -> None:
    """Tell the game's code what was said, afterwards."""
    send_now()
    details = {"source": source, "to": to, "is_private": source in PRIVATE}
    script = getattr(character, "assistant_script", None)
    if script is not None:
        signals.send(signals.assistant_said, script, text=text, **details)
        signals.call_hook(character, "at_assistant_said", text, **details)


def say(
    character: GameObject, text: str, *, hops: int, more: Marks = NO_MORE, may_emote: bool = True
) -> None:
    """Say something aloud, and act out the stage directions before and after it.

    Args:
        may_emote: whether it may act; otherwise stage directions are dropped.

    Raises:
        ToolDeniedError: it was asked to be quiet here.
    """
    _refuse_unable(character)
    _refuse_hushed(character)
    phrased = lines.phrased(text, "say", character)
    if not may_emote:
        phrased = Phrased(phrased.words or lines.in_brackets(phrased))
    if phrased.before and not phrased.words:
        emote(character, phrased.before, hops=hops, more=more)
        return
    line = _sendable(phrased.words, "say", character)
    allowed = character.at_pre_say(line)
    if not allowed:  # before anything is acted out: the model may try again
        raise ToolError("you cannot speak here")
    if phrased.before:
        emote(character, phrased.before, hops=hops, more=more)
    _say(character, line, allowed, marks("say", hops, **more))
    if phrased.after:
        emote(character, phrased.after, hops=hops, more=more)


def _say(character: GameObject, line: str, allowed: object, options: Marks) -> None:
    room = character.location
    if send := lines.emote_of(character):
        _emote(send, character, str(allowed), options)
    else:
        line = str(allowed)
        _to_room(character, '{actor} says, "{speech}"', options, speech=allowed)
    _note_said(character, line, "say", room)


def _refuse_muter(character: GameObject, person: Being) -> None:
    if muters(character, [person]):
        name = names.name_of(person, character)
        raise ToolError(f"{name} wants to hear nothing from you; leave them be")


def whisper(
    character: GameObject, target: GameObject, text: str, *, hops: int, more: Marks = NO_MORE
) -> None:
    """Whisper to somebody in the room."""
    _refuse_unable(character)
    _refuse_muter(character, target)
    line = _words(text, "whisper", character)
    allowed = character.at_pre_say(line, whisper=True, receivers=[target])
    if not allowed:
        raise ToolError("you cannot whisper here")
    options = marks("whisper", hops, **more)
    if send := lines.emote_of(character):
        _emote(send, character, str(allowed), options, to=target)
    else:
        line, name = str(allowed), names.shown(character, target)
        target.msg(text=(f'{name} whispers: "|n{allowed}|n"', options), from_obj=character)
    _note_said(character, line, "whisper", target)


def page(
    character: GameObject, account: Account, text: str, *, hops: int, more: Marks = NO_MORE
) -> None:
    """Page an account."""
    _refuse_unable(character)
    _refuse_muter(character, account)
    line = speech(text, "page", character)
    options = marks("page", hops, **more)
    name = names.name_of(character, names.eyes_of(account))
    account.msg(text=(f"|c{name}|n |wpages:|n {line}", options), from_obj=character)
    _note_said(character, line, "page", account)


def channel(
    character: GameObject, to: Channel, text: str, *, hops: int, more: Marks = NO_MORE
) -> None:
    """Say something on a channel."""
    _refuse_unable(character)
    # Evennia's channels turn a line that begins with a colon into a pose.
    line = speech(text, "channel", character).lstrip(" :;")
    if not line:
        raise ToolError("there is nothing in the message that can be said; write plain words")
    options = marks("channel", hops, **more)
    del options["type"]
    _to_channel(character, to, line, options)
    _note_said(character, line, "channel", to)


def _to_channel(character: GameObject, to: Channel, words: str, options: dict[str, Any]) -> None:
    """Send a line to everybody on a channel but those who muted the assistant."""
    listeners = to.subscriptions.online() if to.send_to_online_only else to.subscriptions.all()
    deaf = muters(character, listeners)
    # Evennia can mute a channel for a listener, but not a single speaker: if anybody muted the
    # assistant, the line goes to each of the others through the same hooks.
    if not deaf:
        to.msg(words, senders=character, **options)
        return
    options |= {"senders": [character], "bypass_mute": False}
    line = to.at_pre_msg(words, **options)
    if not line:
        return
    for listener in listeners:
        if listener not in deaf and listener not in to.mutelist:
            _send_to(listener, line, to, options)
    to.at_post_msg(line, **options)


def _send_to(listener: Being, shown: str, to: Channel, options: Mapping[str, object]) -> None:
    try:
        line = listener.at_pre_channel_msg(shown, to, **options)
        if line:
            listener.channel_msg(line, to, **options)
            listener.at_post_channel_msg(line, to, **options)
    # As in Evennia's own loop, one listener's broken hook must not silence the others.
    except Exception:
        logger.log_trace(f"[assistant] {listener} could not hear the channel {to}")


def emote(character: GameObject, text: str, *, hops: int, more: Marks = NO_MORE) -> None:
    """Act in the room: the name, then the text.

    Raises:
        ToolDeniedError: it was asked to be quiet here.
    """
    _refuse_unable(character)
    _refuse_hushed(character)
    action = _words(text, "pose", character)
    # Models often begin with their own name, which the line adds anyway.
    own, begun = (names.name_of(character, None), str(character.key)), action.casefold()
    name = next((each for each in own if begun.startswith(each.casefold() + " ")), "")
    action = action[len(name) :].lstrip()
    room, options = character.location, marks("pose", hops, **more)
    if send := lines.emote_of(character):
        _emote(send, character, lines.as_sentence(action), options, adds_name=True)
    else:
        _to_room(character, "{actor} {action}", options, action=action)
    _note_said(character, action, "pose", room)


def tell(
    character: GameObject, person: Being, line: str, *, hops: int, is_of_body: bool = False
) -> bool:
    """Show one line of fiction to one person alone.

    Args:
        is_of_body: the line says why the body cannot act; nothing else may be said meanwhile.

    Returns:
        True where it was shown: not to a bot, to somebody who muted the assistant, or who is gone.
    """
    if not is_of_body and ability.inability(character):
        return False
    if person is None or getattr(person, "is_bot", False) or muters(character, [person]):
        return False
    text = line.replace("{name}", names.shown(character, person))
    person.msg(text=(text, marks("pose", hops)), from_obj=character)
    return True


def show(character: GameObject, line: str, *, hops: int) -> None:
    """Show one line of fiction to the room, unless the assistant was asked to be quiet."""
    if character is None:
        return
    if not is_hushed(getattr(character, "assistant_script", None), character.location):
        announce(character, line, hops=hops)


def announce(character: GameObject, line: str, *, hops: int) -> None:
    """Show one line of fiction to the room, quiet or not."""
    if character.location is None or ability.inability(character):
        return
    for person in character.location.contents:
        if person is not character:
            tell(character, person, line, hops=hops)


def alert_staff(alarm: Notice | str, *, is_over: bool = False) -> None:
    """Tell the log, and every online account with the Admin permission, what is going on.

    A line may end with a command to type.
    """
    notice = Notice(alarm) if isinstance(alarm, str) else alarm
    # The end of a problem should not wake anybody who watches the log for errors.
    log = logger.log_info if is_over else logger.log_err
    log(f"[assistant] {' | '.join(filter(None, (notice.line, notice.detail)))}")
    text = f"{literal(notice.line)}\n  {literal(notice.detail)}".rstrip()
    known = set()
    for session in evennia.SESSION_HANDLER.get_sessions():
        account = session.get_account()
        if account is None or account in known or not account.check_permstring("Admin"):
            continue
        known.add(account)
        try:
            account.msg(f"|r[assistant]|n {text}")
        except Exception:  # a broken hook of the game must not keep it from the others
            logger.log_trace(f"[assistant] {account.key} could not be told")
