"""The command `aiaudit`: an assistant's audit log, and its state at earlier times."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from evennia_ai.commands.base import StaffCommand, first_word, number_of
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import Being
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.audit import log
from evennia_ai.operations.audit.log import FactEntry
from evennia_ai.operations.files import exports
from evennia_ai.operations.result import Result
from evennia_ai.operations.times import clock_of

MOST_SHOWN = 100
LONGEST_VALUE = 300


class CmdAiAudit(StaffCommand):
    """
    See what an AI assistant did, and what it was like at any moment.

    Usage:
      aiaudit <name> [<event>] [before <version>]
                                      - the newest entries of its audit log
      aiaudit <name> at <version> | <time>
                                      - what it was like then
      aiaudit <name> diff <version> <version>
                                      - what changed between two
      aiaudit <name> check            - does the log agree with its state
      aiaudit <name> export           - write the log into a file
      aiaudit <name> archive          - the same, and drop old entries

    A time is like 2026-03-01, 2026-03-01 18:30 or 2 hours ago; without a zone
    it is the game's. Export and archive need its lock `ai_configure`.

    Examples:
      aiaudit ada ConfigurationChanged
      aiaudit ada at 120
    """

    key = "aiaudit"
    how = (
        "aiaudit <name> [<event>] [before <version>] | at <version> | <time>, diff <version> "
        "<version>, check, export, archive"
    )

    def act(self) -> None:
        """Run the command."""
        # Words that take no arguments, with the act to check and the operation.
        alone: dict[str, tuple[str, Callable[[Any], Result]]] = {
            "check": ("audit", log.check_audit),
            "export": ("export audit", exports.export_audit),
            "archive": ("archive audit", partial(exports.archive_audit, by=self.by)),
        }
        script, rest = self.whose(self.line(), ("at", "diff", "before", *alone))
        if script is None:
            return
        word, more = first_word(rest)
        if word == "at":
            self._at(script, more)
        elif word == "diff":
            self._diff(script, more)
        elif word not in alone:
            self._list(script, rest)
        elif self.expect_nothing(more) and self.may(alone[word][0], script):
            self.show_long(alone[word][1](script).message)

    def _list(self, script: AssistantScript, rest: str) -> None:
        words = rest.split()
        before = None
        if len(words) > 1 and words[-2].casefold() == "before":
            before = number_of(words[-1])
            words = words[:-2] if before is not None else words
        if len(words) > 1:
            self.show_usage(f"There is no 'aiaudit {rest}'.")
            return
        if words and number_of(words[0]) is not None:
            self.show_usage(f"To see a version: aiaudit {script.key} at {words[0]}")
            return
        if not self.may("audit", script):
            return
        result = log.audit_log(script, before=before, limit=MOST_SHOWN, events=tuple(words))
        if not result.ok or not result.data.entries:
            self.show(result)
            return
        rows = [_row(entry, self.caller) for entry in result.data.entries]
        title = f"{script.key}, {counted(result.data.count, 'entries')}, the newest first"
        following = result.data.next
        event = f" {words[0]}" if words else ""
        foot = f"Older: aiaudit {script.key}{event} before {following}" if following else ""
        self.show_table(title, ("Version", "When", "What", "By"), rows, foot)

    def _at(self, script: AssistantScript, text: str) -> None:
        if not text:
            self.show_usage("Which moment? A version such as 120, or a time such as 2026-03-01.")
        elif self.may("audit", script):
            version = number_of(text)
            if version is not None:
                result = log.audit_state(script, version)
            else:
                result = log.audit_state(script, at=text)
            self._show_state(script, result)

    def _show_state(self, script: AssistantScript, result: Result) -> None:
        if not result.ok:
            self.show(result)
            return
        data = result.data
        head = f"{script.key} at version {data.version}, {clock_of(data.at)}"
        self.show_long("\n".join([head, *_state_lines(data.state)]))

    def _diff(self, script: AssistantScript, text: str) -> None:
        words = text.split()
        numbers = [number for word in words if (number := number_of(word)) is not None]
        if len(words) != 2 or len(numbers) != 2:
            self.show_usage("Give two versions to compare, such as: diff 100 120")
        elif self.may("audit", script):
            self.show_long(log.audit_difference(script, numbers[0], numbers[1]).message)


def _row(entry: FactEntry, reader: Being) -> tuple[Any, ...]:
    by = entry["details"].get("by", "")
    words = log.words_of(entry, reader)
    text = f"{entry['event']}: {words}" if words else entry["event"]
    return entry["version"], clock_of(entry["at"]), text, by


def _state_lines(state: Mapping[str, object]) -> list[str]:
    """A state as lines; entries of a mapping are indented below its name."""
    lines = []
    for name, value in state.items():
        if isinstance(value, Mapping) and value:
            lines.append(f"  {name}")
            lines += [f"    {key:<26} {_as_text(item)}" for key, item in value.items()]
        else:
            lines.append(f"  {name:<28} {_as_text(value)}")
    return lines


def _as_text(value: object) -> str:
    if isinstance(value, (Mapping, list, tuple)):
        text = json.dumps(value, ensure_ascii=False, default=str) if value else "none"
    else:
        text = str(value)
    return one_line(text, LONGEST_VALUE)
