"""Hearing: whom an assistant hears and where, where it is quiet, and whether it is deaf."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from datetime import timedelta
from typing import Any

import evennia
from evennia.comms.models import ChannelDB
from evennia.objects.objects import DefaultCharacter
from evennia.utils.search import search_channel

from evennia_ai import audit
from evennia_ai.agent import hearing
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.inbox import talk_of
from evennia_ai.core.hearing.perception import SPOKEN, Source
from evennia_ai.core.hearing.rules import RULES
from evennia_ai.core.hearing.unmarked import Hearing, Hears, listened
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.messages import incoming, outgoing
from evennia_ai.messages.incoming import SPEECH_MARK
from evennia_ai.operations.result import Problem, Result
from evennia_ai.runtime import names, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import name_of
from evennia_ai.runtime.pronouns import wording
from evennia_ai.runtime.rights import lets, name_before

# How the game sends what somebody says, whispers, pages or poses.
LINES = {
    "say": '{name} says, "{words}"',
    "whisper": '{name} whispers: "|n{words}|n"',
    "page": "|wAccount|n |c{name}|n |wpages:|n {words}",
    "pose": "{name} {words}",
}
USUAL = ("say", "whisper")
SHOWN = (
    "interaction_enabled",
    "enable_addressing",
    "addressed_by",
    "max_agent_hops",
    "trigger_permissions",
    "channel_configs",
    "room_messages",
    "trust_overrides",
    "hearing_config",
)


def hearing_of(script: AssistantScript) -> Result:
    """The hearing of an assistant: whom, how, and with whom it is talking.

    Returns:
        data: "settings", "muted" and "talking" (names), "hushed" ({"room", "seconds"}),
        "ignored" (settings that cannot be read), "silence" (what keeps it from acting, or "").
    """
    work = script.work
    if work is None:
        return _not_running(script)
    now = script.clock.seconds()
    data = {
        "settings": {name: state.read(script, name) for name in SHOWN},
        "muted": sorted(map(_name_of, work.muted)),
        "talking": [
            {"person": _name_of(person), "where": _place(where), "seconds": round(until - now)}
            for where, (person, _, until) in work.conversations.by_place.items()
            if until > now
        ],
        "hushed": list(_hushed(work.hushed, now)),
        "ignored": work.ear_problem,
        "silence": script.silence,
    }
    return Result(True, f"{script.key}: {data['silence'] or 'hears and answers'}", data)


def _not_running(script: AssistantScript) -> Result:
    told = f"{script.key} is not running, so it hears nothing."
    return Result(False, told, problem=Problem.CONFLICT)


def _hushed(hushed: dict[str, float], now: float) -> Iterator[dict[str, Any]]:
    for room, until in hushed.items():
        if until > now:
            yield {"room": _name_of(room), "seconds": round(until - now)}


def _name_of(being_id: str) -> str:
    being = incoming.find_being(being_id)
    return str(being.key) if being is not None else being_id


def _place(talk: str) -> str:
    kind, _, place = talk.partition(" ")
    return f"the channel {place}" if kind == "channel" else _name_of(place)


def judge(script: AssistantScript, being: Being, words: str, kind: str = "") -> Result:
    """Judge a message of a person as it would be now. Nothing is sent, and nothing is changed.

    Args:
        being: who would say it.
        kind: "say", "whisper", "page" or "pose"; "": a say and a whisper.

    Returns:
        data: "verdicts": [{"source", "outcome", "rule", "name", "when", "trust", "because"}],
        "silence": what would keep it from answering even so, or "".
    """
    if script.work is None:
        return _not_running(script)
    if not words.strip():
        return Result(False, "There is nothing to judge: type what would be said.")
    if kind and kind not in LINES:
        return Result(False, f"{kind!r} is no way to say something; there are {', '.join(LINES)}.")
    kinds = (kind,) if kind else USUAL
    verdicts = [v for one in kinds if (v := _judged(script, being, words, one)) is not None]
    if not verdicts:
        return Result(False, "There are no words in that: nobody would hear anything.")
    told = [
        f"as a {v['source']}: {v['outcome']}, by rule {v['rule']} {v['name']} ({v['when']}), "
        f"trust {v['trust']:g} ({v['because']})"
        for v in verdicts
    ]
    now = _obstacle(script)
    lines = [
        f"{script.key} would take this from {names.name_of(being, script.obj)}",
        *(f"  {line}" for line in told),
    ]
    if now:
        lines.append(f"  now nobody would be answered: {now}")
    return Result(True, "\n".join(lines), {"verdicts": verdicts, "silence": now})


def _judged(script: AssistantScript, being: Being, words: str, kind: str) -> dict[str, Any] | None:
    """One verdict, by the way that a real message goes; whom it is talking with stays as it is."""
    line = LINES[kind].format(name=names.name_of(being, script.obj), words=words)
    options = {"type": kind, **({SPEECH_MARK: words} if kind == "page" else {})}
    heard = incoming.read((line, options), being, script.obj)
    if heard is None:
        return None
    work: Any = script.work
    before = work.conversations
    work.conversations = deepcopy(before)
    try:
        _, verdict = hearing.judge(script, heard, being)
    finally:
        work.conversations = before
    rule = next(rule for rule in RULES if rule.name == verdict.name)
    return {
        "source": kind,
        "outcome": verdict.outcome.value,
        "rule": verdict.rule,
        "name": verdict.name,
        "when": rule.text,
        "trust": verdict.trust,
        "because": verdict.basis.explain(),
    }


def _obstacle(script: AssistantScript) -> str:
    """The obstacle that would keep it from answering although a message triggers, or ""."""
    if script.silence:
        return script.silence
    room = script.obj.location
    return f"it is hushed in {room.key}" if outgoing.is_hushed(script, room) else ""


HOW = "evennia_ai.hear(caller.location, words, caller)"
WHERE = "docs/hearing.md says more: A game's own say."


def check_hearing(script: AssistantScript, own_commands: Mapping[str, str]) -> Result:
    """Tell if an assistant hears people, by what it heard so far. Nothing is sent to anybody.

    Args:
        own_commands: the commands by which people speak that are not Evennia's own, by their key,
            each with the path of its class.

    Returns:
        ok: False where it is deaf. data: "hears" (well, nothing or unknown), "marked" and "bare":
        lines of people that said who speaks and how, and lines that did not.
    """
    work, body = script.work, script.obj
    if work is None or body is None:
        return Result(False, f"{script.key} is not running, so it hears nothing.")
    found = listened(work.decisions.newest(), list(_names(body)))
    told = {
        Hears.WELL: f"{script.key} hears what is said here.",
        Hears.UNKNOWN: _unknown(script, own_commands),
        Hears.NOTHING: _deaf(script, found, own_commands),
    }[found.hears]
    data = {"hears": found.hears.value, "marked": found.marked, "bare": found.bare}
    return Result(found.hears is not Hears.NOTHING, told, data)


def _names(body: GameObject) -> Iterable[str]:
    """Names of people whom it may have heard: those who are here, and who play now."""
    here = body.location.contents if body.location is not None else ()
    present = [being for being in here if isinstance(being, DefaultCharacter) and being is not body]
    playing = (session.get_puppet() for session in evennia.SESSION_HANDLER.get_sessions())
    online = [puppet for puppet in playing if puppet is not None]
    for being in dict.fromkeys((*present, *online)):
        if getattr(being, "assistant_script", None) is None:
            yield from names.called(being, body)


def _unknown(script: AssistantScript, own_commands: Mapping[str, str]) -> str:
    if not own_commands:
        return f"{script.key} hears Evennia's own commands; nobody has spoken here yet."
    return (
        f"Whether {script.key} hears what is said here is not known yet. {_named(own_commands)}. "
        f"Say something here, and type this again."
    )


def _deaf(script: AssistantScript, found: Hearing, own_commands: Mapping[str, str]) -> str:
    now = script.clock.seconds()
    ago = timedelta(seconds=max(0, round(now - (found.newest_bare_at or now))))
    some = "nothing" if not found.marked else "not all that is said"
    whose = f" {_named(own_commands)}." if own_commands else ""
    return (
        f"{script.key}: I hear {some} when somebody speaks here. {found.bare} of what people said "
        f"came as bare text (the newest {ago} ago), which tells neither who speaks nor how.{whose} "
        f"What to do: in the command, right before its own msg, add {HOW} with the bare words, "
        f'and of a whisper evennia_ai.hear(target, words, caller, "whisper"). {WHERE}'
    )


def _named(own_commands: Mapping[str, str]) -> str:
    known = ", ".join(f"{key} ({path})" for key, path in own_commands.items())
    return f"The game has commands of its own for speech: {known}"


LOCK = "hush"
MINUTES, MOST_MINUTES = 10, 60
MINUTE_SECONDS = 60.0
HUSHED = "{name} nods and is quiet here for {span}."
UNHUSHED = "{name} looks up, free to speak here again."
_WORDS = ("", "a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def hush(script: AssistantScript, being: Being, minutes: int = MINUTES) -> Result:
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


def unhush(script: AssistantScript, being: Being) -> Result:
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


def _room_for(script: AssistantScript, being: Being) -> tuple[Any, str]:
    """The room that a person may hush an assistant in, and why there is none, or ""."""
    room, body = getattr(being, "location", None), script.obj
    if room is None or body is None or body.location != room or script.work is None:
        return None, f"{name_before(script, being)} is not here."
    if not body.access(being, LOCK, default=True):
        return None, f"You have no say in when {name_before(script, being)} speaks."
    return room, ""


def _store(script: Assistant, place: str, until: float) -> None:
    """Set until when it is quiet at a place; nowhere is kept what is over."""
    now = script.clock.seconds()
    hushed = {**script.work.hushed, place: until}
    hushed = {place: until for place, until in hushed.items() if until > now}
    state.write(script, hushed=hushed)
    script.work.hushed = hushed


def _drop_what_was_said_in(script: Assistant, place: str) -> None:
    """Drop what was said openly there and waits, also while the model works on it.

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
        person: who does it, and must be allowed to listen there too; None for code.
    """
    found = search_channel(name.strip())
    if len(found) != 1:
        known = ", ".join(sorted(channel.key for channel in ChannelDB.objects.all()))
        return Result(False, f"There is no channel named {name.strip()!r}. There are: {known}.")
    if mode not in MODES:
        return Result(False, f"{mode!r} is not something to do on a channel: {', '.join(MODES)}.")
    channel, who = found[0], script.key
    configs = dict(state.read(script, "channel_configs"))
    stored = next((key for key in configs if key.casefold() == channel.key.casefold()), None)
    old = configs.pop(stored, None)
    if mode == LEAVE:
        channel.disconnect(script.obj)
        state.write(script, channel_configs=configs)
        return Result(True, f"{who} does not listen to {channel.key} any more.")
    if not channel.access(script.obj, "listen"):
        return Result(False, f"{who} may not listen to {channel.key}: the channel is locked.")
    if person is not None and not lets(channel, person, "listen"):
        return Result(False, f"You may not listen to {channel.key}, and so {who} may not for you.")
    if not channel.subscriptions.has(script.obj):
        channel.connect(script.obj)
    configs[channel.key] = {**old, "mode": mode} if isinstance(old, dict) else mode
    state.write(script, channel_configs=configs)
    return Result(True, f"{who} listens to {channel.key}: {mode}.", {"channels": configs})


def set_muted(script: AssistantScript, being: Being, is_muted: bool) -> Result:
    """Part an assistant and a person: neither hears the other, until that is taken back.

    Args:
        being: the person's character or account; it holds for all characters of the account.
    """
    name = name_before(script, being)
    them = wording(script).them
    changed = state.mute(script, incoming.person_of(being), is_muted=is_muted)
    if not changed:
        now = "You do not hear" if is_muted else "You do hear"
        return Result(False, f"{now} {name} already.")
    if is_muted:
        return Result(
            True, f"{name} no longer hears you, nor you {them}. Back: assistant unmute {name}"
        )
    return Result(True, f"{name} hears you again, and you {them}.")
