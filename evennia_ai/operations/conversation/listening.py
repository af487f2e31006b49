"""People and channels that an assistant listens to, and rooms in which it is hushed."""

from __future__ import annotations

from typing import Any

from evennia.comms.models import ChannelDB
from evennia.utils.search import search_channel

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.inbox import talk_of
from evennia_ai.core.hearing.perception import SPOKEN, Source
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages import incoming, outgoing
from evennia_ai.operations.result import Result
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import name_of, wording
from evennia_ai.runtime.rights import lets, name_before
from evennia_ai.runtime.turns import aside

LOCK = "hush"
MINUTES, MOST_MINUTES = 10, 60  # default and maximum
MINUTE_SECONDS = 60.0
HUSHED = "{name} nods and is quiet here for {span}."
UNHUSHED = "{name} looks up, free to speak here again."
_WORDS = ("", "a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def hush(script: AssistantScript, being: Being, minutes: int = MINUTES) -> Result:
    """Hush an assistant in a person's room: it hears, but says and does nothing openly there.

    It ends by itself and survives a restart. Whispers, pages and channels are not affected.

    Args:
        minutes: duration, 1 to 60.
    """
    room, problem = _room_for(script, being)
    if problem:
        return Result.invalid(problem)
    if not 1 <= minutes <= MOST_MINUTES:
        return Result.invalid(
            f"You can hush for 1 to {MOST_MINUTES} minutes at a time, not {minutes}."
        )
    until = script.clock.seconds() + minutes * MINUTE_SECONDS
    _store(script, room.dbref, until)
    _drop_open_speech(script, room.dbref)
    count = _WORDS[minutes] if minutes < len(_WORDS) else minutes
    span = f"{count} minute{'' if minutes == 1 else 's'}"
    outgoing.announce(script.obj, HUSHED.replace("{span}", span), hops=1)
    audit.record("hushed", script, room=room.dbref, minutes=minutes, by=str(being.key))
    return Result(
        True, f"{name_before(script, being)} is quiet in {name_of(room, being)} for {span}."
    )


def unhush(script: AssistantScript, being: Being) -> Result:
    """End the hush of an assistant in a person's room."""
    room, problem = _room_for(script, being)
    if problem:
        return Result.invalid(problem)
    if not outgoing.is_hushed(script, room):
        return Result.invalid(f"{name_before(script, being)} is not hushed here.")
    _store(script, room.dbref, 0.0)
    outgoing.announce(script.obj, UNHUSHED, hops=1)
    audit.record("unhushed", script, room=room.dbref, by=str(being.key))
    return Result(True, f"{name_before(script, being)} may speak in {name_of(room, being)} again.")


def _room_for(script: AssistantScript, being: Being) -> tuple[Any, str]:
    # The room in which the person may hush the assistant, and the reason why there is none, or "".
    room, body = getattr(being, "location", None), script.obj
    if room is None or body is None or body.location != room or script.work is None:
        return None, f"{name_before(script, being)} is not here."
    if not body.access(being, LOCK, default=True):
        return None, f"You may not decide when {name_before(script, being)} speaks."
    return room, ""


def _store(script: Assistant, place: str, until: float) -> None:
    # Drops entries that are over, so that the stored mapping does not grow.
    now = script.clock.seconds()
    hushed = {**script.work.hushed, place: until}
    hushed = {place: until for place, until in hushed.items() if until > now}
    state.write(script, hushed=hushed)
    script.work.hushed = hushed


def _drop_open_speech(script: Assistant, place: str) -> None:
    # What was said openly in the room is dropped, even while the model works on it; and so is an
    # autonomous turn that is under way, since the assistant is in the room where it is to be quiet.
    work = script.work
    speech = [item for item in work.inbox if item["source"] in SPOKEN and item["place"] == place]
    spoken = {item["id"] for item in speech}
    own = work.busy.difference(item["id"] for item in work.inbox)
    state.void_turns(work, own | spoken)
    work.decisions.note([item["number"] for item in speech], "hushed", "before it was answered")
    if speech:
        aside.forget(script, speech)
    work.conversations.end(talk_of(Source.SAY, place))


LEAVE = "leave"
MODES = ("trigger", "context", "ignore", LEAVE)


def set_channel(
    script: AssistantScript, name: str, mode: str, *, person: Being | None = None
) -> Result:
    """Let an assistant listen to a channel, or leave it.

    Args:
        name: key or alias of the channel.
        mode: "trigger" (answer everything), "context" (only take note), "ignore" (answer only when
            addressed), or "leave".
        person: must be allowed to listen to the channel too; None for code.
    """
    channels = search_channel(name.strip())
    if len(channels) != 1:
        # Without those that are closed to the person.
        known = (c for c in ChannelDB.objects.all() if person is None or lets(c, person, "listen"))
        names = ", ".join(sorted(channel.key for channel in known)) or "none"
        return Result.invalid(f"There is no channel named {name.strip()!r}. There are: {names}.")
    if mode not in MODES:
        return Result.invalid(f"{mode[:40]!r} is not a way to use a channel: {', '.join(MODES)}.")
    channel, who = channels[0], script.key
    if script.obj is None:
        return Result.conflict(f"{who} has no body that could listen to {channel.key}.")
    configs = dict(state.read(script, "channel_configs"))
    # A setting may name the channel in other case.
    stored = next((key for key in configs if key.casefold() == channel.key.casefold()), None)
    old = configs.pop(stored, None)
    if mode == LEAVE:
        channel.disconnect(script.obj)
        state.write(script, channel_configs=configs)
        return Result(True, f"{who} no longer listens to {channel.key}.")
    if not channel.access(script.obj, "listen"):
        return Result.invalid(f"{who} may not listen to {channel.key}: the channel is locked.")
    # Else an assistant could be made to repeat what is said on a channel closed to that person.
    if person is not None and not lets(channel, person, "listen"):
        return Result.invalid(
            f"You may not listen to {channel.key}, so you cannot let {who} listen."
        )
    if not channel.subscriptions.has(script.obj):
        channel.connect(script.obj)
    configs[channel.key] = {**old, "mode": mode} if isinstance(old, dict) else mode
    state.write(script, channel_configs=configs)
    return Result(True, f"{who} listens to {channel.key}: {mode}.")


def set_muted(script: AssistantScript, being: Being, is_muted: bool) -> Result:
    """Mute an assistant for a person: neither hears the other until it is unmuted.

    Args:
        being: the person's character or account; it applies to all characters of the account.
    """
    name = name_before(script, being)
    if script.work is None:
        return Result.unavailable(f"{name} is not running.")
    them = wording(script).them
    changed = state.mute(script, incoming.person_of(being), is_muted=is_muted)
    if not changed:
        now = "have already muted" if is_muted else "have not muted"
        return Result.invalid(f"You {now} {name}.")
    if is_muted:
        return Result(
            True,
            f"{name} no longer hears you, and you no longer hear {them}. "
            f"To undo: assistant unmute {name}",
        )
    return Result(True, f"{name} hears you again, and you hear {them} again.")
