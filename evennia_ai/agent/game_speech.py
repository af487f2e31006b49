"""Speech of a game's own commands, passed to the assistants that hear it.

For games that send such lines with a plain `obj.msg(text)`, which names neither the speaker nor the
kind of speech. What game code passes here counts as much as the options of Evennia's own commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from evennia.accounts.accounts import DefaultAccount
from evennia.objects.objects import DefaultObject
from evennia.utils import logger

from evennia_ai.agent import hearing
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.perception import PRIVATE, TRIGGER, Evidence, Heard, Overheard, Source
from evennia_ai.core.hearing.unmarked import ECHO_SECONDS, UNMARKED, is_same
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.messages import incoming
from evennia_ai.runtime.assistant import Assistant, Character
from evennia_ai.runtime.names import is_character

KINDS: Mapping[str, Source] = MappingProxyType(
    {
        "say": Source.SAY,
        "whisper": Source.WHISPER,
        "pose": Source.POSE,
        "emote": Source.POSE,
        "page": Source.PAGE,
        "tell": Source.PAGE,
    }
)
ACCOUNT_BODY = "assistant_body"  # the attribute of an account that names its assistant's body


def hear(listener: GameObject, text: str, sender: GameObject, kind: str = "say") -> list[Any]:
    """Let assistants hear what a command of the game says; call it beside your own `msg`.

    Without an assistant nothing happens. If the game also sends the same words, they are not heard
    twice. Call it in the reactor's thread, like everything of Evennia's.

    Args:
        listener: a room: every assistant in it hears the words. A character or an account: only its
            assistant does. Whispers and pages have one listener.
        text: the bare words, without the name and the phrase that the game puts around them; of a
            pose, what follows the name. Markup is removed.
        kind: say, whisper, pose or page; emote is a pose, and tell a page.

    Returns:
        The scripts of the assistants that heard it; whether one answers is decided later.

    Raises:
        ValueError: the kind is unknown, or a room was to hear private words.
        TypeError: an argument is no object of Evennia's, or the text is not a string.
    """
    source = _read_kind(kind)
    _check_arguments(listener, text, sender)
    bodies = _bodies(listener, source, kind)
    options = {"type": source.value, incoming.SPEECH_MARK: text}
    return [
        body.assistant_script
        for body in bodies
        if body is not sender and _hears(body, (text, options), sender)
    ]


def _read_kind(kind: str) -> Source:
    source = KINDS.get(kind) if isinstance(kind, str) else None
    if source is None:
        raise ValueError(
            f"hear(kind={kind!r}): there is no such way to speak; it is one of {', '.join(KINDS)}. "
            "Channels of Evennia's class are heard by themselves"
        )
    return source


def _check_arguments(listener: object, text: object, sender: GameObject) -> None:
    if not isinstance(text, str):
        raise TypeError(f"hear(text={text!r}): the words must be text, without any options")
    for name, being in (("listener", listener), ("sender", sender)):
        if not isinstance(being, (DefaultObject, DefaultAccount)) or being.pk is None:
            wanted = "a room, a character or an account" if name == "listener" else "who says it"
            raise TypeError(f"hear({name}={being!r}): it must be {wanted}, an object of the game")


def _bodies(listener: GameObject, source: Source, kind: str) -> list[Any]:
    """The bodies of assistants that hear it."""
    if isinstance(listener, DefaultAccount):
        listener = listener.attributes.get(ACCOUNT_BODY)
        return [listener] if _is_body(listener) else []
    if _is_body(listener):
        return [listener]
    if is_character(listener):
        return []
    if source in PRIVATE:
        # Only rooms have no location; whispering to an object in a room is simply not heard.
        if listener.location is None:
            raise ValueError(
                f"hear(listener={listener!r}, kind={kind!r}): a {kind} is for one listener, and "
                "this is a room; call it for each character who is meant"
            )
        return []
    return [being for being in listener.contents if _is_body(being)]


def _is_body(being: GameObject) -> bool:
    script = getattr(being, "assistant_script", None)
    return script is not None and script.work is not None


def _hears(body: Character, message: tuple[str, Mapping[str, object]], sender: GameObject) -> bool:
    """Let one assistant hear the words. Returns True if it did."""
    try:
        heard = incoming.read(message, sender, body)
        if heard is None:
            return False
        _take_once(body.assistant_script, replace(heard, evidence=Evidence.CALL), sender)
    # The game's command must go on, whatever breaks in here.
    except Exception:
        logger.log_trace(f"[assistant] {body} could not hear what the game's code told it")
        return False
    return True


def _take_once(script: Assistant, heard: Heard, sender: GameObject) -> None:
    now = script.clock.seconds()
    # The game may have sent the line before this call: then it was heard already, perhaps as bare
    # text of which nothing came, and this call tells more of it.
    for record in script.work.decisions.newest():
        if not 0 <= now - record.at <= ECHO_SECONDS:
            break
        if is_same(heard, record.heard):
            # Only a line without options that led to nothing gives way.
            if record.heard.source not in UNMARKED or record.verdict.outcome is TRIGGER:
                return
            _forget_line(script, record)
    script.work.calls_of_game.append((now, heard))
    hearing.handle_message(script, heard, sender)


def _forget_line(script: Assistant, record: DecisionTrace) -> None:
    """Remove the bare line from memory; its words are heard again, and may be private."""
    script.work.decisions.drop(record)
    overheard = script.work.overheard
    # As it was shortened when it was kept.
    body = Overheard.from_heard(record.heard, record.verdict.trust).body
    for number in range(len(overheard) - 1, -1, -1):
        if overheard[number].source == record.heard.source and overheard[number].body == body:
            script.work.overheard = [*overheard[:number], *overheard[number + 1 :]]
            return
