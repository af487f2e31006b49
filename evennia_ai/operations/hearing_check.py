"""A look at the hearing of an assistant, and advice where it is deaf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import evennia
from evennia.objects.objects import DefaultCharacter

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.deafness import Hearing, Hears, listened
from evennia_ai.operations.result import Result
from evennia_ai.runtime import names

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


def _names(body: Any) -> Iterable[str]:
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
