"""The hearing of an assistant: its settings, a trial of its rules, and a check for deafness."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from itertools import takewhile
from typing import Any

import evennia
from evennia.comms.comms import DefaultChannel
from evennia.comms.models import ChannelDB
from typing_extensions import TypedDict

from evennia_ai.agent import hearing
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.perception import CHANNEL, Heard
from evennia_ai.core.hearing.rules import RULES
from evennia_ai.core.hearing.unmarked import Hearing, Hears, listened
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Being, Channel, GameObject
from evennia_ai.messages import incoming, outgoing
from evennia_ai.messages.incoming import SPEECH_MARK
from evennia_ai.operations.result import Result
from evennia_ai.runtime import names, state, turns
from evennia_ai.runtime.assistant import Assistant

# The lines that Evennia's own commands send, so that a trial goes through the same parser.
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


class Talking(TypedDict):
    """A person with whom an assistant is in conversation, where, and for how many more seconds."""

    person: str
    where: str
    seconds: int


class Quiet(TypedDict):
    """A room in which an assistant is hushed, and for how many more seconds."""

    room: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Ears:
    """The hearing of an assistant.

    Attributes:
        muted: names of players who do not want to be heard.
        ignored: problem with settings that are ignored; None: all are valid.
        silence: reason why it does not act, or "".
    """

    settings: dict[str, object]
    muted: list[str]
    talking: list[Talking]
    hushed: list[Quiet]
    ignored: str | None
    silence: str


def settings_of(script: AssistantScript) -> dict[str, Any]:
    """The settings of an assistant's hearing, by name."""
    return {name: state.read(script, name) for name in SHOWN}


def hearing_of(script: AssistantScript) -> Result[Ears]:
    """Report an assistant's hearing: its settings, mutes, and open conversations."""
    work = script.work
    if work is None:
        return _not_running(script)
    now = script.clock.seconds()
    data = Ears(
        settings=settings_of(script),
        muted=sorted(map(incoming.key_of, work.muted)),
        talking=[
            {
                "person": incoming.key_of(person),
                "where": _place(where),
                "seconds": round(until - now),
            }
            for where, (person, _, until) in work.conversations.by_place.items()
            if until > now
        ],
        hushed=[
            {"room": incoming.key_of(room), "seconds": round(until - now)}
            for room, until in work.hushed.items()
            if until > now
        ],
        ignored=work.ear_problem,
        silence=script.silence_for_staff,
    )
    return Result(True, f"{script.key}: {data.silence or 'hears and answers'}", data)


def _not_running(script: AssistantScript) -> Result:
    why = "is not running" if script.obj is not None else "has no body"
    return Result.conflict(f"{script.key} {why}, so it hears nothing.")


def _place(talk: str) -> str:
    kind, _, place = talk.partition(" ")
    return f"the channel {place}" if kind == "channel" else incoming.key_of(place)


