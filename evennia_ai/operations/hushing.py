"""Asking an assistant to be quiet in the room where somebody stands, for a while."""

from __future__ import annotations

from typing import Any

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.inbox import talk_of
from evennia_ai.core.hearing.perception import SPOKEN, Source
from evennia_ai.messages import incoming, outgoing
from evennia_ai.operations.result import Result
from evennia_ai.runtime import state
from evennia_ai.runtime.names import name_of
from evennia_ai.runtime.rights import name_before

LOCK = "hush"
MINUTES, MOST_MINUTES = 10, 60
MINUTE_SECONDS = 60.0
HUSHED = "{name} nods and is quiet here for {span}."
UNHUSHED = "{name} looks up, free to speak here again."
_WORDS = ("", "a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def hush(script: AssistantScript, being: Any, minutes: int = MINUTES) -> Result:
    """Let an assistant be quiet in a person's room: it hears, and does nothing there in the open.

    It lifts by itself, and outlasts a restart. Whispers, pages and channels go on.

    Args:
        minutes: 1 to 60.
    """
    room, problem = _room_for(script, being)
    if problem:
        return Result(False, problem)
    if not 1 <= minutes <= MOST_MINUTES:
        return Result(
            False, f"{minutes} minutes cannot be; hush for 1 to {MOST_MINUTES} minutes at a time."
        )
    until = script.clock.seconds() + minutes * MINUTE_SECONDS
    _store(script, room.dbref, until)
    _drop_what_was_said_in(script, room.dbref)
    span = f"{_in_words(minutes)} minute{'' if minutes == 1 else 's'}"
    outgoing.announce(script.obj, HUSHED.replace("{span}", span), hops=1)
    by = incoming.person_of(being)
    audit.record("hushed", script, room=room.dbref, minutes=minutes, by=by)
    data = {"room": room.dbref, "until": until}
    return Result(
        True, f"{name_before(script, being)} is quiet in {name_of(room, being)} for {span}.", data
    )


def unhush(script: AssistantScript, being: Any) -> Result:
    """Let an assistant speak in a person's room again."""
    room, problem = _room_for(script, being)
    if problem:
        return Result(False, problem)
    if not outgoing.is_hushed(script, room):
        return Result(False, f"Nobody hushed {name_before(script, being)} here.")
    _store(script, room.dbref, 0.0)
    outgoing.announce(script.obj, UNHUSHED, hops=1)
    audit.record("unhushed", script, room=room.dbref, by=incoming.person_of(being))
    return Result(
        True,
        f"{name_before(script, being)} may speak in {name_of(room, being)} again.",
        {"room": room.dbref},
    )


def _room_for(script: AssistantScript, being: Any) -> tuple[Any, str]:
    """The room that a person may hush an assistant in, and why there is none, or ""."""
    room, body = getattr(being, "location", None), script.obj
    if room is None or body is None or body.location != room or script.work is None:
        return None, f"{name_before(script, being)} is not here."
    if not body.access(being, LOCK, default=True):
        return None, f"You have no say in when {name_before(script, being)} speaks."
    return room, ""


def _store(script: Any, place: str, until: float) -> None:
    """Set until when it is quiet at a place; nowhere is kept what is over."""
    now = script.clock.seconds()
    hushed = {**script.work.hushed, place: until}
    hushed = {place: until for place, until in hushed.items() if until > now}
    state.write(script, hushed=hushed)
    script.work.hushed = hushed


def _drop_what_was_said_in(script: Any, place: str) -> None:
    """What was said openly there and waits is not answered, also while the model works on it.

    An act of its own that is under way is dropped too: it stands where it was to be quiet.
    """
    work = script.work
    said = [item for item in work.inbox if item["source"] in SPOKEN and item["place"] == place]
    theirs = {item["id"] for item in said}
    own = work.busy.difference(item["id"] for item in work.inbox)
    if own or work.busy.intersection(theirs):
        state.bump_epoch(script)
    work.decisions.note([item["number"] for item in said], "hushed", "before it was answered")
    if said:
        state.discard(script, said)
    work.conversations.end(talk_of(Source.SAY, place))


def _in_words(minutes: int) -> str:
    return _WORDS[minutes] if minutes < len(_WORDS) else str(minutes)
