"""Speech of a game's own commands, told to the assistants that stand there.

For games that send such lines by a plain `obj.msg(text)`, which says neither who speaks nor how.
What game code tells here counts as much as the marks that Evennia's own commands pass along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from evennia.accounts.accounts import DefaultAccount
from evennia.objects.objects import DefaultCharacter, DefaultObject
from evennia.utils import logger

from evennia_ai.agent import hearing
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.perception import PRIVATE, TRIGGER, Evidence, Heard, Source
from evennia_ai.core.hearing.unmarked import ECHO_SECONDS, UNMARKED, is_same
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.messages import incoming
from evennia_ai.runtime.assistant import Assistant, Character

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
ACCOUNT_BODY = "assistant_body"


def hear(listener: GameObject, text: str, sender: GameObject, kind: str = "say") -> list[Any]:
    """Let assistants hear what a command of the game says; call it beside your own `msg`.

    Where no assistant is, nothing happens. What the game sends of the same words as well is not
    heard again. Call it in the reactor's thread, as all of Evennia.

    Args:
        listener: a room, for what all in it hear: each assistant there hears it. A character or
            an account: it alone, if an assistant is in it. Whispers and pages have one listener.
        text: the bare words, without the name and the frame that the game puts around them; of a
            pose what follows the name. Markup is left out.
        sender: the character or account who says it.
        kind: say, whisper, pose or page; emote is a pose, and tell a page.

    Returns:
        The scripts of the assistants that heard it; whether one answers is decided later.

    Raises:
        ValueError: `kind` is none of these, or a room is to hear what is private.
        TypeError: an argument is nothing that Evennia knows, or the text is not a string.
    """
    source = _read_kind(kind)
    _refuse_unfit(listener, text, sender)
    bodies = _bodies(listener, source, kind)
    options = {"type": source.value, incoming.SPEECH_MARK: text}
    return [
        body.assistant_script
        for body in bodies
        if body is not sender and _takes_in(body, (text, options), sender)
    ]


def _read_kind(kind: str) -> Source:
    found = KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise ValueError(
            f"hear(kind={kind!r}): there is no such way to speak; it is one of {', '.join(KINDS)}. "
            "Channels of Evennia's class are heard by themselves"
        )
    return found


def _refuse_unfit(listener: object, text: object, sender: GameObject) -> None:
    if not isinstance(text, str):
        raise TypeError(f"hear(text={text!r}): the words must be text, without any options")
    for name, being in (("listener", listener), ("sender", sender)):
        if not isinstance(being, (DefaultObject, DefaultAccount)) or being.pk is None:
            wanted = "a room, a character or an account" if name == "listener" else "who says it"
            raise TypeError(f"hear({name}={being!r}): it must be {wanted}, an object of the game")


def _bodies(listener: GameObject, source: Source, kind: str) -> list[Any]:
    """Those who hear it and have an assistant in them."""
    if isinstance(listener, DefaultAccount):
        listener = listener.attributes.get(ACCOUNT_BODY)
        return [listener] if _is_body(listener) else []
    if _is_body(listener):
        return [listener]
    if isinstance(listener, DefaultCharacter):
        return []
    if source in PRIVATE:
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


def _takes_in(
    body: Character, message: tuple[str, Mapping[str, object]], sender: GameObject
) -> bool:
    """Let one assistant hear; what breaks there is logged, and the game's command goes on."""
    try:
        heard = incoming.read(message, sender, body)
        if heard is None:
            return False
        _take_once(body.assistant_script, replace(heard, evidence=Evidence.CALL), sender)
    except Exception:
        logger.log_trace(f"[assistant] {body} could not hear what the game's code told it")
        return False
    return True


def _take_once(script: Assistant, heard: Heard, sender: GameObject) -> None:
    now = script.clock.seconds()
    for record in script.work.decisions.newest():
        if not 0 <= now - record.at <= ECHO_SECONDS:
            break
        if is_same(heard, record.heard):
            if not _is_bare(record):
                return
            _forget_line(script, record)
    script.work.calls_of_game.append((now, heard))
    hearing.take_in(script, heard, sender)


def _is_bare(record: DecisionTrace) -> bool:
    """True for a line without marks that nothing came of."""
    is_unmarked = record.heard.source in UNMARKED
    return is_unmarked and record.verdict.outcome is not TRIGGER


def _forget_line(script: Assistant, record: DecisionTrace) -> None:
    """Forget the bare line, since its words are heard by themselves, and may be private."""
    script.work.decisions.drop(record)
    kept = script.work.overheard
    for number in range(len(kept) - 1, -1, -1):
        if kept[number].source == record.heard.source and kept[number].body == record.heard.body:
            script.work.overheard = [*kept[:number], *kept[number + 1 :]]
            return
