"""The command `aiinteract`: which messages an assistant hears."""

from __future__ import annotations

from collections.abc import Mapping

from evennia_ai.commands.base import StaffCommand, first_word
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.conversation import hearing
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.settings import changing
from evennia_ai.operations.times import clock_of
from evennia_ai.operations.turns import explaining
from evennia_ai.operations.turns.sentences import NOBODY

SWITCHES = {"on": True, "off": False}
TEST = "test"
MOST_SHOWN = 8


class CmdAiInteract(StaffCommand):
    """
    See and set whom an AI assistant hears, and try how it would take a message.

    Usage:
      aiinteract [<name>]                 - how it hears, who muted or hushed
                                            it, what waits, what it heard
      aiinteract <name> on | off          - whether it hears anybody at all
      aiinteract <name> test [say | whisper | page | pose] <message>
                                          - by which rule it would take it from
                                            you now; nothing is said

    All other settings: assistant config <name>. On and off need its
    lock `ai_configure`.

    Examples:
      aiinteract ada off
      aiinteract ada test @ada where are the books?
    """

    key = "aiinteract"
    how = "aiinteract [<name>], aiinteract <name> on | off, aiinteract <name> test <message>"

    def act(self) -> None:
        """Run the command."""
        script, rest = self.whose(self.line(), (*SWITCHES, TEST))
        if script is None:
            return
        word, more = first_word(rest)
        if word == TEST:
            self._test(script, more)
        elif word in SWITCHES and not more:
            self._switch(script, SWITCHES[word])
        elif word:
            self.show_usage(f"There is no 'aiinteract {rest}'.")
        else:
            self._show(script)

    def _test(self, script: AssistantScript, words: str) -> None:
        if not self.may("events", script):
            return
        first, _, rest = words.partition(" ")
        # "say" alone is a message of one word, not a way of speaking.
        if first.casefold() in hearing.LINES and rest.strip():
            result = hearing.judge(script, self.caller, rest.strip(), first.casefold())
        else:
            result = hearing.judge(script, self.caller, words)
        self.show(result)

    def _switch(self, script: AssistantScript, is_on: bool) -> None:
        if self.may("configure", script):
            changed = changing.update_settings(script, {"interaction_enabled": is_on}, by=self.by)
            self.show(changed)

    def _show(self, script: AssistantScript) -> None:
        if not self.may("events", script):
            return
        result = hearing.hearing_of(script)
        heard = explaining.heard(script, limit=MOST_SHOWN, look=PrivateView.of(self.caller))
        if not result.ok:
            self.show(result)
            return
        lines = [result.message, *_settings(result.data)]
        if heard.ok:
            waiting = [*map(_waiting, heard.data.waiting)]
            lines += ["  waiting" if waiting else f"  {'waiting':<20} nobody", *waiting]
            lines += ["  heard last", *map(_record, heard.data.records)]
        self.show_long("\n".join(lines))


def _settings(data: hearing.Ears) -> list[str]:
    lines = [f"  {name:<20} {_plain(value)}" for name, value in data.settings.items()]
    lines.append(f"  {'muted by':<20} {_plain(data.muted)}")
    for row in data.talking:
        lines.append(
            f"  {'talks with':<20} {row['person']} in {row['where']}, {row['seconds']} s more"
        )
    for quiet in data.hushed:
        lines.append(f"  {'hushed in':<20} {quiet['room']}, {quiet['seconds']} s more")
    if data.ignored:
        lines.append(f"  {'ignored':<20} {data.ignored}")
    return lines


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {item}" for key, item in value.items()) or "none"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(map(str, value)) or "nobody"
    return str(value)


def _waiting(row: explaining.WaitingEvent) -> str:
    return f"{row['number']:>6}  {row['sender'] or NOBODY}, {row['source'] or row['kind']}"


def _record(row: Mapping[str, object]) -> str:
    text = (
        f"{clock_of(str(row['at']))}  {row['sender']}, {row['source']} "
        f"{row['text']!r}: {row['outcome']}, {row['rule']}"
    )
    return f"{row['number']:>6}  {one_line(text, 152)}"
