"""How an assistant hears: what is set about it, and how a message would be judged now."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from evennia_ai.agent import hearing
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.rules import RULES
from evennia_ai.messages import incoming, outgoing
from evennia_ai.messages.incoming import SPEECH_MARK
from evennia_ai.operations.result import Problem, Result
from evennia_ai.runtime import names, state

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
    """Whom an assistant hears, how, and with whom it is talking.

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


def judge(script: AssistantScript, being: Any, words: str, kind: str = "") -> Result:
    """How a message of a person would be judged now. Nothing is sent, and nothing is changed.

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


def _judged(script: AssistantScript, being: Any, words: str, kind: str) -> dict[str, Any] | None:
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
    """What would keep it from answering although a message triggers, or ""."""
    if script.silence:
        return script.silence
    room = script.obj.location
    return f"it is hushed in {room.key}" if outgoing.is_hushed(script, room) else ""
