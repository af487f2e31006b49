"""The subcommands of `assistant` for all players: help, mute, and their own memories."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

from evennia_ai import operations
from evennia_ai.commands.base import Steps
from evennia_ai.commands.words import WordCommand, subcommand
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript

# In characters: more would flood a client.
LONGEST_EXPORT = 20_000
# Memories that a list shows: a thousand take half a second of the game's thread.
MOST_LISTED = 200
OFF, ON, CORRECT, EXPORT = "off", "on", "correct", "export"
ALONE = (EXPORT, OFF, ON, "")
# The number of an attribute of a profile, as `assistant memory` lists it.
_ATTRIBUTE = re.compile(r"[aA][0-9a-fA-F]{8}")
EVERYTHING = ("everything", "me", "")
ASKED = (
    "Should {name} forget you? This deletes all memories and notes about you, all conversation "
    "with you, and your name in what others told {them}. It cannot be undone."
)


class PlayerWords(WordCommand):
    """The subcommands for everybody."""

    @subcommand(
        "assistant mute [<name>]",
        "You and the assistant no longer hear each other. To undo: assistant unmute",
        is_for_all=True,
    )
    def _mute(self, name: str) -> None:
        self._set_muted(name, True)

    @subcommand("assistant unmute [<name>]", "You hear each other again.", is_for_all=True)
    def _unmute(self, name: str) -> None:
        self._set_muted(name, False)

    def _set_muted(self, name: str, is_muted: bool) -> None:
        script = self.pick(name)
        if script is not None:
            self.show(operations.set_muted(script, self.caller, is_muted))

    @subcommand(
        "assistant memory [<name>], assistant memory correct [<name>] <number> = <text>, assistant "
        "memory export | off | on [<name>]",
        "What it remembers about you, numbered: facts first, then entries of its journal. You can "
        "correct one, get all of it as text, or have it remember nothing new about you (off).",
        is_for_all=True,
    )
    def _memory(self, rest: str) -> None:
        """Run `memory`, `memory ada`, `memory correct ada 3 = I am a smith.`, `memory off ada`."""
        head, is_correction, text = rest.partition("=")
        script, line = self.whose(head.strip(), (CORRECT,), ALONE)
        if script is None:
            return
        word, _, number = line.casefold().partition(" ")
        number = number.strip()
        if word == CORRECT and is_correction and number and " " not in number:
            self.show(operations.correct_known(script, self.caller, number, text.strip()))
        elif is_correction or number or word not in ALONE:
            self.show_usage(f"There is no 'assistant memory {rest}'.")
        elif word in (OFF, ON):
            self.show(operations.set_remembered(script, self.caller, word == ON))
        elif word == EXPORT:
            self._export(script)
        else:
            known = operations.what_is_known(script, self.caller, limit=MOST_LISTED)
            self.show_long(known.message)

    def _export(self, script: AssistantScript) -> None:
        result = operations.export_known(script, self.caller)
        text = json.dumps(asdict(result.data), ensure_ascii=False, indent=1, default=str)
        if len(text) > LONGEST_EXPORT:
            text = (
                f"{text[:LONGEST_EXPORT]}\n(cut off here; staff can give you all of it as a file)"
            )
        self.show_long(text)

    @subcommand(
        "assistant forget <number> [<name>], assistant forget everything | me [<name>]",
        "It forgets one thing that it remembers about you, or everything about you, after asking. "
        "The numbers are in: assistant memory",
        is_for_all=True,
    )
    def _forget(self, rest: str) -> Steps | None:
        """Run `forget me`, `forget everything ada`, `forget 3`, `forget 3 ada`."""
        first = rest.partition(" ")[0].casefold()
        # "forget 3" must not look for an assistant called 3.
        is_number = first[:1].isdecimal() or _ATTRIBUTE.fullmatch(first)
        script, line = self.whose(rest, (), (*EVERYTHING, first) if is_number else EVERYTHING)
        if script is None:
            return None
        if line.casefold() in EVERYTHING:
            return self._forget_everything(script)
        if " " in line:
            self.show_usage(f"{line!r} is not the number of a memory.")
        else:
            self.show(operations.forget_known(script, self.caller, line))
        return None

    def _forget_everything(self, script: AssistantScript) -> Steps:
        name = self.name_of(script)
        if not (yield from self.confirm_about(script, name, ASKED)):
            self.msg(literal(f"{name} forgets nothing."))
        elif script.pk is None:  # deleted during the question
            self.msg(literal(f"There is no assistant named {name} any more."))
        else:
            self.show(operations.forget_everything(script, self.caller))