class Judged(TypedDict):
    """A verdict on a message that was not really said."""

    source: str
    outcome: str
    rule: int
    name: str
    when: str
    trust: float
    because: str


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts on a message for each way to say it; `silence` is why it would not answer, or ""."""

    verdicts: list[Judged]
    silence: str


def judge(script: AssistantScript, being: Being, words: str, kind: str = "") -> Result[Verdicts]:
    """Judge a message as if a person said it now. Nothing is sent and nothing is changed.

    Args:
        being: the speaker.
        kind: "say", "whisper", "page" or "pose"; "": both a say and a whisper.
    """
    if script.work is None or script.obj is None:
        return _not_running(script)
    if not words.strip():
        return Result.invalid("There is nothing to check: type what would be said.")
    if kind and kind not in LINES:
        return Result.invalid(f"{kind!r} is not a way to speak; there are {', '.join(LINES)}.")
    kinds = (kind,) if kind else USUAL
    verdicts = [v for one in kinds if (v := _judged(script, being, words, one)) is not None]
    if not verdicts:
        return Result.invalid("There are no words in that, so nobody would hear anything.")
    explained = [
        f"as a {v['source']}: {v['outcome']}, by rule {v['rule']} {v['name']} ({v['when']}), "
        f"trust {v['trust']:g} ({v['because']})"
        for v in verdicts
    ]
    now = obstacle(script)
    lines = [
        f"{script.key} would take this from {names.name_of(being, script.obj)}",
        *(f"  {line}" for line in explained),
    ]
    if now:
        lines.append(f"  now nobody would be answered: {now}")
    return Result(True, "\n".join(lines), Verdicts(verdicts, now))


def heard_as(script: Assistant, being: Being, words: str, kind: str) -> Heard | None:
    """A message as the assistant would hear it from a speaker; None where it has no words.

    Args:
        kind: one of LINES.
    """
    line = LINES[kind].format(name=names.name_of(being, script.obj), words=words)
    # A page's words are sent beside the line, where they are in no quotation marks.
    options = {"type": kind, **({SPEECH_MARK: words} if kind == "page" else {})}
    return incoming.read((line, options), being, script.obj)


def _judged(script: Assistant, being: Being, words: str, kind: str) -> Judged | None:
    heard = heard_as(script, being, words, kind)
    if heard is None:
        return None
    work = script.work
    before = work.conversations
    # Judging a message that addresses the assistant opens a conversation, here in a copy.
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


def turn_of(script: Assistant, being: Being, words: str, *, is_aloud: bool = False) -> Turn:
    """A turn as if a person said something to the assistant now; nothing is begun.

    Args:
        being: the speaker; no private words of anybody else are in the turn.
        is_aloud: said openly in the room; else whispered.
    """
    place = script.obj.location
    event = Event(
        id="tried",
        kind="message",
        source="say" if is_aloud else "whisper",
        sender_id=incoming.id_of(being),
        sender_name=names.name_of(being, script.obj),
        body=words,
        # The trust and the rule of a whisper.
        trust=0.9,
        rule=3,
        hops=0,
        at=script.clock.seconds(),
        person=incoming.person_of(being),
        place=place.dbref if place is not None else "",
    )
    return turns.of_events(script, event)


def obstacle(script: Assistant) -> str:
    """The reason why the assistant would not answer a message that triggers it, or ""."""
    if script.silence:
        return script.silence_for_staff
    room = script.obj.location
    return f"it is hushed in {room.key}" if outgoing.is_hushed(script, room) else ""


HOW = "evennia_ai.hear(caller.location, words, caller)"
# Names of which a channel's own `msg` uses one if it reaches the hooks of listeners.
HOOKS = frozenset(("super", "channel_msg", "DefaultChannel"))
WHERE = "docs/hearing.md says more: A game's own say."


def check_hearing(script: AssistantScript, own_commands: Mapping[str, str]) -> Result[Hearing]:
    """Check, by what it has heard so far, if an assistant hears people; not ok where it is deaf.

    A game's own `say` may send its text without the data that tell who speaks. Nothing is sent.

    Args:
        own_commands: paths of the game's own classes of commands for speech, by command key.
    """
    work, body = script.work, script.obj
    if work is None or body is None:
        return _not_running(script)
    lately = listened(work.decisions.newest(), list(_names(body)))
    message = {
        Hears.WELL: f"{script.key} hears what is said here.",
        Hears.UNKNOWN: _unknown(script, own_commands),
        Hears.NOTHING: _deaf(script, lately, own_commands),
    }[lately.hears]
    if silent := _silent_channels(script):
        return Result(False, f"{message} {silent}", lately)
    return Result(lately.hears is not Hears.NOTHING, message, lately)


def _silent_channels(script: AssistantScript) -> str:
    """The channels on which it can hear nothing, and what to do; "" if there are none."""
    traces = script.work.decisions.newest()
    heard_on = {each.heard.place for each in traces if each.heard.source is CHANNEL}
    channels = ChannelDB.objects.get_subscriptions(script.obj)
    kinds = {each.key: _bare_sender(each) for each in channels if each.key not in heard_on}
    silent = ", ".join(f"{key} ({kind})" for key, kind in sorted(kinds.items()) if kind)
    if not silent:
        return ""
    return (
        f"{script.key} seems to hear nothing on {silent}: the class there has a msg of its own, "
        "which calls neither its parent's nor the hook of listeners. What to do: let it send with "
        "listener.channel_msg(message, self, senders=senders, **kwargs)."
    )


def _bare_sender(channel: Channel) -> str:
    """The path of a channel's class if its `msg` reaches no hook of listeners, else ""."""
    for kind in takewhile(lambda each: each is not DefaultChannel, type(channel).__mro__):
        own = vars(kind).get("msg")
        code = getattr(inspect.unwrap(own), "__code__", None) if own is not None else None
        if code is not None and HOOKS.isdisjoint(code.co_names):
            return f"{kind.__module__}.{kind.__qualname__}"
    return ""


def _names(body: GameObject) -> Iterable[str]:
    # People whose speech it may have heard: those in the room, and all who are online.
    here = body.location.contents if body.location is not None else ()
    present = [being for being in here if being is not body and names.is_character(being)]
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


def _deaf(script: AssistantScript, lately: Hearing, own_commands: Mapping[str, str]) -> str:
    now = script.clock.seconds()
    ago = timedelta(seconds=max(0, round(now - (lately.newest_bare_at or now))))
    some = "nothing" if not lately.marked else "not all that is said"
    whose = f" {_named(own_commands)}." if own_commands else ""
    return (
        f"{script.key}: I hear {some} when somebody speaks here. {lately.bare} of what people said "
        f"came as bare text (the newest {ago} ago), which tells neither who speaks nor how.{whose} "
        f"What to do: there, right before its own msg, add {HOW} with the bare words, "
        f'and of a whisper evennia_ai.hear(target, words, caller, "whisper"). {WHERE}'
    )


def _named(own_commands: Mapping[str, str]) -> str:
    known = ", ".join(f"{key} ({path})" for key, path in own_commands.items())
    return f"Speech is the game's own here: {known}"
